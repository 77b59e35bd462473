package order

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The walks of an order that people lost money on, one test each.

func TestWalkRefundOfSurplusPayment(t *testing.T) {
	d := newDesk(t, false)
	d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Applied, "")
	d.expect(d.send(wx("T1", "B", KindPaid, 1000)), Conflict, ReasonSurplusPayment)
	d.expect(d.send(wxRefund("T1", "B", "r1", 1000, 1000)...), Applied, "")
	s := d.stands(t1, Paid, 1000, 0)
	if p := s.Payments[1]; p.Role != Surplus || p.RefundedFen != 1000 {
		t.Errorf("surplus payment %+v", p)
	}
	if len(s.Refunds) != 1 || s.Refunds[0].ProviderTxnID != "B" {
		t.Errorf("refunds %+v", s.Refunds)
	}
}

func TestWalkRefundOfMismatchedPayment(t *testing.T) {
	d := newDesk(t, false)
	d.register(t1, 2000)
	d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Conflict, ReasonAmountMismatch)
	d.expect(d.send(wxRefund("T1", "A", "r1", 1000, 1000)...), Applied, "")
	s := d.stands(t1, Created, 0, 0)
	if p := s.Payments[0]; p.Role != Mismatched || p.RefundedFen != 1000 || p.Position == 0 {
		t.Errorf("mismatched payment %+v", p)
	}
	// Its paying, close and finish are stale; the right payment still pays.
	for _, k := range []Kind{KindPaying, KindClosed, KindFinished} {
		d.expect(d.send(wx("T1", "A", k, 0)), Stale, "")
	}
	d.expect(d.send(wx("T1", "B", KindPaid, 2000)), Applied, "")
	if s := d.stands(t1, Paid, 2000, 0); !s.AmountVerified {
		t.Error("the expected amount was paid, but amount_verified is false")
	}
}

func TestWalkFinishedAsFirstNewsOfSecondPayment(t *testing.T) {
	d := newDesk(t, false)
	d.send(ali("T1", "A", KindPaid, 1000))
	r := d.send(ali("T1", "B", KindPaid, 1000), ali("T1", "B", KindFinished, 0))
	d.expect(r, Conflict, ReasonSurplusPayment)
	if r.Results[1].Outcome != Stale {
		t.Errorf("finished of the surplus trade: %+v", r.Results)
	}
	if s := d.stands(t1, Paid, 1000, 0); s.Finished {
		t.Error("the order finished by a foreign trade")
	}
	d.expect(d.send(ali("T1", "A", KindPaid, 1000), ali("T1", "A", KindFinished, 0)), Applied, "")
	if s := d.stands(t1, Paid, 1000, 0); !s.Finished {
		t.Error("not finished by its own trade")
	}
}

func TestWalkUnusedAlipayTradeTimesOutAfterWeChatPayment(t *testing.T) {
	d := newDesk(t, false)
	d.expect(d.send(ali("T1", "Z", KindPaying, 0)), Applied, "")
	d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Applied, "")
	d.expect(d.send(ali("T1", "Z", KindClosed, 0)), Stale, "")
	d.stands(t1, Paid, 1000, 0)
}

func TestWalkFullRefundBeforeDelayedPartialOne(t *testing.T) {
	d := newDesk(t, false)
	d.send(ali("T1", "A", KindPaid, 1000))
	full := append(aliRefund("T1", "A", 1000, 1000), ali("T1", "A", KindClosed, 0))
	d.expect(d.send(full...), Applied, "")
	d.stands(t1, Refunded, 1000, 1000)
	d.expect(d.send(aliRefund("T1", "A", 1000, 300)...), Stale, "")
	s := d.stands(t1, Refunded, 1000, 1000)
	if len(s.Refunds) != 2 {
		t.Fatalf("refunds %+v", s.Refunds)
	}
	sum := s.Refunds[0].AmountFen + s.Refunds[1].AmountFen
	for _, r := range s.Refunds {
		if r.TotalFen == 300 && r.AmountFen != 300 || r.TotalFen == 1000 && r.AmountFen != 700 || sum != 1000 {
			t.Errorf("refund %+v of a sum of %d", r, sum)
		}
	}
	// The same total under another request number is the same refund.
	again := aliRefund("T1", "A", 1000, 1000)
	again[1].OutRefundNo = "closing"
	d.expect(d.send(again...), Duplicate, "")
}

