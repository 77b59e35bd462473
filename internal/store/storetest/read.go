package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

func knownKeys(t *testing.T, db store.DB) {
	refused := aNotification(2, "T1")
	refused.Outcome, refused.Reason = order.Conflict, order.ReasonSurplusPayment
	put(t, db, &order.Changes{Notifications: []order.Row{aNotification(1, "T1"), refused}})
	for _, keys := range [][]order.FactKey{nil, {factKey(9)}} {
		known, err := db.Known(t.Context(), keys)
		if err != nil || known == nil || len(known) != 0 {
			t.Errorf("Known(%v) = %v, %v, want an empty map", keys, known, err)
		}
	}
	known, err := db.Known(t.Context(), []order.FactKey{factKey(2), factKey(9), factKey(1), factKey(2)})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "known", known, map[order.FactKey]order.Ref{
		factKey(1): {NotificationID: "ntf_000001", Outcome: order.Applied},
		factKey(2): {NotificationID: "ntf_000002", Outcome: order.Conflict, Reason: order.ReasonSurplusPayment},
	})
}

func keptPayments(t *testing.T, db store.DB) {
	p := aPayment("tx1", "T1", 0)
	put(t, db, &order.Changes{Payments: []order.Payment{p, aPayment("tx2", "T2", 0)}})
	for _, txns := range [][]order.TxnKey{nil, {txn("")}, {txn("tx9"), {Provider: "alipay", ProviderTxnID: "tx1"}}} {
		payments, err := db.Payments(t.Context(), txns)
		if err != nil || payments == nil || len(payments) != 0 {
			t.Errorf("Payments(%v) = %v, %v, want an empty map", txns, payments, err)
		}
	}
	payments, err := db.Payments(t.Context(), []order.TxnKey{txn("tx1"), txn("tx9"), txn("tx1")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "payments", payments, map[order.TxnKey]order.Payment{p.TxnKey: p})
}

func copiesAreCounted(t *testing.T, db store.DB) {
	put(t, db, &order.Changes{Notifications: []order.Row{aNotification(1, "T1"), aNotification(2, "T1"), aNotification(3, "T1")}})
	for _, copies := range []map[string]int64{nil, {}, {"ntf_000002": 1, "ntf_000001": 41, "ntf_absent": 1}, {"ntf_000001": 1}} {
		if err := db.AddCopies(t.Context(), copies); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]int64{"ntf_000001": 43, "ntf_000002": 2, "ntf_000003": 1} {
		n, err := db.Notification(t.Context(), id)
		if err != nil || n.Copies != want {
			t.Errorf("%s has %d copies (%v), want %d", id, n.Copies, err, want)
		}
	}
}

func resolutionRewrites(t *testing.T, db store.DB) {
	n := aNotification(1, "T1")
	n.Kind, n.Outcome, n.Results[0].Outcome = order.KindRefund, order.Unmatched, order.Unmatched
	bystander := aNotification(2, "T1")
	put(t, db, &order.Changes{Notifications: []order.Row{n, bystander}, Orders: []order.Order{anOrder("T1"), anOrder("T2"), anOrder("T3")}})

	results := []order.FactResult{
		{Merchant: merchant, OutTradeNo: "T2", Kind: order.KindPaid, Outcome: order.Applied},
		{Merchant: merchant, OutTradeNo: "T3", Kind: order.KindRefund, Outcome: order.Conflict, Reason: order.ReasonRefundExceedsPaid},
	}
	put(t, db, &order.Changes{Resolutions: []order.Resolution{{NotificationID: n.ID, Merchant: merchant, OutTradeNo: "T2",
		Outcome: order.Conflict, Reason: order.ReasonRefundExceedsPaid, Results: results}}})
	n.OutTradeNo, n.Outcome, n.Reason, n.Results, n.Capture = "T2", order.Conflict, order.ReasonRefundExceedsPaid, results, order.Capture{}
	got, err := db.Notification(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "notification", got, n)
	bystander.Capture = order.Capture{}
	for orderNo, want := range map[string][]order.Row{"T1": {bystander}, "T2": {n}, "T3": {n}} {
		story, err := db.Story(t.Context(), key(orderNo))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "notifications of "+orderNo, story.Notifications, want)
	}

	// Once more: the further order is not one any more.
	single := []order.FactResult{{Merchant: merchant, OutTradeNo: "T2", Kind: order.KindPaid, Outcome: order.Applied}}
	put(t, db, &order.Changes{Resolutions: []order.Resolution{{NotificationID: n.ID, Merchant: merchant, OutTradeNo: "T2",
		Outcome: order.Applied, Results: single}}})
	story, err := db.Story(t.Context(), key("T3"))
	if err != nil || len(story.Notifications) != 0 {
		t.Errorf("T3 still has %d notifications (%v)", len(story.Notifications), err)
	}
	got, err = db.Notification(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "results", got.Results, single)
}

