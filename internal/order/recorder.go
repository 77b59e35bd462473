package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the Recorder.
const (
	// MaxBatch is how many notifications share a commit at most. More would
	// hold locks for longer than it saves syncs.
	MaxBatch = 128
	// DefaultQueueLimit is how many notifications may be waiting for a commit:
	// what both databases commit within one ack deadline on small machines.
	// Beyond it an honest 503 now is better than a late one.
	DefaultQueueLimit = 4096
	// storeTimeout bounds one unit of work; the answer is due after 4 s.
	storeTimeout = 3 * time.Second
	// lookups is how many batches of repeats are read at once.
	lookups = 2
)

// ErrOverloaded: the queue is full, or the Recorder is closing.
var ErrOverloaded = fmt.Errorf("%w: too many notifications are waiting", ErrUnavailable)

// Receipt is what became of a notification. It exists only after its commit.
type Receipt struct {
	NotificationID string  // of the row that holds it: an earlier one for a repeat
	Outcome        Outcome // of that row: for a repeat, what the first one did
	Reason         Reason
	Repeat         bool
	Results        []FactResult // nil for a repeat
}

// Did is what this copy of the notification did: a repeat is a duplicate,
// whatever the first one was.
func (r Receipt) Did() Outcome {
	if r.Repeat {
		return Duplicate
	}
	return r.Outcome
}

// RecorderOptions configures a Recorder. Store, Now and NewID are required.
type RecorderOptions struct {
	Store               Store
	Now                 func() time.Time
	NewID               func(prefix string) string
	Committers          int // units of work at once; 1 for SQLite
	QueueLimit          int // DefaultQueueLimit when 0
	RequireRegistration bool

	Batch     func(size int) // told after each committed batch; may be nil
	Committed func([]Event)  // told after each commit; may be nil
	// Failed is told of every unit of work that failed, for the log; may be nil.
	Failed func(error)
}

// Recorder commits notifications in groups: what has gathered while a commit
// ran is the next batch. A notification that finds no commit running commits at
// once.
//
// A repeat of what is durable is answered without a write: from a read before
// the unit of work when repeats are many, otherwise from the unit's own read.
type Recorder struct {
	opt    RecorderOptions
	slots  chan struct{} // one for each notification inside: the bound of the queue
	lookup chan *pending
	commit chan *pending
	turn   chan struct{} // has the mark of who reads and decides, when nobody does
	works  works
	copies *copies
	aside  aside
	share  atomic.Int64 // of repeats among what came lately, in thousandths

	mu         sync.RWMutex
	closing    bool
	readers    sync.WaitGroup
	committers sync.WaitGroup
}

type pending struct {
	n     Notification
	key   FactKey
	order Key // its first one, by which it queues
	ctx   context.Context
	done  chan verdict // buffered: nobody waits for a caller that left
}

type verdict struct {
	receipt Receipt
	err     error
}

// NewRecorder starts a Recorder. Close ends it.
func NewRecorder(opt RecorderOptions) *Recorder {
	if opt.QueueLimit <= 0 {
		opt.QueueLimit = DefaultQueueLimit
	}
	r := &Recorder{
		opt:    opt,
		slots:  make(chan struct{}, opt.QueueLimit),
		lookup: make(chan *pending, opt.QueueLimit),
		commit: make(chan *pending, opt.QueueLimit),
		turn:   make(chan struct{}, 1),
		works:  works{orders: map[Key]*committer{}},
		copies: newCopies(opt.Store.AddCopies),
	}
	r.turn <- struct{}{}
	for range max(opt.Committers, 1) {
		r.committers.Go((&committer{r: r}).run)
	}
	for range lookups {
		r.readers.Go(func() {
			r.gather(r.lookup, func(_ <-chan *pending, batch []*pending) { r.answerLive(batch, r.answerKnown) })
		})
	}
	return r
}

// QueueLength is how many notifications are inside.
func (r *Recorder) QueueLength() int { return len(r.slots) }

// Record makes a verified notification durable and says what it did. After an
// error nothing may be acked; the fate of the notification is then unknown, and
// the provider's next copy settles it. Errors: ErrUnavailable, ErrOverloaded,
// the context's.
func (r *Recorder) Record(ctx context.Context, n Notification) (Receipt, error) {
	p := &pending{n: n, key: n.FactKey(), order: n.Facts[0].Key(), ctx: ctx, done: make(chan verdict, 1)}
	if err := r.enter(p); err != nil {
		return Receipt{}, err
	}
	select {
	case v := <-p.done:
		return v.receipt, v.err
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("%w: no commit in time: %w", ErrUnavailable, context.Cause(ctx))
	}
}

func (r *Recorder) enter(p *pending) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closing {
		return ErrOverloaded
	}
	select {
	case r.slots <- struct{}{}: // both channels have room for every slot
		if r.share.Load() < fewRepeats {
			r.commit <- p
		} else {
			r.lookup <- p
		}
		return nil
	default:
		return ErrOverloaded
	}
}

func (r *Recorder) answer(p *pending, v verdict) {
	p.done <- v
	<-r.slots
}

func (r *Recorder) repeatOf(ref Ref) verdict {
	r.copies.count(ref.NotificationID)
	return verdict{receipt: Receipt{NotificationID: ref.NotificationID, Outcome: ref.Outcome, Reason: ref.Reason, Repeat: true}}
}

func (r *Recorder) failed(err error) {
	if r.opt.Failed != nil {
		r.opt.Failed(err)
	}
}

// unavailable is what a caller gets for any failure: nothing is acked.
func unavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// FlushCopies writes the counts of repeats that came since the last call.
// The caller calls it about once a second; Close calls it too. A write that has
// begun is not broken off when ctx ends: nobody would know whether it was made,
// and the next one would count the same copies again.
func (r *Recorder) FlushCopies(ctx context.Context) error {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return r.copies.flush(writing)
}

// Close refuses new notifications, finishes those inside and flushes the counts.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	first := !r.closing
	r.closing = true
	r.mu.Unlock()
	if !first {
		return nil
	}
	done := make(chan struct{})
	go func() {
		// The readers feed the committers, so they end first.
		close(r.lookup)
		r.readers.Wait()
		close(r.commit)
		r.committers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return r.copies.flush(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