func TestWalkCancelPayRefund(t *testing.T) {
	d := newDesk(t, false)
	d.register(t1, 1000)
	d.do(t1, KindCancel)
	d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Conflict, ReasonPaidAfterCancel)
	d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Conflict, ReasonPaidAfterCancel) // a copy
	d.expect(d.send(wxRefund("T1", "A", "r1", 1000, 1000)...), Applied, "")
	s := d.stands(t1, Cancelled, 0, 0)
	if p := s.Payments[0]; p.Role != Surplus || p.RefundedFen != 1000 {
		t.Errorf("payment %+v", p)
	}
}

func TestWalkSameTransactionAnotherAmount(t *testing.T) {
	d := newDesk(t, false)
	d.send(wx("T1", "A", KindPaid, 1000))
	d.expect(d.send(wx("T1", "A", KindPaid, 1001)), Conflict, ReasonAmountMismatch)
	other := wx("T1", "A", KindPaid, 1000)
	other.Currency = "USD"
	d.expect(d.send(other), Conflict, ReasonCurrencyMismatch)
	if s := d.stands(t1, Paid, 1000, 0); len(s.Payments) != 1 || s.Version != 3 {
		t.Errorf("%+v", s)
	}
}

func TestWalkRegistrationAfterPayment(t *testing.T) {
	t.Run("equal", func(t *testing.T) {
		d := newDesk(t, false)
		d.send(wx("T1", "A", KindPaid, 1000))
		d.register(t1, 1000)
		if s := d.stands(t1, Paid, 1000, 0); !s.AmountVerified || s.Version != 1 {
			t.Errorf("%+v: want verified, and no event", s.Order)
		}
	})
	t.Run("different", func(t *testing.T) {
		d := newDesk(t, false)
		d.send(wx("T1", "A", KindPaid, 1000))
		d.register(t1, 2000)
		s := d.stands(t1, Paid, 1000, 0)
		if s.AmountVerified || s.Version != 2 || s.Events[1].Reason != ReasonAmountMismatch || s.ExpectedFen != 2000 {
			t.Errorf("%+v %+v", s.Order, s.Events)
		}
		// It is kept already: whatever is expected now, the same again is a duplicate.
		f := wx("T1", "A", KindPaid, 1000)
		f.At = time.Time{}
		d.expect(d.send(f), Duplicate, "")
	})
	t.Run("twice", func(t *testing.T) {
		d := newDesk(t, false)
		ctx := context.Background()
		for i, want := range []bool{true, false} {
			if created, err := d.cmd.Register(ctx, Registration{Key: t1, AmountFen: 1000}); err != nil || created != want {
				t.Errorf("registration %d: created %v, %v", i, created, err)
			}
		}
		if _, err := d.cmd.Register(ctx, Registration{Key: t1, AmountFen: 1001}); !errors.Is(err, ErrFactsDiffer) {
			t.Errorf("another amount: %v", err)
		}
		if _, err := d.cmd.Register(ctx, Registration{Key: t1, AmountFen: 1000, ExpiresAt: noon}); !errors.Is(err, ErrFactsDiffer) {
			t.Errorf("another expiry: %v", err)
		}
	})
}

