// Package redact takes out of a captured message what is not for everybody's
// eyes: persons, amounts, texts, by choice. It goes by the names of fields, in
// JSON, XML and forms; a body that it cannot read is left away whole, because
// nobody knows what is in it. What it leaves stays as it was, byte for byte.
//
// It imports provider, for the kinds of what is sensitive.
package redact

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

// mask stands in the place of what was taken out. It says nothing of its length.
const mask = "***"

// Kinds are those that may be chosen.
func Kinds() []provider.Sensitive {
	return []provider.Sensitive{provider.SensitiveOpenID, provider.SensitiveBuyer, provider.SensitiveNames,
		provider.SensitiveAmounts, provider.SensitiveTexts, provider.SensitiveEncrypted}
}

// all stands for every kind in a choice.
const all = "all"

// Choose reads a choice like "openid,amounts" or "all".
func Choose(text string) ([]provider.Sensitive, error) {
	var chosen []provider.Sensitive
	for word := range strings.SplitSeq(text, ",") {
		kind := provider.Sensitive(strings.TrimSpace(word))
		switch {
		case kind == all:
			return Kinds(), nil
		case !slices.Contains(Kinds(), kind):
			return nil, fmt.Errorf("%q is none of %s, all", word, words(Kinds()))
		case !slices.Contains(chosen, kind):
			chosen = append(chosen, kind)
		}
	}
	return chosen, nil
}

func words(kinds []provider.Sensitive) string {
	var all []string
	for _, k := range kinds {
		all = append(all, string(k))
	}
	return strings.Join(all, ", ")
}

// Redactor takes chosen kinds out of messages. It is safe for concurrent use.
type Redactor struct {
	fields *provider.Fields
	chosen []provider.Sensitive
}

// New makes a redactor. The fields of all providers count in every message: one
// that was sent to the wrong account is another provider's.
func New(chosen []provider.Sensitive, fields ...map[string]provider.Sensitive) *Redactor {
	return &Redactor{fields: provider.NewFields(fields...), chosen: chosen}
}

// Done is what became of a message.
type Done struct {
	Masked []provider.Sensitive // the kinds that were found and taken out
	Whole  bool                 // the body could not be read and was left away
	Sealed bool                 // it holds encrypted content, which was not chosen and is still there
}

// Changed says whether the body is another than before.
func (d *Done) Changed() bool { return d.Whole || len(d.Masked) > 0 }

// What says what was taken out, for a capture's mark.
func (d *Done) What() string {
	if d.Whole {
		return "the whole body (it could not be read)"
	}
	return words(d.Masked)
}

// Body takes the chosen kinds out of a body. Where nothing of them is found the
// body stays as it is, and its signature still holds.
func (r *Redactor) Body(body []byte) ([]byte, Done) {
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 {
		return body, Done{}
	}
	pass := func(proof bool) (*finding, error) {
		f := &finding{r: r, body: body, proof: proof}
		switch text[0] {
		case '{', '[':
			return f, f.json()
		case '<':
			return f, f.xml()
		}
		return f, f.form()
	}
	f, err := pass(false)
	if err == nil && len(f.cuts) > 0 {
		f, err = pass(true) // once anything goes, what proves the rest goes too
	}
	if err != nil {
		return []byte(mask), Done{Whole: true}
	}
	return f.result(), f.Done
}

// finding is one pass over a body.
type finding struct {
	r     *Redactor
	body  []byte
	proof bool // signatures go as well
	cuts  []cut
	Done
}

// unreadable is the kind of a piece of a form that is no NAME=VALUE.
const unreadable provider.Sensitive = "what could not be read"

// cut is a part of the body and what takes its place.
type cut struct {
	from, to int
	by       string
}

var errUnreadable = errors.New("the body is not read to its end")

// goes says whether fields of a kind are to go.
func (f *finding) goes(kind provider.Sensitive) bool {
	return kind == provider.SensitiveToken || // always: it lets its holder act
		kind == provider.SensitiveProof && f.proof || slices.Contains(f.r.chosen, kind)
}

