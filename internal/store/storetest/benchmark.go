package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// Benchmark measures what a notification costs that pays a new order: an order,
// a payment, a notification and an event row each, in batches of the size that
// gathers under load. One operation is one notification.
func Benchmark(b *testing.B, db store.DB) {
	b.ResetTimer()
	payAll(b, db, func() {})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notifications/s")
}

// BenchmarkPlaced measures the same until each event has its place in the feed,
// which a sequencer gives meanwhile, at the pace at which the program runs it.
func BenchmarkPlaced(b *testing.B, db store.DB) {
	const rest = 50 * time.Millisecond
	sequencer := order.NewSequencer(order.SequencerOptions{Feed: db, Failed: func(err error) { b.Error(err) },
		Rest: func(ctx context.Context) {
			select {
			case <-time.After(rest):
			case <-ctx.Done():
			}
		}})
	ctx, end := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { sequencer.Run(ctx, nil) })
	b.ResetTimer()
	payAll(b, db, sequencer.Wake)
	end()
	running.Wait()
	for given := 1; given > 0; {
		var err error
		if given, err = db.Sequence(b.Context(), 500); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notifications/s")
}

// payAll commits as many notifications as the benchmark wants and tells of each
// commit.
func payAll(b *testing.B, db store.DB, committed func()) {
	const batch = 128
	body := bytes.Repeat([]byte("0123456789abcdef"), 64)
	var next atomic.Int64
	var all sync.WaitGroup
	for range db.Committers() {
		all.Go(func() {
			for {
				last := next.Add(batch)
				if last-batch >= int64(b.N) {
					return
				}
				if err := payMany(b, db, int(last-batch), int(min(last, int64(b.N))), body); err != nil {
					b.Error(err)
					return
				}
				committed()
			}
		})
	}
	all.Wait()
}

// payMany commits the notifications from first to before last.
func payMany(b *testing.B, db store.DB, first, last int, body []byte) error {
	var want order.Want
	var c order.Changes
	for i := first; i < last; i++ {
		n, tx := fmt.Sprintf("T%x", uint32(i)*2654435761), fmt.Sprintf("42%08x", uint32(i)*2246822519)
		row := aNotification(i, n)
		row.ProviderID = fmt.Sprintf("EV-%08x", uint32(i)*3266489917)
		row.Claim = order.ProviderKey{Provider: provider, Scope: "1900000001", ProviderID: row.ProviderID}
		row.Capture.Body = body
		event := anEvent("evt_"+row.ID, n, 1)
		event.NotificationID, event.Snapshot = row.ID, body[:512:512]
		want.FactKeys = append(want.FactKeys, row.FactKey)
		want.ProviderKeys = append(want.ProviderKeys, row.Claim)
		want.Orders, want.Txns = append(want.Orders, key(n)), append(want.Txns, txn(tx))
		c.Orders, c.Payments = append(c.Orders, anOrder(n)), append(c.Payments, aPayment(tx, n, 0))
		c.Notifications, c.Events = append(c.Notifications, row), append(c.Events, event)
	}
	return db.Transact(b.Context(), want, func(*order.Found) (*order.Changes, error) { return &c, nil })
}

// BenchmarkOne measures a lone notification: what a quiet shop's ack waits for.
func BenchmarkOne(b *testing.B, db store.DB) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for i := range b.N {
		if err := payMany(b, db, i, i+1, body); err != nil {
			b.Fatal(err)
		}
	}
}