func TestWalkCombinedOrderWithOneBadSubOrder(t *testing.T) {
	d := newDesk(t, false)
	d.register(Key{shop, "T2"}, 999)
	r := d.send(wx("T1", "A", KindPaid, 1000), wx("T2", "B", KindPaid, 1000), wx("T3", "C", KindPaid, 1000))
	d.expect(r, Conflict, ReasonAmountMismatch)
	d.stands(t1, Paid, 1000, 0)
	d.stands(Key{shop, "T2"}, Created, 0, 0)
	d.stands(Key{shop, "T3"}, Paid, 1000, 0)
	again := d.send(wx("T1", "A", KindPaid, 1000), wx("T2", "B", KindPaid, 1000), wx("T3", "C", KindPaid, 1000))
	if !again.Repeat || again.NotificationID != r.NotificationID {
		t.Errorf("copy: %+v", again)
	}
}

func TestWalkAccountRenamedBetweenTwoRepeats(t *testing.T) {
	d := newDesk(t, false)
	first := d.send(wx("T1", "A", KindPaid, 1000))
	f := wx("T1", "A", KindPaid, 1000)
	f.Account = "wechat-renamed"
	again := d.send(f)
	if !again.Repeat || again.NotificationID != first.NotificationID {
		t.Errorf("%+v is not a repeat of %+v", again, first)
	}
	d.expect(d.send(wxRefund("T1", "A", "r1", 1000, 300)...), Applied, "")
	d.stands(t1, Paid, 1000, 300)
}

func TestWalkLatePayment(t *testing.T) {
	t.Run("after close", func(t *testing.T) {
		d := newDesk(t, false)
		d.send(ali("T1", "A", KindClosed, 0))
		d.send(ali("T1", "A", KindPaid, 1000))
		if s := d.stands(t1, Paid, 1000, 0); !s.Late {
			t.Error("not late")
		}
	})
	t.Run("decided when the time is filled in", func(t *testing.T) {
		d := newDesk(t, false)
		ctx := context.Background()
		if _, err := d.cmd.Register(ctx, Registration{Key: t1, AmountFen: 1000, ExpiresAt: noon.Add(-time.Second)}); err != nil {
			t.Fatal(err)
		}
		d.send(wxRefund("T1", "A", "r1", 1000, 300)...) // the payment is implied, its time unknown
		if s := d.stands(t1, Paid, 1000, 300); s.Late {
			t.Error("late without a time")
		}
		d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Duplicate, "")
		if s := d.stands(t1, Paid, 1000, 300); !s.Late || !s.PaidAt.Equal(noon) {
			t.Errorf("late %v paid_at %v", s.Late, s.PaidAt)
		}
	})
	t.Run("at the very moment is in time", func(t *testing.T) {
		d := newDesk(t, false)
		if _, err := d.cmd.Register(context.Background(), Registration{Key: t1, AmountFen: 1000, ExpiresAt: noon}); err != nil {
			t.Fatal(err)
		}
		d.send(wx("T1", "A", KindPaid, 1000))
		if s := d.stands(t1, Paid, 1000, 0); s.Late {
			t.Error("late")
		}
	})
}

func TestWalkRefundStates(t *testing.T) {
	d := newDesk(t, false)
	d.send(wx("T1", "A", KindPaid, 1000))
	d.expect(d.send(bareRefund("T1", "A", "r1", KindRefundAbnormal, 300)), Applied, "")
	d.stands(t1, Paid, 1000, 0)
	d.expect(d.send(bareRefund("T1", "A", "r1", KindRefund, 300)), Applied, "")
	d.stands(t1, Paid, 1000, 300)
	d.expect(d.send(bareRefund("T1", "A", "r1", KindRefundClosed, 300)), Stale, "")
	d.expect(d.send(bareRefund("T1", "A", "r1", KindRefund, 301)), Conflict, ReasonNumberReused)
	d.expect(d.send(bareRefund("T1", "A", "r2", KindRefund, 701)), Conflict, ReasonRefundExceedsPaid)
	d.expect(d.send(bareRefund("T1", "A", "r3", KindRefund, 700)), Applied, "")
	s := d.stands(t1, Refunded, 1000, 1000)
	if len(s.Refunds) != 2 {
		t.Errorf("a conflict left a row: %+v", s.Refunds)
	}
}

