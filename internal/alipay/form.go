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

// names says whether the field is there, also without a value.
func (f form) names(name string) bool {
	_, found := slices.BinarySearchFunc(f, name, func(p field, name string) int { return strings.Compare(p.name, name) })
	return found
}

// readForm reads a form strictly: any fault refuses the whole, for a form read
// in part could be verified in part. scratch is a buffer as large as the body,
// free to use.
func readForm(body []byte) (f form, scratch []byte, err error) {
	separators := bytes.Count(body, []byte{'&'})
	switch {
	case separators >= maxFields:
		return nil, nil, provider.Refuse(provider.ErrSignature, codeTooManyFields, "more than %d fields", maxFields)
	case bytes.IndexByte(body, ';') >= 0:
		return nil, nil, provider.Refuse(provider.ErrMalformed, codeFormSyntax, "a bare semicolon")
	case len(body) == 0:
		return nil, nil, nil
	}
	// One buffer holds every decoded byte and becomes one string, so that the
	// fields cost no allocations of their own.
	var ends [2 * maxFields]int
	count := 0
	decoded := make([]byte, 0, len(body))
	for rest, more := body, true; more; {
		var pair []byte
		pair, rest, more = bytes.Cut(rest, []byte{'&'})
		name, value, ok := bytes.Cut(pair, []byte{'='})
		if !ok {
			return nil, nil, provider.Refuse(provider.ErrMalformed, codeFormSyntax, "field %d has no '='", count/2+1)
		}
		for _, part := range [...][]byte{name, value} {
			if decoded, ok = unescape(decoded, part); !ok {
				return nil, nil, provider.Refuse(provider.ErrMalformed, codeFormSyntax, "bad %% escape in field %d", count/2+1)
			}
			ends[count] = len(decoded)
			count++
		}
	}
	f = make(form, 0, separators+1)
	text, start := string(decoded), 0
	for i := 0; i < count; i += 2 {
		f = append(f, field{text[start:ends[i]], text[ends[i]:ends[i+1]]})
		start = ends[i+1]
	}
	return f, decoded[:0], f.order()
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

// unescape appends part, percent-decoded once, with plus signs as blanks.
func unescape(to, part []byte) ([]byte, bool) {
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			if i+2 >= len(part) {
				return to, false
			}
			hi, lo := unhex[part[i+1]], unhex[part[i+2]]
			if hi|lo > 0xf {
				return to, false
			}
			c = hi<<4 | lo
			i += 2
		}
		to = append(to, c)
	}
	return to, true
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
