package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

func wantRace(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, order.ErrRace) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("%s: %v, want ErrRace", what, err)
	}
}

func revisionIsCompared(t *testing.T, db store.DB) {
	o := anOrder("T1")
	put(t, db, &order.Changes{Orders: []order.Order{o}})
	for _, rev := range []int64{1, 3, 0} {
		o.Rev = rev
		wantRace(t, "a revision that does not follow", try(t.Context(), db, &order.Changes{Orders: []order.Order{o}}))
	}
	absent := anOrder("absent")
	absent.Rev = 2
	wantRace(t, "an update of an order that is not there", try(t.Context(), db, &order.Changes{Orders: []order.Order{absent}}))
	o.Rev, o.Status = 2, order.Paid
	put(t, db, &order.Changes{Orders: []order.Order{o}})
	got, _ := findOrder(t, db, o.Key)
	same(t, "order", got, o)
}

// one is a row of each kind, and what goes with it.
func one() order.Changes {
	n := aNotification(1, "T1")
	n.ProviderID, n.Claim = "EV1", order.ProviderKey{Provider: provider, Scope: "19", ProviderID: "EV1"}
	return order.Changes{
		Orders:        []order.Order{anOrder("T1")},
		Payments:      []order.Payment{aPayment("tx1", "T1", 0)},
		Refunds:       []order.Refund{aRefund("r1", "T1")},
		Notifications: []order.Row{n},
		Wait:          []order.Waiting{aWaiting(1, "T1")},
		Events:        []order.Event{anEvent("evt_1", "T1", 1)},
	}
}

// two is like one, and has no key in common with it.
func two() order.Changes {
	n := aNotification(2, "T2")
	n.ProviderID, n.Claim = "EV2", order.ProviderKey{Provider: provider, Scope: "19", ProviderID: "EV2"}
	return order.Changes{
		Orders:        []order.Order{anOrder("T2")},
		Payments:      []order.Payment{aPayment("tx2", "T2", 0)},
		Refunds:       []order.Refund{aRefund("r2", "T2")},
		Notifications: []order.Row{n},
		Wait:          []order.Waiting{aWaiting(2, "T2")},
		Events:        []order.Event{anEvent("evt_2", "T2", 1)},
	}
}

// all is what finds whatever one and two write, in the end.
func all() order.Want {
	return order.Want{
		FactKeys:     []order.FactKey{factKey(1), factKey(2)},
		ProviderKeys: []order.ProviderKey{{Provider: provider, Scope: "19", ProviderID: "EV2"}},
		Orders:       []order.Key{key("T1"), key("T2")},
		Txns:         []order.TxnKey{txn("tx1"), txn("tx2")},
		Refunds:      []order.RefundKey{refundKey("r1"), refundKey("r2")},
	}
}

// unchanged fails when the store holds something else than one.
func unchanged(t *testing.T, db store.DB, what string) {
	t.Helper()
	c := one()
	c.Wait[0].Results = c.Notifications[0].Results
	ref := order.Ref{NotificationID: "ntf_000001", Outcome: order.Applied}
	same(t, what, find(t, db, all()), &order.Found{
		Known:     map[order.FactKey]order.Ref{factKey(1): ref},
		Providers: map[order.ProviderKey]order.Ref{},
		Orders:    map[order.Key]order.Order{key("T1"): c.Orders[0]},
		Payments:  map[order.TxnKey]order.Payment{txn("tx1"): c.Payments[0]},
		Refunds:   map[order.RefundKey]order.Refund{refundKey("r1"): c.Refunds[0]},
		Waiting:   c.Wait,
	})
	story, err := db.Story(t.Context(), key("T1"))
	if err != nil || len(story.Events) != 1 {
		t.Errorf("%s: %d events (%v), want 1", what, len(story.Events), err)
	}
}

