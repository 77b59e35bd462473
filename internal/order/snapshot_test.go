package order

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shown is the shape of a snapshot, of the shapes in view.go.
type shown struct {
	Order   *View           `json:"order"`
	Payment *PaymentView    `json:"payment"`
	Refund  *refundWithRole `json:"refund"`
}

type refundWithRole struct {
	RefundView
	Role Role `json:"role"`
}

func marshal(t interface{ Fatal(...any) }, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// oddText draws texts that JSON writes as they are, and all others.
func oddText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[ -~]{1,20}`), rapid.String(),
		rapid.SampledFrom([]string{"\x00", "\x1f", "\x7f", "\x80", "\xff\xfe", "a\"b", `a\b`, "<&>", "订单", "\u2028\u2029", "😀", "\ud7ff", "a\tb\n"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}

// anyMoment draws times of every size, unknown ones among them.
func anyMoment() *rapid.Generator[time.Time] {
	return rapid.OneOf(rapid.Just(time.Time{}), rapid.Map(rapid.Int64(), time.UnixMicro),
		rapid.Map(rapid.Int64Range(0, 4e15), func(us int64) time.Time { return time.UnixMicro(us).UTC() }))
}

func anyAmount() *rapid.Generator[int64] { return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()) }

// What is written member after member is what encoding/json makes of the shapes,
// to the byte: whatever the fields hold.
func TestPropertySnapshotIsTheViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return oddText().Draw(t, label) }
		amount := func(label string) int64 { return anyAmount().Draw(t, label) }
		at := func(label string) time.Time { return anyMoment().Draw(t, label) }
		flag := func(label string) bool { return rapid.Bool().Draw(t, label) }
		var o *Order
		var p *Payment
		var r *Refund
		var want shown
		if flag("order") {
			o = &Order{Key: Key{text("merchant"), text("number")}, Version: amount("version"), Status: Status(text("status")), Registered: flag("registered"),
				ExpectedFen: amount("expected"), Currency: text("currency"), AmountVerified: flag("verified"), Provider: text("provider"),
				Account: text("account"), ProviderTxnID: text("txn"), PaidFen: amount("paid"), RefundedFen: amount("refunded"), PaidAt: at("paid at"),
				Late: flag("late"), Finished: flag("finished"), CreatedAt: at("created at"), UpdatedAt: at("updated at")}
			v := o.View()
			want.Order = &v
		}
		if flag("payment") {
			p = &Payment{TxnKey: TxnKey{text("provider"), text("txn")}, Account: text("account"), AmountFen: amount("amount"),
				RefundedFen: amount("refunded"), Role: Role(text("role")), PaidAt: at("paid at")}
			v := p.View()
			want.Payment = &v
		}
		if flag("refund") {
			r = &Refund{RefundKey: RefundKey{text("provider"), text("ref")}, ProviderTxnID: text("txn"), OutRefundNo: text("out refund"),
				ProviderRefundID: text("refund id"), AmountFen: amount("amount"), TotalFen: amount("total"), Status: RefundStatus(text("status")), RefundedAt: at("at")}
			want.Refund = &refundWithRole{RefundView: r.View()}
			if p != nil {
				want.Refund.Role = p.Role
			}
		}
		if got, want := string(snapshot(o, p, r)), marshal(t, want); got != want {
			t.Fatalf("\n%s, want\n%s", got, want)
		}
	})
}

// A usual snapshot is written in one piece.
func TestSnapshotFitsItsRoom(t *testing.T) {
	o, p, r := anOrderPaid()
	for _, refund := range []*Refund{nil, &r} {
		if written := snapshot(&o, &p, refund); cap(written) >= 2*len(written) || len(written) > snapshotSize(&o, &p, refund) {
			t.Errorf("%d bytes in a room of %d", len(written), cap(written))
		}
	}
}

// Numbers are written as encoding/json writes them, which reads them.
func TestPropertyNumbersAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var facts []Fact
		for range rapid.IntRange(0, 4).Draw(t, "facts") {
			f := wx(oddText().Draw(t, "order"), oddText().Draw(t, "txn"), rapid.SampledFrom(Kinds()).Draw(t, "kind"), anyAmount().Draw(t, "amount"))
			if len(facts) > 0 && rapid.Bool().Draw(t, "same") {
				f.OutTradeNo, f.ProviderTxnID = facts[0].OutTradeNo, facts[0].ProviderTxnID
			}
			f.ProviderRefundID, f.RunningTotalFen = oddText().Draw(t, "refund"), anyAmount().Draw(t, "total")
			f.Conflict = rapid.SampledFrom([]Reason{ReasonNone, ReasonNone, ReasonUnreadableField}).Draw(t, "conflict")
			facts = append(facts, f)
		}
		want := ""
		if list := gatherNumbers(nil, facts); len(list) > 0 {
			want = marshal(t, list)
		}
		if got := numbersOf(facts); got != want {
			t.Fatalf("\n%s, want\n%s", got, want)
		}
	})
}

// What the numbers are of a message with several orders and facts of each.
func TestNumbersOf(t *testing.T) {
	total := ali("T3", "C", KindRefund, 0)
	total.RunningTotalFen = 500
	unreadable := wx("T4", "D", KindPaid, 7)
	unreadable.Conflict = ReasonUnreadableField
	facts := []Fact{wx("T1", "A", KindPaid, 1000), wx("T2", "", KindClosed, 0), bareRefund("T1", "A", "r2", KindRefund, 300),
		bareRefund("T1", "A", "r1", KindRefund, 200), total, unreadable, wx("T5", "E", KindContract, 0), wx("", "F", KindPaid, 1)}
	const want = `[{"o":"T1","t":"A","a":1000,"r":{"r1":200,"r2":300}},{"o":"T2"},{"o":"T3","t":"C","r":{"C/500":null}},{"o":"T4","t":"D"}]`
	if got := numbersOf(facts); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
