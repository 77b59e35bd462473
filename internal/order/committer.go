package order

import (
	"maps"
	"slices"
	"sync"
)

// committer commits batches, one after another.
type committer struct {
	r     *Recorder
	unit  *underway  // what it is about; nil between two units
	later []*pending // came for an order that is here, and goes into the next unit
}

// underway is a unit of work that is closed and not yet durable.
type underway struct {
	size int
	done chan struct{} // closed when it is over
}

// works is what the committers are about. The mutex guards all of it.
type works struct {
	mu     sync.Mutex
	orders map[Key]*committer // where an order stays while something of it is there
	// newest is the unit that was closed last: who passed a slow one once does not
	// wait for it again.
	newest *underway
}

// run commits what comes until the Recorder closes.
func (c *committer) run() {
	from := c.r.commit
	for batch := make([]*pending, 0, MaxBatch); ; {
		if batch = c.left(batch[:0]); len(batch) == 0 {
			first, open := <-from
			if !open {
				return
			}
			batch = append(batch, first)
		}
		batch = c.commitInTurn(more(from, batch))
	}
}

// commitInTurn commits a batch when it is its turn. The turn passes on when the
// batch is decided, so that one unit of work reads while another one writes.
func (c *committer) commitInTurn(batch []*pending) []*pending {
	batch, pass := c.r.awaitTurn(c.r.commit, batch)
	defer pass()
	batch = c.claim(withReady(c.r.commit, batch))
	defer c.release()
	c.r.answerLive(batch, func(live []*pending) { c.r.commitBatch(live, pass) })
	return batch
}

// left takes what came later, as much as a batch holds.
func (c *committer) left(batch []*pending) []*pending {
	c.r.works.mu.Lock()
	defer c.r.works.mu.Unlock()
	n := min(len(c.later), MaxBatch)
	batch = append(batch, c.later[:n]...)
	c.later = slices.Delete(c.later, 0, n)
	return batch
}

// claim closes a batch. An order whose unit is under way at another committer
// goes on there: its facts queue behind each other and not for its lock.
func (c *committer) claim(batch []*pending) []*pending {
	w := &c.r.works
	w.mu.Lock()
	defer w.mu.Unlock()
	own := batch[:0]
	for _, p := range batch {
		if other := w.orders[p.order]; other != nil && other != c {
			other.later = append(other.later, p)
			continue
		}
		w.orders[p.order] = c
		own = append(own, p)
	}
	if len(own) > 0 {
		c.unit = &underway{size: len(own), done: make(chan struct{})}
		w.newest = c.unit
	}
	return own
}

// release ends the unit. Orders for which something came meanwhile stay here.
func (c *committer) release() {
	w := &c.r.works
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.orders, func(_ Key, at *committer) bool { return at == c })
	for _, p := range c.later {
		w.orders[p.order] = c
	}
	if c.unit == nil {
		return
	}
	close(c.unit.done)
	if w.newest == c.unit {
		w.newest = nil
	}
	c.unit = nil
}

// last is the unit that was closed last, if it is still under way.
func (w *works) last() *underway {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}
