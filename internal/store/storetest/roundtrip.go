package storetest

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// hard is text that has been stored as something else before.
const hard = "支付 🧧 ' \" \\ % _ \t\n { } < > & é e\u0301 \u2028"

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func ordersRoundTrip(t *testing.T, db store.DB) {
	k := order.Key{Merchant: "default/1900000109", OutTradeNo: "T" + hard}
	full := order.Order{
		Key: k, Rev: 1, Version: math.MaxInt64, Status: order.Shipped, Registered: true, ExpectedFen: math.MaxInt64, Currency: "CNY" + hard,
		ExpiresAt: start.Add(time.Hour), AmountVerified: true, Provider: "alipay", Account: hard, ProviderTxnID: "4200" + hard,
		PaidFen: 10_000_000_000, RefundedFen: math.MinInt64, PaidAt: start.Add(-time.Minute), Late: true, Finished: true,
		CreatedAt: start, UpdatedAt: start.Add(time.Second),
	}
	bare := order.Order{Key: key("bare"), Rev: 1, CreatedAt: start, UpdatedAt: start}
	put(t, db, &order.Changes{Orders: []order.Order{full, bare}})
	found := find(t, db, order.Want{Orders: []order.Key{k, key("bare"), key("absent"), k}})
	same(t, "orders", found.Orders, map[order.Key]order.Order{k: full, key("bare"): bare})

	// An update reaches every column.
	bare.Key, bare.Rev = k, 2
	full.Key, full.Rev = key("bare"), 2
	put(t, db, &order.Changes{Orders: []order.Order{full, bare}})
	found = find(t, db, order.Want{Orders: []order.Key{k, key("bare")}})
	same(t, "updated orders", found.Orders, map[order.Key]order.Order{k: bare, key("bare"): full})
}

func paymentsRoundTrip(t *testing.T, db store.DB) {
	full := order.Payment{
		TxnKey: order.TxnKey{Provider: "alipay", ProviderTxnID: "20" + hard}, Order: key("T" + hard), Position: 3, Account: hard,
		AmountFen: math.MaxInt64, Currency: "USD", RefundedFen: 7, Role: order.Mismatched, PaidAt: start, CreatedAt: start.Add(time.Second),
	}
	bare := order.Payment{TxnKey: txn("bare"), Order: key("bare"), Role: order.Accepted, CreatedAt: start}
	put(t, db, &order.Changes{Payments: []order.Payment{full, bare}})
	want := order.Want{Txns: []order.TxnKey{full.TxnKey, bare.TxnKey}}
	same(t, "payments", find(t, db, want).Payments, map[order.TxnKey]order.Payment{full.TxnKey: full, bare.TxnKey: bare})

	// An update reaches every column but those that say whose it is.
	newFull, newBare := bare, full
	newFull.TxnKey, newFull.Order, newBare.TxnKey, newBare.Order = full.TxnKey, full.Order, bare.TxnKey, bare.Order
	put(t, db, &order.Changes{Payments: []order.Payment{newFull, newBare}})
	same(t, "updated payments", find(t, db, want).Payments, map[order.TxnKey]order.Payment{full.TxnKey: newFull, bare.TxnKey: newBare})
}

func refundsRoundTrip(t *testing.T, db store.DB) {
	full := order.Refund{
		RefundKey: order.RefundKey{Provider: "alipay", Ref: "20/" + hard}, ProviderTxnID: "20" + hard, Order: key("T" + hard),
		OutRefundNo: hard, ProviderRefundID: "50" + hard, AmountFen: math.MaxInt64, TotalFen: math.MaxInt64, Status: order.RefundAbnormal,
		RefundedAt: start, CreatedAt: start.Add(time.Second),
	}
	bare := order.Refund{RefundKey: refundKey("bare"), Order: key("bare"), CreatedAt: start}
	put(t, db, &order.Changes{Refunds: []order.Refund{full, bare}})
	want := order.Want{Refunds: []order.RefundKey{full.RefundKey, bare.RefundKey}}
	same(t, "refunds", find(t, db, want).Refunds, map[order.RefundKey]order.Refund{full.RefundKey: full, bare.RefundKey: bare})

	newFull, newBare := bare, full
	newFull.RefundKey, newFull.Order, newBare.RefundKey, newBare.Order = full.RefundKey, full.Order, bare.RefundKey, bare.Order
	put(t, db, &order.Changes{Refunds: []order.Refund{newFull, newBare}})
	same(t, "updated refunds", find(t, db, want).Refunds, map[order.RefundKey]order.Refund{full.RefundKey: newFull, bare.RefundKey: newBare})
}

