package storetest

import (
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

func findsByOrder(t *testing.T, db store.DB) {
	p0, p1, other := aPayment("tx0", "T1", 0), aPayment("tx1", "T1", 1), aPayment("tx2", "T2", 0)
	r1, r2 := aRefund("r1", "T1"), aRefund("r2", "T2")
	put(t, db, &order.Changes{
		Orders:   []order.Order{anOrder("T1"), anOrder("T2")},
		Payments: []order.Payment{p0, p1, other}, Refunds: []order.Refund{r1, r2},
	})
	found := find(t, db, order.Want{Orders: []order.Key{key("T1")}})
	same(t, "orders", found.Orders, map[order.Key]order.Order{key("T1"): anOrder("T1")})
	same(t, "payments", found.Payments, map[order.TxnKey]order.Payment{p0.TxnKey: p0, p1.TxnKey: p1})
	same(t, "refunds", found.Refunds, map[order.RefundKey]order.Refund{r1.RefundKey: r1})
}

func findsByTxn(t *testing.T, db store.DB) {
	p1, p2 := aPayment("tx1", "T1", 0), aPayment("tx2", "T2", 0)
	r1, r2 := aRefund("r1", "T1"), aRefund("r2", "T2")
	others := aPayment("tx2", "T3", 0)
	others.Provider = "alipay" // may use the same numbers
	put(t, db, &order.Changes{
		Orders:   []order.Order{anOrder("T1"), anOrder("T2"), anOrder("T3")},
		Payments: []order.Payment{p1, p2, others}, Refunds: []order.Refund{r1, r2},
	})
	// Named twice, by its order and by itself: it stands there once.
	found := find(t, db, order.Want{
		Orders: []order.Key{key("T1")}, Txns: []order.TxnKey{p2.TxnKey, p1.TxnKey, p2.TxnKey},
		Refunds: []order.RefundKey{r2.RefundKey, r1.RefundKey, refundKey("absent")},
	})
	same(t, "payments", found.Payments, map[order.TxnKey]order.Payment{p1.TxnKey: p1, p2.TxnKey: p2})
	same(t, "refunds", found.Refunds, map[order.RefundKey]order.Refund{r1.RefundKey: r1, r2.RefundKey: r2})
	if len(found.Orders) != 1 {
		t.Errorf("%d orders are found, want the one that is wanted", len(found.Orders))
	}
}

func findsWaiting(t *testing.T, db store.DB) {
	var c order.Changes
	wait := func(n int, orderNo, txnID string, byTxn bool) {
		row, w := aNotification(n, orderNo), aWaiting(n, orderNo)
		w.Fact.ProviderTxnID, w.Fact.ByTxn = txnID, byTxn
		// The later the number, the earlier the receipt.
		w.ReceivedAt = start.Add(-time.Duration(n) * time.Hour)
		row.ReceivedAt = w.ReceivedAt
		c.Notifications, c.Wait = append(c.Notifications, row), append(c.Wait, w)
	}
	wait(1, "T1", "tx1", false)
	wait(2, "T1", "tx2", true)  // its order number alone names no order
	wait(3, "T3", "tx1", false) // of a transaction that a fact of T1 names
	wait(4, "T4", "tx4", false)
	wait(5, "T5", "", false)
	wait(6, "T6", "", false) // no transaction is no common one
	put(t, db, &c)

	for _, c := range []struct {
		name string
		want order.Want
		ids  []string
	}{
		{"an order", order.Want{Orders: []order.Key{key("T1")}}, []string{"ntf_000003", "ntf_000001"}},
		{"a transaction", order.Want{Txns: []order.TxnKey{txn("tx2")}}, []string{"ntf_000002"}},
		{"both", order.Want{Orders: []order.Key{key("T1"), key("T4")}, Txns: []order.TxnKey{txn("tx2"), txn("tx4")}},
			[]string{"ntf_000004", "ntf_000003", "ntf_000002", "ntf_000001"}},
		{"without a transaction", order.Want{Orders: []order.Key{key("T5")}}, []string{"ntf_000005"}},
		{"another merchant", order.Want{Orders: []order.Key{{Merchant: "other", OutTradeNo: "T1"}}}, nil},
		{"another provider", order.Want{Txns: []order.TxnKey{{Provider: "alipay", ProviderTxnID: "tx1"}}}, nil},
	} {
		var ids []string
		for _, w := range find(t, db, c.want).Waiting {
			ids = append(ids, w.NotificationID)
		}
		same(t, c.name, ids, c.ids)
	}

	put(t, db, &order.Changes{Done: []order.WaitingKey{{NotificationID: "ntf_000001"}}})
	if left := find(t, db, order.Want{Orders: []order.Key{key("T1")}}).Waiting; len(left) != 0 {
		t.Errorf("after it is done, %d facts wait", len(left))
	}
}

// findsTogether: what is hardly ever there is there, all of it at once.
func findsTogether(t *testing.T, db store.DB) {
	first, second := one(), two()
	put(t, db, &first)
	put(t, db, &second)
	another := aNotification(3, "T3") // an id is one account's
	another.ProviderID, another.Claim = "EV2", order.ProviderKey{Provider: provider, Scope: "20", ProviderID: "EV2"}
	put(t, db, &order.Changes{Notifications: []order.Row{another}})
	want := all()
	want.Refunds = nil // they are found by their orders
	found := find(t, db, want)
	ref := order.Ref{NotificationID: "ntf_000002", Outcome: order.Applied}
	same(t, "known", found.Known, map[order.FactKey]order.Ref{
		factKey(1): {NotificationID: "ntf_000001", Outcome: order.Applied}, factKey(2): ref})
	same(t, "providers", found.Providers, map[order.ProviderKey]order.Ref{want.ProviderKeys[0]: ref})
	same(t, "refunds", found.Refunds, map[order.RefundKey]order.Refund{
		refundKey("r1"): first.Refunds[0], refundKey("r2"): second.Refunds[0]})
	if len(found.Orders) != 2 || len(found.Payments) != 2 || len(found.Waiting) != 2 {
		t.Errorf("%d orders, %d payments and %d waiting facts are found, want 2 of each",
			len(found.Orders), len(found.Payments), len(found.Waiting))
	}
}

func findsNothing(t *testing.T, db store.DB) {
	for _, want := range []order.Want{
		{},
		{Orders: []order.Key{{Merchant: merchant}}, Txns: []order.TxnKey{{Provider: provider}}, Refunds: []order.RefundKey{{Provider: provider}},
			ProviderKeys: []order.ProviderKey{{Provider: provider}}, FactKeys: []order.FactKey{{}}},
	} {
		found := find(t, db, want)
		if found.Known == nil || found.Providers == nil || found.Orders == nil || found.Payments == nil || found.Refunds == nil {
			t.Error("a map is nil: what decides may write to it")
		}
		if n := len(found.Known) + len(found.Providers) + len(found.Orders) + len(found.Payments) + len(found.Refunds) + len(found.Waiting); n != 0 {
			t.Errorf("%d rows are found in an empty store", n)
		}
	}
}
