package order

import (
	"context"
	"sync"
	"time"
)

// sequenceBatch is how many events get their places in one transaction, up to
// the end of a unit of work: few enough that notifications do not wait for it.
const sequenceBatch = 2000

// Sequencer gives events their places in the feed soon after they are committed,
// and calls whoever waits for the next one. Every instance runs one; the
// database lets one of them work at a time, the others see what it did.
type Sequencer struct {
	opt  SequencerOptions
	wake chan struct{} // holds one token while there is something to look at

	mu    sync.Mutex
	last  int64         // the last place that was seen
	moved chan struct{} // closed when there is a later one
}

// SequencerOptions configures a Sequencer. Feed is required.
type SequencerOptions struct {
	Feed Feed
	// Rest is called after places were given. Under load it lets a few commits
	// gather, because places cost a commit of their own; may be nil.
	Rest func(context.Context)
	// Failed is told of errors, which the next wake or tick may mend; may be nil.
	Failed func(error)
}

// NewSequencer makes a Sequencer that does nothing before Run.
func NewSequencer(opt SequencerOptions) *Sequencer {
	return &Sequencer{opt: opt, wake: make(chan struct{}, 1), moved: make(chan struct{})}
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
		gave, err := s.work(ctx)
		if err != nil && ctx.Err() == nil && s.opt.Failed != nil {
			s.opt.Failed(err)
		}
		if gave && s.opt.Rest != nil {
			s.opt.Rest(ctx)
		}
		select {
		case <-s.wake:
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// work gives places to what waits, unless another instance is about it. What is
// committed meanwhile has said so, and comes after a rest.
func (s *Sequencer) work(ctx context.Context) (gave bool, err error) {
	waiting, err := s.look(ctx)
	for given := sequenceBatch; err == nil && waiting && given >= sequenceBatch; {
		if given, err = s.opt.Feed.Sequence(ctx, sequenceBatch); err == nil && given > 0 {
			gave = true
			waiting, err = s.look(ctx)
		}
	}
	return gave, err
}

// look tells of the last place, and says whether events wait for one.
func (s *Sequencer) look(ctx context.Context) (waiting bool, err error) {
	last, waiting, err := s.opt.Feed.Head(ctx)
	if err != nil {
		return false, err
	}
	s.see(last)
	return waiting, nil
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
