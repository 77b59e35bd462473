package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/provider"
)

// marks begin the line of a step.
var marks = map[provider.StepState]string{
	provider.StepOK: "ok", provider.StepFailed: "FAIL", provider.StepNote: "note", provider.StepSkipped: "-",
}

// text is the result for people.
func (r *verified) text(chinese, coloured bool) []byte {
	var b strings.Builder
	paint := func(colour, text string) string {
		if !coloured {
			return text
		}
		return inColour(colour, text)
	}
	for _, s := range r.Steps {
		mark := fmt.Sprintf("%-4s", marks[s.State])
		switch s.State {
		case provider.StepFailed:
			mark = paint(red, mark)
		case provider.StepOK:
			mark = paint(green, mark)
		}
		fmt.Fprintf(&b, "%s  %-10s  %s\n", mark, s.Name, s.Text)
	}
	if r.Signed != nil && r.Signed.Text != nil {
		fmt.Fprintf(&b, "\ntext to be verified (personal fields masked, %d bytes without the mask):\n%s\n", r.Signed.Bytes, visible(*r.Signed.Text))
	}
	b.WriteByte('\n')
	if r.Verdict == verdictVerified {
		b.WriteString(paint(green, verdictVerified) + "\n")
		return []byte(b.String())
	}
	b.WriteString(paint(red, r.Verdict) + "  " + *r.Code + "\n")
	c := r.Cause
	means, fix := c.Means.English, c.Fix.English
	if chinese {
		means, fix = c.Means.Chinese, c.Fix.Chinese
	}
	fmt.Fprintf(&b, "cause    %s: %s\n", c.Code, means)
	if c.Detail != "" {
		fmt.Fprintf(&b, "found    %s\n", c.Detail)
	}
	fmt.Fprintf(&b, "fix      %s\n", fix)
	fmt.Fprintf(&b, "more     notifyd help %s, %s\n", c.Code, c.Anchor)
	return []byte(b.String())
}

// visible is a text in which line ends and bytes that are no characters can be
// seen, for a signature is over every one of them.
func visible(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}
