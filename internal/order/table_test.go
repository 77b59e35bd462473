package order

import (
	"fmt"
	"testing"
)

// states are the rows of the table in contract order, with the split that
// cancelled needs.
var states = []string{"none", "created", "pending", "paid", "shipped", "completed", "closed", "cancelled unpaid", "cancelled paid", "refunded"}

// aggregateIn builds an order in a state. Its own transaction is 4200/A over
// 1000 fen; where a payment is set aside it is 4200/B.
func aggregateIn(state string) Aggregate {
	a := Aggregate{Order: Order{Key: t1, Rev: 1, Version: 3}}
	pay := func(refunded int64) {
		p := Payment{TxnKey: TxnKey{"wechat", "A"}, Order: t1, Account: "wechat", AmountFen: 1000, Currency: "CNY", RefundedFen: refunded, Role: Accepted, PaidAt: noon}
		a.Payments = []Payment{p}
		a.mirror(p)
	}
	switch state {
	case "none":
		return Aggregate{Order: Order{Key: t1}}
	case "cancelled unpaid":
		a.Order.Status = Cancelled
	case "cancelled paid":
		pay(0)
		a.Order.Status = Cancelled
	case "refunded":
		pay(1000)
		a.Order.Status = Refunded
		a.Refunds = []Refund{{RefundKey: RefundKey{"wechat", "r0"}, ProviderTxnID: "A", Order: t1, AmountFen: 1000, Status: RefundSuccess}}
	case "paid", "shipped", "completed":
		pay(0)
		a.Order.Status = Status(state)
	default:
		a.Order.Status = Status(state)
	}
	return a
}

// cells: what the order's own transaction (or any, while there is none) does.
// "outcome[ reason][ -> status]", status only when it changes.
var cells = map[string]map[string]string{
	"paying": {
		"none": "applied -> pending", "created": "applied -> pending", "pending": "duplicate",
		"paid": "stale", "shipped": "stale", "completed": "stale", "closed": "stale",
		"cancelled unpaid": "stale", "cancelled paid": "stale", "refunded": "stale",
	},
	"paid": {
		"none": "applied -> paid", "created": "applied -> paid", "pending": "applied -> paid",
		"paid": "duplicate", "shipped": "duplicate", "completed": "duplicate", "closed": "applied -> paid",
		"cancelled unpaid": "conflict paid_after_cancel", "cancelled paid": "duplicate", "refunded": "duplicate",
	},
	"closed": {
		"none": "applied -> closed", "created": "applied -> closed", "pending": "applied -> closed",
		"paid": "conflict closed_after_paid", "shipped": "conflict closed_after_paid", "completed": "conflict closed_after_paid",
		"closed": "duplicate", "cancelled unpaid": "stale", "cancelled paid": "stale", "refunded": "stale",
	},
	"finished": {
		"none": "stale", "created": "stale", "pending": "stale",
		"paid": "applied", "shipped": "applied", "completed": "applied", "closed": "stale",
		"cancelled unpaid": "stale", "cancelled paid": "applied", "refunded": "stale",
	},
	"refund part": {
		"none": "unmatched", "created": "unmatched", "pending": "unmatched",
		"paid": "applied", "shipped": "applied", "completed": "applied", "closed": "unmatched",
		"cancelled unpaid": "unmatched", "cancelled paid": "applied", "refunded": "conflict refund_exceeds_paid",
	},
	"refund whole": {
		"none": "unmatched", "created": "unmatched", "pending": "unmatched",
		"paid": "applied -> refunded", "shipped": "applied -> refunded", "completed": "applied -> refunded", "closed": "unmatched",
		"cancelled unpaid": "unmatched", "cancelled paid": "applied", "refunded": "conflict refund_exceeds_paid",
	},
	"refund too much": {
		"none": "unmatched", "created": "unmatched", "pending": "unmatched",
		"paid": "conflict refund_exceeds_paid", "shipped": "conflict refund_exceeds_paid", "completed": "conflict refund_exceeds_paid", "closed": "unmatched",
		"cancelled unpaid": "unmatched", "cancelled paid": "conflict refund_exceeds_paid", "refunded": "conflict refund_exceeds_paid",
	},
	"refund known": {
		"none": "unmatched", "created": "unmatched", "pending": "unmatched",
		"paid": "applied -> refunded", "shipped": "applied -> refunded", "completed": "applied -> refunded", "closed": "unmatched",
		"cancelled unpaid": "unmatched", "cancelled paid": "applied", "refunded": "duplicate",
	},
	"refund_closed": {
		"none": "unmatched", "created": "unmatched", "pending": "unmatched",
		"paid": "applied", "shipped": "applied", "completed": "applied", "closed": "unmatched",
		"cancelled unpaid": "unmatched", "cancelled paid": "applied", "refunded": "applied",
	},
	"refund_abnormal": {
		"none": "unmatched", "created": "unmatched", "pending": "unmatched",
		"paid": "applied", "shipped": "applied", "completed": "applied", "closed": "unmatched",
		"cancelled unpaid": "unmatched", "cancelled paid": "applied", "refunded": "applied",
	},
	"contract": {
		"none": "unhandled", "created": "unhandled", "pending": "unhandled", "paid": "unhandled", "shipped": "unhandled",
		"completed": "unhandled", "closed": "unhandled", "cancelled unpaid": "unhandled", "cancelled paid": "unhandled", "refunded": "unhandled",
	},
	"unreadable": {
		"none": "conflict unreadable_field", "created": "conflict unreadable_field", "pending": "conflict unreadable_field",
		"paid": "conflict unreadable_field", "shipped": "conflict unreadable_field", "completed": "conflict unreadable_field",
		"closed": "conflict unreadable_field", "cancelled unpaid": "conflict unreadable_field", "cancelled paid": "conflict unreadable_field",
		"refunded": "conflict unreadable_field",
	},
}