func TestWalkNumbersReused(t *testing.T) {
	d := newDesk(t, false)
	t2 := Key{shop, "T2"}
	d.send(wx("T1", "A", KindPaid, 1000))
	d.send(wx("T2", "B", KindPaid, 1000))
	// A known transaction under another order number, known or unknown.
	d.expect(d.send(wx("T2", "A", KindPaid, 1000)), Conflict, ReasonNumberReused)
	d.expect(d.send(wx("T9", "A", KindPaid, 1000)), Conflict, ReasonNumberReused)
	if s := d.store.story(Key{shop, "T9"}); s.Status != None || len(s.Notifications) != 1 {
		t.Errorf("T9: %+v", s)
	}
	d.stands(t2, Paid, 1000, 0)
	// Together with what it implies it is one conflict, not two.
	r := d.send(wxRefund("T2", "A", "r1", 1000, 300)...)
	d.expect(r, Conflict, ReasonNumberReused)
	if len(r.Results) != 1 {
		t.Errorf("results %+v", r.Results)
	}
	// A known refund of another order.
	d.expect(d.send(bareRefund("T1", "A", "r5", KindRefund, 100)), Applied, "")
	d.expect(d.send(bareRefund("T2", "B", "r5", KindRefund, 100)), Conflict, ReasonNumberReused)
	d.stands(t1, Paid, 1000, 100)
	d.stands(t2, Paid, 1000, 0)
}

func TestWalkProviderIDReused(t *testing.T) {
	d := newDesk(t, false)
	send := func(id string, facts ...Fact) Receipt {
		d.n++
		n := notify("ntf_id"+itoa(int64(d.n)), facts...)
		n.ProviderID = id
		return d.sendAs(n)
	}
	d.expect(send("EV-1", wx("T1", "A", KindPaid, 1000)), Applied, "")
	d.expect(send("EV-1", wx("T2", "B", KindPaid, 1000)), Conflict, ReasonNumberReused)
	if s := d.store.story(Key{shop, "T2"}); s.Status != None {
		t.Errorf("a reused id made an order: %+v", s.Order)
	}
	// Times and states are not among what must agree.
	d.expect(send("N1", ali("T3", "C", KindPaying, 0)), Applied, "")
	d.expect(send("N1", ali("T3", "C", KindPaid, 1000)), Applied, "")
	d.expect(send("N1", ali("T3", "D", KindPaid, 1000)), Conflict, ReasonNumberReused)
	d.expect(send("N1", aliRefund("T3", "C", 1000, 300)...), Applied, "")
	d.stands(Key{shop, "T3"}, Paid, 1000, 300)
}

func TestWalkUnregistered(t *testing.T) {
	d := newDesk(t, true)
	d.expect(d.send(bareRefund("T1", "A", "r1", KindRefund, 300)), Unmatched, "")
	d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Unmatched, "")
	if len(d.store.orders) != 0 {
		t.Fatal("an order was born")
	}
	d.register(t1, 1000)
	s := d.stands(t1, Paid, 1000, 300)
	for _, n := range s.Notifications {
		if n.Outcome != Applied {
			t.Errorf("notification %+v", n)
		}
	}
	if len(d.store.waiting) != 0 {
		t.Errorf("still waiting: %+v", d.store.waiting)
	}
	want := []EventType{EventCreated, EventPaid, EventRefunded}
	for i, e := range s.Events {
		if e.Type != want[i] {
			t.Errorf("event %d is %s, want %s", i, e.Type, want[i])
		}
	}
}

