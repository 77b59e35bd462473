// Package mend undoes what is known to happen to notifications between a
// provider and whoever verifies them: filters that escape, frameworks that
// decode and encode again, proxies that convert. It answers "what may this have
// been before?"; whether a signature holds over the answer is the adapter's
// affair.
//
// It serves diagnosis alone: no verdict may rest on a mended text. It imports
// the standard library and x/text.
package mend

import (
	"html"
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// Damage is one known way in which a text is changed. Its name is the last part
// of a reason code.
type Damage string

// The damages.
const (
	None         Damage = ""
	HTMLEscaped  Damage = "html_escaped"  // &quot; for ", by an input filter
	Backslashed  Damage = "backslashed"   // \" for ", by an input filter
	PlusLost     Damage = "plus_lost"     // a blank for +, by decoding what was not encoded
	EncodedTwice Damage = "encoded_twice" // %22 for ", by encoding what was encoded
	DecodedTwice Damage = "decoded_twice" // " for %22, by decoding what was decoded
	Transcoded   Damage = "transcoded"    // other bytes for the same characters
	LineEnds     Damage = "line_ends"     // LF for CRLF or the other way round, one more or fewer at the end
	Wrapped      Damage = "wrapped"       // the whole text as a JSON string, or with a byte order mark before it
)

// ways are what a text may have been before a damage, each made when it is asked
// for: there are hundreds of some, and texts may be long.
type ways func(way int) (before string, is bool)

// listed are a few ways.
func listed(undo func(string) []string) func(string) ways {
	return func(text string) ways {
		all := undo(text)
		return func(way int) (string, bool) {
			if way >= len(all) {
				return "", false
			}
			return all[way], true
		}
	}
}

// undos are the ways back, in the order in which they are tried: what shows
// itself plainly comes first. There is none for a text without a sign of the damage.
var undos = [...]struct {
	damage Damage
	undo   func(string) ways
}{
	{Wrapped, listed(unwrap)}, {LineEnds, listed(lineEnds)}, {HTMLEscaped, listed(unescapeHTML)}, {Backslashed, listed(stripSlashes)},
	{EncodedTwice, listed(percentDecode)}, {Transcoded, listed(transcode)}, {PlusLost, plusBack}, {DecodedTwice, listed(percentEncode)},
}

// Undone yields what a text may have been before each damage that it shows
// signs of. The text itself is not among them.
func Undone(text string) iter.Seq2[Damage, string] {
	return func(yield func(Damage, string) bool) {
		for _, u := range undos {
			undone := u.undo(text)
			for way := 0; ; way++ {
				before, is := undone(way)
				if !is {
					break
				}
				if before != text && !yield(u.damage, before) {
					return
				}
			}
		}
	}
}

// UndoneAll yields what the values of a form may have been: each damage undone in
// all of them, and then in one alone.
func UndoneAll(values []string) iter.Seq2[Damage, []string] {
	return func(yield func(Damage, []string) bool) {
		for _, u := range undos {
			undone := make([]ways, len(values))
			for i, v := range values {
				undone[i] = u.undo(v)
			}
			for way := 0; ; way++ {
				all, changed, is := undoneIn(values, undone, way)
				if !is {
					break
				}
				if len(changed) > 0 && !yield(u.damage, all) {
					return
				}
				for _, only := range changed {
					one := slices.Clone(values)
					one[only] = all[only]
					if !yield(u.damage, one) {
						return
					}
				}
			}
		}
	}
}

// undoneIn is the values with one way of a damage undone wherever there is that
// way, and which of them it changes; is: there was one at all.
func undoneIn(values []string, undone []ways, way int) (all []string, changed []int, is bool) {
	all = slices.Clone(values)
	for i := range values {
		before, has := undone[i](way)
		is = is || has
		if has && before != values[i] {
			all[i], changed = before, append(changed, i)
		}
	}
	return all, changed, is
}

const byteOrderMark = "\uFEFF"

func unwrap(text string) []string {
	bare := strings.TrimPrefix(text, byteOrderMark)
	before := []string{bare}
	if inner, ok := jsonText(strings.TrimSpace(bare)); ok {
		before = append(before, inner)
	}
	return before
}

// lineEnds are the forms that editors, terminals and text modes make of one
// another.
func lineEnds(text string) []string {
	unix := strings.ReplaceAll(text, "\r\n", "\n")
	trimmed := strings.TrimRight(text, "\r\n")
	return []string{
		trimmed, trimmed + "\n", trimmed + "\r\n",
		unix, strings.ReplaceAll(unix, "\n", "\r\n"), strings.ReplaceAll(unix, "\r", "\n"),
		strings.ReplaceAll(unix, "\n", ""), strings.TrimSpace(text),
		strings.ReplaceAll(text, `\r\n`, "\r\n"), strings.ReplaceAll(text, `\n`, "\n"),
		text + " ", " " + text,
	}
}

// unescapeHTML undoes the escaping of the usual filters, once and twice, and of
// those that know fewer entities.
func unescapeHTML(text string) []string {
	if !strings.Contains(text, "&") {
		return nil
	}
	once := html.UnescapeString(text)
	return []string{
		once, html.UnescapeString(once),
		strings.ReplaceAll(text, "&quot;", `"`),
		strings.ReplaceAll(text, "&amp;", "&"),
	}
}

func stripSlashes(text string) []string {
	if !strings.Contains(text, `\`) {
		return nil
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return []string{b.String(), strings.ReplaceAll(text, `\"`, `"`), strings.ReplaceAll(text, `\/`, "/")}
}

func percentDecode(text string) []string {
	if !strings.Contains(text, "%") {
		return nil
	}
	var before []string
	if once, err := url.QueryUnescape(text); err == nil {
		before = append(before, once)
	}
	if once, err := url.PathUnescape(text); err == nil {
		before = append(before, once)
	}
	return before
}

// percentEncode writes a text as the merchant may have encoded it before it was
// decoded once too often.
func percentEncode(text string) []string {
	plus := url.QueryEscape(text)
	blanks := strings.ReplaceAll(plus, "+", "%20")
	return []string{plus, blanks, lowerHex(plus), lowerHex(blanks)}
}

func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// maxBlanks bounds the blanks of which every choice is tried: some were blanks
// from the beginning.
const maxBlanks = 8

// plusBack puts plus signs in the place of all blanks, and then of every choice.
func plusBack(text string) ways {
	blanks := strings.Count(text, " ")
	last := 0
	switch {
	case blanks == 0:
		last = -1
	case blanks <= maxBlanks:
		last = 1<<blanks - 1
	}
	return func(way int) (string, bool) {
		switch {
		case way > last:
			return "", false
		case way == 0:
			return strings.ReplaceAll(text, " ", "+"), true
		}
		before, blank := []byte(text), 0
		for i, c := range before {
			if c != ' ' {
				continue
			}
			if way>>blank&1 == 1 {
				before[i] = '+'
			}
			blank++
		}
		return string(before), true
	}
}

// transcode undoes conversions between UTF-8 and the charsets that software
// falls back to.
func transcode(text string) []string {
	if isASCII(text) {
		return nil
	}
	var before []string
	if utf8.ValidString(text) {
		// It was Chinese bytes, and somebody made UTF-8 of them.
		if b, err := simplifiedchinese.GB18030.NewEncoder().String(text); err == nil {
			before = append(before, b)
		}
		// It was UTF-8, and somebody took each byte for a character.
		for _, one := range []*charmap.Charmap{charmap.ISO8859_1, charmap.Windows1252} {
			if b, err := one.NewEncoder().String(text); err == nil {
				before = append(before, b)
			}
		}
		return before
	}
	// It was UTF-8, and somebody made Chinese bytes of it.
	if s, err := simplifiedchinese.GB18030.NewDecoder().String(text); err == nil {
		before = append(before, s)
	}
	return before
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
