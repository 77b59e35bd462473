package alipay

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func fact(k order.Kind) order.Fact {
	return order.Fact{Kind: k, Merchant: "default", OutTradeNo: orderNo, Provider: "alipay", Account: "alipay", ProviderTxnID: tradeNo}
}

func paidFact() order.Fact {
	f := fact(order.KindPaid)
	f.AmountFen, f.Currency, f.At = 1000, "CNY", noon
	return f
}

func refundFact(total int64, outRefundNo string, at time.Time) order.Fact {
	f := fact(order.KindRefund)
	f.RunningTotalFen, f.Currency, f.OutRefundNo, f.At = total, "CNY", outRefundNo, at
	return f
}

// The table "from native fields to facts", row by row.
func TestFactsOfEveryTradeStatus(t *testing.T) {
	a := newAdapter(t)
	later := noon.Add(time.Hour)
	with := func(status string, change func(*forge.AlipayTrade)) forge.Form {
		tr := paidTrade()
		tr.Status = status
		if change != nil {
			change(&tr)
		}
		return tr.Form()
	}
	partly := func(tr *forge.AlipayTrade) { tr.RefundFen, tr.OutBizNo, tr.Refunded = 300, "R1", later }
	unpaid := func(tr *forge.AlipayTrade) { tr.Paid, tr.End = time.Time{}, later }
	paidAtUnknown := paidFact()
	paidAtUnknown.At = time.Time{}
	for name, c := range map[string]struct {
		form  forge.Form
		kind  order.Kind
		facts []order.Fact
	}{
		"waiting":                     {with(waitBuyerPay, unpaid), order.KindPaying, []order.Fact{fact(order.KindPaying)}},
		"paid":                        {with(tradeSuccess, nil), order.KindPaid, []order.Fact{paidFact()}},
		"paid, nothing refunded":      {with(tradeSuccess, nil).With("refund_fee", "0.00"), order.KindPaid, []order.Fact{paidFact()}},
		"paid, time missing":          {with(tradeSuccess, func(tr *forge.AlipayTrade) { tr.Paid = time.Time{} }), order.KindPaid, []order.Fact{paidAtUnknown}},
		"partly refunded":             {with(tradeSuccess, partly), order.KindRefund, []order.Fact{paidFact(), refundFact(300, "R1", later)}},
		"refunded, time missing":      {with(tradeSuccess, partly).Without("gmt_refund"), order.KindRefund, []order.Fact{paidFact(), refundFact(300, "R1", time.Time{})}},
		"refund without a number":     {with(tradeSuccess, partly).Without("out_biz_no"), order.KindRefund, []order.Fact{paidFact(), refundFact(300, "", later)}},
		"finished":                    {with(tradeFinished, nil), order.KindFinished, []order.Fact{paidFact(), fact(order.KindFinished)}},
		"finished, partly refunded":   {with(tradeFinished, partly), order.KindFinished, []order.Fact{paidFact(), refundFact(300, "R1", later), fact(order.KindFinished)}},
		"never paid":                  {with(tradeClosed, unpaid), order.KindClosed, []order.Fact{fact(order.KindClosed)}},
		"never paid, refund_fee 0":    {with(tradeClosed, unpaid).With("refund_fee", "0.00"), order.KindClosed, []order.Fact{fact(order.KindClosed)}},
		"never paid, empty fields":    {with(tradeClosed, unpaid).With("refund_fee", "").With("gmt_payment", "").With("gmt_refund", ""), order.KindClosed, []order.Fact{fact(order.KindClosed)}},
		"refunded in full":            {with(tradeClosed, func(tr *forge.AlipayTrade) { partly(tr); tr.RefundFen = 1000 }), order.KindRefund, []order.Fact{paidFact(), refundFact(1000, "R1", later), fact(order.KindClosed)}},
		"closed after payment":        {with(tradeClosed, nil), order.KindRefund, []order.Fact{paidFact(), refundFact(1000, "", time.Time{}), fact(order.KindClosed)}},
		"closed with gmt_refund only": {with(tradeClosed, unpaid).With("gmt_refund", "2026-01-01 13:00:00.5"), order.KindRefund, []order.Fact{paidAtUnknown, refundFact(1000, "", later.Add(500*time.Millisecond)), fact(order.KindClosed)}},
		"closed with refund_fee only": {with(tradeClosed, unpaid).With("refund_fee", "3"), order.KindRefund, []order.Fact{paidAtUnknown, refundFact(300, "", time.Time{}), fact(order.KindClosed)}},
	} {
		t.Run(name, func(t *testing.T) {
			n := accept(t, a, sign(c.form))
			if n.Kind != c.kind {
				t.Errorf("kind %s, want %s", n.Kind, c.kind)
			}
			if diff := cmp.Diff(c.facts, n.Facts); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if n.Distinct != nil || n.Content != nil {
				t.Error("the facts say it all: no Distinct, no Content")
			}
			if n.Scope != appID || n.ProviderID != c.form.Get("notify_id") {
				t.Errorf("scope %q id %q", n.Scope, n.ProviderID)
			}
		})
	}
}

