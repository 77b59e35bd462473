package play

import (
	"fmt"
	"sync"
	"time"
)

// entry is what happened to the notices of one order, a bit for each: what was
// told, acked, answered with anything but an ack, and given up by the provider;
// and how many are not settled yet.
type entry struct {
	told, acked, refused, givenUp uint8
	open                          uint8
}

func (e entry) has(bits uint8, notice int) bool { return bits&(1<<notice) != 0 }

// ledger keeps the acks: what the server will be held to.
type ledger struct {
	script   *script
	progress func(Phase, int, int)

	mu      sync.Mutex
	entries []entry
	counts  Counts
	times   latencies
	clock   time.Duration
	heardOf int // answers that were none of the plan's own accidents
	ackSeen bool
}

func newLedger(s *script, progress func(Phase, int, int)) *ledger {
	if progress == nil {
		progress = func(Phase, int, int) {}
	}
	return &ledger{script: s, progress: progress, entries: make([]entry, s.Orders)}
}

// told notes that a notice is about to be told: from now on the server may know
// it. notices is how many the order has.
func (l *ledger) told(t telling, notices int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.entries[t.order]
	if e.told == 0 {
		e.open = uint8(notices)
		l.counts.Orders++
	}
	if !e.has(e.told, int(t.notice)) {
		l.counts.Notices++
	}
	e.told |= 1 << t.notice
	l.counts.Deliveries++
	switch {
	case t.copy:
		l.counts.Copies++
	case t.attempt > 0:
		l.counts.Repeats++
	}
}

// hearing is how a delivery ended; givenUp: there is no further pause in the
// schedule.
type hearing struct {
	telling
	kind    Kind
	answer  answer
	fate    fate
	givenUp bool
	took    time.Duration
}

// heard notes an answer. An ack that was thrown away was given all the same, and
// the server is held to it.
func (l *ledger) heard(h hearing) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, bit := &l.entries[h.order], uint8(1)<<h.notice
	l.count(h)
	if h.answer != hungUp {
		l.times.add(h.took)
	}
	if h.answer != hungUp && h.kind != Probe {
		l.heardOf++
	}
	content := h.answer == acked && h.fate == arrives
	settled := h.kind == Probe || content || h.givenUp
	switch h.answer {
	case acked:
		e.acked |= bit
		l.ackSeen = l.ackSeen || h.kind != Probe
	case refused, unavailable, unreachable, late:
		e.refused |= bit
	}
	if h.givenUp {
		e.givenUp |= bit
		l.counts.GivenUp++
	}
	if settled && !h.copy && e.open > 0 {
		if e.open--; e.open == 0 {
			l.counts.Settled++
			l.progress(Sending, l.counts.Settled, l.script.Orders)
		}
	}
	return l.deaf(h)
}

// A run ends after so many deliveries without a single ack, or without a single
// answer: something is set up wrong, and 16 deliveries of each order would not say
// more.
const (
	patience   = 100
	noPatience = 10
)

// DeafError ends a run in which nothing at all is acked.
type DeafError struct {
	Answers int
	Last    string // how the last delivery ended
	// Unreachable: none was answered at all.
	Unreachable bool
}

func (e *DeafError) Error() string {
	return fmt.Sprintf("none of the first %d deliveries was acked; the last one: %s", e.Answers, e.Last)
}

func (l *ledger) deaf(h hearing) error {
	nobody := l.counts.Unreachable+l.counts.Late == l.heardOf
	if l.ackSeen || l.heardOf < patience && !(nobody && l.heardOf >= noPatience) {
		return nil
	}
	return &DeafError{l.heardOf, h.answer.String(), nobody}
}

func (l *ledger) count(h hearing) {
	c := &l.counts
	switch {
	case h.kind == Probe && h.answer != acked:
		c.Probes++
	case h.answer == acked && h.fate == isLost:
		c.AcksThrownAway++
	case h.answer == acked:
		c.Acks++
	case h.answer == hungUp:
		c.HungUp++
	case h.answer == refused:
		c.Refused++
	case h.answer == unavailable:
		c.Unavailable++
	case h.answer == unreachable:
		c.Unreachable++
	case h.answer == late:
		c.Late++
	}
}

// passed notes how far the provider's clock came.
func (l *ledger) passed(clock time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock = clock
}
