package provider

import (
	"html"
	"regexp"
	"strconv"
)

// encodings is how often a text may have been encoded.
const encodings = 4

// Escapes of JSON, also of JSON in JSON, of URLs and of HTML. Those of HTML that
// need no semicolon are none here: in a form &cents=1 is a field.
var escapes = regexp.MustCompile(`\\+u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|&#?[0-9a-zA-Z]{1,8};`)

// Decode is a text without escapes, to find the names in it: what is none stays, and
// nothing is ever refused.
func Decode(text string) string {
	for range encodings {
		plain := escapes.ReplaceAllStringFunc(text, unescape)
		if plain == text {
			break
		}
		text = plain
	}
	return text
}

func unescape(escape string) string {
	switch escape[0] {
	case '&':
		return html.UnescapeString(escape)
	case '%':
		if code, err := strconv.ParseUint(escape[1:], 16, 8); err == nil {
			return string([]byte{byte(code)})
		}
	default:
		if code, err := strconv.ParseUint(escape[len(escape)-4:], 16, 16); err == nil {
			return string(rune(code))
		}
	}
	return escape
}
