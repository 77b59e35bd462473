package provider

import "strings"

// Where a JSON value ends is found by its brackets and quotes alone: what is
// masked may be cut, escaped or no JSON at all. What has no end goes to the end of
// the text, for too much hidden is better than too little.

// quoteAt is the quote that a text begins with, with the backslashes before it; ""
// when there is none.
func quoteAt(text string) string {
	n := len(text) - len(strings.TrimLeft(text, `\`))
	if strings.HasPrefix(text[n:], `"`) {
		return text[:n+1]
	}
	return firstOf(text, "&quot;", "&#34;", "%22")
}

// firstOf is which of some words a text begins with, in letters of either case.
func firstOf(text string, words ...string) string {
	for _, w := range words {
		if len(text) >= len(w) && strings.EqualFold(text[:len(w)], w) {
			return text[:len(w)]
		}
	}
	return ""
}

// valueLength is how long the JSON value is with which a text begins.
func valueLength(text string) int {
	if quote := quoteAt(text); quote != "" {
		return len(quote) + stringLength(text[len(quote):], quote)
	}
	depth := 0
	for i := 0; i < len(text); {
		if quote := quoteAt(text[i:]); quote != "" {
			i += len(quote)
			i += stringLength(text[i:], quote)
			continue
		}
		size := 1
		switch {
		case text[i] == '\\':
			for i+size < len(text) && text[i+size] == '\\' { // none of them is looked at again
				size++
			}
		case firstOf(text[i:], "{", "[", "%7b", "%5b") != "":
			size = len(firstOf(text[i:], "{", "[", "%7b", "%5b"))
			depth++
		case firstOf(text[i:], "}", "]", "%7d", "%5d") != "":
			if depth == 0 {
				return i // of what is around it
			}
			size = len(firstOf(text[i:], "}", "]", "%7d", "%5d"))
			if depth--; depth == 0 {
				return i + size
			}
		case depth == 0 && firstOf(text[i:], ",", "%2c", "&", "\n") != "":
			return i
		}
		i += size
	}
	return len(text)
}

// stringLength is how far the end of a string is, with the quote that ends it.
func stringLength(text, quote string) int {
	if quote[len(quote)-1] != '"' {
		for i := range len(text) {
			if firstOf(text[i:], quote) != "" {
				return i + len(quote)
			}
		}
		return len(text)
	}
	slashes, outer := 0, len(quote)-1
	for i := range len(text) {
		switch {
		case text[i] == '\\':
			slashes++
			continue
		case text[i] == '"' && (slashes == outer || outer == 0 && slashes%2 == 0):
			return i + 1
		}
		slashes = 0
	}
	return len(text)
}
