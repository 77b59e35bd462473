package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
)

// An unsigned refund waits for its payment, which arrives at the other instance
// at the same moment.
func TestRecorderRefundMeetsItsPayment(t *testing.T) {
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) {
			dbs := d.open(t, 2)
			a, b := recorder(t, options(dbs[0])), recorder(t, options(dbs[1]))
			for i := range 60 {
				no := fmt.Sprintf("T%03d", i)
				byTxn := refund(no, "42"+no, "r"+no, 300)
				byTxn.ByTxn = i%2 == 1
				var group sync.WaitGroup
				group.Go(func() { send(t, a, fact(no, "42"+no, order.KindPaid, 1000)) })
				group.Go(func() { send(t, b, byTxn) })
				group.Wait()
				s := story(t, dbs[0], no)
				paidOnce(t, s)
				if s.RefundedFen != 300 || len(s.Refunds) != 1 || len(s.Notifications) != 2 {
					t.Errorf("%s: refunded %d, %+v", no, s.RefundedFen, s.Notifications)
				}
			}
		})
	}
}

// Each refund is decided among the earlier ones of its order, which lie in the
// database by then: only they say what part of a running total is new.
func TestRecorderRefundsFollowOneAnother(t *testing.T) {
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) {
			db := d.open(t, 1)[0]
			r := recorder(t, options(db))
			total := func(fen int64) order.Fact {
				f := refund("T1", "42T1", "", fen)
				f.RunningTotalFen = fen
				return f
			}
			send(t, r, fact("T1", "42T1", order.KindPaid, 1000))
			for _, fen := range []int64{300, 700, 500} { // the last one comes late
				send(t, r, total(fen))
			}
			send(t, r, fact("T1", "42T2", order.KindPaid, 1000)) // a second payment, of an order with refunds
			s := story(t, db, "T1")
			paidOnce(t, s)
			got := map[int64]int64{}
			for _, f := range s.Refunds {
				got[f.TotalFen] = f.AmountFen
			}
			if diff := cmp.Diff(map[int64]int64{300: 300, 500: 200, 700: 200}, got); diff != "" {
				t.Errorf("the parts of the running totals:\n%s", diff)
			}
			if s.RefundedFen != 700 || len(s.Payments) != 2 || s.Payments[1].Role != order.Surplus {
				t.Errorf("refunded %d, payments %+v", s.RefundedFen, s.Payments)
			}
		})
	}
}
