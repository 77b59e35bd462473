package alipay

import (
	"bytes"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

const (
	// maxFields is far above the 40 of the longest known notification and keeps
	// sorting cheap.
	maxFields = 200
	// maxNameLength is far above the longest known name.
	maxNameLength = 64
	// maxNamed is how many bytes of a name or value an error may quote: a key
	// id's worth.
	maxNamed = 20
)

// field is one parameter of a form. The value is what stands there after one
// percent-decoding: bytes in the form's charset, untrimmed.
type field struct{ name, value string }

// form is the fields of a body, sorted by name, each name once. It is read from
// the body alone: what a query string or a content type says has no part in it.
type form []field

// get is the field's value; an absent field and an empty one are the same: ""
// (a signing rule that skips empty fields lets anybody add them).
func (f form) get(name string) string {
	i, found := slices.BinarySearchFunc(f, name, func(p field, name string) int { return strings.Compare(p.name, name) })
	if !found {
		return ""
	}
	return f[i].value
}

// readForm reads a form strictly: any fault refuses the whole, for a form read
// in part could be verified in part.
func readForm(body []byte) (form, error) {
	if bytes.Count(body, []byte{'&'}) >= maxFields {
		return nil, provider.Refuse(provider.ErrSignature, codeTooManyFields, "more than %d fields", maxFields)
	}
	if bytes.IndexByte(body, ';') >= 0 {
		return nil, provider.Refuse(provider.ErrMalformed, codeFormSyntax, "a bare semicolon")
	}
	if len(body) == 0 {
		return nil, nil
	}
	f := make(form, 0, bytes.Count(body, []byte{'&'})+1)
	// One buffer holds every decoded byte, so that the fields cost one allocation.
	decoded := strings.Builder{}
	decoded.Grow(len(body))
	ends := make([]int, 0, 2*cap(f))
	for rest, more := body, true; more; {
		var pair []byte
		pair, rest, more = bytes.Cut(rest, []byte{'&'})
		name, value, ok := bytes.Cut(pair, []byte{'='})
		if !ok {
			return nil, provider.Refuse(provider.ErrMalformed, codeFormSyntax, "field %d has no '='", len(ends)/2+1)
		}
		for _, part := range [...][]byte{name, value} {
			if !unescape(&decoded, part) {
				return nil, provider.Refuse(provider.ErrMalformed, codeFormSyntax, "bad %% escape in field %d", len(ends)/2+1)
			}
			ends = append(ends, decoded.Len())
		}
	}
	text, start := decoded.String(), 0
	for i := 0; i < len(ends); i += 2 {
		f = append(f, field{text[start:ends[i]], text[ends[i]:ends[i+1]]})
		start = ends[i+1]
	}
	return f, f.order()
}

// order checks the names and sorts by them.
func (f form) order() error {
	for i := range f {
		if !validName(f[i].name) {
			return provider.Refuse(provider.ErrSignature, codeFieldName, "field %d", i+1)
		}
	}
	slices.SortFunc(f, func(a, b field) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(f); i++ {
		if f[i].name == f[i-1].name {
			return provider.Refuse(provider.ErrSignature, codeDuplicateField, "%s", provider.Clip(f[i].name, maxNamed))
		}
	}
	return nil
}

func validName(name string) bool {
	if len(name) == 0 || len(name) > maxNameLength {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
		default:
			return false
		}
	}
	return true
}

// unescape writes part, percent-decoded once, with plus signs as blanks.
func unescape(to *strings.Builder, part []byte) bool {
	for i := 0; i < len(part); i++ {
		switch c := part[i]; c {
		case '+':
			to.WriteByte(' ')
		case '%':
			if i+2 >= len(part) {
				return false
			}
			hi, lo := unhex[part[i+1]], unhex[part[i+2]]
			if hi|lo > 0xf {
				return false
			}
			to.WriteByte(hi<<4 | lo)
			i += 2
		default:
			to.WriteByte(c)
		}
	}
	return true
}

// unhex is the value of a hex digit, 0xff for any other byte.
var unhex = func() (table [256]byte) {
	for c := range table {
		switch {
		case '0' <= c && c <= '9':
			table[c] = byte(c - '0')
		case 'a' <= c && c <= 'f':
			table[c] = byte(c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			table[c] = byte(c - 'A' + 10)
		default:
			table[c] = 0xff
		}
	}
	return table
}()
