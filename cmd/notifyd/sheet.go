package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// A story is laid out for terminals of so many columns; where there is none, or
// one that does not say, for the width between.
const (
	leastColumns = 80
	mostColumns  = 120
	usualColumns = 100
)

// width is how many columns there are to write on.
func (a *app) width(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return min(max(columns, leastColumns), mostColumns)
		}
	}
	return usualColumns
}

// tone is how loud a line is.
type tone int

const (
	plain tone = iota
	good
	alarming
)

// sheet lays out text in a column beside times and names.
type sheet struct {
	bytes.Buffer
	columns int
	colour  bool
}

func newSheet(columns int, colour bool) *sheet { return &sheet{columns: columns, colour: colour} }

// take is what was written since the last time.
func (s *sheet) take() []byte {
	text := bytes.Clone(s.Bytes())
	s.Reset()
	return text
}

func (s *sheet) line(text string) {
	s.WriteString(text)
	s.WriteByte('\n')
}

// whoColumns is room for the longest of the usual names; a longer one gets a
// line of its own.
const whoColumns = 12

// entry is a time, who it was, and what.
func (s *sheet) entry(clock string, h happening) {
	margin := 2 + len(clock) + 2 + whoColumns
	who := h.who
	s.WriteString("  " + s.paint(dim, clock) + "  ")
	if n := utf8.RuneCountInString(who); n < whoColumns {
		s.WriteString(who + strings.Repeat(" ", whoColumns-n))
	} else {
		s.WriteString(who + "\n" + strings.Repeat(" ", margin))
	}
	first := true
	for i, text := range h.lines {
		for _, line := range folded(text, s.columns-margin) {
			if !first {
				s.WriteString(strings.Repeat(" ", margin))
			}
			first = false
			if i == 0 {
				line = s.paint(toneColour(h.tone), line)
			}
			s.line(line)
		}
	}
}

// item is one of a list.
func (s *sheet) item(text string) {
	mark := "  - "
	for _, line := range folded(text, s.columns-len(mark)) {
		s.line(mark + line)
		mark = "    "
	}
}

func toneColour(t tone) string {
	switch t {
	case good:
		return green
	case alarming:
		return yellow
	}
	return ""
}

func (s *sheet) paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return inColour(colour, text)
}

// folded cuts a text at its blanks into lines of at most so many columns; a word
// that is longer stands alone.
func folded(text string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
