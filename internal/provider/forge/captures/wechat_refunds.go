package captures

import (
	"fmt"
	"strings"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// refundOf is a refund that a capture tells of: of the payment that another
// capture began, which was of 10.00 yuan.
func refundOf(number, payment int, fen int64) forge.WechatRefund {
	return forge.WechatRefund{MchID: mchID, AppID: wechatApp, OutTradeNo: orderNo(payment), TransactionID: wechatTxn(payment),
		OutRefundNo: fmt.Sprintf("REFUND%d", number), RefundID: wechatRefund(number), TotalFen: 1000, RefundFen: fen, RefundedAt: paid(number)}
}

func inStatus(r forge.WechatRefund, status string) forge.WechatRefund {
	r.Status = status
	return r
}

// wechatV2Refunds are the refunds of v2, which nothing signs.
// Source: WeChat Pay docs, v2, "refund result notification".
func wechatV2Refunds() []capture {
	seal := func(r forge.WechatRefund) forge.Message { return byMD5.Seal(r.V2()) }
	sub := refundOf(208, 106, 500)
	sub.MchID, sub.AppID, sub.SubMchID = partnerMchID, partnerApp, subMchID
	foreign := refundOf(210, 104, 100)
	foreign.MchID = nobodyMchID
	outer, inner := refundOf(203, 102, 400).V2()
	reqInfo := byMD5.ReqInfo(inner.XML("root"))
	wrapped := forge.SendXML(outer.With("req_info", wrap(reqInfo)).XML("xml"))
	again, innerAgain := refundOf(201, 101, 300).V2()
	return []capture{
		{number: 201, name: "v2-refund-partial", account: wechat, message: seal(refundOf(201, 101, 300))},
		{number: 202, name: "v2-refund-of-the-rest", account: wechat, message: seal(refundOf(202, 101, 700))},
		{number: 203, name: "v2-refund-wrapped-base64", account: wechat, message: wrapped},
		{number: 204, name: "v2-refund-abnormal", account: wechat, message: seal(inStatus(refundOf(204, 103, 300), "CHANGE"))},
		{number: 205, name: "v2-refund-closed", account: wechat, message: seal(inStatus(refundOf(205, 104, 300), "REFUNDCLOSE"))},
		{number: 206, name: "v2-refund-before-payment", account: wechat, message: seal(refundOf(206, 207, 1000))},
		{number: 207, name: "v2-payment-after-refund", account: wechat, message: byMD5.Sign(v2Payment(207).V2())},
		{number: 208, name: "v2-refund-sub-merchant-leading-zero", account: wechatPartner, message: byPartner.Seal(sub.V2())},
		{number: 209, name: "refused-v2-refund-other-key", account: wechat, message: byPartner.Seal(refundOf(209, 104, 100).V2())},
		{number: 210, name: "refused-v2-refund-foreign-merchant", account: wechat, message: seal(foreign)},
		{number: 211, name: "refused-v2-refund-cut", account: wechat, message: forge.SendXML(outer.With("req_info", reqInfo[:len(reqInfo)-20]).XML("xml"))},
		{number: 212, name: "v2-refund-again", account: wechat, message: byMD5.Seal(again.With("nonce_str", "N0000000000000212"), innerAgain)},
	}
}

// wrap breaks base64 after every 76th character.
func wrap(text string) string {
	var lines []string
	for ; len(text) > 76; text = text[76:] {
		lines = append(lines, text[:76])
	}
	return strings.Join(append(lines, text), "\n")
}

// wechatV3Refunds are the refunds of v3.
// Source: WeChat Pay docs, v3, "refund result notice".
func wechatV3Refunds() []capture {
	notify := func(number int, event string, r forge.WechatRefund) forge.Message {
		return byPlatform.Notify(event3(number, event, "refund", r.V3()), at(number))
	}
	partner := refundOf(409, 304, 100)
	partner.MchID, partner.SubMchID = partnerMchID, subMchID
	unnamed := refundOf(410, 304, 200)
	unnamed.MchID = partnerMchID
	recovered := refundOf(404, 302, 300)
	recovered.RefundedAt = paid(405)
	return []capture{
		{number: 401, name: "v3-refund-partial", account: wechat, message: notify(401, "REFUND.SUCCESS", refundOf(401, 301, 300))},
		{number: 402, name: "v3-refund-of-the-rest", account: wechat, message: notify(402, "REFUND.SUCCESS", refundOf(402, 301, 700))},
		{number: 403, name: "v3-refund-under-another-id", account: wechat, message: notify(403, "REFUND.SUCCESS", refundOf(401, 301, 300))},
		{number: 404, name: "v3-refund-abnormal", account: wechat, message: notify(404, "REFUND.ABNORMAL", inStatus(refundOf(404, 302, 300), "ABNORMAL"))},
		{number: 405, name: "v3-refund-success-after-abnormal", account: wechat, message: notify(405, "REFUND.SUCCESS", recovered)},
		{number: 406, name: "v3-refund-closed", account: wechat, message: notify(406, "REFUND.CLOSED", inStatus(refundOf(406, 303, 300), "CLOSED"))},
		{number: 407, name: "v3-refund-before-payment", account: wechat, message: notify(407, "REFUND.SUCCESS", refundOf(407, 408, 200))},
		{number: 408, name: "v3-payment-after-refund", account: wechat, message: byPlatform.Notify(payment3(408), at(408))},
		{number: 409, name: "v3-refund-sub-merchant", account: wechatPartner, message: byPartner3.Notify(event3(409, "REFUND.SUCCESS", "refund", partner.V3()), at(409))},
		{number: 410, name: "v3-refund-sub-merchant-not-named", account: wechatPartner, message: byPartner3.Notify(event3(410, "REFUND.SUCCESS", "refund", unnamed.V3()), at(410))},
		{number: 411, name: "v3-refund-of-a-v2-payment", account: wechat, message: notify(411, "REFUND.SUCCESS", refundOf(411, 105, 1000))},
	}
}
