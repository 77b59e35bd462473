package store_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/outbox/outboxtest"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// The outbox on the real databases, against endpoints that misbehave.

const shopEndpoint = "shop"

func subscribed(string, order.EventType) []string { return []string{shopEndpoint} }

// withEndpoint opens n handles on one fresh database whose events all go to one
// endpoint; see databases.
func withEndpoint(t *testing.T, name string, n int) []store.DB {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "n.db")
	if name == "postgres" {
		url = pgtest.Database(t)
	}
	var all []store.DB
	for i := range n {
		if i > 0 && name == "sqlite" {
			all = append(all, all[0])
			continue
		}
		db, err := store.Open(url, store.Options{Subscriptions: subscribed})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, db)
	}
	return all
}

// told commits events: versions of orders from a number on, each version of all
// before the next.
func told(t *testing.T, db store.DB, from, orders, versions int) {
	t.Helper()
	for v := 1; v <= versions; v++ {
		var c order.Changes
		for i := from; i < from+orders; i++ {
			c.Events = append(c.Events, order.Event{ID: newID("evt_"), Type: order.EventPaid, Key: order.Key{Merchant: "default", OutTradeNo: fmt.Sprintf("T%d", i)},
				OrderVersion: int64(v), CreatedAt: time.Now().Truncate(time.Microsecond),
				Snapshot: fmt.Appendf(nil, `{"order":{"out_trade_no":"T%d"},"payment":null,"refund":null}`, i)})
		}
		err := db.Transact(t.Context(), order.Want{}, func(*order.Found) (*order.Changes, error) { return &c, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// accelerated is an outbox whose hours are milliseconds.
func accelerated(db store.DB, url string) outbox.Options {
	ms := func(n ...int) (waits []time.Duration) {
		for _, i := range n {
			waits = append(waits, time.Duration(i)*time.Millisecond)
		}
		return waits
	}
	return outbox.Options{Store: db, Now: time.Now, NewID: newID, Random: rand.Float64, UserAgent: "notifyd/test",
		Endpoints: []outbox.Endpoint{{Name: shopEndpoint, Merchant: "default", URL: url, Keys: [][]byte{[]byte("throw-away")}, AllowPrivate: true}},
		Schedule:  ms(1, 2, 5, 10, 20, 50, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100), AttemptTimeout: 300 * time.Millisecond,
		MaxRetryAfter: 5 * time.Millisecond, Lease: 2 * time.Second, PollEvery: 50 * time.Millisecond, StopGrace: 100 * time.Millisecond}
}

// eventsOfTheTest is how many events meet the endpoint; the long form has
// NOTIFYD_DELIVERY_EVENTS=10000.
func eventsOfTheTest(t *testing.T) (orders, versions int) {
	t.Helper()
	const versionsOfAnOrder = 4
	n := 2000
	if text := os.Getenv("NOTIFYD_DELIVERY_EVENTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < versionsOfAnOrder {
			t.Fatalf("NOTIFYD_DELIVERY_EVENTS is %q, want a number", text)
		}
	}
	return n / versionsOfAnOrder, versionsOfAnOrder
}

// wait waits until all events were taken and written down as such.
func wait(t *testing.T, s *outboxtest.Shop, db store.DB) {
	t.Helper()
	select {
	case <-s.All:
	case <-time.After(4 * time.Minute):
		t.Fatalf("only %d events were taken in time", s.Taken())
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		backlogs, err := db.Backlogs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(backlogs) == 0 {
			return
		}
		<-tick.C
	}
	t.Fatal("what was taken is not written down as delivered")
}

func TestMisbehavingEndpoint(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			orders, versions := eventsOfTheTest(t)
			dbs := withEndpoint(t, name, 2)
			s := outboxtest.NewShop(t, orders*versions, true)
			told(t, dbs[0], 0, orders, versions)
			ctx, end := context.WithCancel(t.Context())
			var running sync.WaitGroup
			var heard sync.Map // events whose 2xx came
			for _, db := range dbs {
				opt := accelerated(db, s.URL)
				opt.Attempted = func(d outbox.Delivery, _ outbox.Attempt, state outbox.State) {
					if _, again := heard.Load(d.EventID); again {
						t.Errorf("%s was sent again although its 2xx was heard", d.EventID)
					}
					if state == outbox.Delivered {
						heard.Store(d.EventID, true)
					}
				}
				running.Go(func() { outbox.New(opt).Run(ctx) })
			}
			wait(t, s, dbs[0])
			end()
			running.Wait()
			s.Check(t)
		})
	}
}

// Workers die in the middle, without a word: what they held comes again after
// its lease, under the same id, and no order is ever told backwards.
func TestWorkersDie(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			const orders, versions, kills = 100, 4, 8
			dbs := withEndpoint(t, name, 2)
			s := outboxtest.NewShop(t, orders*versions, true)
			told(t, dbs[0], 0, orders, versions)
			var running sync.WaitGroup
			start := func(db store.DB) *mortal {
				m := &mortal{DB: db}
				opt := accelerated(db, s.URL)
				opt.Store = m
				// Longer than an attempt: a dead worker's request has ended when
				// another takes its place.
				opt.Lease = 600 * time.Millisecond
				ctx, end := context.WithCancel(t.Context())
				m.end = end
				running.Go(func() { outbox.New(opt).Run(ctx) })
				return m
			}
			tick := time.NewTicker(150 * time.Millisecond)
			defer tick.Stop()
			for i := range kills {
				m := start(dbs[i%2])
				select {
				case <-tick.C:
				case <-s.All:
				}
				m.dead.Store(true)
				m.end()
			}
			last := start(dbs[0])
			wait(t, s, dbs[0])
			last.end()
			running.Wait()
			s.Check(t)
		})
	}
}

