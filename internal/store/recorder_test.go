package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// The recorder on the real databases: what the domain's tests show with a store
// in memory must hold with real transactions, locks and several instances.

var noon = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)

// opener opens n handles on one fresh database: n processes, as far as the
// database can tell. SQLite belongs to one process and gives the same handle.
type opener struct {
	name string
	open func(t *testing.T, n int) []store.DB
}

func databases() []opener {
	return []opener{
		{"sqlite", func(t *testing.T, n int) []store.DB {
			one := prepared(t, "sqlite:"+filepath.Join(t.TempDir(), "n.db"))
			all := make([]store.DB, n)
			for i := range all {
				all[i] = one
			}
			return all
		}},
		{"postgres", func(t *testing.T, n int) []store.DB {
			url := pgtest.Database(t)
			all := make([]store.DB, n)
			for i := range all {
				all[i] = prepared(t, url)
			}
			return all
		}},
	}
}

func prepared(t *testing.T, url string) store.DB {
	t.Helper()
	db, err := store.Open(url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

var counter atomic.Int64

func newID(prefix string) string { return fmt.Sprintf("%s%026d", prefix, counter.Add(1)) }

func options(s order.Store) order.RecorderOptions {
	return order.RecorderOptions{Store: s, Now: func() time.Time { return noon }, NewID: newID, Committers: 2}
}

func recorder(t *testing.T, opt order.RecorderOptions) *order.Recorder {
	r := order.NewRecorder(opt)
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func commands(s order.Store, require bool) *order.Commands {
	return &order.Commands{Store: s, Now: func() time.Time { return noon }, NewID: newID, RequireRegistration: require}
}

func fact(no, txn string, k order.Kind, fen int64) order.Fact {
	return order.Fact{Kind: k, Merchant: "default", OutTradeNo: no, Provider: "wechat", Account: "wechat",
		ProviderTxnID: txn, AmountFen: fen, Currency: "CNY", At: noon}
}

func refund(no, txn, id string, fen int64) order.Fact {
	f := fact(no, txn, order.KindRefund, fen)
	f.ProviderRefundID, f.OutRefundNo, f.Currency = id, "R"+id, ""
	return f
}

func notification(facts ...order.Fact) order.Notification {
	return order.Notification{ID: newID("ntf_"), ReceivedAt: noon, Provider: "wechat", Account: "wechat", Scope: "1900000001",
		Merchant: "default", Kind: facts[len(facts)-1].Kind, Facts: facts,
		Capture: order.Capture{RequestLine: "POST /notify/wechat HTTP/1.1", Body: []byte("<xml/>")}}
}

func send(t *testing.T, r *order.Recorder, facts ...order.Fact) order.Receipt {
	t.Helper()
	receipt, err := r.Record(t.Context(), notification(facts...))
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func story(t *testing.T, db store.DB, no string) order.Story {
	t.Helper()
	s, err := db.Story(t.Context(), order.Key{Merchant: "default", OutTradeNo: no})
	if err != nil {
		t.Fatalf("order %s: %v", no, err)
	}
	return s
}

// paidOnce checks I2 and I3: one accepted payment, one order.paid.
func paidOnce(t *testing.T, s order.Story) {
	t.Helper()
	accepted, paid := 0, 0
	for _, p := range s.Payments {
		if p.Role == order.Accepted {
			accepted++
		}
	}
	for i, e := range s.Events {
		if e.Type == order.EventPaid {
			paid++
		}
		if e.OrderVersion != int64(i+1) {
			t.Errorf("order %s: event %d has version %d", s.OutTradeNo, i, e.OrderVersion)
		}
	}
	if accepted != 1 || paid != 1 || s.Version != int64(len(s.Events)) {
		t.Errorf("order %s: %d accepted payments, %d order.paid, version %d of %d events", s.OutTradeNo, accepted, paid, s.Version, len(s.Events))
	}
}

// A storm of copies at three instances (check 7): one transition each.
func TestRecorderDuplicateStorm(t *testing.T) {
	const orders, copies = 40, 64
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) {
			dbs := d.open(t, 3)
			var recorders []*order.Recorder
			for _, db := range dbs {
				recorders = append(recorders, recorder(t, options(db)))
			}
			var group sync.WaitGroup
			for c := range copies {
				group.Go(func() {
					for o := range orders {
						no := fmt.Sprintf("T%03d", (o+c)%orders)
						_, err := recorders[c%3].Record(t.Context(), notification(fact(no, "42"+no, order.KindPaid, 1000)))
						if err != nil {
							t.Errorf("%s: %v", no, err)
						}
					}
				})
			}
			group.Wait()
			for _, r := range recorders {
				if err := r.FlushCopies(t.Context()); err != nil {
					t.Error(err)
				}
			}
			for o := range orders {
				s := story(t, dbs[0], fmt.Sprintf("T%03d", o))
				paidOnce(t, s)
				if len(s.Notifications) != 1 || s.Notifications[0].Copies != copies || s.Version != 1 {
					t.Errorf("%s: %d notifications, version %d, %+v", s.OutTradeNo, len(s.Notifications), s.Version, s.Notifications)
				}
			}
		})
	}
}

// Combined notifications whose orders overlap in opposite order, at three
// instances: no deadlock surfaces, every order is paid once.
func TestRecorderOverlappingUnits(t *testing.T) {
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) {
			dbs := d.open(t, 3)
			var group sync.WaitGroup
			for i, db := range dbs {
				opt := options(db)
				opt.Failed = func(err error) { t.Logf("a unit failed: %v", err) }
				r := recorder(t, opt)
				for w := range 8 {
					group.Go(func() {
						random := rand.New(rand.NewPCG(uint64(i), uint64(w)))
						for range 10 {
							var facts []order.Fact
							for _, o := range random.Perm(12)[:4] {
								no := fmt.Sprintf("C%02d", o)
								facts = append(facts, fact(no, "42"+no, order.KindPaid, 1000))
							}
							if _, err := r.Record(t.Context(), notification(facts...)); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			group.Wait()
			for o := range 12 {
				paidOnce(t, story(t, dbs[0], fmt.Sprintf("C%02d", o)))
			}
		})
	}
}

// A registration and the fact that needs it, at the same moment at two
// instances: neither misses the other.
func TestRecorderRegistrationMeetsUnmatched(t *testing.T) {
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) {
			dbs := d.open(t, 2)
			opt := options(dbs[0])
			opt.RequireRegistration = true
			r := recorder(t, opt)
			c := commands(dbs[1], true)
			for i := range 60 {
				no := fmt.Sprintf("T%03d", i)
				var group sync.WaitGroup
				group.Go(func() { send(t, r, fact(no, "42"+no, order.KindPaid, 1000)) })
				group.Go(func() {
					_, err := c.Register(t.Context(), order.Registration{Key: order.Key{Merchant: "default", OutTradeNo: no}, AmountFen: 1000})
					if err != nil {
						t.Error(err)
					}
				})
				group.Wait()
				s := story(t, dbs[0], no)
				paidOnce(t, s)
				if s.Notifications[0].Outcome != order.Applied || !s.AmountVerified {
					t.Errorf("%s: %+v", no, s.Notifications)
				}
			}
		})
	}
}

