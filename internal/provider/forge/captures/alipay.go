package captures

import (
	"fmt"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

var byAlipay = forge.AlipaySigner{}

// trade is the notification of the trade that a capture begins: 10.00 yuan.
func trade(number int, status string) forge.AlipayTrade {
	return tradeOf(number, number, status)
}

// tradeOf is what a capture tells of the trade that another one began.
func tradeOf(number, begun int, status string) forge.AlipayTrade {
	t := forge.AlipayTrade{AppID: alipayApp, AuthAppID: alipayApp, SellerID: sellerID,
		OutTradeNo: orderNo(begun), TradeNo: alipayTxn(begun), Status: status, TotalFen: 1000,
		Subject: "大红袍 50g", Created: paid(begun).Add(-time.Minute), NotifyID: notifyID(number), NotifiedAt: at(number)}
	if status == "TRADE_SUCCESS" || status == "TRADE_FINISHED" {
		t.Paid = paid(begun)
	}
	return t
}

func notifyID(number int) string { return fmt.Sprintf("2026010100222000000000000%07d", number) }

// refunded says how much of a trade was given back so far.
func refunded(t forge.AlipayTrade, number int, totalFen int64) forge.AlipayTrade {
	t.RefundFen, t.OutBizNo, t.Refunded = totalFen, fmt.Sprintf("REFUND%d", number), paid(number)
	if t.Status == "TRADE_CLOSED" {
		t.Paid, t.End = t.Created.Add(time.Minute), paid(number)
	}
	return t
}

// alipayTrades are the four statuses, with and without refunds.
// Source: Alipay docs, asynchronous notifications of trades.
func alipayTrades() []capture {
	const waits, success, finished, closed = "WAIT_BUYER_PAY", "TRADE_SUCCESS", "TRADE_FINISHED", "TRADE_CLOSED"
	unpaid := trade(610, closed)
	unpaid.End = paid(610)
	later := tradeOf(609, 608, finished)
	later.NotifiedAt = at(609).AddDate(0, 0, 90)
	list := []struct {
		number int
		name   string
		trade  forge.AlipayTrade
	}{
		{601, "alipay-waits-for-payment", trade(601, waits)},
		{602, "alipay-paid", tradeOf(602, 601, success)},
		{603, "alipay-partial-refund", refunded(tradeOf(603, 601, success), 603, 300)},
		{604, "alipay-second-partial-refund", refunded(tradeOf(604, 601, success), 604, 500)},
		{605, "alipay-partial-refund-other-number", refunded(tradeOf(605, 601, success), 605, 500)},
		{606, "alipay-refunded-in-full", refunded(tradeOf(606, 601, closed), 606, 1000)},
		{607, "alipay-finished-first", trade(607, finished)},
		{608, "alipay-paid-before-finished", trade(608, success)},
		{609, "alipay-finished-later", later},
		{610, "alipay-closed-unpaid", unpaid},
		{611, "alipay-paid-after-close", tradeOf(611, 610, success)},
		{612, "alipay-late-waits-for-payment", tradeOf(612, 608, waits)},
		{613, "alipay-refund-first", refunded(trade(613, success), 613, 500)},
		{614, "alipay-lower-total-late", refunded(tradeOf(614, 613, success), 614, 300)},
		{615, "alipay-finished-with-refund", refunded(trade(615, finished), 615, 300)},
		{616, "alipay-refunded-in-full-first", refunded(trade(616, closed), 616, 1000)},
	}
	captures := make([]capture, 0, len(list))
	for _, c := range list {
		one := capture{number: c.number, name: c.name, account: alipay, message: byAlipay.Sign(c.trade.Form())}
		if c.number == 609 {
			one.late = later.NotifiedAt.Sub(at(609))
		}
		captures = append(captures, one)
	}
	return captures
}

// alipayForms are payments that differ in how they are signed and written.
func alipayForms() []capture {
	paidForm := func(number int) forge.Form { return trade(number, "TRADE_SUCCESS").Form() }
	cert := trade(621, "TRADE_SUCCESS")
	cert.AppID, cert.AuthAppID = alipayCertApp, alipayCertApp
	old := trade(623, "TRADE_SUCCESS")
	old.AppID, old.AuthAppID = alipayOldApp, alipayOldApp
	isv := trade(625, "TRADE_SUCCESS")
	isv.AuthAppID = isvMerchant
	small := trade(630, "TRADE_SUCCESS")
	small.TotalFen = 10
	vouchers := small.Form().With("voucher_detail_list", `[{"voucherId":"2026010100073002000000000001","type":"ALIPAY_COUPON_OF_TOMORROW","amount":"0.10"}]`).With("merchant_app_id", "9999")
	odd := paidForm(632).With("subject", "100% a+b=c;d  第1盒 ")
	unsigned := byAlipay.Send(paidForm(628).With("sign_type", "RSA2").With("body", ""), byAlipay.Signature(paidForm(628).Text(forge.Rule{})))
	return []capture{
		{number: 621, name: "alipay-certificate-mode", account: alipayCert, message: byAlipay.Sign(cert.Form())},
		{number: 622, name: "alipay-next-key", account: alipay, message: forge.AlipaySigner{Key: forge.Alipay2Key}.Sign(paidForm(622))},
		{number: 623, name: "alipay-rsa-where-allowed", account: alipayOld, message: forge.AlipaySigner{SignType: "RSA"}.Sign(old.Form())},
		{number: 624, name: "alipay-gbk", account: alipay, message: byAlipay.Sign(paidForm(624).GBK("GBK"))},
		{number: 625, name: "alipay-authorised-merchant", account: alipay, message: byAlipay.Sign(isv.Form())},
		{number: 626, name: "alipay-passback-params", account: alipay, message: byAlipay.Sign(paidForm(626).With("passback_params", "%7B%22u%22%3A1%7D"))},
		{number: 627, name: "alipay-empty-field-signed", account: alipay, message: byAlipay.Sign(paidForm(627).With("body", ""))},
		{number: 628, name: "alipay-empty-field-not-signed", account: alipay, message: unsigned},
		{number: 629, name: "alipay-sign-type-signed", account: alipay, message: forge.AlipaySigner{Rule: forge.Rule{KeepSignType: true}}.Sign(paidForm(629))},
		{number: 630, name: "alipay-ten-fen-vouchers", account: alipay, message: byAlipay.Sign(vouchers)},
		{number: 631, name: "alipay-query-string", account: alipay, message: byAlipay.Sign(paidForm(631)), query: "?s=/pay/notify&out_trade_no=OTHER&total_amount=0.01",
			header: []string{"Cookie: trade_status=WAIT_BUYER_PAY"}},
		{number: 632, name: "alipay-odd-text", account: alipay, message: byAlipay.Sign(odd)},
	}
}
