package doctor

import (
	"context"
	"net/http"
	"time"
)

const (
	// clockWrong: v3 messages are refused when clocks are five minutes apart, and
	// leases and retries are counted across machines. Half a minute is far beyond
	// what a machine that is kept in time ever shows.
	clockWrong = 30 * time.Second
	// clockDrifts is worth a look: nobody sets this clock.
	clockDrifts = 5 * time.Second
	// peerGrain: a Date field has whole seconds.
	peerGrain   = time.Second
	peerTimeout = 10 * time.Second

	clockFix = "let the machine set its clock (chrony, systemd-timesyncd), and look at both machines"
)

func (x *examination) clocks(ctx context.Context) {
	x.storeClock(ctx)
	x.peerClock(ctx)
}

// reading is what another clock showed, true to a grain, at some moment between
// two of ours.
type reading struct {
	theirs, asked, answered time.Time
	grain                   time.Duration
}

// apart is how far ours must be behind at least.
func (r reading) apart() time.Duration {
	switch {
	case r.theirs.Add(r.grain).Before(r.asked):
		return r.theirs.Add(r.grain).Sub(r.asked)
	case r.theirs.After(r.answered):
		return r.theirs.Sub(r.answered)
	}
	return 0
}

func (x *examination) compare(check, whose string, r reading) {
	off := r.apart()
	way := "ahead of"
	if off > 0 {
		way = "behind"
	}
	switch {
	case off.Abs() > clockWrong:
		x.fail(check, "", clockFix, "this machine's clock is %s %s %s", shortTime(off), way, whose)
	case off.Abs() > clockDrifts:
		x.warn(check, "", clockFix, "this machine's clock is %s %s %s", shortTime(off), way, whose)
	default:
		x.ok(check, "", "this machine's clock agrees with %s", whose)
	}
}

func (x *examination) storeClock(ctx context.Context) {
	if x.Store == nil {
		x.skip(ClockStore, "", "there is no store to ask")
		return
	}
	asked := x.Now()
	e, err := x.Store.Examine(ctx)
	switch {
	case err != nil:
		x.skip(ClockStore, "", "the store cannot be looked at")
	case e.Now.IsZero():
		x.skip(ClockStore, "", "SQLite has no clock of its own; --clock-peer URL compares with a server that you trust")
	default:
		x.compare(ClockStore, "the database's", reading{e.Now, asked, x.Now(), 0})
	}
}

func (x *examination) peerClock(ctx context.Context) {
	if x.ClockPeer == "" {
		x.skip(ClockPeer, "", "no server was named: --clock-peer URL")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, x.ClockPeer, nil)
	if err != nil {
		x.skip(ClockPeer, "", "--clock-peer is no URL")
		return
	}
	asked := x.Now()
	answer, err := x.Call(r)
	if err != nil {
		x.skip(ClockPeer, "", "%s does not answer: %v", r.URL.Host, bare(err))
		return
	}
	_ = answer.Body.Close() // a HEAD has none
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		x.skip(ClockPeer, "", "%s answered without a Date", r.URL.Host)
		return
	}
	x.compare(ClockPeer, "that of "+r.URL.Host, reading{theirs, asked, x.Now(), peerGrain})
}