// mortal is a worker's store: once dead, it writes nothing more, as little as a
// process that was killed.
type mortal struct {
	store.DB
	dead atomic.Bool
	end  context.CancelFunc
}

func (m *mortal) Claim(ctx context.Context, c outbox.Claim) (outbox.Claimed, error) {
	if m.dead.Load() {
		return outbox.Claimed{}, order.ErrUnavailable
	}
	return m.DB.Claim(ctx, c)
}

func (m *mortal) Finish(ctx context.Context, now time.Time, results []outbox.Result) error {
	if m.dead.Load() {
		return order.ErrUnavailable
	}
	return m.DB.Finish(ctx, now, results)
}

// An outbox that ends in good order gives its leases back: the next instance
// need not wait for them.
func TestOutboxEndsInGoodOrder(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			db := withEndpoint(t, name, 1)[0]
			told(t, db, 0, 3, 1)
			entered := make(chan struct{}, 3)
			release := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				entered <- struct{}{}
				<-release
			}))
			defer server.Close()
			defer close(release)
			opt := accelerated(db, server.URL)
			opt.AttemptTimeout, opt.Lease = time.Minute, time.Hour
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); outbox.New(opt).Run(ctx) }()
			for range 3 {
				<-entered
			}
			end()
			<-ended
			list, err := db.Deliveries(t.Context(), outbox.Filter{})
			if err != nil || len(list) != 3 {
				t.Fatalf("%d deliveries, %v", len(list), err)
			}
			for _, d := range list {
				if d.Lease != "" || d.State != outbox.Pending || d.Attempts != 0 || d.NextAt.After(time.Now()) {
					t.Errorf("left behind: %+v", d)
				}
			}
		})
	}
}

// 410: the endpoint wants no more. Nothing goes out until a person resumes it.
func TestGonePausesTheEndpoint(t *testing.T) {
	db := withEndpoint(t, "sqlite", 1)[0]
	told(t, db, 0, 1, 1)
	var gone atomic.Bool
	gone.Store(true)
	var asked atomic.Int64
	taken := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if gone.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		taken <- struct{}{}
	}))
	defer server.Close()
	paused := make(chan outbox.Pause, 10)
	opt := accelerated(db, server.URL)
	opt.Paused = func(p outbox.Pause) { paused <- p }
	o := outbox.New(opt)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan struct{})
	go func() { defer close(ended); o.Run(ctx) }()
	if p := <-paused; p.Endpoint != shopEndpoint || p.ByHand {
		t.Errorf("%+v", p)
	}
	var pauses []outbox.Pause
	for len(pauses) == 0 {
		var err error
		if pauses, err = db.Pauses(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	gone.Store(false)
	told(t, db, 1, 2, 1)
	o.Wake()
	if n := asked.Load(); n != 1 {
		t.Errorf("after 410 the endpoint was asked %d times, want once", n)
	}
	if resumed, err := db.Resume(t.Context(), shopEndpoint); !resumed || err != nil {
		t.Fatal(resumed, err)
	}
	o.Forgive(shopEndpoint)
	for range 3 {
		<-taken
	}
	end()
	<-ended
}

// The times of the attempts are the table's, within its jitter, and the last
// one is the end.
func TestAttemptTimesAreTheTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n.db")
		db, err := store.Open("sqlite:"+path, store.Options{Subscriptions: subscribed})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if err := db.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		told(t, db, 0, 1, 2)
		const attemptTakes = 3 * time.Second
		type attempt struct {
			at      time.Time
			version string
		}
		var attempts []attempt
		exhausted := make(chan struct{})
		transport := transportFunc(func(r *http.Request) (*http.Response, error) {
			attempts = append(attempts, attempt{time.Now(), r.Header.Get("webhook-id")})
			<-time.After(attemptTakes)
			return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody}, nil
		})
		closed := 0
		o := outbox.New(outbox.Options{Store: db, Now: time.Now, NewID: newID, Random: rand.Float64,
			Endpoints: []outbox.Endpoint{{Name: shopEndpoint, URL: "http://shop.example/"}},
			Client:    func(bool) *http.Client { return &http.Client{Transport: transport} },
			Attempted: func(_ outbox.Delivery, _ outbox.Attempt, state outbox.State) {
				if state == outbox.Exhausted {
					if closed++; closed == 2 {
						close(exhausted)
					}
				}
			}})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		begin := time.Now()
		go func() { defer close(ended); o.Run(ctx) }()
		<-exhausted
		end()
		<-ended

		schedule := outbox.Schedule()
		if len(attempts) != 2*(len(schedule)+1) {
			t.Fatalf("%d attempts, want %d for each of two events", len(attempts), len(schedule)+1)
		}
		first := attempts[:len(schedule)+1]
		if !first[0].at.Equal(begin) {
			t.Errorf("the first attempt came after %s, want at once", first[0].at.Sub(begin))
		}
		for i, wait := range schedule {
			got := first[i+1].at.Sub(first[i].at) - attemptTakes
			if low, high := wait*9/10, wait*11/10; got < low-time.Millisecond || got > high+time.Millisecond {
				t.Errorf("attempt %d came %s after the end of the one before, want %s ± 10 %%", i+2, got, wait)
			}
			if first[i+1].version != first[0].version {
				t.Errorf("attempt %d is of another event: the order's next must wait", i+2)
			}
		}
		second := attempts[len(schedule)+1:]
		if gap := second[0].at.Sub(first[len(schedule)].at) - attemptTakes; second[0].version == first[0].version || gap > 15*time.Second {
			t.Errorf("after the first event is exhausted, the order's next goes %s later", gap)
		}
	})
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