func TestWalkUnsignedRefundWaitsForItsPayment(t *testing.T) {
	for _, role := range []Role{Accepted, Mismatched} {
		t.Run(string(role), func(t *testing.T) {
			d := newDesk(t, false)
			if role == Mismatched {
				d.register(t1, 2000)
			}
			r := d.send(bareRefund("T1", "A", "r1", KindRefund, 300))
			d.expect(r, Unmatched, "")
			d.send(wx("T1", "A", KindPaid, 1000))
			s := d.store.story(t1)
			if s.Payments[0].RefundedFen != 300 || s.Payments[0].Role != role || len(d.store.waiting) != 0 {
				t.Errorf("%+v", s)
			}
			if got := d.store.rows[r.NotificationID]; got.Outcome != Applied {
				t.Errorf("the refund's notification says %s", got.Outcome)
			}
		})
	}
}

func TestWalkRefundFindsItsSubMerchantsOrder(t *testing.T) {
	sub := Key{shop + "/1900000109", "T1"}
	pay := wx("T1", "A", KindPaid, 1000)
	pay.Merchant, pay.SubMerchant = sub.Merchant, "1900000109"
	refund := wxRefund("T1", "A", "r1", 1000, 300)
	for i := range refund {
		refund[i].ByTxn = true
	}
	t.Run("payment first", func(t *testing.T) {
		d := newDesk(t, false)
		d.send(pay)
		d.expect(d.send(refund...), Applied, "")
		d.stands(sub, Paid, 1000, 300)
	})
	t.Run("refund first", func(t *testing.T) {
		d := newDesk(t, false)
		r := d.send(refund...)
		d.expect(r, Unmatched, "")
		d.expect(d.send(pay), Applied, "")
		d.stands(sub, Paid, 1000, 300)
		if row := d.store.rows[r.NotificationID]; row.Outcome != Applied || row.Merchant != sub.Merchant {
			t.Errorf("%+v", row)
		}
	})
	t.Run("another order number", func(t *testing.T) {
		d := newDesk(t, false)
		d.send(pay)
		other := wxRefund("T7", "A", "r1", 1000, 300)
		for i := range other {
			other[i].ByTxn = true
		}
		d.expect(d.send(other...), Conflict, ReasonNumberReused)
		d.stands(sub, Paid, 1000, 0)
	})
	t.Run("refund first, both unregistered", func(t *testing.T) {
		d := newDesk(t, true)
		d.expect(d.send(refund...), Unmatched, "")
		d.expect(d.send(pay), Unmatched, "")
		d.register(sub, 1000)
		d.stands(sub, Paid, 1000, 300)
	})
}

func TestWalkAmbiguousTextIsAConflictWhateverTheKind(t *testing.T) {
	d := newDesk(t, false)
	d.send(wx("T1", "A", KindPaid, 1000))
	for _, no := range []string{"", "T1", "T9"} {
		f := wx(no, "", KindOther, 0)
		f.Conflict = ReasonAmbiguousText
		r := d.send(f)
		d.expect(r, Conflict, ReasonAmbiguousText)
	}
	if s := d.stands(t1, Paid, 1000, 0); s.Version != 2 {
		t.Errorf("version %d", s.Version)
	}
	for _, e := range d.store.events[1:] {
		if e.Type != EventConflict || (e.OrderVersion > 0) != (e.Key.OutTradeNo == "T1") {
			t.Errorf("%+v", e)
		}
	}
}

func TestWalkUnreadable(t *testing.T) {
	d := newDesk(t, false)
	f := wx("T1", "A", KindPaid, 0)
	f.Conflict = ReasonUnreadableField
	d.expect(d.send(f), Conflict, ReasonUnreadableField)
	if s := d.store.story(t1); s.Status != None || len(d.store.events) != 1 || d.store.events[0].OrderVersion != 0 {
		t.Errorf("an unreadable message made an order: %+v %+v", s.Order, d.store.events)
	}
	none := wx("", "", KindOther, 0)
	none.Conflict = ReasonUnreadableField
	d.expect(d.send(none), Unhandled, ReasonUnreadableField)
}