// Each case takes two and makes one of its keys a key of one: the last row that
// is written may be the one that loses.
func lostRaceWritesNothing(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	for _, c := range []struct {
		name  string
		spoil func(*order.Changes)
	}{
		{"an order that exists", func(c *order.Changes) { c.Orders = append(c.Orders, anOrder("T1")) }},
		{"a revision", func(c *order.Changes) { c.Orders[0].Rev = 2 }},
		{"a transaction of another order", func(c *order.Changes) { c.Payments[0].TxnKey = txn("tx1") }},
		{"a position of the order", func(c *order.Changes) { c.Payments[0].Order = key("T1") }},
		{"a refund of another order", func(c *order.Changes) { c.Refunds[0].RefundKey = refundKey("r1") }},
		{"a notification's id", func(c *order.Changes) { c.Notifications[0].ID = "ntf_000001" }},
		{"a notification's fact key", func(c *order.Changes) { c.Notifications[0].FactKey = factKey(1) }},
		{"a provider's id", func(c *order.Changes) {
			c.Notifications[0].ProviderID, c.Notifications[0].Claim.ProviderID = "EV1", "EV1"
		}},
		{"a waiting fact", func(c *order.Changes) { c.Wait[0].NotificationID = "ntf_000001" }},
		{"a fact that does not wait", func(c *order.Changes) {
			c.Done = []order.WaitingKey{{NotificationID: "ntf_000001"}, {NotificationID: "ntf_000001", Index: 1}}
		}},
		{"a resolution of nothing", func(c *order.Changes) { c.Resolutions = []order.Resolution{{NotificationID: "ntf_absent"}} }},
		{"an event's id", func(c *order.Changes) { c.Events[0].ID = "evt_1" }},
		{"an order's version", func(c *order.Changes) { c.Events[0].Key = key("T1") }},
		{"the last of many", func(c *order.Changes) { c.Events = append(c.Events, anEvent("evt_3", "T1", 1)) }},
	} {
		changes := two()
		c.spoil(&changes)
		wantRace(t, c.name, try(t.Context(), db, &changes))
		unchanged(t, db, c.name)
	}

	// One event for each notification about no stored order.
	e := anEvent("evt_4", "T9", 0)
	put(t, db, &order.Changes{Events: []order.Event{e}})
	e.ID = "evt_5"
	wantRace(t, "an unhandled notification's event", try(t.Context(), db, &order.Changes{Events: []order.Event{e}}))

	// What did not lose is not spent: the same rows may come again.
	changes := two()
	put(t, db, &changes)
}

func refusedDecisionWritesNothing(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	refused := errors.New("refused")
	err := db.Transact(t.Context(), all(), func(*order.Found) (*order.Changes, error) {
		c := two()
		return &c, refused
	})
	if err != refused {
		t.Errorf("Transact: %v, want the error of decide as it is", err)
	}
	unchanged(t, db, "after a refusal")
}

func noChangesWriteNothing(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	for _, changes := range []*order.Changes{nil, {}} {
		if err := try(t.Context(), db, changes); err != nil {
			t.Error(err)
		}
	}
	unchanged(t, db, "after no changes")
}

func panicLeavesStoreUsable(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	for range 10 { // more often than there are connections
		decided := false
		for tries := 0; !decided && tries < 50; tries++ { // a busy machine may not connect again in time
			func() {
				defer func() {
					if caught := recover(); decided != (caught != nil) {
						t.Errorf("decided %v, and the panic that came out is %v", decided, caught)
					}
				}()
				_ = db.Transact(t.Context(), all(), func(*order.Found) (*order.Changes, error) {
					decided = true
					panic("a fault in a decision")
				})
			}()
		}
		if !decided {
			t.Fatal("no unit began in 50 tries")
		}
	}
	unchanged(t, db, "after a fault")
	changes := two()
	put(t, db, &changes)
}

func endedContextWritesNothing(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := db.Transact(ctx, all(), func(*order.Found) (*order.Changes, error) {
		cancel()
		c := two()
		return &c, nil
	})
	if !errors.Is(err, order.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("Transact: %v, want ErrUnavailable because of the context", err)
	}
	unchanged(t, db, "after the context ended")
}

func endedContextIsUnavailable(t *testing.T, db store.DB) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, known := db.Known(ctx, []order.FactKey{factKey(1)})
	_, payments := db.Payments(ctx, []order.TxnKey{txn("tx1")})
	_, story := db.Story(ctx, key("T1"))
	_, list := db.Orders(ctx, order.OrderFilter{})
	_, _, head := db.Head(ctx)
	_, sequence := db.Sequence(ctx, 1)
	_, _, feed := db.EventsAfter(ctx, merchant, 0, 1)
	c := one()
	for what, err := range map[string]error{
		"Known": known, "Payments": payments, "Story": story, "Orders": list, "Head": head, "Sequence": sequence, "EventsAfter": feed,
		"AddCopies": db.AddCopies(ctx, map[string]int64{"ntf_000001": 1}), "Beat": db.Beat(ctx), "Transact": try(ctx, db, &c),
	} {
		if !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", what, err)
		}
	}
}

func oneAcceptedPayment(t *testing.T, db store.DB) {
	put(t, db, &order.Changes{Payments: []order.Payment{aPayment("tx1", "T1", 0), aPayment("tx2", "T1", 1)}})
	wantRace(t, "a second accepted payment", try(t.Context(), db, &order.Changes{Payments: []order.Payment{aPayment("tx3", "T1", 0)}}))
	for position, role := range []order.Role{order.Surplus, order.Accepted} {
		p := aPayment("tx4", "T4", position)
		p.Role = role
		err := try(t.Context(), db, &order.Changes{Payments: []order.Payment{p}})
		if err == nil || errors.Is(err, order.ErrRace) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("role %s at position %d: %v, want an error that says it cannot be", role, position, err)
		}
	}
}
