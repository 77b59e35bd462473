package mend

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Value is JSON with its members in the order in which they stand. Reading
// forgives what a strict reader refuses (a name twice), for what is examined is
// broken by definition.
type Value struct {
	Members []Member // of an object
	Items   []Value  // of an array
	Text    string   // of a string
	Literal string   // of a number, true, false and null
	Kind    ValueKind
}

// Member is one name of an object with its value.
type Member struct {
	Name  string
	Value Value
}

// ValueKind says which field of a Value is in use.
type ValueKind int

// The kinds.
const (
	Literal ValueKind = iota
	Text
	Object
	Array
)

// Get is the value of the first member of that name.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// maxDepth bounds recursion; envelopes nest two deep.
const maxDepth = 32

var errNotJSON = errors.New("not one JSON value")

// ReadJSON reads one JSON value and nothing after it.
func ReadJSON(text string) (Value, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return Value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, errNotJSON
	}
	return v, nil
}

func readValue(d *json.Decoder, depth int) (Value, error) {
	token, err := d.Token()
	if err != nil || depth > maxDepth {
		return Value{}, errNotJSON
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return readObject(d, depth)
		}
		return readArray(d, depth)
	case string:
		return Value{Kind: Text, Text: t}, nil
	case json.Number:
		return Value{Literal: t.String()}, nil
	case bool:
		if t {
			return Value{Literal: "true"}, nil
		}
		return Value{Literal: "false"}, nil
	}
	return Value{Literal: "null"}, nil
}

func readObject(d *json.Decoder, depth int) (Value, error) {
	v := Value{Kind: Object}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return Value{}, errNotJSON
		}
		member, err := readValue(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Members = append(v.Members, Member{name.(string), member})
	}
	_, err := d.Token()
	return v, err
}

func readArray(d *json.Decoder, depth int) (Value, error) {
	v := Value{Kind: Array}
	for d.More() {
		item, err := readValue(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
	}
	_, err := d.Token()
	return v, err
}

// jsonText is the text of a JSON string that is the whole of text.
func jsonText(text string) (string, bool) {
	var inner string
	if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &inner) != nil {
		return "", false
	}
	return inner, true
}

// Style is how an encoder writes JSON.
type Style struct {
	Spaced    bool // ", " and ": " as some encoders do
	ASCII     bool // \uXXXX for everything beyond ASCII
	HTMLSafe  bool // \u003c for < and its like
	SlashSafe bool // \/ for /
}

// Styles are those of the encoders in use, the plain one first.
var Styles = []Style{{}, {Spaced: true}, {ASCII: true}, {SlashSafe: true}, {ASCII: true, SlashSafe: true}, {HTMLSafe: true}, {Spaced: true, ASCII: true}}

// Append writes the value in a style.
func (v Value) Append(to []byte, s Style) []byte {
	comma, colon := ",", ":"
	if s.Spaced {
		comma, colon = ", ", ": "
	}
	switch v.Kind {
	case Object:
		to = append(to, '{')
		for i, m := range v.Members {
			if i > 0 {
				to = append(to, comma...)
			}
			to = append(s.quote(to, m.Name), colon...)
			to = m.Value.Append(to, s)
		}
		return append(to, '}')
	case Array:
		to = append(to, '[')
		for i, item := range v.Items {
			if i > 0 {
				to = append(to, comma...)
			}
			to = item.Append(to, s)
		}
		return append(to, ']')
	case Text:
		return s.quote(to, v.Text)
	}
	return append(to, v.Literal...)
}

func (s Style) quote(to []byte, text string) []byte {
	to = append(to, '"')
	for _, r := range text {
		switch {
		case r == '"', r == '\\':
			to = append(to, '\\', byte(r))
		case r == '/' && s.SlashSafe:
			to = append(to, `\/`...)
		case r == '\n':
			to = append(to, `\n`...)
		case r == '\r':
			to = append(to, `\r`...)
		case r == '\t':
			to = append(to, `\t`...)
		case r < ' ', s.HTMLSafe && (r == '<' || r == '>' || r == '&'):
			to = appendHex(to, uint16(r))
		case s.ASCII && r >= utf8.RuneSelf:
			to = appendUTF16(to, r)
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return append(to, '"')
}

func appendUTF16(to []byte, r rune) []byte {
	if r >= 0x10000 {
		r -= 0x10000
		return appendHex(appendHex(to, uint16(0xd800+r>>10)), uint16(0xdc00+r&0x3ff))
	}
	return appendHex(to, uint16(r))
}

func appendHex(to []byte, unit uint16) []byte {
	const digits = "0123456789abcdef"
	return append(to, '\\', 'u', digits[unit>>12], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
}

// Differences says in words in what two JSON texts of the same message differ:
// "key order", "blanks", "escapes", "names", "members", "values".
func Differences(got, original string) []string {
	a, errA := ReadJSON(got)
	b, errB := ReadJSON(original)
	if errA != nil || errB != nil {
		return nil
	}
	var all []string
	note := func(word string, differs bool) {
		if differs {
			all = append(all, word)
		}
	}
	namesA, namesB := sortedNames(a, ""), sortedNames(b, "")
	note("members", len(namesA) != len(namesB))
	note("names", len(namesA) == len(namesB) && strings.Join(namesA, "\n") != strings.Join(namesB, "\n"))
	note("key order", strings.Join(sameNames(a, namesB), "\n") != strings.Join(sameNames(b, namesA), "\n"))
	note("blanks", blanksIn(got) != blanksIn(original))
	note("escapes", strings.Count(got, `\`) != strings.Count(original, `\`))
	return all
}

// blanksIn counts the blanks outside of strings.
func blanksIn(text string) int {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil {
		return -1
	}
	return len(text) - compact.Len()
}