// P37: the stages of one trade are different notifications, whatever order they
// come in, and every repeat is a copy.
func TestP37StagesAreToldApart(t *testing.T) {
	a := newAdapter(t)
	seen := map[order.FactKey]string{}
	for name, f := range genuineForms() {
		if name == "paid in GBK" { // says the same as "paid"
			continue
		}
		n := accept(t, a, sign(f))
		if other, twice := seen[n.FactKey()]; twice {
			t.Errorf("%q is taken for a copy of %q", name, other)
		}
		seen[n.FactKey()] = name
		again := accept(t, a, sign(f.With("notify_id", "z").With("notify_time", "2026-03-01 12:00:00")))
		if again.FactKey() != n.FactKey() {
			t.Errorf("%q sent again is no copy", name)
		}
	}
}

// T16 (the parser's part): a replay of an old message is the same copy, however
// late it comes.
func TestT16AReplayIsACopy(t *testing.T) {
	a := newAdapter(t)
	for name, f := range genuineForms() {
		req := sign(f)
		first := accept(t, a, req)
		req.ReceivedAt = req.ReceivedAt.AddDate(1, 0, 0)
		if late := accept(t, a, req); late.FactKey() != first.FactKey() || !late.ReceivedAt.Equal(req.ReceivedAt) {
			t.Errorf("%s: a year later it says something else", name)
		}
	}
}

func TestP35NumbersAsText(t *testing.T) {
	a := newAdapter(t)
	for text, want := range map[string]int64{
		"0.10": 10, "0.1": 10, "10": 1000, "10.0": 1000, "0.01": 1, "100000000.00": maxFen, "100000000": maxFen, "007.50": 750,
	} {
		f := baseline().With("total_amount", text).With("voucher_detail_list", `[{"voucherId":"?","b":1,"a":"2"}]`)
		if n := accept(t, a, sign(f)); kinds(n) != "paid: paid" || n.Facts[0].AmountFen != want {
			t.Errorf("%s: %s %d fen, want %d", text, kinds(n), n.Facts[0].AmountFen, want)
		}
	}
	for _, text := range []string{
		"0.101", "1e1", "1,000.00", "-1.00", "+1.00", "１０.００", "10.", ".10", ".", " 10.00", "10.00 ", "10 .00", "0x10", "1/2", "١٠",
		"10.00.00", "100000000.01", "100000001", "1000000000", "00000000010.00", "NaN", "Infinity", "1_000", "10.00\x00", "10,00", "10.0a", "null", "-0",
	} {
		for _, name := range []string{"total_amount", "refund_fee"} {
			n := conflict(t, a, sign(refundTrade().Form().With(name, text)), order.ReasonUnreadableField)
			if n.Kind != order.KindRefund || n.Facts[0].OutTradeNo != orderNo || n.Facts[0].ProviderTxnID != tradeNo {
				t.Errorf("%s %q: %+v", name, text, n.Facts[0])
			}
		}
	}
}

