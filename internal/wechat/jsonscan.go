package wechat

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

func skipSpace(src []byte, pos int) int {
	for pos < len(src) {
		switch src[pos] {
		case ' ', '\t', '\r', '\n':
			pos++
		default:
			return pos
		}
	}
	return pos
}

// scannedString is where the text of a string stands, and of what sort it is.
type scannedString struct {
	start, end int
	escaped    bool // has a backslash
	wide       bool // has bytes above ASCII
	invalid    bool // is not UTF-8
}

// scanString reads the string whose opening quote is at pos and returns where
// the text after its closing quote begins. A text that was cut in the middle of
// a character is taken, as in the attach of a merchant who cuts by bytes: the
// payment is real all the same, and such a value is never used as a number.
func scanString(src []byte, pos int) (scannedString, int, *formFault) {
	s := scannedString{start: pos + 1}
	for i := skipPlain(src, pos+1); i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			s.end = i
			s.invalid = s.wide && !utf8.Valid(src[s.start:s.end])
			return s, i + 1, nil
		case c == '\\':
			s.escaped = true
			n := escapeLength(src[i:])
			if n == 0 {
				return s, i, &formFault{CodeMalformedJSON, "a broken escape in a string", i}
			}
			i += n - 1
		case c < ' ':
			return s, i, &formFault{CodeMalformedJSON, "a control character in a string", i}
		case c >= utf8.RuneSelf:
			s.wide = true
		}
	}
	return s, len(src), &formFault{CodeMalformedJSON, "a string without an end", pos}
}

// skipPlain goes over bytes that say nothing but themselves, eight at a time: most
// of a message is base64. The last seven of src are left to be read one by one.
func skipPlain(src []byte, pos int) int {
	const (
		each = 0x0101_0101_0101_0101 // times a byte: eight of it
		high = each * 0x80
	)
	for ; pos+8 <= len(src); pos += 8 {
		b := binary.LittleEndian.Uint64(src[pos:])
		// A byte's high bit is free in ASCII: it is borrowed where too much is taken
		// away. Only bytes after the first such one can be wronged by its borrowing.
		control, quote, backslash := b-each*' ', (b^each*'"')-each, (b^each*'\\')-each
		if found := (b | control | quote | backslash) & high; found != 0 {
			return pos + bits.TrailingZeros64(found)/8
		}
	}
	return pos
}

// escapeLength is the length of the escape at the start of b; 0 when it is none.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}

// hex4 reads the code unit of the \uXXXX at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends to dst the text of b, which scanString has accepted. Half a
// surrogate pair becomes U+FFFD.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			dst = append(dst, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(b[i-1:])
			i += 4
			if utf16.IsSurrogate(r) {
				second, ok := hex4(b[i+1:])
				if r = utf16.DecodeRune(r, second); ok && r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, b[i])
		}
	}
	return dst
}

// scanLiteral reads a number, true, false or null.
func scanLiteral(src []byte, pos int) (jsonKind, int, *formFault) {
	for _, word := range [...]struct {
		text string
		kind jsonKind
	}{{"true", jsonBool}, {"false", jsonBool}, {"null", jsonNull}} {
		if end := pos + len(word.text); end <= len(src) && string(src[pos:end]) == word.text {
			return word.kind, end, nil
		}
	}
	if end := scanNumber(src, pos); end > pos {
		return jsonNumber, end, nil
	}
	return jsonNull, pos, &formFault{CodeMalformedJSON, "a value is due", pos}
}

// scanNumber returns where the number at pos ends; pos when there is none.
func scanNumber(src []byte, pos int) int {
	digits := func(i int) int {
		for i < len(src) && src[i] >= '0' && src[i] <= '9' {
			i++
		}
		return i
	}
	i := pos
	if i < len(src) && src[i] == '-' {
		i++
	}
	whole := digits(i)
	if whole == i || src[i] == '0' && whole > i+1 {
		return pos
	}
	i = whole
	if i < len(src) && src[i] == '.' {
		fraction := digits(i + 1)
		if fraction == i+1 {
			return pos
		}
		i = fraction
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		exponent := digits(i)
		if exponent == i {
			return pos
		}
		i = exponent
	}
	return i
}
