package alipay

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// hostileText is text that a stranger may get into a field: pieces that look
// like fields, with the values he would like.
func hostileText() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"tea", "", "=", "&", "&&", " ", "茶", "&x=1", "&a=", "=&="}),
		rapid.Custom(func(t *rapid.T) string {
			name := rapid.SampledFrom(append([]string{"gmt_close", "sign_type", "sign", "notify_id", "out_biz_no", "zzz"}, bound...)).Draw(t, "name")
			value := rapid.SampledFrom([]string{"", "0.01", "10.00", "VICTIM", tradeClosed, tradeSuccess, "2026-01-01 12:00:00", "gbk", appID}).Draw(t, "value")
			return "&" + name + "=" + value
		}),
	)
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pieces"), "") })
}

// recut is another form with the same signed text: some of the places where a
// field can begin are chosen anew. Fields without a value are added where the
// signing rule leaves them out.
func recut(t *rapid.T, text string) forge.Form {
	var f forge.Form
	for i, piece := range strings.Split(text, "&") {
		name, value, ok := strings.Cut(piece, "=")
		isStart := i == 0 || ok && validName(name) && rapid.IntRange(0, 5).Draw(t, "cut") > 0
		switch {
		case isStart && ok:
			f = append(f, forge.NewForm(name, value)...)
		case i > 0:
			f[len(f)-1].Value += "&" + piece
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "added") {
		f = f.With(rapid.SampledFrom(append([]string{"zzz", "body"}, bound...)).Draw(t, "empty"), "")
	}
	return f
}

// T10: whoever holds a genuine message and got his own text into it can cut its
// signed text anew; whatever still verifies says what the message said, or is a
// conflict, or moves nothing.
func TestT10NoRecutMovesAnotherOrder(t *testing.T) {
	a := newAdapter(t)
	signer := forge.AlipaySigner{}
	moved, conflicts := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tr := paidTrade()
		switch rapid.IntRange(0, 4).Draw(t, "stage") {
		case 1:
			tr = refundTrade()
		case 2:
			tr.Status, tr.Paid = tradeClosed, time.Time{}
		case 3:
			tr.Status, tr.Paid = waitBuyerPay, time.Time{}
		case 4:
			tr.Status = tradeFinished
		}
		form := tr.Form().With("sign_type", signRSA2)
		if rapid.Bool().Draw(t, "short") {
			form = form.Without("receipt_amount", "point_amount", "buyer_pay_amount", "seller_id")
		}
		want := accept(t, a, at(signer.Send(form, signer.Signature(form.Text(forge.Rule{})))))

		for _, name := range []string{"body", "subject", "passback_params", "voucher_detail_list"} {
			if rapid.Bool().Draw(t, name) {
				form = form.With(name, hostileText().Draw(t, name+" text"))
			}
		}
		text := form.Text(forge.Rule{})
		signature := signer.Signature(text)
		genuine := accept(t, a, at(signer.Send(form, signature)))
		for range 8 { // one signature is dear, cutting is cheap
			f := recut(t, text).With("sign_type", signRSA2)
			n, err := a.Parse(at(signer.Send(f, signature)))
			if err != nil {
				continue
			}
			if n.Distinct != nil {
				conflicts++
				if genuine.Distinct != nil && !bytes.Equal(n.Distinct, genuine.Distinct) {
					t.Fatalf("one message can be made into many:\n%s\n%s", genuine.Distinct, n.Distinct)
				}
				continue
			}
			moved++
			if n.FactKey() != want.FactKey() || n.Scope != want.Scope {
				t.Fatalf("a re-cut moves something else:\n%+v\nwant\n%+v\nform %q", n.Facts, want.Facts, f)
			}
		}
	})
	if moved == 0 || conflicts == 0 {
		t.Fatalf("%d re-cuts moved their order, %d were conflicts: the generator reaches nothing", moved, conflicts)
	}
}

// The one place in a trade where free text stands right before a bound name.
func TestT10RefundCutOutOfPassbackParams(t *testing.T) {
	a := newAdapter(t)
	tr := paidTrade()
	tr.Status, tr.Paid = tradeClosed, time.Time{}
	short := tr.Form().Without("receipt_amount", "point_amount")
	genuine := short.With("passback_params", "x&refund_fee=10.00")
	signature := forge.AlipaySigner{}.Signature(genuine.Text(forge.Rule{}))
	cut := short.With("passback_params", "x").With("refund_fee", "10.00").With("sign_type", signRSA2)
	req := at(forge.AlipaySigner{}.Send(cut, signature))
	n := conflict(t, a, req, order.ReasonAmbiguousText)
	first := accept(t, a, sign(genuine))
	if !bytes.Equal(n.Distinct, first.Distinct) {
		t.Error("the re-cut and what it was cut from are not the same message")
	}
	// With the time that every refund has, the same fields are a refund.
	if n := accept(t, a, sign(cut.With("gmt_refund", "2026-01-01 13:00:00"))); kinds(n) != "refund: paid refund closed" {
		t.Error(kinds(n))
	}
	// A refund of nothing on a payment says nothing, so nothing can be won by cutting it out.
	free := paidTrade().Form().Without("receipt_amount", "point_amount").With("passback_params", "x").With("refund_fee", "0.00")
	if n := accept(t, a, sign(free)); kinds(n) != "paid: paid" {
		t.Error(kinds(n))
	}
	echoing := newAdapter(t, func(o *Options) { o.EchoFields = []string{"passback_params"} })
	if n := accept(t, echoing, req); kinds(n) != "refund: paid refund closed" {
		t.Error(kinds(n))
	}
}

// The next field glued to a number would make it another number under a
// signature that holds.
func TestT10NumbersTakeNoGluedField(t *testing.T) {
	a := newAdapter(t)
	form := refundTrade().Form()
	signature := forge.AlipaySigner{}.Signature(form.Text(forge.Rule{}))
	glued := form.With("out_trade_no", orderNo+"&point_amount=0.00&receipt_amount=10.00").Without("point_amount", "receipt_amount")
	n := conflict(t, a, at(forge.AlipaySigner{}.Send(glued.With("sign_type", signRSA2), signature)), order.ReasonUnreadableField)
	if n.Kind != order.KindOther || n.Facts[0].OutTradeNo != "" {
		t.Errorf("%+v", n.Facts[0])
	}
	for _, name := range []string{"out_trade_no", "trade_no", "out_biz_no"} {
		conflict(t, a, sign(form.With(name, "1&x=2")), order.ReasonUnreadableField)
	}
	if n := accept(t, a, sign(form.With("notify_id", "1&x=2"))); n.ProviderID != "" {
		t.Errorf("notification id %q", n.ProviderID)
	}
}
