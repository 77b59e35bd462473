package wechat

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func TestAmbiguousText(t *testing.T) {
	a := newAdapter(t)
	for _, name := range actedOn {
		isConflicted(t, accept(t, a, v2(fields().With("device_info", "d&"+name+"=x"))), order.KindPaid, order.ReasonAmbiguousText)
		isConflicted(t, accept(t, a, v2(fields().With("device_info", "a&b&"+name+"="))), order.KindPaid, order.ReasonAmbiguousText)
		// attach is the merchant's own text.
		says(t, accept(t, a, v2(fields().With("attach", "d&"+name+"=x"))), order.KindPaid, paidFact())
	}
	for _, harmless := range []string{"a&b", "a&b=c", "&", "&=", "total_fee=1", "a&total_fee", "a&Total_fee=1", "a&total_fee =1", "a&xtotal_fee=1", "&&&"} {
		says(t, accept(t, a, v2(fields().With("device_info", harmless))), order.KindPaid, paidFact())
	}
	// The order's own number holding a piece is no number any more.
	isConflicted(t, accept(t, a, v2(fields().With("out_trade_no", orderNo+"&total_fee=1"))), order.KindOther, order.ReasonAmbiguousText)
	isConflicted(t, accept(t, a, v2(fields().With("result_code", "FAIL").With("err_code_des", "x&trade_state=SUCCESS"))), order.KindOther, order.ReasonAmbiguousText)
}

// recut cuts the signed text of f anew: at every & it may begin another field,
// or stay in the value before it.
func recut(rnd *rand.Rand, f forge.Form) forge.Form {
	var cut forge.Form
	glue := 1 + rnd.IntN(20) // one cut in so many is not made
	for i, piece := range strings.Split(f.Text(forge.Rule{KeepSignType: true}), "&") {
		name, value, isField := strings.Cut(piece, "=")
		if i > 0 && (!isField || name == "" || rnd.IntN(glue+1) == 0) {
			cut[len(cut)-1].Value += "&" + piece
			continue
		}
		cut = append(cut, forge.Field{Name: name, Value: value})
	}
	return cut
}

// randomPayment is a payment whose free texts hold pieces that look like fields.
func randomPayment(rnd *rand.Rand) forge.Form {
	pieces := []string{"x", "&", "=", "&total_fee=1", "&fee_type=HKD", "&out_trade_no=T2", "&bank_type=X&cash_fee=1&fee_type=JPY",
		"&zz=", "&trade_state=PAY_FAIL", "&a=b", "&sub_mch_id=1", "&bank_type=X"}
	f := fields().With("fee_type", []string{"CNY", "HKD"}[rnd.IntN(2)])
	for _, name := range []string{"attach", "device_info", "sub_appid", "zz"} {
		if rnd.IntN(2) == 0 {
			value := "v"
			for range rnd.IntN(4) {
				value += pieces[rnd.IntN(len(pieces))]
			}
			f = f.With(name, value)
		}
	}
	return f
}

// TestT10 re-cuts genuine messages without touching their signatures: what is
// accepted says the same as before, or moves nothing.
func TestT10(t *testing.T) {
	const cases = 100_000
	a := newAdapter(t)
	rnd := rand.New(rand.NewPCG(10, 10))
	verified := 0
	for i := range cases {
		f := randomPayment(rnd)
		sign := forge.WechatV2Signer{}.Signature(f)
		cut := recut(rnd, f)
		n, err := a.Parse(withSign(cut, sign))
		if err == nil && len(cut) != len(f) {
			verified++
		}
		if err != nil || n.Facts[0].Conflict != "" || !n.Kind.Moves() {
			continue
		}
		genuine, err := a.Parse(withSign(f, sign))
		if err != nil {
			t.Fatal(err)
		}
		if n.FactKey() != genuine.FactKey() && genuine.Facts[0].Conflict == "" {
			t.Fatalf("case %d moves an order:\n%+v\n%+v\n%v\n%v", i, genuine.Facts, n.Facts, f, cut)
		}
	}
	if verified < cases/100 {
		t.Errorf("only %d of %d cuts were other messages under the same signature: the test asks too little", verified, cases)
	}
}

// TestT10SwallowedCurrency cuts attach so that it swallows all up to fee_type.
func TestT10SwallowedCurrency(t *testing.T) {
	a := newAdapter(t)
	f := fields().With("attach", "x").With("fee_type", "HKD")
	sign := forge.WechatV2Signer{}.Signature(f)
	cut := f.Without("bank_type", "cash_fee", "fee_type").With("attach", "x&bank_type=OTHERS&cash_fee=1000&fee_type=HKD")
	isConflicted(t, accept(t, a, withSign(cut, sign)), order.KindPaid, order.ReasonAmbiguousText)
}

// A field that the account lists is the merchant's own text, like attach.
func TestEchoFields(t *testing.T) {
	echo := func(names ...string) func(*Options) { return func(o *Options) { o.EchoFields = names } }
	req := v2(fields().With("device_info", "d&total_fee=1"))
	isConflicted(t, accept(t, newAdapter(t, echo("body")), req), order.KindPaid, order.ReasonAmbiguousText)
	if n := accept(t, newAdapter(t, echo("body", "device_info")), req); n.Facts[0].Conflict != order.ReasonNone || n.Facts[0].AmountFen != 1000 {
		t.Errorf("%+v", n.Facts)
	}
	for _, name := range []string{"total_fee", "out_trade_no", "", "a b", "a:b"} {
		o := options()
		o.EchoFields = []string{name}
		if p := o.check(); len(p) != 1 || p[0].Field != "echo_fields[0]" {
			t.Errorf("echo_fields [%q]: %v", name, p)
		}
	}
}
