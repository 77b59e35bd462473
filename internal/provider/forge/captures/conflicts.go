package captures

import (
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// conflicts are genuine messages that contradict what is known, or cannot be
// read, or cannot be trusted to mean what they seem to.
func conflicts() []capture {
	notify := func(number int, e forge.WechatEvent) forge.Message { return byPlatform.Notify(e, at(number)) }
	pay := func(number int, p forge.WechatPayment) forge.Message {
		return notify(number, event3(number, "TRANSACTION.SUCCESS", "transaction", p.V3()))
	}
	surplus, amount, currency, reused := v2Payment(801), v2Payment(303), v2Payment(305), v2Payment(306)
	surplus.OutTradeNo, amount.TotalFen, currency.Currency, reused.OutTradeNo = orderNo(302), 999, "USD", orderNo(804)
	sameID := payment3(805)
	sameID.ID = id3(301)
	otherRefund := refundOf(807, 302, 300)
	otherRefund.RefundID, otherRefund.OutRefundNo = wechatRefund(401), "REFUND401"
	closed := tradeOf(813, 622, "TRADE_CLOSED")
	tooMuch := refunded(tradeOf(814, 624, "TRADE_SUCCESS"), 814, 2000)
	crossed := trade(815, "TRADE_SUCCESS")
	crossed.OutTradeNo = orderNo(104)
	return []capture{
		{number: 801, name: "conflict-second-payment", account: wechat, message: pay(801, surplus)},
		{number: 802, name: "conflict-other-amount", account: wechat, message: pay(802, amount)},
		{number: 803, name: "conflict-other-currency", account: wechat, message: pay(803, currency)},
		{number: 804, name: "conflict-transaction-of-another-order", account: wechat, message: pay(804, reused)},
		{number: 805, name: "conflict-notification-id-of-another", account: wechat, message: notify(805, sameID)},
		{number: 806, name: "conflict-refund-above-payment", account: wechat, message: notify(806, event3(806, "REFUND.SUCCESS", "refund", refundOf(806, 408, 900).V3()))},
		{number: 807, name: "conflict-refund-of-another-order", account: wechat, message: notify(807, event3(807, "REFUND.SUCCESS", "refund", otherRefund.V3()))},
		{number: 808, name: "conflict-v3-amount-unreadable", account: wechat, message: notify(808, with3(808, `"total":1000`, `"total":10.00`))},
		{number: 809, name: "conflict-v2-time-unreadable", account: wechat, message: byMD5.Sign(v2Payment(809).V2().With("time_end", "20260230120000"))},
		{number: 810, name: "conflict-alipay-amount-unreadable", account: alipay, message: byAlipay.Sign(trade(810, "TRADE_SUCCESS").Form().With("total_amount", "1,000.00"))},
		{number: 811, name: "conflict-v2-ambiguous-text", account: wechat, message: byMD5.Sign(v2Payment(811).V2().With("device_info", "till 4&total_fee=1"))},
		{number: 812, name: "conflict-alipay-ambiguous-text", account: alipay, message: byAlipay.Sign(trade(812, "TRADE_SUCCESS").Form().With("subject", "tea&total_amount=0.01"))},
		{number: 813, name: "conflict-alipay-closed-after-paid", account: alipay, message: byAlipay.Sign(closed.Form())},
		{number: 814, name: "conflict-alipay-refund-above-payment", account: alipay, message: byAlipay.Sign(tooMuch.Form())},
		{number: 815, name: "conflict-paid-at-both-providers", account: alipay, message: byAlipay.Sign(crossed.Form())},
		{number: 816, name: "conflict-no-order-number", account: wechat, message: notify(816, with3(816, `"out_trade_no":"`+orderNo(816)+`",`, ""))},
	}
}

// repeats are messages that were here before, as they were or under another id,
// time or signature, and requests that are none at all.
func repeats() []capture {
	same := func(number int, e forge.WechatEvent) forge.Message { return byPublicKey.Notify(e, at(number)) }
	renamed := payment3(302)
	renamed.ID = id3(904)
	later := tradeOf(602, 601, "TRADE_SUCCESS")
	later.NotifiedAt = at(903)
	zipped := byMD5.Sign(v2Payment(912).V2())
	zipped.Header.Set("Content-Encoding", "gzip")
	return []capture{
		{number: 901, name: "repeat-v2-same-bytes", account: wechat, message: byMD5.Sign(v2Payment(101).V2())},
		{number: 902, name: "repeat-v3-new-signature", account: wechat, message: same(902, payment3(301))},
		{number: 903, name: "repeat-alipay-new-time", account: alipay, message: byAlipay.Sign(later.Form())},
		{number: 904, name: "repeat-v3-under-another-id", account: wechat, message: same(904, renamed)},
		{number: 905, name: "repeat-v3-combined", account: wechat, message: same(905, combinedAgain())},
		{number: 906, name: "repeat-of-a-conflict", account: wechat, message: byMD5.Sign(v2Payment(811).V2().With("device_info", "till 4&total_fee=1").With("nonce_str", "N0000000000000906"))},
		{number: 911, name: "refused-get", account: alipay, message: byAlipay.Sign(trade(911, "TRADE_SUCCESS").Form()), method: "GET"},
		{number: 912, name: "refused-compressed", account: wechat, message: zipped, late: time.Second},
	}
}

func combinedAgain() forge.WechatEvent {
	c := forge.WechatCombined{MchID: mchID, AppID: wechatApp, OutTradeNo: orderNo(310),
		Parts: []forge.WechatPayment{part(310, "A", "SUCCESS"), part(310, "B", "SUCCESS"), part(310, "C", "SUCCESS")}}
	return event3(310, "TRANSACTION.SUCCESS", "transaction", c.V3())
}
