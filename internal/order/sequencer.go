package order

import (
	"context"
	"sync"
	"time"
)

// sequenceBatch is how many events get their places in one transaction: few
// enough that notifications do not wait for it.
const sequenceBatch = 500

// Sequencer gives events their places in the feed soon after they are committed,
// and calls whoever waits for the next one. Every instance runs one; the
// database lets one of them work at a time, the others see what it did.
type Sequencer struct {
	feed   Feed
	failed func(error)
	wake   chan struct{} // holds one token while there is something to look at

	mu    sync.Mutex
	last  int64         // the last place that was seen
	moved chan struct{} // closed when there is a later one
}

// NewSequencer makes a Sequencer that does nothing before Run. failed is told of
// errors, which are tried again with the next wake or tick; it may be nil.
func NewSequencer(feed Feed, failed func(error)) *Sequencer {
	return &Sequencer{feed: feed, failed: failed, wake: make(chan struct{}, 1), moved: make(chan struct{})}
}

// Wake says that events were committed. It never waits.
func (s *Sequencer) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // it has been said
	}
}

// Moved is closed as soon as a place is seen that was not there before the call.
// Whoever wants the next event asks for Moved first and reads the feed then.
func (s *Sequencer) Moved() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

// Run works until ctx ends: at once, after each Wake, and after each tick, which
// is how events and places of other instances are noticed.
func (s *Sequencer) Run(ctx context.Context, tick <-chan time.Time) {
	for {
		if err := s.work(ctx); err != nil && ctx.Err() == nil && s.failed != nil {
			s.failed(err)
		}
		select {
		case <-s.wake:
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// work gives places until no event waits for one, or another instance is about it.
func (s *Sequencer) work(ctx context.Context) error {
	for {
		last, waiting, err := s.feed.Head(ctx)
		if err != nil {
			return err
		}
		s.see(last)
		if !waiting {
			return nil
		}
		if given, err := s.feed.Sequence(ctx, sequenceBatch); err != nil || given == 0 {
			return err
		}
	}
}

func (s *Sequencer) see(last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last > s.last {
		s.last = last
		close(s.moved)
		s.moved = make(chan struct{})
	}
}
