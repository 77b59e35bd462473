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
	// turnPatience is how long a committer goes on gathering while another one
	// reads and decides. A unit of work costs the database several times what a
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

// commitInTurn commits a batch when it is its turn. The turn passes on when the
// batch is decided, so that one unit of work reads while another one writes.
func (r *Recorder) commitInTurn(from <-chan *pending, batch []*pending) {
	batch, pass := r.awaitTurn(from, batch)
	defer pass()
	batch = withReady(from, batch)
	r.answerLive(batch, func(live []*pending) { r.commitBatch(live, pass) })
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

// awaitTurn returns at once when no other committer has the turn. Otherwise the
// batch grows until it is free, the batch is full or turnPatience is over. pass
// ends the turn, if it was got, the first time that it is called.
func (r *Recorder) awaitTurn(from <-chan *pending, batch []*pending) (grown []*pending, pass func()) {
	taken := sync.OnceFunc(func() { <-r.turn })
	select {
	case r.turn <- struct{}{}:
		return batch, taken
	default:
	}
	patience, cancel := context.WithTimeout(context.Background(), turnPatience)
	defer cancel()
	for len(batch) < MaxBatch {
		select {
		case r.turn <- struct{}{}:
			return more(from, batch), taken
		case <-patience.Done():
			return batch, func() {}
		case p, open := <-from:
			if !open {
				from = nil // the Recorder closes: what is here is the last
				continue
			}
			batch = append(batch, p)
		}
	}
	return batch, func() {}
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
			r.commit[r.committerOf(p)] <- p
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
