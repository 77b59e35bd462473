package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// backlog is how many deliveries wait at the dead endpoint.
const backlog = 100_000

// BenchmarkAcksBesideADeadEndpoint records unique payments from 64 callers whose
// events all go to one endpoint, before which a backlog of 100,000 deliveries
// stands: with nobody delivering, and with workers that find the endpoint dead.
// The two differ by what trying costs.
func BenchmarkAcksBesideADeadEndpoint(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		for _, dead := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/dead=%v", name, dead), func(b *testing.B) { acks(b, name, dead) })
		}
	}
}

func acks(b *testing.B, name string, dead bool) {
	url := "sqlite:" + filepath.Join(b.TempDir(), "n.db")
	if name == "postgres" {
		url = pgtest.Database(b)
	}
	db, err := store.Open(url, store.Options{Subscriptions: subscribed})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	pileUp(b, db)
	if dead {
		ctx, end := context.WithCancel(b.Context())
		var worker sync.WaitGroup
		worker.Go(func() {
			outbox.New(outbox.Options{Store: db, Now: time.Now, NewID: newID, Random: rand.Float64, UserAgent: "notifyd/test",
				// Nobody listens on port 1.
				Endpoints: []outbox.Endpoint{{Name: shopEndpoint, Merchant: "default", URL: "http://127.0.0.1:1/", Keys: [][]byte{[]byte("throw-away")}, AllowPrivate: true}},
			}).Run(ctx)
		})
		defer worker.Wait()
		defer end()
	}
	opt := options(db)
	opt.Committers = db.Committers()
	r := order.NewRecorder(opt)
	defer func() { _ = r.Close(context.Background()) }()
	var callers sync.WaitGroup
	b.ResetTimer()
	for c := range 64 {
		callers.Go(func() {
			for i := c; i < b.N; i += 64 {
				no := fmt.Sprintf("A%09d", i)
				if _, err := r.Record(b.Context(), notification(fact(no, "42"+no, order.KindPaid, 1000))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	callers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acks/s")
}

// pileUp makes the backlog: events of orders of their own.
func pileUp(b *testing.B, db store.DB) {
	const batch = 1000
	for from := 0; from < backlog; from += batch {
		var c order.Changes
		for i := from; i < from+batch; i++ {
			c.Events = append(c.Events, order.Event{ID: newID("evt_"), Type: order.EventPaid, Key: order.Key{Merchant: "default", OutTradeNo: fmt.Sprintf("B%d", i)},
				OrderVersion: 1, CreatedAt: noon, Snapshot: []byte(`{"order":null,"payment":null,"refund":null}`)})
		}
		if err := db.Transact(b.Context(), order.Want{}, func(*order.Found) (*order.Changes, error) { return &c, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
