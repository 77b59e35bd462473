package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is one fault, or one thing to look at, for people.
type Finding struct {
	File   string `json:"file"`
	Line   int    `json:"line"`   // from 1; 0: it has no place in the file
	Column int    `json:"column"` // from 1, in characters
	Path   string `json:"path"`   // the option, "accounts[0].mchid"; "" for the file as a whole
	Text   string `json:"text"`
}

// String is "notifyd.yaml:12:5: accounts[0].mchid: …".
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Text)
	return b.String()
}

// Findings is an error made of all that is wrong.
type Findings []Finding

func (f Findings) Error() string {
	switch len(f) {
	case 0:
		return "nothing is wrong"
	case 1:
		return f[0].String()
	}
	return fmt.Sprintf("%s (and %d more)", f[0], len(f)-1)
}

// Report is what there is to say about a configuration file. With errors it
// must not be used; warnings are worth a look.
type Report struct {
	Errors   Findings
	Warnings Findings
}

// OK says whether the configuration can be used.
func (r *Report) OK() bool { return len(r.Errors) == 0 }

// Fail adds an error, once.
func (r *Report) Fail(f Finding) { r.Errors = add(r.Errors, f) }

// Warn adds a warning, once.
func (r *Report) Warn(f Finding) { r.Warnings = add(r.Warnings, f) }

// Two aliases of one YAML anchor would otherwise report its faults twice.
func add(to Findings, f Finding) Findings {
	if slices.Contains(to, f) {
		return to
	}
	return append(to, f)
}

// Sort puts the findings into the order of the file.
func (r *Report) Sort() {
	for _, list := range []Findings{r.Errors, r.Warnings} {
		slices.SortStableFunc(list, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
	}
}
