package forge

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// Field is one parameter of a form; the value is its bytes before percent
// encoding, in the form's charset.
type Field struct{ Name, Value string }

// Form is a form in the order in which it is sent.
type Form []Field

// NewForm is a form of alternating names and values.
func NewForm(namesAndValues ...string) Form {
	var f Form
	for pair := range slices.Chunk(namesAndValues, 2) {
		f = append(f, Field{pair[0], pair[1]})
	}
	return f
}

// Get is the value of the first field of that name.
func (f Form) Get(name string) string {
	for _, p := range f {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// With is the form with the field changed, or added at the end.
func (f Form) With(name, value string) Form {
	c := slices.Clone(f)
	for i := range c {
		if c[i].Name == name {
			c[i].Value = value
			return c
		}
	}
	return append(c, Field{name, value})
}

// Without is the form without the named fields.
func (f Form) Without(names ...string) Form {
	return slices.DeleteFunc(slices.Clone(f), func(p Field) bool { return slices.Contains(names, p.Name) })
}

// GBK is the form with every value in GB18030 (a superset of GBK and GB2312) and
// charset set to label.
func (f Form) GBK(label string) Form {
	c := f.With("charset", label)
	encoder := simplifiedchinese.GB18030.NewEncoder()
	for i := range c {
		value, err := encoder.String(c[i].Value)
		if err != nil {
			panic(err) // GB18030 has every character
		}
		c[i].Value = value
	}
	return c
}

// Encode is the form as it goes over the wire: blanks as plus signs.
func (f Form) Encode() []byte {
	var b strings.Builder
	for i, p := range f {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.Name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(p.Value))
	}
	return []byte(b.String())
}

// Rule says what of a form Alipay signs. The zero Rule is the ordinary one:
// everything except sign and sign_type.
// Source: Alipay docs, "verify the signature of asynchronous notifications".
type Rule struct {
	KeepSignType bool // as for life account events
	DropEmpty    bool // leave out fields without a value
}

// Text is the text that Alipay signs: name=value joined by &, sorted by name,
// values neither encoded nor trimmed.
func (f Form) Text(r Rule) string {
	var pairs []string
	for _, p := range slices.SortedStableFunc(slices.Values(f), func(a, b Field) int { return strings.Compare(a.Name, b.Name) }) {
		if p.Name == "sign" || p.Name == "sign_type" && !r.KeepSignType || p.Value == "" && r.DropEmpty {
			continue
		}
		pairs = append(pairs, p.Name+"="+p.Value)
	}
	return strings.Join(pairs, "&")
}
