package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// atOnce runs n functions at once and reports their errors.
func atOnce(t *testing.T, n int, run func(ctx context.Context, i int) error) {
	t.Helper()
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			if err := run(t.Context(), i); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	close(begin)
	all.Wait()
}

// inside counts how many are where only one may be.
type inside struct{ now, most atomic.Int64 }

func (i *inside) enter() func() {
	if n := i.now.Add(1); n > 1 {
		i.most.Store(n)
	}
	return func() { i.now.Add(-1) }
}

const (
	workers = 4
	rounds  = 15
)

// Nobody loses a race on a revision: each saw what the one before it wrote.
func unitsOnOneOrder(t *testing.T, db store.DB) {
	var alone inside
	atOnce(t, workers, func(ctx context.Context, _ int) error {
		for range rounds {
			err := db.Transact(ctx, order.Want{Orders: []order.Key{key("T1")}}, func(f *order.Found) (*order.Changes, error) {
				defer alone.enter()()
				o, exists := f.Orders[key("T1")]
				if !exists {
					o = anOrder("T1")
					o.Rev, o.Version = 0, 0
				}
				o.Rev++
				o.Version++
				return &order.Changes{Orders: []order.Order{o}, Events: []order.Event{anEvent(fmt.Sprintf("evt_%03d", o.Version), "T1", o.Version)}}, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if n := alone.most.Load(); n > 1 {
		t.Errorf("%d decided about one order at once", n)
	}
	o, _ := findOrder(t, db, key("T1"))
	if o.Version != workers*rounds {
		t.Errorf("the order has version %d, want %d: updates were lost", o.Version, workers*rounds)
	}
}

// A transaction is locked before it is kept: two orders cannot both take it.
func unitsOnOneTxn(t *testing.T, db store.DB) {
	for round := range rounds {
		id := txn(fmt.Sprintf("tx%d", round))
		var kept atomic.Int64
		atOnce(t, workers, func(ctx context.Context, i int) error {
			n := fmt.Sprintf("T%d-%d", round, i)
			return db.Transact(ctx, order.Want{Orders: []order.Key{key(n)}, Txns: []order.TxnKey{id}}, func(f *order.Found) (*order.Changes, error) {
				if _, taken := f.Payments[id]; taken {
					return nil, nil
				}
				kept.Add(1)
				return &order.Changes{Payments: []order.Payment{aPayment(id.ProviderTxnID, n, 0)}}, nil
			})
		})
		if n := kept.Load(); n != 1 {
			t.Errorf("%d orders took one transaction", n)
		}
	}
}

func unitsInRings(t *testing.T, db store.DB) {
	atOnce(t, workers, func(ctx context.Context, i int) error {
		for round := range rounds {
			// Each begins elsewhere in the ring, and every other one goes round the other way.
			var want order.Want
			for step := range workers {
				at := (i + step + round) % workers
				if i%2 == 1 {
					at = (i - step + 2*workers) % workers
				}
				want.Orders = append(want.Orders, key(fmt.Sprintf("T%d", at)))
				want.Txns = append(want.Txns, txn(fmt.Sprintf("tx%d", at)))
			}
			err := db.Transact(ctx, want, func(f *order.Found) (*order.Changes, error) {
				var c order.Changes
				for _, k := range want.Orders {
					o, exists := f.Orders[k]
					if !exists {
						o = anOrder(k.OutTradeNo)
						o.Rev = 0
					}
					o.Rev++
					c.Orders = append(c.Orders, o)
				}
				return &c, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// A fact waits when it does not see its order; a registration takes up the facts
// that it sees. If either could miss the other, a fact would wait forever.
func registrationMeetsFact(t *testing.T, db store.DB) {
	for round := range 2 * rounds {
		n := fmt.Sprintf("T%d", round)
		want := order.Want{Orders: []order.Key{key(n)}, Txns: []order.TxnKey{txn("tx-" + n)}}
		atOnce(t, 2, func(ctx context.Context, i int) error {
			if i == 0 {
				return db.Transact(ctx, want, func(f *order.Found) (*order.Changes, error) {
					c := order.Changes{Orders: []order.Order{anOrder(n)}}
					for _, w := range f.Waiting {
						c.Done = append(c.Done, order.WaitingKey{NotificationID: w.NotificationID, Index: w.Index})
					}
					return &c, nil
				})
			}
			return db.Transact(ctx, want, func(f *order.Found) (*order.Changes, error) {
				c := order.Changes{Notifications: []order.Row{aNotification(round, n)}}
				if _, registered := f.Orders[key(n)]; !registered {
					c.Wait = []order.Waiting{aWaiting(round, n)}
				}
				return &c, nil
			})
		})
		found := find(t, db, want)
		if len(found.Orders) != 1 || len(found.Waiting) != 0 {
			t.Errorf("order registered: %v, and %d facts wait for it", len(found.Orders) == 1, len(found.Waiting))
		}
	}
}

// Two instances may take copies at the same moment and lock nothing in common:
// the fact keys let one of them in. The ids that each gives them stand in another
// order, so that who writes in order of the ids waits in a ring.
func copiesAreRecordedOnce(t *testing.T, db store.DB) {
	const batch = 25
	var recorded atomic.Int64
	atOnce(t, workers, func(ctx context.Context, i int) error {
		for round := range rounds {
			var c order.Changes
			for j := range batch {
				n := aNotification(round*batch+j, "")
				n.ID = fmt.Sprintf("ntf_%d_%d_%02d", i, round, j)
				if i%2 == 1 {
					n.ID = fmt.Sprintf("ntf_%d_%d_%02d", i, round, batch-j)
				}
				c.Notifications = append(c.Notifications, n)
			}
			switch err := try(ctx, db, &c); {
			case err == nil:
				recorded.Add(1)
			case !errors.Is(err, order.ErrRace):
				return err
			}
		}
		return nil
	})
	if n := recorded.Load(); n != rounds {
		t.Errorf("%d batches were recorded, want %d", n, rounds)
	}
}
