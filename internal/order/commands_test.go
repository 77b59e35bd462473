package order

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

func TestWalkCommands(t *testing.T) {
	d := newDesk(t, false)
	ctx := context.Background()
	if err := d.cmd.Do(ctx, t1, KindShip); !errors.Is(err, ErrUnknown) {
		t.Errorf("ship of no order: %v", err)
	}
	d.send(wx("T1", "A", KindPaid, 1000))
	d.do(t1, KindShip)
	d.do(t1, KindShip) // changes nothing
	var illegal *IllegalTransition
	if err := d.cmd.Do(ctx, t1, KindCancel); !errors.As(err, &illegal) || illegal.Status != Shipped || illegal.Error() != "T1 is shipped; only a created, pending or paid order can be cancelled" {
		t.Errorf("cancel of a shipped order: %v", err)
	}
	d.do(t1, KindComplete)
	s := d.stands(t1, Completed, 1000, 0)
	if s.Version != 3 {
		t.Errorf("version %d", s.Version)
	}
	d.expect(d.send(wxRefund("T1", "A", "r1", 1000, 1000)...), Applied, "")
	d.stands(t1, Refunded, 1000, 1000)
	for _, from := range Statuses() {
		for _, k := range []Kind{KindShip, KindComplete, KindCancel} {
			a := Aggregate{Order: Order{Key: t1, Status: from}}
			b, e, err := obey(a, k)
			to := map[Kind]Status{KindShip: Shipped, KindComplete: Completed, KindCancel: Cancelled}[k]
			legal := map[string]bool{"paidship": true, "shippedcomplete": true, "createdcancel": true, "pendingcancel": true, "paidcancel": true}[string(from)+string(k)]
			switch {
			case legal && (err != nil || e == nil || b.Order.Status != to),
				from == to && (err != nil || e != nil),
				!legal && from != to && !errors.As(err, &illegal):
				t.Errorf("%s on %s: %+v, %v", k, from, e, err)
			}
		}
	}
}

// The sealed answer is what a reader sees after the commit.
func TestWalkSealedCommands(t *testing.T) {
	d := newDesk(t, true)
	d.send(wx("T1", "A", KindPaid, 1000))
	var sealed Story
	seal := func(s Story, created bool) *Seal {
		sealed = s
		return &Seal{Merchant: shop, Key: "k", Token: "t", Status: map[bool]int{true: 201, false: 200}[created]}
	}
	ctx := context.Background()
	c := d.cmd.Sealing(seal)
	r := Registration{Key: t1, AmountFen: 1000}
	steps := []func() error{
		func() error { _, err := c.Register(ctx, r); return err },
		func() error { _, err := c.Register(ctx, r); return err }, // changes nothing, and is answered
		func() error { return c.Do(ctx, t1, KindShip) },
		func() error { return c.Do(ctx, t1, KindShip) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if len(d.store.seals) != i+1 || d.store.seals[i].Status != map[bool]int{true: 201, false: 200}[i == 0] {
			t.Errorf("step %d: seals %+v", i, d.store.seals)
		}
		want := d.stands(t1, map[bool]Status{true: Paid, false: Shipped}[i < 2], 1000, 0)
		a, b := sealed.View(), want.View()
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("step %d: sealed\n%s\nstored\n%s", i, x, y)
		}
	}
	if err := c.Do(ctx, t1, KindCancel); err == nil || len(d.store.seals) != len(steps) {
		t.Errorf("a command that fails seals nothing: %v %d", err, len(d.store.seals))
	}
}
