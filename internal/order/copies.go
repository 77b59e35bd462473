package order

import (
	"context"
	"sync"
)

// maxUnflushed bounds the counts held in memory while the store is away. They
// are a statistic: what is over the bound is not counted.
const maxUnflushed = 100_000

// copies counts repeats until they are written.
type copies struct {
	add func(context.Context, map[string]int64) error
	// writing is held during a write: who flushes last, flushes what failed before.
	writing chan struct{}

	mu     sync.Mutex
	counts map[string]int64
}

func newCopies(add func(context.Context, map[string]int64) error) *copies {
	return &copies{add: add, writing: make(chan struct{}, 1)}
}

func (c *copies) count(notificationID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int64{}
	}
	if _, held := c.counts[notificationID]; held || len(c.counts) < maxUnflushed {
		c.counts[notificationID]++
	}
}

func (c *copies) flush(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	counts := c.counts
	c.counts = nil
	c.mu.Unlock()
	if len(counts) == 0 {
		return nil
	}
	err := c.add(ctx, counts)
	if err == nil {
		return nil
	}
	// Counting twice is worse than not at all for a statistic that people use
	// to judge the provider, but a failed write was most likely not made.
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = counts
		return err
	}
	for id, n := range counts {
		c.counts[id] += n
	}
	return err
}
