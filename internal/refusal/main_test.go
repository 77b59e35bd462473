package refusal_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a store that takes rows as told.
type desk struct {
	mu      sync.Mutex
	batches [][]refusal.Refusal // those that were taken
	tries   int
	take    func(ctx context.Context, rows []refusal.Refusal) error // nil: takes all
}

func (d *desk) KeepRefusals(ctx context.Context, rows []refusal.Refusal, _ refusal.Bounds) error {
	d.mu.Lock()
	d.tries++
	take := d.take
	d.mu.Unlock()
	if take != nil {
		if err := take(ctx, rows); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batches = append(d.batches, append([]refusal.Refusal(nil), rows...))
	return nil
}

func (d *desk) will(take func(context.Context, []refusal.Refusal) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.take = take
}

// ids of all rows that were taken, in order.
func (d *desk) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := []string{}
	for _, batch := range d.batches {
		for _, r := range batch {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// bench is a keeper with its surroundings.
type bench struct {
	*refusal.Keeper
	store *desk

	mu     sync.Mutex
	counts map[string]int
	failed []error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{store: &desk{}, counts: map[string]int{}}
	b.Keeper = refusal.NewKeeper(refusal.Options{
		Store: b.store, Now: time.Now,
		Bounds: refusal.Bounds{Account: refusal.Bound{Count: 10, Bytes: 1 << 20, MessageBytes: 1000}, Unknown: refusal.Bound{Count: 2, Bytes: 1 << 20, MessageBytes: 100}},
		Count: func(result string, n int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.counts[result] += n
		},
		Failed: func(err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.failed = append(b.failed, err)
		},
	})
	return b
}

func (b *bench) count(result string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[result]
}

func (b *bench) failures() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failed)
}

// keep offers n refusals whose ids go on from a number, and says how many were taken.
func (b *bench) keep(from, n, bodyBytes int) (taken int) {
	for i := range n {
		if b.Keep(refusal.Refusal{ID: fmt.Sprint(from + i), Account: "a", Code: "x", Capture: order.Capture{Body: make([]byte, bodyBytes)}}) {
			taken++
		}
	}
	return taken
}