// T07: every bound field changed, dropped, blank or in another case. What does
// not refuse the message names another order or amount, or is a conflict.
func TestT07BoundFields(t *testing.T) {
	a := newAdapter(t)
	for name, c := range map[string]struct {
		form forge.Form
		code string
	}{
		"app_id of another":      {baseline().With("app_id", "2021000000000002"), codeForeignApp},
		"app_id missing":         {baseline().Without("app_id"), codeForeignApp},
		"app_id empty":           {baseline().With("app_id", ""), codeForeignApp},
		"app_id with a blank":    {baseline().With("app_id", appID+" "), codeForeignApp},
		"app_id in full width":   {baseline().With("app_id", "２０２１000000000001"), codeForeignApp},
		"auth_app_id of another": {baseline().With("auth_app_id", "2021000000000002"), codeForeignAuthApp},
		"seller_id of another":   {baseline().With("seller_id", "2088000000000002"), codeForeignSeller},
		"seller_id and a zero":   {baseline().With("seller_id", "0"+sellerID), codeForeignSeller},
		"seller_id empty":        {baseline().With("seller_id", ""), codeForeignSeller},
		"auth_app_id empty":      {baseline().With("auth_app_id", ""), codeForeignAuthApp},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, a, sign(c.form), provider.ErrForeign, c.code) })
	}
	for name, f := range map[string]forge.Form{
		"total_amount missing": baseline().Without("total_amount"),
		"total_amount empty":   baseline().With("total_amount", ""),
		"trade_no missing":     baseline().Without("trade_no"),
		"trade_no too long":    baseline().With("trade_no", strings.Repeat("7", 65)),
		"trade_no with NUL":    baseline().With("trade_no", tradeNo+"\x00"),
		"gmt_payment no time":  baseline().With("gmt_payment", "yesterday"),
		"gmt_payment ISO":      baseline().With("gmt_payment", "2026-01-01T12:00:00"),
		"gmt_refund no time":   refundTrade().Form().With("gmt_refund", "2026-01-01"),
		"out_biz_no with LF":   refundTrade().Form().With("out_biz_no", "R\n1"),
		"waiting, no trade_no": baseline().With("trade_status", waitBuyerPay).Without("trade_no"),
		"refund of nothing":    baseline().With("trade_status", tradeClosed).With("total_amount", "0.00"),
	} {
		t.Run(name, func(t *testing.T) {
			if n := conflict(t, a, sign(f), order.ReasonUnreadableField); n.Facts[0].OutTradeNo != orderNo || !n.Kind.Moves() {
				t.Errorf("%s of %q", n.Kind, n.Facts[0].OutTradeNo)
			}
		})
	}
	for name, f := range map[string]forge.Form{
		"out_trade_no missing":  baseline().Without("out_trade_no"),
		"out_trade_no empty":    baseline().With("out_trade_no", ""),
		"out_trade_no with tab": baseline().With("out_trade_no", "T\t1"),
		"out_trade_no too long": baseline().With("out_trade_no", strings.Repeat("7", 65)),
	} {
		t.Run(name, func(t *testing.T) {
			if n := conflict(t, a, sign(f), order.ReasonUnreadableField); n.Kind != order.KindOther || n.Facts[0].OutTradeNo != "" || n.Facts[0].Kind != order.KindOther {
				t.Errorf("%+v", n.Facts[0])
			}
		})
	}
	for _, status := range []string{"", "trade_success", "TRADE_SUCCESS ", "TRADE_PENDING", "SUCCESS"} {
		n := accept(t, a, sign(baseline().With("trade_status", status)))
		if kinds(n) != "other: other" || n.Facts[0].OutTradeNo != orderNo || n.Facts[0].Conflict != "" || n.Content == nil || n.Distinct == nil {
			t.Errorf("trade_status %q: %+v", status, n.Facts)
		}
	}
	for _, other := range []string{orderNo + " ", "t202601010001", orderNo + "0"} {
		if n := accept(t, a, sign(baseline().With("out_trade_no", other))); n.Facts[0].OutTradeNo != other {
			t.Errorf("%q became %q", other, n.Facts[0].OutTradeNo)
		}
	}
}

