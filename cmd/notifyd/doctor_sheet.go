package main

import (
	"fmt"
	"strings"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/doctor"
)

// doctorSheet gathers the lines and, for people, prints each as it comes: some
// take seconds.
type doctorSheet struct {
	*app
	asJSON bool

	lines   []doctor.Line
	skipped []doctor.Line // that are printed as one
	broken  error         // the output cannot be written
}

// doctorReport is what doctor --json prints.
type doctorReport struct {
	OK      bool          `json:"ok"` // nothing failed
	Failed  int           `json:"failed"`
	Warned  int           `json:"warned"`
	Skipped int           `json:"skipped"`
	Lines   []doctor.Line `json:"lines"`
}

func (s *doctorSheet) tell(l doctor.Line) {
	s.lines = append(s.lines, l)
	if s.asJSON {
		return
	}
	if l.Status != doctor.Skipped || len(s.skipped) > 0 && (s.skipped[0].Subject != l.Subject || s.skipped[0].Text != l.Text) {
		s.flush()
	}
	if l.Status == doctor.Skipped {
		s.skipped = append(s.skipped, l)
		return
	}
	s.write(l)
}

// flush prints the checks that were skipped for one reason.
func (s *doctorSheet) flush() {
	if len(s.skipped) == 0 {
		return
	}
	one := s.skipped[0]
	var names []string
	for _, l := range s.skipped {
		names = append(names, l.Check)
	}
	one.Check = strings.Join(names, ", ")
	s.skipped = nil
	s.write(one)
}

var statusColours = map[doctor.Status]string{doctor.OK: green, doctor.Warn: yellow, doctor.Fail: red, doctor.Skipped: dim}

func (s *doctorSheet) write(l doctor.Line) {
	status := fmt.Sprintf("%-7s", l.Status)
	if s.colour(s.out) {
		status = inColour(statusColours[l.Status], status)
	}
	subject := ""
	if l.Subject != "" {
		subject = " [" + shown(l.Subject) + "]"
	}
	text := fmt.Sprintf("%s  %s%s: %s\n", status, l.Check, subject, shown(l.Text))
	if l.Fix != "" {
		text += fmt.Sprintf("         fix: %s\n", shown(l.Fix))
	}
	if s.broken == nil {
		s.broken = s.print([]byte(text))
	}
}

// end prints what is left and ends the run.
func (s *doctorSheet) end() error {
	s.flush()
	r := doctorReport{Lines: s.lines}
	for _, l := range s.lines {
		switch l.Status {
		case doctor.Fail:
			r.Failed++
		case doctor.Warn:
			r.Warned++
		case doctor.Skipped:
			r.Skipped++
		}
	}
	r.OK = r.Failed == 0
	if s.asJSON {
		s.broken = s.printJSON(r)
	}
	if s.broken != nil {
		return s.broken
	}
	summary := fmt.Sprintf("%s: %d failed, %s, %d skipped", count(len(s.lines), "check"), r.Failed, count(r.Warned, "warning"), r.Skipped)
	if !r.OK {
		return exitWith(exitUnhealthy, "%s", summary)
	}
	fmt.Fprintf(s.err, "notifyd: %s\n", summary)
	return nil
}

// tellConfig makes lines of what is left of the report when the accounts have
// taken theirs.
func tellConfig(tell func(doctor.Line), path string, report *config.Report) {
	for _, f := range report.Errors {
		tell(doctor.Line{Check: doctor.Config, Status: doctor.Fail, Text: f.String(), Fix: "correct it; notifyd check --config " + path + " lists all"})
	}
	for _, f := range report.Warnings {
		tell(doctor.Line{Check: doctor.Config, Status: doctor.Warn, Text: f.String(), Fix: "see docs/configuration.md"})
	}
	if len(report.Errors) == 0 && len(report.Warnings) == 0 {
		tell(doctor.Line{Check: doctor.Config, Status: doctor.OK, Text: path + " can be read, and says nothing wrong"})
	}
}
