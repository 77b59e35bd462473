package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/notifyd/notifyd/internal/order"
)

// Widths of the columns after the file's name. They are those of the longest
// verdict and outcome; order numbers and statuses are mostly shorter.
const (
	verdictWidth = len(verdictUnavailable)
	outcomeWidth = len(order.Unhandled)
	numberWidth  = 20
	statusWidth  = len("completed")
)

// show writes what became of each capture to stdout at once, and counts.
type show struct {
	*app
	asJSON   bool
	width    int // of the longest file name
	bar      *progressbar.ProgressBar
	total    int
	refused  int
	verdicts map[string]int
	outcomes map[order.Outcome]int
}

func newShow(a *app, paths []string, asJSON bool) *show {
	s := &show{app: a, asJSON: asJSON, total: len(paths), verdicts: map[string]int{}, outcomes: map[order.Outcome]int{}}
	for _, path := range paths {
		s.width = max(s.width, len(path))
	}
	s.bar = newBar(a.err, "replay", len(paths), isTerminal(a.err))
	return s
}

// barRedraw is how often the bar may be drawn: captures can be faster than a
// terminal.
const barRedraw = 100 * time.Millisecond

func newBar(w io.Writer, what string, total int, visible bool) *progressbar.ProgressBar {
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetVisibility(visible),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(barRedraw),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(what))
}

// isTerminal says whether somebody sits at an end: what is read or written.
func isTerminal(end any) bool {
	f, ok := end.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// add shows one capture.
func (s *show) add(p played) error {
	p = p.settle()
	s.verdicts[p.Verdict]++
	if p.Outcome != nil {
		s.outcomes[*p.Outcome]++
	}
	if p.Verdict == verdictRefused {
		s.refused++
	}
	_ = s.bar.Clear() // a line must not be written into the bar
	if err := s.print(s.line(p)); err != nil {
		return err
	}
	_ = s.bar.Add(1) // an ornament: that it cannot be drawn is no fault
	return nil
}

func (s *show) line(p played) []byte {
	if s.asJSON {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(p) // texts, numbers and times always marshal
		return []byte(b.String())
	}
	c := p.columns()
	line := fmt.Sprintf("%-*s  %-*s  %-*s  %-*s  %-*s  %s", s.width, c[0], verdictWidth, c[1], outcomeWidth, c[2],
		numberWidth, c[3], statusWidth, c[4], c[5])
	return []byte(strings.TrimRight(line, " ") + "\n")
}

// end sums up on stderr.
func (s *show) end() {
	_ = s.bar.Finish()
	done := 0
	var verdicts []string
	for _, v := range []string{verdictAccepted, verdictRefused, verdictUnavailable} {
		if n := s.verdicts[v]; n > 0 {
			done += n
			text := fmt.Sprintf("%d %s", n, v)
			if v == verdictAccepted {
				text += s.ofWhich()
			}
			verdicts = append(verdicts, text)
		}
	}
	text := count(done, "capture")
	if done < s.total {
		text = fmt.Sprintf("%d of %s", done, count(s.total, "capture"))
	}
	if len(verdicts) > 0 {
		text += ": " + strings.Join(verdicts, ", ")
	}
	fmt.Fprintln(s.err, text)
}

// ofWhich counts the outcomes of what was accepted, in brackets; a server that
// captures are sent to does not tell them.
func (s *show) ofWhich() string {
	var outcomes []string
	for _, o := range order.Outcomes() {
		if n := s.outcomes[o]; n > 0 {
			outcomes = append(outcomes, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(outcomes) == 0 {
		return ""
	}
	return " (" + strings.Join(outcomes, ", ") + ")"
}
