package refusal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// Limits of what is kept at a time. A stranger sends as much as he likes; what
// he can make us write is bounded here.
const (
	// queueRows and queueBytes bound the memory of what waits to be written.
	queueRows  = 64
	queueBytes = 8 << 20
	// flushRows and flushBytes bound one transaction: SQLite has one writer, and
	// a commit of notifications may be waiting for it.
	flushRows  = 32
	flushBytes = 512 << 10
	// flushPause is between two transactions, however much waits.
	flushPause = time.Second
	// flushTimeout bounds one transaction and the wait for its turn.
	flushTimeout = 2 * time.Second

	// KeptWithin is how long after its answer a refusal is in a sound store at
	// the latest, when no more wait than one transaction takes.
	KeptWithin = flushPause + flushTimeout
)

// What became of a refused request.
const (
	Kept    = "kept"    // written
	Limited = "limited" // its account and code had enough of them a moment ago
	Dropped = "dropped" // too much was waiting to be written
	Lost    = "lost"    // the store did not take it
)

// Results are all of these.
func Results() []string { return []string{Kept, Limited, Dropped, Lost} }

// Options of a Keeper. All are required.
type Options struct {
	Store  Writer
	Bounds Bounds
	Now    func() time.Time
	Count  func(result string, n int) // must be fast
	Failed func(error)                // transactions fail now; told once until one succeeds
}

// Writer is the part of a Store that a Keeper needs.
type Writer interface {
	KeepRefusals(ctx context.Context, rows []Refusal, bounds Bounds) error
}

// Keeper writes refusals behind the backs of those who answer. Neither Room nor
// Keep ever waits for the store. It is safe for concurrent use.
type Keeper struct {
	opt   Options
	wake  chan struct{} // holds one token while something waits
	end   context.CancelFunc
	ended chan struct{}

	failing bool // of whoever flushes: run, and after it Close

	mu     sync.Mutex
	pace   pace
	queue  []Refusal
	bytes  int64 // of the queue
	closed bool
}

// NewKeeper starts a keeper. Close ends it.
func NewKeeper(opt Options) *Keeper {
	ctx, end := context.WithCancel(context.Background())
	k := &Keeper{opt: opt, wake: make(chan struct{}, 1), end: end, ended: make(chan struct{}), pace: pace{}}
	go k.run(ctx)
	return k
}

// Room says whether a refusal of an account ("" for those that are not
// configured) and a code may be kept now, and how much of its body. Ask before
// anything is copied: under a flood the answer is no.
func (k *Keeper) Room(account, code string) (bodyBytes int, ok bool) {
	bound := k.opt.Bounds.Of(account)
	if bound.Count == 0 {
		return 0, false
	}
	k.mu.Lock()
	ok = k.pace.take(account, code, k.opt.Now())
	k.mu.Unlock()
	if !ok {
		k.opt.Count(Limited, 1)
	}
	return bound.MessageBytes, ok
}

// Keep takes a refusal for which there was Room, and says whether it waits to be
// written now. The refusal's bytes belong to the keeper from then on.
func (k *Keeper) Keep(r Refusal) bool {
	k.mu.Lock()
	full := k.closed || len(k.queue) >= queueRows || k.bytes+r.Size() > queueBytes
	if !full {
		k.queue = append(k.queue, r)
		k.bytes += r.Size()
	}
	k.mu.Unlock()
	if full {
		k.opt.Count(Dropped, 1)
		return false
	}
	k.rouse()
	return true
}

func (k *Keeper) rouse() {
	select {
	case k.wake <- struct{}{}:
	default: // there is a token already
	}
}

// run writes what waits, a little at a time.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-k.wake:
		case <-ctx.Done():
			return
		}
		if more, err := k.flush(ctx); more || err != nil {
			k.rouse()
		}
		timer.Reset(flushPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

// flush writes the oldest that wait, in one transaction. What the store cannot
// take now stays in the queue; the error says so.
func (k *Keeper) flush(ctx context.Context) (more bool, err error) {
	batch := k.head()
	if len(batch) == 0 {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	err = k.opt.Store.KeepRefusals(limited, batch, k.opt.Bounds)
	if err != nil && !k.failing && ctx.Err() == nil { // an end that broke it off is no failure
		k.opt.Failed(err)
	}
	k.failing = err != nil
	if errors.Is(err, order.ErrUnavailable) {
		return true, err
	}
	result := Kept
	if err != nil { // trying again would end the same way
		result = Lost
	}
	more = k.forget(len(batch))
	k.opt.Count(result, len(batch))
	return more, nil
}

// head is the beginning of the queue, as much as goes into one transaction.
func (k *Keeper) head() []Refusal {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, bytes := 0, int64(0)
	for n < min(len(k.queue), flushRows) {
		if bytes += k.queue[n].Size(); n > 0 && bytes > flushBytes {
			break
		}
		n++
	}
	return k.queue[:n:n]
}

// forget takes n from the beginning of the queue and says whether any are left.
func (k *Keeper) forget(n int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range n {
		k.bytes -= k.queue[i].Size()
	}
	k.queue = append([]Refusal(nil), k.queue[n:]...) // lets go of the bytes
	return len(k.queue) > 0
}

// Close writes what waits, as long as ctx allows, and ends the keeper. Its error
// is the store's when something could not be written.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.end()
	<-k.ended
	for {
		more, err := k.flush(ctx)
		if err != nil {
			k.mu.Lock()
			left := len(k.queue)
			k.mu.Unlock()
			k.opt.Count(Lost, left)
			return err
		}
		if !more {
			return nil
		}
	}
}
