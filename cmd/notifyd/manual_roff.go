package main

import (
	"bytes"
	"fmt"
	"strings"
)

// roff writes the language of manual pages: man(7).
type roff struct{ bytes.Buffer }

// escaped is a text as roff reads it back: a backslash would begin something,
// and a hyphen alone becomes another character, which nobody can copy.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}

// request is a line that asks for something.
func (r *roff) request(name string, args ...string) {
	r.WriteString("." + name)
	for _, a := range args {
		fmt.Fprintf(r, ` "%s"`, strings.ReplaceAll(a, `"`, `\(dq`))
	}
	r.WriteByte('\n')
}

func (r *roff) section(name string) { r.request("SH", name) }

// text is a line that was escaped. A point or a quote at its beginning would be
// a request.
func (r *roff) text(line string) {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		r.WriteString(`\&`)
	}
	r.WriteString(line + "\n")
}

// paragraphs are cut at empty lines. What is set off by blanks stays as it is.
func (r *roff) paragraphs(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			r.request("PP")
		}
		if strings.HasPrefix(paragraph, " ") {
			r.verbatim(paragraph)
			continue
		}
		for line := range strings.Lines(paragraph) {
			r.text(escaped(strings.TrimSuffix(line, "\n")))
		}
	}
}

// verbatim keeps lines and blanks.
func (r *roff) verbatim(text string) {
	r.request("nf")
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		r.text(escaped(strings.TrimSuffix(line, "\n")))
	}
	r.request("fi")
}

// item is a word and what it means.
func (r *roff) item(word, means string) {
	r.request("TP")
	r.request("B", escaped(word))
	r.text(escaped(means))
}
