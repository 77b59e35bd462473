package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// Somebody holds the row of one order, by hand. What the provider tells of it is
// refused; the acks of all other orders are not held up beyond one wait for it,
// however often it is told.
func TestALockedOrderHoldsUpNoOther(t *testing.T) {
	url := pgtest.Database(t)
	db, err := store.Open(url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	opt := options(db)
	opt.Committers = db.Committers()
	r := order.NewRecorder(opt)
	defer func() { _ = r.Close(context.Background()) }()
	tell := func(no, txn string, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := r.Record(ctx, notification(fact(no, txn, order.KindPaid, 1000)))
		return err
	}
	if err := tell("LOCKED", "42LOCKED", time.Minute); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "begin; select 1 from orders where out_trade_no = 'LOCKED' for update"); err != nil {
		t.Fatal(err)
	}
	// Twelve waits of a lock's own second would take far longer than this.
	const patience = 4 * time.Second
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if err := tell("LOCKED", fmt.Sprintf("42SURPLUS%02d", i), time.Minute); err == nil {
				t.Error("a notification of the locked order was acked")
			}
		})
		for j := range 20 {
			all.Go(func() {
				no := fmt.Sprintf("T%02d%02d", i, j)
				if err := tell(no, "42"+no, patience); err != nil {
					t.Errorf("%s: %v", no, err)
				}
			})
		}
	}
	all.Wait()
}
