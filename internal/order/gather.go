package order

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Limits of gathering.
const (
	// turnPatience is how long a committer goes on gathering while another one is
	// about a unit. A unit of work costs the database several times what a
	// notification in it does, so two half units cost more than they gain; but
	// one that hangs on a lock must not hold up the other orders.
	turnPatience = 20 * time.Millisecond
	// readyRounds bounds how often a batch lets others run first. On a processor
	// that a flood keeps busy a round takes milliseconds and brings a few each
	// time, and the first of the batch waits.
	readyRounds = 3
	// fewRepeats, in thousandths: below it, looking for repeats first costs all
	// the others more than it saves. The unit of work finds them just as well,
	// and writes nothing for them either.
	fewRepeats = 50
)

// gather feeds work with batches: what is there when it asks.
func (r *Recorder) gather(from <-chan *pending, work func(<-chan *pending, []*pending)) {
	batch := make([]*pending, 0, MaxBatch)
	for first := range from {
		work(from, more(from, append(batch[:0], first)))
	}
}

// more adds what is there, without waiting.
func more(from <-chan *pending, batch []*pending) []*pending {
	for len(batch) < MaxBatch {
		select {
		case p, open := <-from:
			if !open {
				return batch
			}
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// withReady lets all run first that can run, as long as that brings more: proofs
// under way end in this batch and not in the next one. Without any it costs less
// than a microsecond, and it leaves no processor idle.
func withReady(from <-chan *pending, batch []*pending) []*pending {
	for round, before := 0, 0; round < readyRounds && before < len(batch) && len(batch) < MaxBatch; round++ {
		before = len(batch)
		runtime.Gosched()
		batch = more(from, batch)
	}
	return batch
}

// awaitTurn lets a batch grow while another committer is about a unit: until that
// is decided, and then until the batch is as large as it or it is durable; but not
// beyond a full batch or turnPatience. When nobody is about anything it returns at
// once. pass ends the turn, if it was got, the first time that it is called.
func (r *Recorder) awaitTurn(from <-chan *pending, batch []*pending) (grown []*pending, pass func()) {
	patience, cancel := context.WithTimeout(context.Background(), turnPatience)
	defer cancel()
	batch, got := grow(patience, from, batch, MaxBatch, r.turn)
	if !got {
		return batch, func() {}
	}
	batch = more(from, batch)
	if other := r.works.last(); other != nil {
		batch, _ = grow(patience, from, batch, other.size, other.done)
	}
	return batch, sync.OnceFunc(func() { r.turn <- struct{}{} })
}

// grow gathers until there is something on a channel, and says whether that came
// before the batch had its size and ctx ended.
func grow(ctx context.Context, from <-chan *pending, batch []*pending, size int, until <-chan struct{}) (grown []*pending, came bool) {
	for {
		select {
		case <-until:
			return batch, true
		default:
		}
		if len(batch) >= size {
			return batch, false
		}
		select {
		case <-until:
			return batch, true
		case <-ctx.Done():
			return batch, false
		case p, open := <-from:
			if !open {
				from = nil // the Recorder closes: what is here is the last
				continue
			}
			batch = append(batch, p)
		}
	}
}

// answerLive works on those of a batch whose caller still waits.
func (r *Recorder) answerLive(batch []*pending, work func([]*pending)) {
	if live := r.dropExpired(batch); len(live) > 0 {
		work(live)
	}
}

// dropExpired leaves out those whose caller has gone: work that nobody waits
// for is waste when there is too much of it.
func (r *Recorder) dropExpired(batch []*pending) []*pending {
	live := batch[:0]
	for _, p := range batch {
		if err := p.ctx.Err(); err != nil {
			r.answer(p, verdict{err: fmt.Errorf("%w: %w", ErrUnavailable, err)})
			continue
		}
		live = append(live, p)
	}
	return live
}

// answerKnown answers the repeats in a batch and passes on the rest.
func (r *Recorder) answerKnown(batch []*pending) {
	keys := make([]FactKey, len(batch))
	for i, p := range batch {
		keys[i] = p.key
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	known, err := r.opt.Store.Known(ctx, keys)
	cancel()
	if err != nil {
		r.failed(err)
	}
	r.saw(len(known), len(batch))
	for _, p := range batch {
		switch ref, repeat := known[p.key]; {
		case err != nil:
			r.answer(p, verdict{err: unavailable(err)})
		case repeat:
			r.answer(p, r.repeatOf(ref))
		default:
			r.commit <- p
		}
	}
}

// saw keeps the share of repeats, a mean that forgets in some twenty batches.
func (r *Recorder) saw(repeats, all int) {
	const memory = 16
	old := r.share.Load()
	// Two batches at once may overwrite each other: it is an estimate.
	r.share.Store(old + (1000*int64(repeats)/int64(all)-old)/memory)
}
