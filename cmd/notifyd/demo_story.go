package main

import (
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// demoStep is one thing that happens in the demo: a message that is sent to an
// account, or an order that the shop registers.
type demoStep struct {
	who, what string
	orders    []string
	account   string // where the message is sent
	message   forge.Message
	expectFen int64 // instead of a message: register the order with this amount
}

// story is what happens, in this order. Its messages are made at now.
func story(now time.Time) []demoStep {
	return append(wechatStory(now), alipayStory(now)...)
}

const (
	v3Name, v2Name, aliName, shopName = "WeChat Pay v3", "WeChat Pay v2", "Alipay", "the shop"

	onWechat, onAlipay = "wechat", "alipay"
)

func wechatStory(now time.Time) []demoStep {
	pay := func(number, txn string, fen int64) forge.WechatPayment {
		return forge.WechatPayment{MchID: demoMchID, AppID: demoAppID, OutTradeNo: number, TransactionID: "420000000120260101000000" + txn, TotalFen: fen, Currency: "CNY", PaidAt: now}
	}
	v3 := func(s forge.WechatV3Signer, kind, original string, content []byte) forge.Message {
		return s.Notify(forge.WechatEvent{Type: kind, OriginalType: original, CreatedAt: now, Content: content}, now)
	}
	paid := func(s forge.WechatV3Signer, p forge.WechatPayment) forge.Message {
		return v3(s, "TRANSACTION.SUCCESS", "transaction", p.V3())
	}
	refund := func(p forge.WechatPayment, number string, fen int64) forge.WechatRefund {
		return forge.WechatRefund{MchID: p.MchID, AppID: p.AppID, OutTradeNo: p.OutTradeNo, TransactionID: p.TransactionID,
			OutRefundNo: number, RefundID: "50300000012026010100000" + number, TotalFen: p.TotalFen, RefundFen: fen, RefundedAt: now}
	}
	var real, stranger forge.WechatV3Signer
	stranger.Key, stranger.Serial = forge.StrangerKey, forge.WechatSerial
	publicKey := forge.WechatV3Signer{Key: forge.WechatPublicKey}

	first := paid(real, pay("T1001", "1001", 1000))
	probe := paid(real, pay("T1002", "1002", 1000))
	probe.Header.Set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/"+strings.Repeat("b", 41))
	foreign := pay("T1002", "1002", 1000)
	foreign.MchID = "1600000099"
	third, fifth, sixth := pay("T1003", "1003", 500), pay("T1005", "1005", 1), pay("T1006", "1006", 3000)
	outer, inner := refund(third, "R1003", 200).V2()
	both := forge.WechatCombined{MchID: demoMchID, AppID: demoAppID, OutTradeNo: "C1007", Parts: []forge.WechatPayment{pay("T1007", "1007", 1200), pay("T1008", "1008", 800)}}

	return []demoStep{
		{who: shopName, what: "expects 10.00 yuan", orders: []string{"T1001"}, expectFen: 1000},
		{who: v3Name, what: "paid 10.00", orders: []string{"T1001"}, account: onWechat, message: first},
		{who: v3Name, what: "the same again, byte for byte", orders: []string{"T1001"}, account: onWechat, message: first},
		{who: v3Name, what: "paid, signed by a stranger", orders: []string{"T1002"}, account: onWechat, message: paid(stranger, pay("T1002", "1002", 1000))},
		{who: v3Name, what: "WeChat's own test of our check", orders: []string{"T1002"}, account: onWechat, message: probe},
		{who: v3Name, what: "genuine, for another merchant", orders: []string{"T1002"}, account: onWechat, message: paid(real, foreign)},
		{who: v2Name, what: "paid 5.00", orders: []string{"T1003"}, account: onWechat, message: forge.WechatV2Signer{}.Sign(third.V2())},
		{who: v2Name, what: "refunded 2.00 (encrypted)", orders: []string{"T1003"}, account: onWechat, message: forge.WechatV2Signer{}.Seal(outer, inner)},
		{who: shopName, what: "expects 20.00 yuan", orders: []string{"T1005"}, expectFen: 2000},
		{who: v3Name, what: "paid 0.01 only", orders: []string{"T1005"}, account: onWechat, message: paid(real, fifth)},
		{who: v3Name, what: "refunded 9.00, comes before paid", orders: []string{"T1006"}, account: onWechat, message: v3(real, "REFUND.SUCCESS", "refund", refund(sixth, "R1006", 900).V3())},
		{who: v3Name, what: "paid 30.00, comes after its refund", orders: []string{"T1006"}, account: onWechat, message: paid(real, sixth)},
		{who: v3Name, what: "two orders paid in one", orders: []string{"T1007", "T1008"}, account: onWechat, message: v3(publicKey, "TRANSACTION.SUCCESS", "transaction", both.V3())},
	}
}

func alipayStory(now time.Time) []demoStep {
	trade := func(number string, fen int64) forge.AlipayTrade {
		return forge.AlipayTrade{AppID: demoAliApp, AuthAppID: demoAliApp, SellerID: demoSellerID, OutTradeNo: number,
			TradeNo: "202601012200140000000000" + number[1:], TotalFen: fen, Subject: "龙井茶 & more", Created: now, NotifiedAt: now}
	}
	n := 0
	send := func(t forge.AlipayTrade, status string) forge.AlipayTrade {
		n++
		t.Status, t.NotifyID = status, "20260101002220000000000000"+string(rune('a'+n))
		if status != "WAIT_BUYER_PAY" {
			t.Paid = now
		}
		return t
	}
	refunded := func(t forge.AlipayTrade, status string, totalFen int64, number string) forge.AlipayTrade {
		t = send(t, status)
		t.RefundFen, t.OutBizNo, t.Refunded = totalFen, number, now
		return t
	}
	var s forge.AlipaySigner
	sign := func(t forge.AlipayTrade) forge.Message { return s.Sign(t.Form()) }
	fourth, ninth := trade("T1004", 8800), trade("T1009", 1800)
	cheap := send(trade("T1010", 990000), "TRADE_SUCCESS").Form()
	signature := s.Signature(cheap.Text(forge.Rule{}))
	cheap = cheap.With("total_amount", "9.90").With("sign_type", "RSA2")

	return []demoStep{
		{who: aliName, what: "waits for the buyer", orders: []string{"T1004"}, account: onAlipay, message: sign(send(fourth, "WAIT_BUYER_PAY"))},
		{who: aliName, what: "paid 88.00", orders: []string{"T1004"}, account: onAlipay, message: sign(send(fourth, "TRADE_SUCCESS"))},
		{who: aliName, what: "refunded 30.00 of it", orders: []string{"T1004"}, account: onAlipay, message: sign(refunded(fourth, "TRADE_SUCCESS", 3000, "R1004a"))},
		{who: aliName, what: "refunded 88.00 in all, closed", orders: []string{"T1004"}, account: onAlipay, message: sign(refunded(fourth, "TRADE_CLOSED", 8800, "R1004b"))},
		{who: aliName, what: "paid 18.00, in GBK", orders: []string{"T1009"}, account: onAlipay, message: s.Sign(send(ninth, "TRADE_SUCCESS").Form().GBK("GBK"))},
		{who: aliName, what: "waits for the buyer, out of order", orders: []string{"T1009"}, account: onAlipay, message: sign(send(ninth, "WAIT_BUYER_PAY"))},
		{who: aliName, what: "paid, amount changed on the way", orders: []string{"T1010"}, account: onAlipay, message: s.Send(cheap, signature)},
	}
}
