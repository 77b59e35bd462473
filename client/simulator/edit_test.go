package simulator_test

import (
	"strings"
	"testing"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/order"
)

// A changed field is signed as it is, and keeps its type.
func TestEditsAreSigned(t *testing.T) {
	for _, c := range []struct {
		p    simulator.Protocol
		edit string
		want func(order.Notification) bool
	}{
		{simulator.WechatV3, "amount.total=7", func(n order.Notification) bool { return n.Facts[0].AmountFen == 7 }},
		{simulator.WechatV3, "amount.total=seven", conflict(order.ReasonUnreadableField)},
		{simulator.WechatV3, `amount.total:="7"`, conflict(order.ReasonUnreadableField)},
		{simulator.WechatV3, "amount.total:=7.5", conflict(order.ReasonUnreadableField)},
		{simulator.WechatV3, "out_trade_no=123", func(n order.Notification) bool { return n.Facts[0].OutTradeNo == "123" }},
		{simulator.WechatV3, "out_trade_no:=123", conflict(order.ReasonUnreadableField)},
		{simulator.WechatV3, "trade_state=REVOKED", func(n order.Notification) bool { return n.Kind == order.KindOther }},
		{simulator.WechatV3, "envelope.id=EV-1", func(n order.Notification) bool { return n.ProviderID == "EV-1" }},
		{simulator.WechatV3, "scene_info.device_id=7", func(n order.Notification) bool { return n.Facts[0].AmountFen == 1000 }},
		{simulator.WechatV3, "header.X-Forwarded-For=127.0.0.1", func(n order.Notification) bool { return n.Facts[0].AmountFen == 1000 }},
		{simulator.WechatV2, "total_fee=7", func(n order.Notification) bool { return n.Facts[0].AmountFen == 7 }},
		{simulator.WechatV2, "field_of_tomorrow=x&y", func(n order.Notification) bool { return n.Facts[0].AmountFen == 1000 }},
		{simulator.WechatV2, `total_fee:="7"`, func(n order.Notification) bool { return n.Facts[0].AmountFen == 7 }},
		{simulator.Alipay, "total_amount=0.07", func(n order.Notification) bool { return n.Facts[0].AmountFen == 7 }},
		{simulator.Alipay, "fund_bill_list.0.amount=0.07", func(n order.Notification) bool { return n.Facts[0].AmountFen == 1000 }},
		{simulator.Alipay, "trade_status=WAIT_BUYER_PAY", func(n order.Notification) bool { return n.Kind == order.KindPaying }},
	} {
		s := newSimulator(t, c.p)
		e, err := simulator.ParseEdit(c.edit)
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Payment(testOrder()).With(e)
		if err != nil {
			t.Errorf("%s %s: %v", c.p, c.edit, err)
			continue
		}
		if got, err := parse(receiver(t, c.p, s.Account(), keysFor(t)), n.At(noon)); err != nil || !c.want(got) {
			t.Errorf("%s %s: %s, %v", c.p, c.edit, said(got), err)
		}
	}
}

func conflict(r order.Reason) func(order.Notification) bool {
	return func(n order.Notification) bool { return n.Facts[0].Conflict == r }
}

func TestEditsOfARefund(t *testing.T) {
	s := newSimulator(t, simulator.WechatV2)
	n, err := s.Refund(testOrder(), simulator.Refund{AmountFen: 300, At: noon})
	if err != nil {
		t.Fatal(err)
	}
	n, err = n.With(simulator.Set("refund_fee", "299"), simulator.Set("envelope.return_msg", "OK"), simulator.Drop("refund_account"))
	if err != nil {
		t.Fatal(err)
	}
	m := n.At(noon)
	got, err := parse(receiver(t, simulator.WechatV2, s.Account(), keysFor(t)), m)
	if err != nil || got.Facts[0].AmountFen != 299 || !strings.Contains(string(m.Body), "<return_msg><![CDATA[OK]]></return_msg>") {
		t.Errorf("%s, %v\n%s", said(got), err, m.Body)
	}
}

func TestEditsThatCannotBeMade(t *testing.T) {
	for _, text := range []string{"amount", "=1", ":=1", "a:=b"} {
		if e, err := simulator.ParseEdit(text); err == nil {
			t.Errorf("%s is read as %+v", text, e)
		}
	}
	for _, c := range []struct {
		p    simulator.Protocol
		edit simulator.Edit
		want string
	}{
		{simulator.WechatV3, simulator.Set("out_trade_no.x", "1"), "cannot set out_trade_no.x: "},
		{simulator.WechatV3, simulator.Set("envelope.id.x", "1"), "cannot set id.x: "},
		{simulator.WechatV3, simulator.Drop("payer.nobody"), "it is not there"},
		{simulator.Alipay, simulator.Set("fund_bill_list.9.amount", "1"), "there is no element 9 among 1"},
		{simulator.WechatV2, simulator.Drop("nobody"), "it is not there"},
	} {
		if _, err := newSimulator(t, c.p).Payment(testOrder()).With(c.edit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.edit, err, c.want)
		}
	}
}

// Whatever somebody sets, a scenario makes a message of it or says why not: what
// happens to a message on its way must not rely on what an edit can change.
func TestNoEditBreaksAScenario(t *testing.T) {
	o := simulator.Order{OutTradeNo: "T1", AmountFen: 1000, PaidAt: noon}
	edits := [][]simulator.Edit{
		{simulator.Set("envelope.resource.ciphertext", "*"), simulator.SetJSON("envelope.large", "1e999"), simulator.Set("envelope.req_info", "*"), simulator.Set("charset", "\xff")},
		{simulator.Set("envelope.resource.ciphertext", ""), simulator.Set("envelope.req_info", ""), simulator.SetJSON("large", "1e999"), simulator.Set("biz_content", "")},
		{simulator.SetJSON("envelope.resource", "null"), simulator.Set("attach", "\xff"), simulator.Set("sign", "")},
		{simulator.Drop("envelope.resource"), simulator.Drop("biz_content"), simulator.Drop("amount")},
	}
	made := 0
	for _, scenario := range simulator.Scenarios() {
		for _, p := range scenario.Protocols {
			told, err := newSimulator(t, p).Tell(scenario, o)
			if err != nil {
				t.Fatal(err)
			}
			for i, all := range edits {
				for _, step := range told.Steps {
					func() {
						defer func() {
							if fault := recover(); fault != nil {
								t.Errorf("%s in %s, %q, edit %d: %v", scenario.Name, p, step.What, i, fault)
							}
						}()
						n := step.Notification
						for _, e := range all { // those that this message has
							if edited, err := n.With(e); err == nil {
								n = edited
							}
						}
						n.At(noon)
						made++
					}()
				}
			}
		}
	}
	if made < len(edits)*len(simulator.Scenarios()) {
		t.Errorf("only %d messages were made", made)
	}
}
