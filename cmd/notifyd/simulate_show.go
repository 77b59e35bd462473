package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/notifyd/notifyd/client/simulator"
)

// simulatedStep is a message of a scenario and what became of it.
type simulatedStep struct {
	numberedStep
	account  string
	protocol simulator.Protocol
	acked    int // of its copies
	status   int // of the last answer; 0: none
	took     time.Duration
	err      error
}

// asWanted says whether all copies were answered as a receiver has to.
func (d simulatedStep) asWanted() bool {
	if d.Want.Acked {
		return d.acked == d.copies()
	}
	return d.acked == 0 && d.err == nil
}

// verdict is the answer as the provider takes it.
func (d simulatedStep) verdict() string {
	switch {
	case d.err != nil:
		return "unanswered"
	case d.copies() > 1:
		return fmt.Sprintf("%d acked", d.acked)
	case d.acked > 0:
		return "acked"
	}
	return "refused"
}

// shownStep is a step in JSON. Unknown values are null.
type shownStep struct {
	OutTradeNos []string           `json:"out_trade_nos"` // empty: it is about no order
	Step        int                `json:"step"`
	What        string             `json:"what"`
	Account     string             `json:"account"`
	Protocol    simulator.Protocol `json:"protocol"`
	Copies      int                `json:"copies"`
	Acked       int                `json:"acked"`
	HTTPStatus  *int               `json:"http_status"`
	TookMS      float64            `json:"took_ms"`
	Want        *shownWant         `json:"want"` // null after --set and --drop
	AsWanted    *bool              `json:"as_wanted"`
	Error       *string            `json:"error"`
}

// shownWant is what a receiver has to do; the words of notifyd are null where it
// is not known or does not apply.
type shownWant struct {
	Acked   bool    `json:"acked"`
	Outcome *string `json:"outcome"`
	Reason  *string `json:"reason"`
	Code    *string `json:"code"`
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func wantOf(w simulator.Want) *shownWant {
	return &shownWant{w.Acked, orNull(w.Outcome), orNull(w.Reason), orNull(w.Code)}
}

// simulateShow writes what became of each message to stdout at once, and counts.
type simulateShow struct {
	*app
	asJSON, changed bool // changed: the command line did, so nobody knows what is due
	mu              sync.Mutex
	bar             *progressbar.ProgressBar
	total, done     int
	acked, refused  int // messages with all their copies
	otherwise       int
}

func newSimulateShow(a *app, total int, changed, asJSON bool) *simulateShow {
	return &simulateShow{app: a, asJSON: asJSON, changed: changed, total: total, bar: newBar(a.err, "simulate", total, isTerminal(a.err))}
}

// add shows one step.
func (s *simulateShow) add(d simulatedStep) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if d.err == nil {
		s.acked += d.acked
		s.refused += d.copies() - d.acked
		if !s.changed && !d.asWanted() {
			s.otherwise++
		}
	}
	_ = s.bar.Clear() // a line must not be written into the bar
	if err := s.print(s.line(d)); err != nil {
		return err
	}
	_ = s.bar.Add(1) // an ornament: that it cannot be drawn is no fault
	return nil
}

// Widths of columns: of the order numbers that the command makes, and of the
// longest verdict.
const (
	madeNumberWidth  = 24
	simulatedVerdict = len("unanswered")
)

func (s *simulateShow) line(d simulatedStep) []byte {
	if s.asJSON {
		return jsonLine(s.shown(d))
	}
	answer, note := "-", ""
	if d.status != 0 {
		answer = fmt.Sprint(d.status)
	}
	switch {
	case d.err != nil, s.changed:
	case !d.asWanted() && d.Want.Acked:
		note = "  ! a receiver has to take it"
	case !d.asWanted():
		note = "  ! a receiver has to refuse it"
	case d.Want.Code != "":
		note = "  (due: " + d.Want.Code + ")"
	case d.Want.Outcome != "":
		note = "  (due: " + strings.TrimSpace(d.Want.Outcome+" "+d.Want.Reason) + ")"
	}
	line := fmt.Sprintf("%-*s  %2d  %-4s %-*s  %s%s\n", madeNumberWidth, shownOrders(d.orders()), d.number, answer, simulatedVerdict, d.verdict(), d.What, note)
	if s.colour(s.out) {
		line = paintedVerdict(line)
	}
	return []byte(line)
}

// shownOrders are the order numbers of a message in one column.
func shownOrders(numbers []string) string {
	if len(numbers) == 0 {
		return "-"
	}
	return shown(strings.Join(numbers, "+"))
}

// paintedVerdict marks what is not as it has to be.
func paintedVerdict(line string) string {
	if before, mark, found := strings.Cut(line, "  ! "); found {
		return before + "  " + inColour(red, "! "+strings.TrimSuffix(mark, "\n")) + "\n"
	}
	return line
}

func (s *simulateShow) shown(d simulatedStep) shownStep {
	v := shownStep{OutTradeNos: d.orders(), Step: d.number, What: d.What, Account: d.account, Protocol: d.protocol, Copies: d.copies(),
		Acked: d.acked, TookMS: float64(d.took.Microseconds()) / 1000}
	if d.status != 0 {
		v.HTTPStatus = &d.status
	}
	if !s.changed {
		v.Want = wantOf(d.Want)
		if d.err == nil {
			v.AsWanted = new(d.asWanted())
		}
	}
	if d.err != nil {
		v.Error = new(strings.Join(strings.Fields(d.err.Error()), " "))
	}
	return v
}

// jsonLine is a value as one line of JSON.
func jsonLine(v any) []byte {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // texts and numbers always marshal
	return []byte(b.String())
}

// end sums up on stderr.
func (s *simulateShow) end() {
	_ = s.bar.Finish()
	text := count(s.done, "message")
	if s.done < s.total {
		text = fmt.Sprintf("%d of %s", s.done, count(s.total, "message"))
	}
	text += fmt.Sprintf(": %d acked, %d refused", s.acked, s.refused)
	if s.done > 0 && s.otherwise == 0 && !s.changed && s.acked+s.refused > 0 {
		text += ", answered as it has to be" // what the receiver then did does not show in an answer
	}
	fmt.Fprintln(s.err, text)
}

// verdict is the error of a receiver that answered otherwise than it has to.
func (s *simulateShow) verdict() error {
	if s.otherwise > 0 {
		return exitWith(exitFailed, "%s not answered as a receiver has to, marked ! above", count(s.otherwise, "message"))
	}
	return nil
}
