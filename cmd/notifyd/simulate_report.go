package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/notifyd/notifyd/client/simulator/play"
)

// runBar is the progress of a run, on a terminal alone: one bar for each phase.
type runBar struct {
	err     io.Writer
	visible bool
	phase   play.Phase
	bar     *progressbar.ProgressBar
}

func newRunBar(a *app) *runBar { return &runBar{err: a.err, visible: isTerminal(a.err)} }

func (b *runBar) show(phase play.Phase, done, total int) {
	if phase != b.phase {
		b.end()
		b.phase, b.bar = phase, newBar(b.err, string(phase), total, b.visible)
	}
	_ = b.bar.Set(done) // an ornament: that it cannot be drawn is no fault
}

func (b *runBar) end() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}

// tell prints the report.
func (r *simulateRun) tell(report *play.Report) error {
	if r.asJSON {
		return r.printJSON(report)
	}
	return r.print(runText(report))
}

// runText is the report for people: who offends, then the sums.
func runText(p *play.Report) []byte {
	t := newTable()
	if len(p.Offenders) > 0 {
		t.row("ORDER\tMERCHANT\tACCOUNT\tFAULT\tWHAT")
		for _, o := range p.Offenders {
			t.row("%s\t%s\t%s\t%s\t%s", shown(o.OutTradeNo), shown(o.Merchant), shown(o.Account), o.Fault, shown(o.Text))
		}
	}
	text := string(t.text())
	if p.OffendersLeftOff > 0 {
		text += fmt.Sprintf("and %d more\n", p.OffendersLeftOff)
	}
	sums := newTable()
	sums.row("run\t%s, seed %d", p.Run, p.Seed)
	sums.row("orders\t%d of %d begun, %d settled", p.Orders, p.Plan, p.Settled)
	sums.row("deliveries\t%d of %s: %d repeats, %d copies at the same time", p.Deliveries, count(p.Notices, "notice"), p.Repeats, p.Copies)
	sums.row("answers\t%s", answersText(p.Counts))
	sums.row("times\tp50 %s, p99 %s, longest %s", millis(p.AnswerP50Millis), millis(p.AnswerP99Millis), millis(p.AnswerMaxMillis))
	sums.row("took\t%s, %s of the provider's clock", seconds(p.TookSeconds), seconds(p.ProviderClockSeconds))
	sums.row("ledger\t%s", ledgerText(p))
	return append([]byte(text), sums.text()...)
}

func answersText(c play.Counts) string {
	parts := []string{fmt.Sprintf("%d acks", c.Acks)}
	for _, x := range []struct {
		n    int
		what string
	}{
		{c.AcksThrownAway, "acks thrown away"}, {c.HungUp, "not waited for"}, {c.Probes, "probes refused"}, {c.Refused, "refused"},
		{c.Unavailable, "unavailable"}, {c.Unreachable, "without an answer"}, {c.Late, "later than 5 s"}, {c.GivenUp, "given up at the end of the schedule"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(parts, ", ")
}

func ledgerText(p *play.Report) string {
	switch {
	case p.Checked == 0 && p.Orders > 0:
		return "not checked"
	case p.Checked < p.Orders:
		return fmt.Sprintf("%d of %d orders checked: %s", p.Checked, p.Orders, faultsText(p))
	}
	return fmt.Sprintf("%s checked: %s", count(p.Checked, "order"), faultsText(p))
}

func faultsText(p *play.Report) string {
	var parts []string
	for _, f := range play.Faults() {
		parts = append(parts, fmt.Sprintf("%d %s", p.Faults[f], f))
	}
	return strings.Join(parts, ", ")
}

func millis(ms float64) string { return fmt.Sprintf("%.1f ms", ms) }

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second / 10).String()
}