// everyByte is what a body may be: no text at all.
func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func notificationsRoundTrip(t *testing.T, db store.DB) {
	full := order.Row{
		ID: "ntf_full", ReceivedAt: start, Provider: "wechat", Account: hard, Merchant: "default", OutTradeNo: "T" + hard, Kind: order.KindPaid,
		Outcome: order.Conflict, Reason: order.ReasonAmountMismatch,
		Results: []order.FactResult{
			{Merchant: "default", OutTradeNo: "T" + hard, Kind: order.KindPaid, Outcome: order.Conflict, Reason: order.ReasonAmountMismatch, AmountFen: math.MaxInt64},
			{Merchant: "default/2", OutTradeNo: "T2", Kind: order.KindRefund, Outcome: order.Applied},
		},
		FactKey: factKey(1), ProviderID: "EV-" + hard, Claim: order.ProviderKey{Provider: "wechat", Scope: "1900000001", ProviderID: "EV-" + hard},
		Numbers: hard, Content: everyByte(), Copies: math.MaxInt64,
		Capture: order.Capture{RequestLine: "POST /notify/\xff\x00 HTTP/1.1", Header: everyByte(), Body: append(everyByte(), everyByte()...)},
	}
	bare := order.Row{ID: "ntf_bare", ReceivedAt: start, Results: []order.FactResult{{}}, FactKey: factKey(2)}
	// The fact is of another kind than the message, and the id is not its own.
	other := aNotification(3, "T3")
	other.Kind, other.Results[0].Kind, other.ProviderID = order.KindRefund, order.KindPaid, full.ProviderID
	put(t, db, &order.Changes{Notifications: []order.Row{full, bare, other}})

	for _, want := range []order.Row{full, bare, other} {
		capture, receivedAt, err := db.Capture(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if want.Capture.Body == nil {
			want.Capture.Header, want.Capture.Body = []byte{}, []byte{} // nil means that they were removed
		}
		same(t, want.ID+" capture", capture, want.Capture)
		same(t, want.ID+" received at", receivedAt, want.ReceivedAt)
		got, err := db.Notification(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		want.Capture = order.Capture{}
		same(t, want.ID, got, want)
	}
	found := find(t, db, order.Want{
		FactKeys:     []order.FactKey{factKey(1), factKey(3), factKey(4)},
		ProviderKeys: []order.ProviderKey{full.Claim, {Provider: "wechat", Scope: "1900000002", ProviderID: full.ProviderID}},
	})
	ref := order.Ref{NotificationID: "ntf_full", Outcome: order.Conflict, Reason: order.ReasonAmountMismatch}
	same(t, "known", found.Known, map[order.FactKey]order.Ref{factKey(1): ref, factKey(3): {NotificationID: other.ID, Outcome: order.Applied}})
	ref.Numbers = hard
	same(t, "providers", found.Providers, map[order.ProviderKey]order.Ref{full.Claim: ref})

	for _, id := range []string{"ntf_absent", "", "ntf\x00"} {
		if _, err := db.Notification(t.Context(), id); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("Notification(%q): %v, want ErrUnknown", id, err)
		}
		if _, _, err := db.Capture(t.Context(), id); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("Capture(%q): %v, want ErrUnknown", id, err)
		}
	}
}

func waitingRoundTrip(t *testing.T, db store.DB) {
	row := aNotification(1, "T1")
	row.Results = append(row.Results, order.FactResult{Merchant: merchant, OutTradeNo: "T" + hard, Kind: order.KindRefund, Outcome: order.Unmatched})
	full := order.Waiting{NotificationID: row.ID, Index: 1, ReceivedAt: row.ReceivedAt, Fact: order.Fact{
		Kind: order.KindRefund, Merchant: merchant, SubMerchant: "19" + hard, OutTradeNo: "T" + hard, ByTxn: true, Provider: provider, Account: hard,
		ProviderTxnID: "42" + hard, AmountFen: math.MaxInt64, Currency: "CNY", At: start, Implied: true, OutRefundNo: hard,
		ProviderRefundID: "50" + hard, RunningTotalFen: math.MinInt64, Conflict: order.ReasonNumberReused,
	}}
	bare := order.Waiting{NotificationID: row.ID, ReceivedAt: row.ReceivedAt, Fact: order.Fact{OutTradeNo: "T1", Merchant: merchant}}
	put(t, db, &order.Changes{Notifications: []order.Row{row}, Wait: []order.Waiting{full, bare}})
	full.Results, bare.Results = row.Results, row.Results
	found := find(t, db, order.Want{Orders: []order.Key{key("T1")}, Txns: []order.TxnKey{full.Fact.Txn()}})
	same(t, "waiting", found.Waiting, []order.Waiting{bare, full})
}

