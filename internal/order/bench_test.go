package order

import (
	"fmt"
	"testing"
)

// BenchmarkUnit is what deciding a full batch of unique payments costs, without
// a database.
func BenchmarkUnit(b *testing.B) {
	newID := ids()
	rules := unitRules{now: clock, newID: newID}
	r := &Recorder{opt: RecorderOptions{Now: clock, NewID: newID}}
	var batch []*pending
	for i := range MaxBatch {
		no := fmt.Sprintf("T%06d", i)
		n := notify("ntf_"+no, wx(no, "4200000000"+no, KindPaid, 1000))
		n.ProviderID = "EV-" + no
		batch = append(batch, &pending{n: n, key: n.FactKey()})
	}
	want, _ := r.wantOf(b.Context(), batch)
	b.ReportAllocs()
	for b.Loop() {
		u := newUnit(want, &Found{}, rules)
		u.recordAll(batch)
		u.finish()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxBatch, "ns/notification")
}

// BenchmarkSnapshot is what an event of a payment costs to write down.
func BenchmarkSnapshot(b *testing.B) {
	o, p, _ := anOrderPaid()
	b.ReportAllocs()
	for b.Loop() {
		snapshot(&o, &p, nil)
	}
}

// BenchmarkNumbers is what the numbers of a payment cost to write down.
func BenchmarkNumbers(b *testing.B) {
	n := notify("ntf_1", wx("T202601011200000001", "4200000001202601011234567890", KindPaid, 1000))
	b.ReportAllocs()
	for b.Loop() {
		numbersOf(n.Facts)
	}
}

// anOrderPaid is a payment that was expected, and a refund of it.
func anOrderPaid() (Order, Payment, Refund) {
	o := Order{Key: Key{shop, "T202601011200000001"}, Version: 2, Status: Paid, Registered: true, ExpectedFen: 1000, Currency: "CNY", AmountVerified: true,
		Provider: "wechat", Account: "wechat", ProviderTxnID: "4200000001202601011234567890", PaidFen: 1000, PaidAt: noon, CreatedAt: noon, UpdatedAt: clock()}
	p := Payment{TxnKey: TxnKey{o.Provider, o.ProviderTxnID}, Order: o.Key, Account: o.Account, AmountFen: 1000, Currency: "CNY", Role: Accepted, PaidAt: noon}
	r := Refund{RefundKey: RefundKey{o.Provider, "50300001"}, ProviderTxnID: o.ProviderTxnID, Order: o.Key, OutRefundNo: "R1", ProviderRefundID: "50300001",
		AmountFen: 300, Status: RefundSuccess, RefundedAt: noon}
	return o, p, r
}
