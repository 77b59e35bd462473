package refusal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/refusal"
)

func numbers(from, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(from+i))
	}
	return all
}

func TestFirstIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.keep(1, 1, 10)
		synctest.Wait()
		if got := b.store.ids(); !slices.Equal(got, numbers(1, 1)) || b.count(refusal.Kept) != 1 {
			t.Errorf("written: %v, counted: %v", got, b.counts)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// However much comes, the store sees one small transaction a second.
func TestFloodIsWrittenGently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		const seconds = 20
		sent, taken := 0, 0
		for start := time.Now(); time.Since(start) < seconds*time.Second; <-time.After(10 * time.Millisecond) {
			taken += b.keep(sent, 50, 2000)
			sent += 50
		}
		b.store.mu.Lock()
		tries, largest := b.store.tries, 0
		for _, batch := range b.store.batches {
			largest = max(largest, len(batch))
		}
		b.store.mu.Unlock()
		if tries > seconds+1 || largest > 32 {
			t.Errorf("%d transactions in %d s, the largest of %d", tries, seconds, largest)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := b.count(refusal.Kept); got != taken || b.count(refusal.Dropped) != sent-taken {
			t.Errorf("of %d sent %d were taken; counted: %v", sent, taken, b.counts)
		}
	})
}

// Neither a store that hangs nor one that is away makes anybody wait, and what
// waits is bounded.
func TestStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.will(func(ctx context.Context, _ []refusal.Refusal) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", order.ErrUnavailable, ctx.Err())
		})
		start := time.Now()
		if taken := b.keep(1, 200, 10); taken != 64 || time.Since(start) != 0 {
			t.Errorf("%d taken after %v", taken, time.Since(start))
		}
		<-time.After(30 * time.Second)
		if b.failures() != 1 {
			t.Errorf("%d complaints about one outage", b.failures())
		}
		b.store.will(nil)
		<-time.After(10 * time.Second)
		if got := b.store.ids(); !slices.Equal(got, numbers(1, 64)) || b.count(refusal.Kept) != 64 || b.count(refusal.Dropped) != 136 {
			t.Errorf("written: %v, counted: %v", got, b.counts)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBytesThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.will(func(context.Context, []refusal.Refusal) error { return order.ErrUnavailable })
		if taken := b.keep(1, 20, 1<<20); taken != 7 {
			t.Errorf("%d MiB wait", taken)
		}
		b.store.will(nil)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if len(b.store.batches) != 7 {
			t.Errorf("large ones go one by one: %d transactions", len(b.store.batches))
		}
	})
}

// What the store will never take is not tried for ever.
func TestWhatCannotBeStoredIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.will(func(context.Context, []refusal.Refusal) error { return errors.New("no column holds it") })
		b.keep(1, 3, 10)
		<-time.After(10 * time.Second)
		if b.count(refusal.Lost) != 3 || b.store.tries > 2 || b.failures() != 1 {
			t.Errorf("counted: %v after %d tries, %d complaints", b.counts, b.store.tries, b.failures())
		}
		b.store.will(nil)
		b.keep(4, 1, 10)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := b.store.ids(); !slices.Equal(got, numbers(4, 1)) {
			t.Errorf("written: %v", got)
		}
	})
}

func TestCloseWritesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.keep(1, 60, 10)
		start := time.Now()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := b.store.ids(); !slices.Equal(got, numbers(1, 60)) || time.Since(start) != 0 {
			t.Errorf("written: %v after %v", got, time.Since(start))
		}
		if b.keep(61, 1, 10) != 0 {
			t.Error("a closed keeper takes refusals")
		}
	})
}

func TestCloseWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.will(func(context.Context, []refusal.Refusal) error { return order.ErrUnavailable })
		b.keep(1, 5, 10)
		if err := b.Close(t.Context()); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("closed with %v", err)
		}
		if b.count(refusal.Lost) != 5 {
			t.Errorf("counted: %v", b.counts)
		}
	})
}

// A code that floods has a handful at once and then a few a second; what comes
// seldom, and other accounts, do not notice.
func TestRoomIsForEachCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		flood := func(account, code string, seconds int) (n int) {
			for range seconds * 1000 {
				if _, ok := b.Room(account, code); ok {
					n++
				}
				<-time.After(time.Millisecond)
			}
			return n
		}
		if n := flood("a", "flood", 10); n < 20 || n > 26 {
			t.Errorf("%d of 10,000 in 10 s have room", n)
		}
		for _, c := range [][2]string{{"a", "seldom"}, {"b", "flood"}, {"", "edge.no_account"}} {
			if _, ok := b.Room(c[0], c[1]); !ok {
				t.Errorf("%v has no room beside a flood", c)
			}
		}
		if bytes, _ := b.Room("", "other"); bytes != 100 {
			t.Errorf("%d bytes of strangers' bodies", bytes)
		}
		if bytes, _ := b.Room("a", "other"); bytes != 1000 {
			t.Errorf("%d bytes of bodies", bytes)
		}
		if got := b.count(refusal.Limited); got < 9970 || got > 9980 {
			t.Errorf("%d were limited", got)
		}
		<-time.After(time.Hour)
		if n := flood("a", "flood", 1); n < 5 || n > 7 {
			t.Errorf("after an hour of quiet %d have room in a second", n)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestNothingIsKeptWithoutABound(t *testing.T) {
	k := refusal.NewKeeper(refusal.Options{Store: &desk{}, Now: time.Now, Count: func(string, int) { t.Error("counted") }, Failed: func(error) {}})
	if _, ok := k.Room("a", "x"); ok {
		t.Error("there is room where none is to be kept")
	}
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
