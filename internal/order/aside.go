package order

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// asideFor is how long an order that somebody has locked is left alone. Each
	// try costs a committer the store's wait for a lock, and everybody behind it
	// with it; the provider comes again after 15 s at the soonest.
	asideFor = 5 * time.Second
	// maxAside bounds the memory of them. Whoever locks more orders than that has
	// locked the table, and there is nothing left to protect.
	maxAside = 1024
)

// errAside: the order was locked a moment ago.
var errAside = fmt.Errorf("%w by somebody else, a moment ago", ErrLocked)

// aside remembers orders that were locked. Only an order that was tried alone
// gets there, so that it is known which one it was.
type aside struct {
	mu    sync.Mutex
	until map[Key]time.Time
}

func (a *aside) put(n *Notification, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[Key]time.Time{}
	}
	for i := range n.Facts {
		if len(a.until) < maxAside {
			a.until[n.Facts[i].Key()] = now.Add(asideFor)
		}
	}
}

// holds says whether a notification speaks of an order that is left alone.
func (a *aside) holds(n *Notification, now time.Time) (held bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.until) == 0 {
		return false
	}
	for key, until := range a.until {
		if !now.Before(until) {
			delete(a.until, key)
		}
	}
	for i := range n.Facts {
		_, locked := a.until[n.Facts[i].Key()]
		held = held || locked
	}
	return held
}

// dropLocked answers those whose order is left alone, and returns the others.
func (r *Recorder) dropLocked(batch []*pending) []*pending {
	live, now := batch[:0], r.opt.Now()
	for _, p := range batch {
		if r.aside.holds(&p.n, now) {
			r.answer(p, verdict{err: errAside})
			continue
		}
		live = append(live, p)
	}
	return live
}

// leaveAside takes note of a notification that could not be committed alone.
func (r *Recorder) leaveAside(batch []*pending, err error) {
	if len(batch) == 1 && errors.Is(err, ErrLocked) {
		r.aside.put(&batch[0].n, r.opt.Now())
	}
}
