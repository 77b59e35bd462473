package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
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

// Turns of the benchmark. One machine does not run evenly for long, so what is
// compared is measured one right after the other, in turns; whoever is first
// changes from turn to turn.
const (
	turns       = 9
	acksOfATurn = 6000
)

// BenchmarkAcksBesideADeadEndpoint records unique payments from 64 callers whose
// events all go to one endpoint, before which a backlog of 100,000 deliveries
// stands: with nobody delivering, and with workers that have just started and
// find the endpoint dead. The two differ by what trying costs; dead/alone is the
// median of their ratios. PostgreSQL has no statistics of the backlog, as in the
// minute after it began to grow.
func BenchmarkAcksBesideADeadEndpoint(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) { acksInTurns(b, name) })
	}
}

func acksInTurns(b *testing.B, name string) {
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
	if name == "postgres" {
		pgtest.Forget(b, url, "deliveries")
	}
	pileUp(b, db)
	opt := options(db)
	opt.Committers = db.Committers()
	c := &callers{recorder: order.NewRecorder(opt)}
	defer func() { _ = c.recorder.Close(context.Background()) }()
	var alone, dead, ratios []float64
	b.ResetTimer()
	for n := range turns * b.N {
		measure := []func(){
			func() { alone = append(alone, c.acks(b)) },
			func() { dead = append(dead, besideTheDead(b, db, c)) },
		}
		measure[n%2]()
		measure[1-n%2]()
		ratios = append(ratios, dead[n]/alone[n])
	}
	b.StopTimer()
	b.ReportMetric(median(ratios), "dead/alone")
	b.ReportMetric(slices.Min(ratios), "least")
	b.ReportMetric(median(alone), "acks/s-alone")
	b.ReportMetric(median(dead), "acks/s-dead")
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// besideTheDead measures while workers try an endpoint at which nobody listens.
func besideTheDead(b *testing.B, db store.DB, c *callers) float64 {
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
	return c.acks(b)
}

// callers record payments of orders that are all different.
type callers struct {
	recorder *order.Recorder
	orders   int // used so far
}

// acks records payments and says how many there were a second.
func (c *callers) acks(b *testing.B) float64 {
	const atOnce = 64
	from := c.orders
	c.orders += acksOfATurn
	var all sync.WaitGroup
	begin := time.Now()
	for caller := range atOnce {
		all.Go(func() {
			for i := from + caller; i < from+acksOfATurn; i += atOnce {
				no := fmt.Sprintf("A%09d", i)
				if _, err := c.recorder.Record(b.Context(), notification(fact(no, "42"+no, order.KindPaid, 1000))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return acksOfATurn / time.Since(begin).Seconds()
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