func eventsRoundTrip(t *testing.T, db store.DB) {
	full := order.Event{ID: "evt_1", Type: order.EventConflict, Key: key("T" + hard), OrderVersion: math.MaxInt64, From: order.Paid, To: order.Refunded,
		Kind: order.KindRefund, Reason: order.ReasonRefundExceedsPaid, NotificationID: "ntf_" + hard, CreatedAt: start, Snapshot: []byte(`{"a":"` + hard + `"}`)}
	bare := order.Event{ID: "evt_0", Key: key("T" + hard), OrderVersion: 1, CreatedAt: start}
	// Not about the stored order: it is no part of the order's story.
	strange := order.Event{ID: "evt_2", Type: order.EventUnhandled, Key: key("T" + hard), NotificationID: "ntf_2", CreatedAt: start}
	o := anOrder("T" + hard)
	put(t, db, &order.Changes{Orders: []order.Order{o}, Events: []order.Event{full, bare, strange}})
	story, err := db.Story(t.Context(), o.Key)
	if err != nil {
		t.Fatal(err)
	}
	full.Snapshot = nil
	same(t, "events", story.Events, []order.Event{bare, full})
}

func timesRoundTrip(t *testing.T, db store.DB) {
	beijing := time.FixedZone("+08:00", 8*60*60)
	o := anOrder("T1")
	o.ExpiresAt = time.Date(2026, 1, 2, 3, 4, 5, 123456789, beijing)
	o.PaidAt = time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC)
	o.UpdatedAt = time.Unix(0, 0)
	put(t, db, &order.Changes{Orders: []order.Order{o}})
	got, _ := findOrder(t, db, o.Key)
	same(t, "expires at", got.ExpiresAt.Format(time.RFC3339Nano), "2026-01-01T19:04:05.123456Z")
	same(t, "paid at", got.PaidAt.Format(time.RFC3339Nano), "1969-12-31T23:59:59.999999Z")
	same(t, "updated at", got.UpdatedAt.Format(time.RFC3339Nano), "1970-01-01T00:00:00Z")
}

func keysCompareByBytes(t *testing.T, db store.DB) {
	numbers := []string{"a", "A", "a ", " a", "ａ", "ä", "a\u0308", "à", "0", "00", "Z", "z", "ß", "ss", "中", "🧧"}
	var keys []order.Key
	var rows []order.Order
	for _, n := range numbers {
		keys = append(keys, key(n), order.Key{Merchant: "Default", OutTradeNo: n})
		rows = append(rows, anOrder(n))
	}
	put(t, db, &order.Changes{Orders: rows})
	found := find(t, db, order.Want{Orders: keys})
	if len(found.Orders) != len(numbers) {
		t.Errorf("%d orders are found, want %d", len(found.Orders), len(numbers))
	}
	list, err := db.Orders(t.Context(), order.OrderFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(list); i++ {
		if list[i-1].OutTradeNo <= list[i].OutTradeNo {
			t.Errorf("%q stands before %q", list[i-1].OutTradeNo, list[i].OutTradeNo)
		}
	}
}

func textsAreRefused(t *testing.T, db store.DB) {
	for name, text := range map[string]string{"NUL": "T\x00", "no UTF-8": "T\xff", "too long": strings.Repeat("T", 4000)} {
		refuse := func(what string, err error) {
			t.Helper()
			if err == nil || errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrRace) {
				t.Errorf("%s, %s: %v, want an error of the text", name, what, err)
			}
		}
		n := aNotification(1, "T1")
		n.ProviderID = text
		e := anEvent("evt_1", text, 1)
		w := aWaiting(1, text)
		refuse("order", try(t.Context(), db, &order.Changes{Orders: []order.Order{anOrder(text)}}))
		refuse("payment", try(t.Context(), db, &order.Changes{Payments: []order.Payment{aPayment(text, "T1", 0)}}))
		refuse("refund", try(t.Context(), db, &order.Changes{Refunds: []order.Refund{aRefund(text, "T1")}}))
		refuse("notification", try(t.Context(), db, &order.Changes{Notifications: []order.Row{n}}))
		refuse("event", try(t.Context(), db, &order.Changes{Events: []order.Event{e}}))
		refuse("waiting", try(t.Context(), db, &order.Changes{Wait: []order.Waiting{w}}))
		refuse("want", db.Transact(t.Context(), order.Want{Txns: []order.TxnKey{txn(text)}}, func(*order.Found) (*order.Changes, error) {
			t.Error("decide is called")
			return nil, nil
		}))
		if _, err := db.Story(t.Context(), key(text)); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("%s: Story: %v, want ErrUnknown", name, err)
		}
		list, err := db.Orders(t.Context(), order.OrderFilter{Account: text})
		if err != nil || len(list) != 0 {
			t.Errorf("%s: Orders: %v, %v, want an empty list", name, list, err)
		}
		rows, err := db.Notifications(t.Context(), order.NotificationFilter{OutTradeNo: text})
		if err != nil || len(rows) != 0 {
			t.Errorf("%s: Notifications: %v, %v, want an empty list", name, rows, err)
		}
	}
}
