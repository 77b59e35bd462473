package wechat

import (
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func TestP16(t *testing.T) {
	a := newAdapter(t)
	refundEvent := func(name string, r forge.WechatRefund) provider.Request {
		return v3(event("REFUND."+name, "refund", r.V3()))
	}
	n := accept(t, a, refundEvent("SUCCESS", refund()))
	says(t, n, order.KindRefund, impliedFact(), refundFact())
	if n.Distinct != nil || n.Content != nil {
		t.Error("the facts of a refund say it all")
	}
	for status, kind := range map[string]order.Kind{"CLOSED": order.KindRefundClosed, "CLOSE": order.KindRefundClosed, "ABNORMAL": order.KindRefundAbnormal} {
		r, want := refund(), refundFact()
		r.Status, want.Kind = status, kind
		says(t, accept(t, a, refundEvent("CLOSED", r)), kind, impliedFact(), want)
	}
	r := refund()
	r.Status = "PROCESSING"
	movesNothing(t, accept(t, a, refundEvent("SUCCESS", r)), order.KindOther, orderNo)

	second := refund()
	second.OutRefundNo, second.RefundID = "R2", "50300000002026010100000002"
	if n.FactKey() == factKey(t, a, refundEvent("SUCCESS", second)) {
		t.Error("two refunds are one")
	}
	again := forge.WechatEvent{ID: "another", Type: "REFUND.SUCCESS", OriginalType: "refund", CreatedAt: received, Content: refund().V3()}
	if n.FactKey() != factKey(t, a, v3(again)) {
		t.Error("a repeat is not a copy")
	}
}

func TestP16Partner(t *testing.T) {
	a := newAdapter(t, asPartner(subID))
	r := refund()
	r.SubMchID = subID
	implied, want := impliedFact(), refundFact()
	for _, f := range []*order.Fact{&implied, &want} {
		f.Merchant, f.SubMerchant = "default/"+subID, subID
	}
	says(t, accept(t, a, v3(event("REFUND.SUCCESS", "refund", r.V3()))), order.KindRefund, implied, want)
	// One form of the message does not say which sub-merchant.
	implied, want = impliedFact(), refundFact()
	implied.ByTxn, want.ByTxn = true, true
	says(t, accept(t, a, v3(event("REFUND.SUCCESS", "refund", refund().V3()))), order.KindRefund, implied, want)
	r.SubMchID = "1900000110"
	refuse(t, a, v3(event("REFUND.SUCCESS", "refund", r.V3())), provider.ErrForeign, CodeForeignSubMchID)
}

func TestT7V3Refund(t *testing.T) {
	a := newAdapter(t)
	for _, c := range []struct{ old, new string }{
		{`"refund_id":"50300000002026010100000001",`, ``}, {`"out_refund_no":"R1",`, ``}, {`"R1"`, `1`}, {txnID, ``},
		{`"refund":300,`, ``}, {`"refund":300,`, `"refund":"300",`}, {`"refund":300,`, `"refund":3e2,`}, {`"refund":300,`, `"refund":-300,`},
		{`"total":1000,`, ``}, {`"total":1000,`, `"total":1.0,`}, {`"2026-01-01T12:00:00+08:00"`, `"yesterday"`},
	} {
		n := accept(t, a, v3(event("REFUND.SUCCESS", "refund", edited(t, refund().V3(), c.old, c.new))))
		isConflicted(t, n, order.KindRefund, order.ReasonUnreadableField)
		if n.Facts[0].OutTradeNo != orderNo {
			t.Errorf("%+v", n.Facts[0])
		}
	}
	isConflicted(t, accept(t, a, v3(event("REFUND.SUCCESS", "refund", edited(t, refund().V3(), orderNo, "")))), order.KindOther, order.ReasonUnreadableField)
	refuse(t, a, v3(event("REFUND.SUCCESS", "refund", edited(t, refund().V3(), mchID, "1"))), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v3(event("REFUND.SUCCESS", "refund", edited(t, refund().V3(), `"mchid":"`+mchID+`",`, ""))), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v3(event("REFUND.SUCCESS", "refund", edited(t, refund().V3(), `"mchid"`, `"appid":"wxforeign","mchid"`))), provider.ErrForeign, CodeForeignAppID)
}
