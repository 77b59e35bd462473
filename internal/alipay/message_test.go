package alipay

import (
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func TestKindsThatMoveNoOrder(t *testing.T) {
	a := newAdapter(t)
	base := forge.NewForm("app_id", appID, "notify_id", "n1", "notify_time", "2026-01-01 12:00:00", "charset", "utf-8", "memo", "茶<&>")
	for name, c := range map[string]struct {
		form forge.Form
		kind order.Kind
	}{
		"freeze":                        {base.With("notify_type", "fund_auth_freeze"), order.KindFundAuth},
		"unfreeze":                      {base.With("notify_type", "fund_auth_unfreeze"), order.KindFundAuth},
		"agreement":                     {base.With("notify_type", "dut_user_sign"), order.KindAgreement},
		"agreement ended":               {base.With("notify_type", "dut_user_unsign"), order.KindAgreement},
		"app authorised":                {base.With("notify_type", "open_app_auth_notify"), order.KindOther},
		"unknown":                       {base.With("notify_type", "servicemarket_order_notify"), order.KindOther},
		"no type at all":                {base, order.KindOther},
		"message":                       {base.With("msg_method", "alipay.trade.settle.success"), order.KindMessage},
		"transfer":                      {base.With("msg_method", "alipay.fund.trans.order.changed"), order.KindTransfer},
		"message with a trade's fields": {baseline().With("msg_method", "alipay.trade.settle.success"), order.KindMessage},
	} {
		t.Run(name, func(t *testing.T) {
			n := accept(t, a, sign(c.form))
			if n.Kind != c.kind || len(n.Facts) != 1 || n.Facts[0].Kind != c.kind || n.Facts[0].Conflict != "" {
				t.Fatalf("%s: %+v", n.Kind, n.Facts)
			}
			got := content(t, n)
			for _, p := range c.form {
				if got[p.Name] != p.Value {
					t.Errorf("content: %s is %q, want %q", p.Name, got[p.Name], p.Value)
				}
			}
			if _, there := got["sign"]; there || len(got) != len(c.form) {
				t.Errorf("content has %d fields, want %d without the signature: %v", len(got), len(c.form), got)
			}
			again := accept(t, a, sign(c.form.With("notify_id", "n2").With("notify_time", "2026-01-01 13:00:00")))
			if again.FactKey() != n.FactKey() {
				t.Error("sent again it is no copy")
			}
			if other := accept(t, a, sign(c.form.With("memo2", "x"))); other.FactKey() == n.FactKey() {
				t.Error("another message is taken for a copy")
			}
		})
	}
}

func TestForeignMessagesOfEveryKind(t *testing.T) {
	a := newAdapter(t)
	f := forge.NewForm("notify_type", "dut_user_sign", "notify_id", "n1", "agreement_no", "1")
	accept(t, a, sign(f)) // names nobody
	refuse(t, a, sign(f.With("app_id", "2021000000000002")), provider.ErrForeign, codeForeignApp)
	refuse(t, a, sign(f.With("app_id", "")), provider.ErrForeign, codeForeignApp)
	refuse(t, a, sign(f.With("seller_id", "2088000000000002")), provider.ErrForeign, codeForeignSeller)
}

func TestEncryptedContent(t *testing.T) {
	key := []byte("canarycanary1234")
	const inside = `{"out_biz_no":"B1","status":"SUCCESS","payee":"茶"}`
	form := forge.AlipayMessage{
		AppID: appID, Method: "alipay.fund.trans.order.changed", NotifyID: "m1", SentAt: noon, BizContent: inside, AESKey: key,
	}.Form()
	sealed := form.Get("biz_content")
	n := accept(t, newAdapter(t), sign(form))
	if got := content(t, n)["biz_content"]; n.Kind != order.KindTransfer || got != inside {
		t.Errorf("%s: biz_content %q", n.Kind, got)
	}
	for name, c := range map[string]struct {
		key, content, kind string
	}{
		"no key":        {"", sealed, "AES"},
		"another key":   {"MDEyMzQ1Njc4OWFiY2RlZg==", sealed, "AES"},
		"no base64":     {aesKey, "!" + sealed, "AES"},
		"half a block":  {aesKey, "AAAA", "AES"},
		"empty":         {aesKey, "", "AES"},
		"another kind":  {aesKey, sealed, "SM4"},
		"bad padding":   {aesKey, "AAAAAAAAAAAAAAAAAAAAAA==", "AES"},
		"not encrypted": {aesKey, sealed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdapter(t, func(o *Options) { o.AESKey = provider.Secret(c.key) })
			n := accept(t, a, sign(form.With("biz_content", c.content).With("encrypt_type", c.kind)))
			if got := content(t, n)["biz_content"]; got != c.content {
				t.Errorf("biz_content %q, want it as it came", got)
			}
		})
	}
}

func TestAmbiguousText(t *testing.T) {
	a := newAdapter(t)
	for _, name := range bound {
		n := conflict(t, a, sign(baseline().With("subject", "tea&"+name+"=1")), order.ReasonAmbiguousText)
		if n.Kind != order.KindPaid || n.Facts[0].OutTradeNo != orderNo || n.Facts[0].Kind != order.KindPaid {
			t.Errorf("%s: %+v", name, n.Facts[0])
		}
	}
	for _, subject := range []string{"a&b=c", "total_amount=1", "&&total_amount", "tea &total_amount =1", "&TOTAL_AMOUNT=1", "&xtotal_amount=1", "&total_amount&=1"} {
		if n := accept(t, a, sign(baseline().With("subject", subject))); kinds(n) != "paid: paid" {
			t.Errorf("%q: %s", subject, kinds(n))
		}
	}
	const echoed = "a&total_amount=0.01"
	echoing := newAdapter(t, func(o *Options) { o.EchoFields = []string{"passback_params", "subject"} })
	if n := accept(t, echoing, sign(baseline().With("subject", echoed))); kinds(n) != "paid: paid" || n.Facts[0].AmountFen != 1000 {
		t.Error("a field of which only the merchant writes the text is trusted")
	}
	conflict(t, echoing, sign(baseline().With("body", echoed)), order.ReasonAmbiguousText)
	// It goes before what is unreadable, and without an order number it is unhandled.
	n := conflict(t, a, sign(baseline().With("subject", echoed).Without("out_trade_no")), order.ReasonAmbiguousText)
	if n.Kind != order.KindOther {
		t.Errorf("kind %s without an order", n.Kind)
	}
	n = conflict(t, a, sign(unhandled().With("notify_type", "fund_auth_freeze").With("subject", echoed)), order.ReasonAmbiguousText)
	if n.Kind != order.KindFundAuth {
		t.Errorf("kind %s", n.Kind)
	}
	if !strings.Contains(string(n.Content), echoed) {
		t.Errorf("content %s", n.Content)
	}
}
