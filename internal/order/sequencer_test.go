package order

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// line is a feed of which only the length counts.
type line struct {
	mu      sync.Mutex
	last    int64
	waiting int
	busy    bool // another instance gives places
	err     error
	calls   int
}

func (l *line) Head(context.Context) (int64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.waiting > 0, l.err
}

func (l *line) Sequence(_ context.Context, limit int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.busy {
		return 0, nil
	}
	n := min(limit, l.waiting)
	l.waiting -= n
	l.last += int64(n)
	return n, nil
}

func (l *line) EventsAfter(context.Context, string, int64, int) ([]Event, int64, error) {
	return nil, 0, nil
}

func (l *line) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestSequencer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &line{waiting: 2*sequenceBatch + 1}
		var failures []error
		rests := 0
		s := NewSequencer(SequencerOptions{Feed: feed, Rest: func(context.Context) { rests++ },
			Failed: func(err error) { failures = append(failures, err) }})
		tick := make(chan time.Time)
		ctx, end := context.WithCancel(t.Context())
		moved := s.Moved()
		go s.Run(ctx, tick)
		synctest.Wait()
		if feed.last != 2*sequenceBatch+1 || !closed(moved) {
			t.Errorf("at the start %d places were given, told: %v", feed.last, closed(moved))
		}

		moved = s.Moved()
		feed.set(func() { feed.waiting = 1 })
		s.Wake()
		s.Wake()
		synctest.Wait()
		if feed.waiting != 0 || !closed(moved) {
			t.Error("a commit does not wake it")
		}

		// Another instance is about it: there is nothing to do but to look again.
		moved = s.Moved()
		feed.set(func() { feed.waiting, feed.busy, feed.calls = 1, true, 0 })
		s.Wake()
		synctest.Wait()
		if feed.calls != 1 || closed(moved) {
			t.Errorf("while another instance works: %d calls, told: %v", feed.calls, closed(moved))
		}
		feed.set(func() { feed.waiting, feed.busy, feed.last = 0, false, feed.last+1 })
		tick <- time.Time{}
		synctest.Wait()
		if !closed(moved) {
			t.Error("a place that another instance gave wakes nobody")
		}

		// Nothing new wakes nobody.
		moved = s.Moved()
		tick <- time.Time{}
		synctest.Wait()
		if closed(moved) {
			t.Error("woken for nothing")
		}

		feed.set(func() { feed.err = errors.New("away") })
		tick <- time.Time{}
		synctest.Wait()
		feed.set(func() { feed.err, feed.waiting = nil, 1 })
		tick <- time.Time{}
		synctest.Wait()
		if len(failures) != 1 || feed.waiting != 0 {
			t.Errorf("after an error it goes on: %v, %d wait", failures, feed.waiting)
		}
		if rests != 3 {
			t.Errorf("it rested %d times after 3 rounds that gave places", rests)
		}
		end()
	})
}