// sensitive is the kind of a name, if it is one that goes.
func (f *finding) sensitive(name string) (provider.Sensitive, bool) {
	kind := f.ofWords(provider.Decode(name), f.r.fields.Kind)
	return kind, kind != ""
}

// ofWords is the kind of the first word of a text that goes by it, "" of none.
func (f *finding) ofWords(text string, kindOf func(string) provider.Sensitive) provider.Sensitive {
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return !isNameRune(c) }) {
		if kind := kindOf(word); f.goes(kind) {
			return kind
		}
	}
	return ""
}

// sealed notes encrypted content that stays.
func (f *finding) sealed(name, value string) {
	if f.r.fields.Kind(name) == provider.SensitiveEncrypted && value != "" && value[0] != '{' {
		f.Sealed = true
	}
}

// nameIn is what stands like a name in JSON, XML or a form.
var nameIn = regexp.MustCompile(`<[\w.-]+|[\w.-]+["'\\\]\s]*[:=>]+`)

// leaf is the kind of what a text within a field holds: JSON, a form or XML in a
// value is not taken apart, it goes as a whole when one of its names is to go. A
// name of the tables counts wherever it stands; one that only looks sensitive must
// stand like a name, for the letters of a signature look like anything.
func (f *finding) leaf(text string) (provider.Sensitive, bool) {
	if !structured(text) {
		return "", false
	}
	text = provider.Decode(text)
	if kind := f.ofWords(text, f.r.fields.Listed); kind != "" {
		return kind, true
	}
	for _, at := range nameIn.FindAllStringIndex(text, -1) {
		if at[1] == len(text) {
			break // nothing is behind it, as behind the = that base64 ends in
		}
		if kind := f.ofWords(text[at[0]:at[1]], f.r.fields.Kind); kind != "" {
			return kind, true
		}
	}
	return "", false
}

// structured says whether a text may hold fields of its own.
func structured(text string) bool { return strings.ContainsAny(text, "{[=:<&%\\") }

func (f *finding) cut(from, to int, by string, kind provider.Sensitive) {
	if from == to {
		return
	}
	f.cuts = append(f.cuts, cut{from, to, by})
	if kind != provider.SensitiveProof && !slices.Contains(f.Masked, kind) {
		f.Masked = append(f.Masked, kind)
		slices.Sort(f.Masked)
	}
}

// result is the body without its cuts, which are in order.
func (f *finding) result() []byte {
	var out []byte
	at := 0
	for _, c := range f.cuts {
		out = append(append(out, f.body[at:c.from]...), c.by...)
		at = c.to
	}
	return append(out, f.body[at:]...)
}

func isNameRune(c rune) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// proves says of a field of the header whether it holds a signature or lets its
// holder act, like Wechatpay-Signature: it goes together with anything else.
func (r *Redactor) proves(name string) bool {
	kind := r.fields.Kind(name)
	return kind == provider.SensitiveProof || kind == provider.SensitiveToken
}

// Capture takes the chosen kinds out of a capture file as notifyd writes it, and
// marks it when something was taken out. The header's signature goes then as well.
func (r *Redactor) Capture(raw []byte) ([]byte, Done, error) {
	head, body, found := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !found {
		return nil, Done{}, errors.New("the capture has no blank line between header and body")
	}
	body, done := r.Body(body)
	if !done.Changed() {
		return raw, done, nil
	}
	var out bytes.Buffer
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, _, isField := bytes.Cut(line, []byte(":"))
		if isField && r.proves(string(name)) {
			continue
		}
		if bytes.EqualFold(name, []byte("Content-Length")) {
			line = []byte("Content-Length: " + strconv.Itoa(len(body)))
		}
		out.Write(line)
		out.WriteString("\r\n")
	}
	out.WriteString(provider.MarkRedacted + ": " + done.What() + "\r\n\r\n")
	out.Write(body)
	return out.Bytes(), done, nil
}
