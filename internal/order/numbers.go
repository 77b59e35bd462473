package order

import (
	"encoding/json"
	"maps"
	"slices"
)

// numbers is what a notification says in numbers about one transaction: what
// two notifications under one id must agree on. Times and states are not in it.
type numbers struct {
	OutTradeNo string            `json:"o"`
	Txn        string            `json:"t,omitempty"`
	AmountFen  *int64            `json:"a,omitempty"`
	Refunds    map[string]*int64 `json:"r,omitempty"` // refund key -> amount, nil for a running total
}

// numbersOf writes the numbers of the facts as text; "" when there are none.
func numbersOf(facts []Fact) string {
	var few [2]numbers
	list := gatherNumbers(few[:0], facts)
	if len(list) == 0 {
		return ""
	}
	b := make([]byte, 0, 128*len(list))
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = list[i].append(b)
	}
	return string(append(b, ']'))
}

// gatherNumbers adds to list what the facts say, by order and transaction in the
// order in which they are named.
func gatherNumbers(list []numbers, facts []Fact) []numbers {
	for i := range facts {
		f := &facts[i]
		if !f.Kind.Moves() || f.OutTradeNo == "" {
			continue
		}
		at := slices.IndexFunc(list, func(n numbers) bool { return n.OutTradeNo == f.OutTradeNo && n.Txn == f.ProviderTxnID })
		if at < 0 {
			at = len(list)
			list = append(list, numbers{OutTradeNo: f.OutTradeNo, Txn: f.ProviderTxnID})
		}
		if f.Conflict != ReasonNone {
			continue // its amount may be what could not be read
		}
		n := &list[at]
		switch {
		case f.Kind == KindPaid:
			n.AmountFen = &f.AmountFen
		case f.Kind.isRefund():
			if n.Refunds == nil {
				n.Refunds = map[string]*int64{}
			}
			n.Refunds[f.RefundKey().Ref] = orNull(f.AmountFen)
		}
	}
	return list
}

// append writes the numbers as encoding/json would.
func (n *numbers) append(b []byte) []byte {
	o := begin(b).text("o", n.OutTradeNo)
	if n.Txn != "" {
		o = o.text("t", n.Txn)
	}
	if n.AmountFen != nil {
		o = o.number("a", *n.AmountFen)
	}
	if len(n.Refunds) > 0 {
		r := begin(o.name("r"))
		for _, ref := range slices.Sorted(maps.Keys(n.Refunds)) {
			r = appendNumberOrNull(r.nameOf(ref), n.Refunds[ref])
		}
		o = r.end()
	}
	return o.end()
}

// numbersDiffer: the same id was used for other orders, transactions or
// amounts. What only one of the two says is not a difference.
func numbersDiffer(a, b string) bool {
	if a == b || a == "" || b == "" {
		return false
	}
	var x, y []numbers
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return true
	}
	if len(x) != len(y) {
		return true
	}
	for i := range x {
		if x[i].OutTradeNo != y[i].OutTradeNo || x[i].Txn != y[i].Txn || differ(x[i].AmountFen, y[i].AmountFen) {
			return true
		}
		if x[i].Refunds == nil || y[i].Refunds == nil {
			continue
		}
		for ref, amount := range x[i].Refunds {
			other, same := y[i].Refunds[ref]
			if !same || differ(amount, other) {
				return true
			}
		}
	}
	return false
}

func differ(a, b *int64) bool { return a != nil && b != nil && *a != *b }
