package order

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object that is written member after member, byte for byte as
// encoding/json would write it, at a third of the cost: for what every
// notification writes. The names are those of the shapes in view.go and
// numbers.go; the tests hold both ways to one text.
type object []byte

// begin begins an object behind what b holds.
func begin(b []byte) object { return append(b, '{') }

func (o object) end() []byte { return append(o, '}') }

// name begins a member; the name is one of ours and plain.
func (o object) name(name string) object {
	o = append(o.comma(), '"')
	o = append(o, name...)
	return append(o, '"', ':')
}

// nameOf begins a member whose name is anybody's text.
func (o object) nameOf(text string) object {
	return append(appendText(o.comma(), text), ':')
}

func (o object) comma() object {
	if o[len(o)-1] != '{' {
		o = append(o, ',')
	}
	return o
}

func (o object) text(name, value string) object { return appendText(o.name(name), value) }

func (o object) textOrNull(name, value string) object {
	if value == "" {
		return o.null(name)
	}
	return o.text(name, value)
}

func (o object) number(name string, value int64) object {
	return strconv.AppendInt(o.name(name), value, 10)
}

func (o object) numberOrNull(name string, value *int64) object {
	return appendNumberOrNull(o.name(name), value)
}

func (o object) flag(name string, value bool) object {
	return strconv.AppendBool(o.name(name), value)
}

func (o object) moment(name string, value time.Time) object {
	return Moment(value).append(o.name(name))
}

func (o object) null(name string) object { return append(o.name(name), "null"...) }

func appendNumberOrNull[B ~[]byte](b B, value *int64) B {
	if value == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, *value, 10)
}

func appendText[B ~[]byte](b B, text string) B {
	if !isPlain(text) {
		quoted, _ := json.Marshal(text) // a string always marshals
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// isPlain says whether a JSON text is the text itself between quotes.
func isPlain(text string) bool {
	for i := range len(text) {
		if !plain[text[i]] {
			return false
		}
	}
	return true
}

// plain are the bytes that stand for themselves: printable ASCII, without what
// would end a text or, in a page, begin something else.
var plain = func() (is [256]bool) {
	for c := ' '; c <= '~'; c++ {
		is[c] = !strings.ContainsRune(`"\\<>&`, c)
	}
	return is
}()
