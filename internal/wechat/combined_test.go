package wechat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func combination(parts ...forge.WechatPayment) forge.WechatCombined {
	return forge.WechatCombined{MchID: mchID, AppID: appID, OutTradeNo: "C1", Parts: parts}
}

// part is one of three sub-orders: T1, T2 and T3 of 100, 200 and 300 fen.
func part(i int) forge.WechatPayment {
	p := payment()
	p.OutTradeNo, p.TransactionID, p.TotalFen = fmt.Sprintf("T%d", i), fmt.Sprintf("420000000%d", i), int64(i)*100
	return p
}

func partFact(i int) order.Fact {
	f := paidFact()
	f.OutTradeNo, f.ProviderTxnID, f.AmountFen = fmt.Sprintf("T%d", i), fmt.Sprintf("420000000%d", i), int64(i)*100
	return f
}

func TestP17(t *testing.T) {
	a := newAdapter(t)
	c := combination(part(1), part(2), part(3))
	for name, req := range map[string]provider.Request{"v3": v3(paidEvent(c.V3())), "v2": v2(c.V2())} {
		t.Run(name, func(t *testing.T) {
			n := accept(t, a, req)
			says(t, n, order.KindPaid, partFact(1), partFact(2), partFact(3))
			if n.Distinct != nil || n.Content != nil {
				t.Error("the facts say it all")
			}
		})
	}
}

func TestCombinedPartThatIsNotPaid(t *testing.T) {
	a := newAdapter(t)
	unpaid := part(2)
	unpaid.State, unpaid.TransactionID = "NOTPAY", ""
	other := order.Fact{Kind: order.KindOther, Merchant: "default", OutTradeNo: "T2", Provider: Name, Account: account}
	n := accept(t, a, v3(paidEvent(combination(part(1), unpaid, part(3)).V3())))
	says(t, n, order.KindPaid, partFact(1), other, partFact(3))
	if n.Content == nil || n.Distinct != nil {
		t.Error("what is not a payment must be handed on, and the facts tell the message from others")
	}
	n = accept(t, a, v3(paidEvent(combination(unpaid, part(1)).V3())))
	says(t, n, order.KindPaid, other, partFact(1))
	n = accept(t, a, v3(paidEvent(combination(unpaid).V3())))
	says(t, n, order.KindOther, other)
	if n.Content == nil || n.Distinct == nil {
		t.Error("an unhandled notification needs Distinct and Content")
	}
	movesNothing(t, accept(t, a, v2(combination(part(1)).V2().With("result_code", "FAIL"))), order.KindOther, "")
}

func TestCombinedUnreadable(t *testing.T) {
	a := newAdapter(t)
	content := combination(part(1), part(2), part(3)).V3()
	list := string(combination(part(1), part(2), part(3)).V2().Get("sub_order_list"))
	inV2 := func(old, new string) provider.Request {
		return v2(combination().V2().With("sub_order_list", string(edited(t, []byte(list), old, new))))
	}
	for name, req := range map[string]provider.Request{
		"v3 amount":      v3(paidEvent(edited(t, content, `"total_amount":200`, `"total_amount":2e2`))),
		"v3 transaction": v3(paidEvent(edited(t, content, `"transaction_id":"4200000002"`, `"transaction_id":""`))),
		"v2 amount":      inV2(`"total_fee":200`, `"total_fee":"2.00"`),
		"v2 transaction": inV2(`"transaction_id":"4200000002",`, ``),
	} {
		t.Run(name, func(t *testing.T) {
			n := accept(t, a, req)
			if len(n.Facts) != 3 || n.Kind != order.KindPaid || n.Distinct == nil || n.Content == nil {
				t.Fatalf("%+v", n)
			}
			for i, f := range n.Facts {
				if f.Conflict != order.ReasonUnreadableField || f.OutTradeNo != fmt.Sprintf("T%d", i+1) || f.Kind != order.KindPaid {
					t.Errorf("%+v", f)
				}
			}
		})
	}
	// The order whose number cannot be read has no fact, the others have.
	n := accept(t, a, v3(paidEvent(edited(t, content, `"out_trade_no":"T2"`, `"out_trade_no":"T 2"`))))
	if len(n.Facts) != 2 || n.Facts[0].OutTradeNo != "T1" || n.Facts[1].OutTradeNo != "T3" || n.Facts[1].Conflict != order.ReasonUnreadableField {
		t.Errorf("%+v", n.Facts)
	}
	many := make([]forge.WechatPayment, maxSubOrders+1)
	for i := range many {
		many[i] = part(1)
	}
	for name, req := range map[string]provider.Request{
		"v3 none":        v3(paidEvent(combination().V3())),
		"v3 no list":     v3(paidEvent([]byte(`{"combine_mchid":"` + mchID + `","combine_appid":"` + appID + `","combine_out_trade_no":"C1","sub_orders":{}}`))),
		"v3 too many":    v3(paidEvent(combination(many...).V3())),
		"v3 no object":   v3(paidEvent([]byte(`{"combine_mchid":"` + mchID + `","combine_appid":"` + appID + `","sub_orders":[7]}`))),
		"v2 none":        v2(combination().V2()),
		"v2 no JSON":     v2(combination().V2().With("sub_order_list", "{")),
		"v2 not a list":  v2(combination().V2().With("sub_order_list", "[]")),
		"v2 without any": v2(combination().V2().Without("sub_order_list")),
	} {
		t.Run(name, func(t *testing.T) {
			isConflicted(t, accept(t, a, req), order.KindOther, order.ReasonUnreadableField)
		})
	}
	refuse(t, a, inV2(`"total_fee":200`, `"total_fee":200,"Total_Fee":1`), provider.ErrSignature, CodeDuplicateField)
}