// What is no field of ours is never a reason, and never missed.
func TestOptionalFieldsAreNoReason(t *testing.T) {
	a := newAdapter(t)
	f := baseline().Without("gmt_create", "notify_time", "seller_id", "auth_app_id", "version", "notify_type", "charset", "notify_id", "subject")
	if n := accept(t, a, sign(f)); kinds(n) != "paid: paid" || n.ProviderID != "" {
		t.Errorf("%s, id %q", kinds(n), n.ProviderID)
	}
	f = baseline().With("gmt_create", "?").With("notify_time", "?").With("gmt_close", "?").With("receipt_amount", "?").With("version", "9")
	if n := accept(t, a, sign(f)); kinds(n) != "paid: paid" {
		t.Error(kinds(n))
	}
	f = baseline().With("notify_id", "a b")
	if n := accept(t, a, sign(f)); n.ProviderID != "" {
		t.Errorf("id %q cannot be stored as an id", n.ProviderID)
	}
}

func TestAuthorisedMerchantsAreApart(t *testing.T) {
	a := newAdapter(t)
	n := accept(t, a, sign(refundTrade().Form().With("auth_app_id", authApp)))
	if n.Merchant != "default" || n.Scope != appID {
		t.Errorf("the notification is the account's: merchant %q scope %q", n.Merchant, n.Scope)
	}
	for _, f := range n.Facts {
		if f.Merchant != "default/"+authApp || f.SubMerchant != authApp {
			t.Errorf("fact of merchant %q, sub-merchant %q", f.Merchant, f.SubMerchant)
		}
	}
	own := accept(t, a, sign(refundTrade().Form()))
	if own.FactKey() == n.FactKey() {
		t.Error("two merchants' orders of one number are taken for copies")
	}
	if loose := newAdapter(t, func(o *Options) { o.SellerID = "" }); loose != nil {
		accept(t, loose, sign(baseline().With("seller_id", "2088999999999999")))
	}
}

func TestTimesAreBeijing(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-01-01 00:00:00":           time.Date(2025, 12, 31, 16, 0, 0, 0, time.UTC),
		"2026-01-01 12:00:00.1":         noon.Add(100 * time.Millisecond),
		"2026-01-01 12:00:00.123":       noon.Add(123 * time.Millisecond),
		"2026-01-01 12:00:00.123456789": noon.Add(123456 * time.Microsecond),
		"2028-02-29 23:59:59":           time.Date(2028, 2, 29, 15, 59, 59, 0, time.UTC),
	} {
		got, ok := instant(text)
		if !ok || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"2026-01-01", "2026-01-01 12:00", "2026-01-01T12:00:00", "2026-01-01 12:00:00Z", "2026-01-01 12:00:00+08:00", "2026-01-01 12:00:00.",
		"2026-01-01 12:00:00,5", "2026-01-01 12:00:00.1x", "2026-02-29 12:00:00", "2026-13-01 12:00:00", "2026-01-01 24:00:00", "2026-01-01 12:00:60",
		"2026-1-01 12:00:00.0", "2026-01-01 1:00:00.1", "1999-12-31 23:59:59", "0000-00-00 00:00:00", "2026-01-01 12:00:00.1234567890", "20260101120000",
		"２026-01-01 12:00:00", "2026-01-01  2:00:00", "1767225600", "-026-01-01 12:00:00",
	} {
		if got, ok := instant(text); ok {
			t.Errorf("%s was read as %v", text, got)
		}
	}
}
