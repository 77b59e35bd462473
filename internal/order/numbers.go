package order

import "encoding/json"

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
	var list []*numbers
	by := map[[2]string]*numbers{}
	for i := range facts {
		f := &facts[i]
		if !f.Kind.Moves() || f.OutTradeNo == "" {
			continue
		}
		n := by[[2]string{f.OutTradeNo, f.ProviderTxnID}]
		if n == nil {
			n = &numbers{OutTradeNo: f.OutTradeNo, Txn: f.ProviderTxnID}
			by[[2]string{f.OutTradeNo, f.ProviderTxnID}] = n
			list = append(list, n)
		}
		if f.Conflict != ReasonNone {
			continue // its amount may be what could not be read
		}
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
	if list == nil {
		return ""
	}
	b, _ := json.Marshal(list) // texts and numbers always marshal
	return string(b)
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
