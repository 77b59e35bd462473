package wechat

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// declaration skips a leading XML declaration; only UTF-8 is accepted.
func (x *flatXML) declaration() bool {
	if !x.at("<?xml ") {
		return true
	}
	end := bytes.Index(x.rest(), []byte("?>"))
	if end < 0 {
		return false
	}
	text := x.src[x.pos+len("<?xml") : x.pos+end]
	x.pos += end + len("?>")
	for i, want := range [...]string{"version", "encoding", "standalone"} {
		trimmed := bytes.TrimLeft(text, " \t\r\n")
		value, rest, ok := pseudoAttribute(trimmed, want)
		if !ok {
			if i == 0 {
				return false
			}
			continue
		}
		// Between two of them stands a blank.
		if len(trimmed) == len(text) {
			return false
		}
		switch {
		case i == 0 && string(value) == "1.0":
		case i == 1 && bytes.EqualFold(value, []byte("utf-8")):
		case i == 2 && (string(value) == "yes" || string(value) == "no"):
		default:
			return false
		}
		text = rest
	}
	return len(bytes.TrimLeft(text, " \t\r\n")) == 0
}

// pseudoAttribute reads name="value" at the start of b.
func pseudoAttribute(b []byte, name string) (value, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(name))
	if !ok {
		return nil, nil, false
	}
	b = bytes.TrimLeft(b, " \t\r\n")
	if b, ok = bytes.CutPrefix(b, []byte("=")); !ok {
		return nil, nil, false
	}
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
		return nil, nil, false
	}
	return bytes.Cut(b[1:], b[:1])
}

// content reads a field's text up to its end tag. One piece is returned where
// it stands; several are joined.
func (x *flatXML) content() ([]byte, *formFault) {
	var value []byte
	pieces := 0
	add := func(piece []byte) {
		switch pieces++; pieces {
		case 1:
			value = piece
		case 2:
			start := len(x.joined)
			x.joined = append(append(x.joined, value...), piece...)
			value = x.joined[start:]
		default:
			// value is the end of joined: growing joined grows it, in place or moved.
			start := len(x.joined) - len(value)
			x.joined = append(x.joined, piece...)
			value = x.joined[start:]
		}
	}
	for x.pos < len(x.src) {
		switch {
		case x.at("</"):
			return value, nil
		case x.at("<![CDATA["):
			x.pos += len("<![CDATA[")
			end := bytes.Index(x.rest(), []byte("]]>"))
			if end < 0 {
				return nil, x.malformed("a CDATA piece without an end")
			}
			add(x.src[x.pos : x.pos+end])
			x.pos += end + len("]]>")
		case x.at("<"):
			if fault := x.markup(); fault != nil {
				return nil, fault
			}
			return nil, x.shape("a nested element is not accepted")
		case x.at("&"):
			piece, fault := x.reference()
			if fault != nil {
				return nil, fault
			}
			add(piece)
		default:
			end := bytes.IndexAny(x.rest(), "<&")
			if end < 0 {
				return nil, x.malformed("a field without an end")
			}
			text := x.src[x.pos : x.pos+end]
			if bytes.Contains(text, []byte("]]>")) {
				return nil, x.malformed("]]> outside CDATA")
			}
			add(text)
			x.pos += end
		}
	}
	return nil, x.malformed("a field without an end")
}

// maxReference is longer than any character reference that is worth reading.
const maxReference = 12

// reference reads one of the five entities of XML or a character by number. No
// other entity exists, for there is no DOCTYPE.
func (x *flatXML) reference() ([]byte, *formFault) {
	window := x.rest()
	window = window[:min(len(window), maxReference)]
	end := bytes.IndexByte(window, ';')
	if end < 0 {
		return nil, x.malformed("& that begins no entity")
	}
	text := string(window[1:end])
	var r rune
	switch text {
	case "lt":
		r = '<'
	case "gt":
		r = '>'
	case "amp":
		r = '&'
	case "apos":
		r = '\''
	case "quot":
		r = '"'
	default:
		var ok bool
		if r, ok = characterByNumber(text); !ok {
			return nil, x.malformed("an entity that XML does not have")
		}
	}
	x.pos += end + 1
	return utf8.AppendRune(nil, r), nil
}

func characterByNumber(text string) (rune, bool) {
	if len(text) < 2 || text[0] != '#' {
		return 0, false
	}
	base, digits := 10, text[1:]
	if digits[0] == 'x' {
		base, digits = 16, digits[1:]
	}
	// ParseUint takes no sign, but an underscore only with base 0.
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune || n == 0xFFFE || n == 0xFFFF || !utf8.ValidRune(rune(n)) {
		return 0, false
	}
	if n < ' ' && n != '\t' && n != '\n' && n != '\r' {
		return 0, false
	}
	return rune(n), true
}

// firstIllegal is the offset of the first byte that a document in UTF-8 cannot
// have; -1 when there is none.
func firstIllegal(src []byte) int {
	for i := 0; i < len(src); {
		c := src[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
			return i
		}
		i += size
	}
	return -1
}