func TestCombinedOfSeveralMerchants(t *testing.T) {
	own, direct, under := part(1), part(2), part(3)
	direct.MchID = subID
	under.SubMchID = "1900000110"
	c := combination(own, direct, under)
	want := []order.Fact{partFact(1), partFact(2), partFact(3)}
	want[1].Merchant, want[1].SubMerchant = "default/"+subID, subID
	want[2].Merchant, want[2].SubMerchant = "default/1900000110", "1900000110"
	for _, req := range []provider.Request{v3(paidEvent(c.V3())), v2(c.V2())} {
		says(t, accept(t, newAdapter(t, asPartner(subID, "1900000110")), req), order.KindPaid, want...)
		says(t, accept(t, newAdapter(t, asPartner("*")), req), order.KindPaid, want...)
		refuse(t, newAdapter(t), req, provider.ErrForeign, CodeForeignMchID)
		refuse(t, newAdapter(t, asPartner(subID)), req, provider.ErrForeign, CodeForeignSubMchID)
		refuse(t, newAdapter(t, asPartner("1900000110")), req, provider.ErrForeign, CodeForeignMchID)
	}
	a := newAdapter(t)
	for _, change := range []func(*forge.WechatCombined){
		func(c *forge.WechatCombined) { c.MchID = "1" }, func(c *forge.WechatCombined) { c.MchID = "" },
	} {
		c := combination(part(1))
		change(&c)
		refuse(t, a, v3(paidEvent(c.V3())), provider.ErrForeign, CodeForeignMchID)
		refuse(t, a, v2(c.V2()), provider.ErrForeign, CodeForeignMchID)
	}
	c = combination(part(1))
	c.AppID = "wxforeign"
	refuse(t, a, v3(paidEvent(c.V3())), provider.ErrForeign, CodeForeignAppID)
	refuse(t, a, v2(c.V2()), provider.ErrForeign, CodeForeignAppID)
	nameless := strings.Replace(string(combination(part(1)).V3()), `"mchid":"`+mchID+`",`, "", 1)
	refuse(t, a, v3(paidEvent([]byte(nameless))), provider.ErrForeign, CodeForeignMchID)
}

// TestCombinedV2Text: in v2 the amount may be written as text.
func TestCombinedV2Text(t *testing.T) {
	list := strings.Replace(combination(part(1)).V2().Get("sub_order_list"), `"total_fee":100`, `"total_fee":"100"`, 1)
	says(t, accept(t, newAdapter(t), v2(combination().V2().With("sub_order_list", list))), order.KindPaid, partFact(1))
	// A combined payment may come without return_code; signed it is all the same.
	says(t, accept(t, newAdapter(t), v2(combination(part(1)).V2().Without("return_code"))), order.KindPaid, partFact(1))
}