func storyTellsAll(t *testing.T, db store.DB) {
	if _, err := db.Story(t.Context(), key("T1")); !errors.Is(err, order.ErrUnknown) {
		t.Fatalf("Story of an order that is not there: %v, want ErrUnknown", err)
	}
	o := anOrder("T1")
	accepted, surplus := aPayment("tx9", "T1", 0), aPayment("tx1", "T1", 1)
	first, second, third := aRefund("r9", "T1"), aRefund("r5", "T1"), aRefund("r1", "T1")
	second.TotalFen, third.TotalFen = 100, 200
	second.CreatedAt, third.CreatedAt = start.Add(time.Second), start.Add(time.Second)
	// Of several orders: it stands in the story of each, once.
	combined := aNotification(7, "T0")
	combined.ReceivedAt = start.Add(-time.Hour)
	combined.Results = append(combined.Results,
		order.FactResult{Merchant: merchant, OutTradeNo: "T1", Kind: order.KindPaid, Outcome: order.Applied},
		order.FactResult{Merchant: merchant, OutTradeNo: "T1", Kind: order.KindRefund, Outcome: order.Stale},
		order.FactResult{Merchant: merchant, OutTradeNo: "", Kind: order.KindOther, Outcome: order.Unhandled})
	plain := aNotification(1, "T1")
	unhandled := aNotification(8, "T1")
	unhandled.Kind, unhandled.Outcome, unhandled.Content = order.KindTransfer, order.Unhandled, []byte(`{"a":1}`)
	foreign := anOrder("T1")
	foreign.Merchant = "other"
	c := order.Changes{
		Orders:        []order.Order{o, anOrder("T2"), foreign},
		Payments:      []order.Payment{surplus, accepted, aPayment("tx2", "T2", 0)},
		Refunds:       []order.Refund{third, second, first, aRefund("r0", "T2")},
		Notifications: []order.Row{plain, unhandled, combined, aNotification(3, "T2")},
		Events:        []order.Event{anEvent("evt_1", "T1", 2), anEvent("evt_2", "T1", 1), anEvent("evt_3", "T2", 1)},
	}
	put(t, db, &c)
	got, err := db.Story(t.Context(), o.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*order.Row{&combined, &plain, &unhandled} {
		n.Capture, n.Content = order.Capture{}, nil
	}
	events := []order.Event{c.Events[1], c.Events[0]}
	events[0].Snapshot, events[1].Snapshot = nil, nil
	same(t, "story", got, order.Story{Order: o, Payments: []order.Payment{accepted, surplus}, Refunds: []order.Refund{first, second, third},
		Events: events, Notifications: []order.Row{combined, plain, unhandled}})
	got, err = db.Story(t.Context(), foreign.Key)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the other merchant's story", got, order.Story{Order: foreign})
}

func waitingForOrder(t *testing.T, db store.DB) {
	sub := order.Key{Merchant: merchant + "/19", OutTradeNo: "T1"}
	var c order.Changes
	wait := func(n int, k order.Key, byTxn bool) {
		row, w := aNotification(n, k.OutTradeNo), aWaiting(n, k.OutTradeNo)
		w.Fact.Merchant, w.Fact.ByTxn = k.Merchant, byTxn
		w.ReceivedAt = start.Add(-time.Duration(n) * time.Hour)
		c.Notifications, c.Wait = append(c.Notifications, row), append(c.Wait, w)
	}
	wait(1, key("T1"), false)
	wait(2, key("T1"), true)
	wait(3, sub, false)
	wait(4, key("T2"), false)
	twice := aWaiting(1, "T1")
	twice.Index = 1
	c.Wait = append(c.Wait, twice)
	put(t, db, &c)
	for _, c := range []struct {
		name string
		key  order.Key
		want []string
	}{
		{"the account's own order", key("T1"), []string{"ntf_000002", "ntf_000001"}},
		{"a sub-merchant's order", sub, []string{"ntf_000003", "ntf_000002"}},
		{"another merchant's order", order.Key{Merchant: "other", OutTradeNo: "T1"}, []string{}},
		{"no order", key("T\x00"), []string{}},
	} {
		got, err := db.WaitingFor(t.Context(), c.key)
		if err != nil {
			t.Fatal(err)
		}
		same(t, c.name, got, c.want)
	}
}
