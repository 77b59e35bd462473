package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// Edit changes a field of a notification before it is signed.
//
// A path names a field of what the message says: amount.total, sub_orders.0.mchid
// (v3: within the encrypted content), total_fee (v2), trade_status (Alipay). A
// JSON text within a form has paths, too: fund_bill_list.0.amount. Before a path,
// envelope. means what stands around the encrypted content (v3: the body; v2: the
// outer fields of a refund), and header. a header of the request, which is set
// after signing.
type Edit struct {
	path string
	text string // the value as it was given
	kind editKind
}

type editKind int

const (
	setKeeping editKind = iota // the type of the field stays
	setJSON                    // the text is JSON and says its type
	drop
)

func (k editKind) String() string {
	if k == drop {
		return "leave out"
	}
	return "set"
}

const (
	envelopePrefix = "envelope."
	headerPrefix   = "header."
)

// Set changes a field and keeps its type: text stays text, a number a number
// where the value is one. A field that is not there yet becomes what the value
// reads as in JSON, or else text.
func Set(path, value string) Edit { return Edit{path: path, text: value} }

// SetJSON gives a field a value in JSON, whose type it then has.
func SetJSON(path, value string) Edit { return Edit{path: path, text: value, kind: setJSON} }

// Drop leaves a field out.
func Drop(path string) Edit { return Edit{path: path, kind: drop} }

// String says what the edit does, for instance "amount.total changed".
func (e Edit) String() string {
	if e.kind == drop {
		return e.path + " left out"
	}
	return e.path + " changed"
}

// ParseEdit reads path=value ([Set]) or path:=JSON ([SetJSON]).
func ParseEdit(s string) (Edit, error) {
	path, value, found := strings.Cut(s, "=")
	if !found || path == "" || path == ":" {
		return Edit{}, fmt.Errorf("%q is not path=value", s)
	}
	if typed, ok := strings.CutSuffix(path, ":"); ok {
		if !json.Valid([]byte(value)) {
			return Edit{}, fmt.Errorf("%q: what follows := is not JSON; text stands in quotes there", s)
		}
		return SetJSON(typed, value), nil
	}
	return Set(path, value), nil
}

// header is the name of the header that the edit is about.
func (e Edit) header() (name string, ok bool) {
	name, ok = strings.CutPrefix(e.path, headerPrefix)
	return name, ok && e.kind == setKeeping && name != ""
}

// within is the edit of what a prefix stands for.
func (e Edit) within(prefix string) (Edit, bool) {
	rest, ok := strings.CutPrefix(e.path, prefix)
	e.path = rest
	return e, ok && rest != ""
}

// value is the JSON that takes the place of old, which is nil for a new field.
func (e Edit) value(old []byte) []byte {
	isNumber := len(old) > 0 && (old[0] == '-' || old[0] >= '0' && old[0] <= '9')
	switch {
	case e.kind == setJSON,
		len(old) > 0 && old[0] != '"' && !isNumber && json.Valid([]byte(e.text)),
		isNumber && isJSONNumber(e.text),
		old == nil && json.Valid([]byte(e.text)):
		return []byte(e.text)
	}
	return quoted(e.text)
}

func isJSONNumber(s string) bool {
	var n json.Number
	return json.Unmarshal([]byte(s), &n) == nil && s != "" && s[0] != '"' && s != "null"
}

func quoted(s string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a text always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// editJSON changes one value of a document and leaves the order of the others.
func editJSON(document []byte, e Edit) ([]byte, error) {
	out, err := editAt(document, strings.Split(e.path, "."), e)
	if err != nil {
		return nil, fmt.Errorf("cannot %s %s: %w", e.kind, e.path, err)
	}
	return out, nil
}

// editAt is the value at the end of the path changed; value nil: there is none.
func editAt(value []byte, path []string, e Edit) ([]byte, error) {
	if len(path) == 0 {
		return e.value(value), nil
	}
	if value == nil {
		value = []byte("{}")
	}
	members, err := split(value)
	if err != nil {
		return nil, err
	}
	isArray := value[0] == '['
	at := slices.IndexFunc(members, func(m member) bool { return m.name == path[0] })
	if at < 0 && isArray {
		return nil, fmt.Errorf("there is no element %s among %d", path[0], len(members))
	}
	if e.kind == drop && len(path) == 1 {
		if at < 0 {
			return nil, errors.New("it is not there")
		}
		return join(slices.Delete(members, at, at+1), isArray), nil
	}
	if at < 0 {
		members = append(members, member{name: path[0]})
		at = len(members) - 1
	}
	if members[at].value, err = editAt(members[at].value, path[1:], e); err != nil {
		return nil, err
	}
	return join(members, isArray), nil
}

// member is a member of an object, or an element of an array under its index.
type member struct {
	name  string
	value []byte
}

func split(value []byte) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	open, err := decoder.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return nil, fmt.Errorf("%.40s has no fields", value)
	}
	var members []member
	for decoder.More() {
		m := member{name: strconv.Itoa(len(members))}
		if open == json.Delim('{') {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			m.name = name.(string) // what a decoder gives within an object
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, err
		}
		m.value = raw
		members = append(members, m)
	}
	return members, nil
}

func join(members []member, isArray bool) []byte {
	open, end := "{", "}"
	if isArray {
		open, end = "[", "]"
	}
	b := bytes.NewBufferString(open)
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		if !isArray {
			b.Write(quoted(m.name))
			b.WriteByte(':')
		}
		b.Write(m.value)
	}
	b.WriteString(end)
	return b.Bytes()
}

// editForm changes a field of a form, or a value within a field that is JSON.
func editForm(f forge.Form, e Edit) (forge.Form, error) {
	name, path, nested := strings.Cut(e.path, ".")
	if text := f.Get(name); nested && text != "" && (text[0] == '{' || text[0] == '[') {
		e.path = path
		changed, err := editJSON([]byte(text), e)
		return f.With(name, string(changed)), err
	}
	if e.kind == drop {
		if !slices.ContainsFunc(f, func(p forge.Field) bool { return p.Name == e.path }) {
			return nil, fmt.Errorf("cannot %s %s: it is not there", e.kind, e.path)
		}
		return f.Without(e.path), nil
	}
	if e.kind == setJSON { // a form knows text alone
		var text string
		if json.Unmarshal([]byte(e.text), &text) == nil {
			e.text = text
		}
	}
	return f.With(e.path, e.text), nil
}

func (d v3) set(e Edit) (draft, error) {
	if inner, ok := e.within(envelopePrefix); ok {
		d.edits = append(slices.Clip(d.edits), inner)
		// An edit that cannot be made is told now, not when the message is sent.
		_, err := editJSON(d.signer.Envelope(d.event), inner)
		return d, err
	}
	content, err := editJSON(d.event.Content, e)
	d.event.Content = content
	return d, err
}

// envelope is the body as it is signed.
func (d v3) envelope() []byte {
	body := d.signer.Envelope(d.event)
	for _, e := range d.edits {
		if changed, err := editJSON(body, e); err == nil { // set has tried it
			body = changed
		}
	}
	return body
}

func (d v2) set(e Edit) (draft, error) {
	form, err := editForm(d.form, e)
	d.form = form
	return d, err
}

func (d v2Refund) set(e Edit) (draft, error) {
	if outer, ok := e.within(envelopePrefix); ok {
		form, err := editForm(d.outer, outer)
		d.outer = form
		return d, err
	}
	form, err := editForm(d.inner, e)
	d.inner = form
	return d, err
}

func (d form) set(e Edit) (draft, error) {
	fields, err := editForm(d.fields, e)
	d.fields = fields
	return d, err
}