// flaky fails each unit of work once: before it, or after its commit.
type flaky struct {
	store.DB
	after  bool
	failed map[order.FactKey]bool
	mu     sync.Mutex
}

func (f *flaky) Transact(ctx context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	lost := fmt.Errorf("%w: connection lost", order.ErrUnavailable)
	if !f.after && f.first(want) {
		return lost
	}
	committed := false
	err := f.DB.Transact(ctx, want, func(found *order.Found) (*order.Changes, error) {
		changes, err := decide(found)
		committed = err == nil && changes != nil && !changes.Empty()
		return changes, err
	})
	if f.after && err == nil && committed && f.first(want) {
		return lost
	}
	return err
}

func (f *flaky) first(want order.Want) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(want.FactKeys) == 0 || f.failed[want.FactKeys[0]] {
		return false
	}
	f.failed[want.FactKeys[0]] = true
	return true
}

// Every write fails twice, on the real databases: not persisted, and persisted
// though an error came back. After the provider's retry the state is right.
func TestRecorderEveryWriteFailsTwice(t *testing.T) {
	implied := fact("T1", "A", order.KindPaid, 1000)
	implied.Implied, implied.At = true, time.Time{}
	steps := [][]order.Fact{
		{refund("T1", "A", "r0", 100)}, {fact("T1", "A", order.KindPaying, 0)}, {fact("T1", "A", order.KindPaid, 1000)},
		{implied, refund("T1", "A", "r1", 300)}, {fact("T1", "B", order.KindPaid, 500)}, {fact("T2", "C", order.KindContract, 0)},
		{implied, refund("T1", "A", "r2", 600)},
	}
	for _, d := range databases() {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s persisted=%v", d.name, after), func(t *testing.T) {
				db := d.open(t, 1)[0]
				r := recorder(t, options(&flaky{DB: db, after: after, failed: map[order.FactKey]bool{}}))
				for i, facts := range steps {
					if _, err := r.Record(t.Context(), notification(facts...)); !errors.Is(err, order.ErrUnavailable) {
						t.Fatalf("step %d: %v, want unavailable: nothing may be acked", i, err)
					}
					if receipt := send(t, r, facts...); receipt.Repeat != after {
						t.Errorf("step %d: repeat %v", i, receipt.Repeat)
					}
				}
				s := story(t, db, "T1")
				paidOnce(t, s)
				if s.Status != order.Refunded || s.RefundedFen != 1000 || len(s.Refunds) != 3 || len(s.Payments) != 2 || s.Version != 6 {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

// Random histories on each database equal the pure decisions one after another
// (check 8), also in what is read back.
func TestRecorderEqualsDecide(t *testing.T) {
	const histories = 150
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) {
			db := d.open(t, 1)[0]
			r := recorder(t, options(db))
			for h := range histories {
				random := rand.New(rand.NewPCG(7, uint64(h)))
				no := fmt.Sprintf("H%04d", h)
				model := order.Aggregate{Order: order.Order{Key: order.Key{Merchant: "default", OutTradeNo: no}}}
				seen := map[order.FactKey]bool{}
				for range 1 + random.IntN(10) {
					n := notification(anyFact(random, no))
					if len(model.Payments) == 0 && n.Facts[0].Kind == order.KindRefund {
						continue // would wait; the waiting has tests of its own
					}
					receipt, err := r.Record(t.Context(), n)
					if err != nil {
						t.Fatal(err)
					}
					if receipt.Repeat != seen[n.FactKey()] {
						t.Fatalf("%s: repeat %v", no, receipt.Repeat)
					}
					if !receipt.Repeat {
						seen[n.FactKey()] = true
						var want order.Decision
						if model, want = order.Decide(model, n.Facts[0]); want.Outcome != receipt.Outcome || want.Reason != receipt.Reason {
							t.Fatalf("%s: %s %s, want %s %s", no, receipt.Outcome, receipt.Reason, want.Outcome, want.Reason)
						}
						if want.Outcome == order.Unmatched {
							break // from here on the waiting fact has a say
						}
					}
				}
				if model.Order.Status == order.None {
					continue
				}
				got := story(t, db, no).Order
				want := model.Order
				got.Rev, got.CreatedAt, got.UpdatedAt = want.Rev, want.CreatedAt, want.UpdatedAt
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s: decided and stored differ:\n%s", no, diff)
				}
			}
		})
	}
}

func anyFact(random *rand.Rand, no string) order.Fact {
	txn := no + []string{"A", "B"}[random.IntN(2)]
	switch random.IntN(6) {
	case 0:
		return fact(no, txn, order.KindPaying, 0)
	case 1:
		return fact(no, txn, order.KindClosed, 0)
	case 2:
		return fact(no, txn, order.KindFinished, 0)
	case 3:
		return refund(no, txn, txn+fmt.Sprint(random.IntN(3)), 400)
	}
	return fact(no, txn, order.KindPaid, 1000)
}