// foreign: what another transaction (B) does where A is the accepted one.
var foreign = map[string]map[string]string{
	"paying":   all("stale"),
	"closed":   all("stale"),
	"finished": all("stale"),
	"paid": {"paid": "conflict surplus_payment", "shipped": "conflict surplus_payment", "completed": "conflict surplus_payment",
		"cancelled paid": "conflict paid_after_cancel", "refunded": "conflict surplus_payment"},
	"refund part": all("unmatched"),
}

func all(s string) map[string]string {
	return map[string]string{"paid": s, "shipped": s, "completed": s, "cancelled paid": s, "refunded": s}
}

func cellFact(column, txn string) Fact {
	switch column {
	case "refund part":
		return bareRefund("T1", txn, "r1", KindRefund, 300)
	case "refund whole":
		return bareRefund("T1", txn, "r1", KindRefund, 1000)
	case "refund too much":
		return bareRefund("T1", txn, "r1", KindRefund, 1001)
	case "refund known":
		return bareRefund("T1", txn, "r0", KindRefund, 1000)
	case "refund_closed", "refund_abnormal":
		return bareRefund("T1", txn, "r2", Kind(column), 300)
	case "unreadable":
		f := wx("T1", txn, KindPaid, 0)
		f.Conflict = ReasonUnreadableField
		return f
	}
	return wx("T1", txn, Kind(column), 1000)
}

// cell renders a decision and checks what must hold in every one.
func renderCell(t *testing.T, before Aggregate, f Fact) string {
	t.Helper()
	whole := fmt.Sprintf("%+v", before)
	after, d := Decide(before, f)
	if fmt.Sprintf("%+v", before) != whole {
		t.Error("Decide changed what it was given")
	}
	s := string(d.Outcome)
	if d.Reason != "" {
		s += " " + string(d.Reason)
	}
	if after.Order.Status != before.Order.Status {
		s += " -> " + string(after.Order.Status)
	}
	told := d.Outcome == Applied || d.Outcome == Conflict
	if told != (d.Event != nil) {
		t.Errorf("outcome %s, event %+v: one event for each transition or conflict, none otherwise", d.Outcome, d.Event)
	}
	if d.Event != nil && before.Order.Status != None && d.Event.OrderVersion != before.Order.Version+1 {
		t.Errorf("event of version %d after version %d", d.Event.OrderVersion, before.Order.Version)
	}
	if d.Outcome == Conflict && (after.Order.PaidFen != before.Order.PaidFen || after.Order.RefundedFen != before.Order.RefundedFen) {
		t.Error("a conflict moved money")
	}
	if (d.Reason != "") != (d.Outcome == Conflict) {
		t.Errorf("reason %q with outcome %s", d.Reason, d.Outcome)
	}
	return s
}

func TestTableEveryCell(t *testing.T) {
	for column, rows := range cells {
		for _, state := range states {
			t.Run(column+" on "+state, func(t *testing.T) {
				want, stands := rows[state]
				if !stands {
					t.Fatal("the test's table has no such cell")
				}
				if got := renderCell(t, aggregateIn(state), cellFact(column, "A")); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func TestTableForeignTransaction(t *testing.T) {
	for column, rows := range foreign {
		for state, want := range rows {
			t.Run(column+" on "+state, func(t *testing.T) {
				before := aggregateIn(state)
				if got := renderCell(t, before, cellFact(column, "B")); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				after, _ := Decide(before, cellFact(column, "B"))
				after.Order.Version, after.Order.UpdatedAt = before.Order.Version, before.Order.UpdatedAt
				if after.Order != before.Order {
					t.Errorf("a foreign transaction changed the order:\n%+v\n%+v", before.Order, after.Order)
				}
			})
		}
	}
}

// Every kind has an outcome in every state, also with nothing filled in.
func TestDecideIsTotal(t *testing.T) {
	for _, k := range append(Kinds(), KindShip, "nonsense", "") {
		for _, state := range states {
			for _, f := range []Fact{{Kind: k}, {Kind: k, Merchant: shop, OutTradeNo: "T1", Provider: "wechat", ProviderTxnID: "A"}} {
				if _, d := Decide(aggregateIn(state), f); d.Outcome == "" {
					t.Errorf("%s on %s: no outcome", k, state)
				}
			}
		}
	}
}
