package captures

import (
	"bytes"
	"fmt"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// Who signs v3: the platform's certificate, the one that follows it, the public
// key; and the platform for the service provider, whose API v3 key is another.
var (
	byPlatform  = forge.WechatV3Signer{}
	bySuccessor = forge.WechatV3Signer{Key: forge.Platform2Key}
	byPublicKey = forge.WechatV3Signer{Key: forge.WechatPublicKey}
	byPartner3  = forge.WechatV3Signer{APIKey: partnerV3Key}
)

// event3 is the envelope of a capture. Its id follows from the number.
func event3(number int, eventType, originalType string, content []byte) forge.WechatEvent {
	return forge.WechatEvent{ID: id3(number), Type: eventType, OriginalType: originalType, CreatedAt: paid(number), Content: content}
}

func id3(number int) string { return fmt.Sprintf("EV-20260101%022d", number) }

// payment3 is the notice of an ordinary payment: of the order that the capture begins.
func payment3(number int) forge.WechatEvent {
	return event3(number, "TRANSACTION.SUCCESS", "transaction", v2Payment(number).V3())
}

// with3 is the same with changes to the content's text, old and new in turn.
func with3(number int, oldNew ...string) forge.WechatEvent {
	e := payment3(number)
	for i := 0; i < len(oldNew); i += 2 {
		if bytes.Count(e.Content, []byte(oldNew[i])) != 1 {
			panic(fmt.Sprintf("capture %d: %q does not stand in the content once", number, oldNew[i]))
		}
		e.Content = bytes.Replace(e.Content, []byte(oldNew[i]), []byte(oldNew[i+1]), 1)
	}
	return e
}

// wechatV3 are the payments of v3.
// Source: WeChat Pay docs, v3: payment notice, combined payment notice.
func wechatV3() []capture {
	text := v2Payment(306)
	text.Attach = "四季春茶 🍵 & <少冰>"
	spaced := bytes.ReplaceAll(byPlatform.Envelope(payment3(305)), []byte(`":`), []byte(`": `))
	spaced = bytes.Replace(spaced, []byte("{"), []byte(`{"field_of_tomorrow": 2027, `), 1)
	bare := payment3(307)
	bare.NoAssociatedData = true
	coupon := `"payer_total":700,"currency":"CNY","payer_currency":"CNY"},"promotion_detail":[{"coupon_id":"10001","name":"满减","scope":"GLOBAL","type":"CASH","amount":300}]`
	return []capture{
		{number: 301, name: "v3-payment-certificate", account: wechat, message: byPlatform.Notify(payment3(301), at(301))},
		{number: 302, name: "v3-payment-public-key", account: wechat, message: byPublicKey.Notify(payment3(302), at(302))},
		{number: 303, name: "v3-payment-next-certificate", account: wechat, message: bySuccessor.Notify(payment3(303), at(303))},
		{number: 304, name: "v3-payment-sub-merchant", account: wechatPartner, message: byPartner3.Notify(event3(304, "TRANSACTION.SUCCESS", "transaction", subPayment(304, subMchID).V3()), at(304))},
		{number: 305, name: "v3-payment-other-spacing-unknown-field", account: wechat, message: byPlatform.Sign(spaced, at(305))},
		{number: 306, name: "v3-payment-chinese-text", account: wechat, message: byPlatform.Notify(event3(306, "TRANSACTION.SUCCESS", "transaction", text.V3()), at(306))},
		{number: 307, name: "v3-payment-no-associated-data", account: wechat, message: byPlatform.Notify(bare, at(307))},
		{number: 308, name: "v3-payment-unknown-words", account: wechat, message: byPlatform.Notify(with3(308, `"NATIVE"`, `"MOONPAY"`, `"OTHERS"`, `"BANK_OF_TOMORROW"`, `"payer":`, `"field_of_tomorrow":{"a":[1]},"payer":`), at(308))},
		{number: 309, name: "v3-payment-coupon", account: wechat, message: byPlatform.Notify(with3(309, `"payer_total":1000,"currency":"CNY","payer_currency":"CNY"}`, coupon), at(309))},
		{number: 310, name: "v3-combined", account: wechat, message: combined3(310, part(310, "A", "SUCCESS"), part(310, "B", "SUCCESS"), part(310, "C", "SUCCESS"))},
		{number: 311, name: "v3-combined-one-paid-before", account: wechat, message: combined3(311, part(311, "A", "SUCCESS"), paidBefore(311, 301))},
		{number: 312, name: "v3-combined-one-not-paid", account: wechat, message: combined3(312, part(312, "A", "SUCCESS"), part(312, "B", "NOTPAY"))},
		{number: 313, name: "v3-payment-almost-stale", account: wechat, message: byPlatform.Notify(payment3(313), at(313).Add(-299e9))},
		{number: 314, name: "v3-payment-clock-ahead", account: wechat, message: byPlatform.Notify(payment3(314), at(314).Add(299e9))},
	}
}

// part is a part of a combined payment: A is transaction 7NN, B 8NN, C 9NN.
func part(number int, letter, state string) forge.WechatPayment {
	p := v2Payment(number)
	p.OutTradeNo += letter
	p.TransactionID = wechatTxn(700 + 100*int(letter[0]-'A') + number%100)
	p.State = state
	return p
}

// paidBefore is a part whose order an earlier capture has paid already.
func paidBefore(number, before int) forge.WechatPayment {
	p := part(number, "B", "SUCCESS")
	p.OutTradeNo = orderNo(before)
	return p
}

func combined3(number int, parts ...forge.WechatPayment) forge.Message {
	c := forge.WechatCombined{MchID: mchID, AppID: wechatApp, OutTradeNo: orderNo(number), Parts: parts}
	return byPlatform.Notify(event3(number, "TRANSACTION.SUCCESS", "transaction", c.V3()), at(number))
}

// wechatV3Events are the messages that move no order.
// Source: WeChat Pay docs, v3: profit sharing, transfer, papay, pay score,
// deductions, complaints.
func wechatV3Events() []capture {
	list := []struct {
		number               int
		name, event, subject string
		content              string
	}{
		{501, "v3-profit-sharing-called-payment", "TRANSACTION.SUCCESS", "profitsharing", sharing(501)},
		{502, "v3-profit-sharing-called-payment-twice", "TRANSACTION.SUCCESS", "transaction", sharing(502)},
		{503, "v3-profit-sharing", "PROFITSHARING.SUCCESS", "profitsharing", sharing(503)},
		{504, "v3-transfer", "MCHTRANSFER.BILL.FINISHED", "mch_payment", `{"out_bill_no":"BILL504","transfer_bill_no":"1330000071100999991182020050700019480001","state":"SUCCESS","mch_id":"` + mchID + `","transfer_amount":2000,"openid":"o_test_1"}`},
		{505, "v3-contract-signed", "ENTRUST.SIGN", "entrust", `{"mchid":"` + mchID + `","contract_id":"202601010000000505","out_contract_code":"CONTRACT505","plan_id":12345,"contract_state":"SIGNED"}`},
		{506, "v3-pay-score", "PAYSCORE.USER_PAID", "payscore", `{"appid":"` + wechatApp + `","mchid":"` + mchID + `","out_order_no":"SCORE506","state":"DONE","collection":{"state":"USER_PAID","total_amount":1000,"paid_amount":1000}}`},
		{507, "v3-deduction-failed", "TRANSACTION.FAIL", "transaction", string(inState(507, "PAY_FAIL"))},
		{508, "v3-security-echo", "SECURITY_ECHO.SUCCESS", "security_echo", `{"mchid":"` + mchID + `","echo":"test"}`},
		{509, "v3-payment-revoked", "TRANSACTION.SUCCESS", "transaction", string(inState(509, "REVOKED"))},
		{510, "v3-complaint", "COMPLAINT.CREATE", "complaint", `{"complaint_id":"200201820200101080076610000","action_type":"CREATE_COMPLAINT"}`},
	}
	captures := make([]capture, 0, len(list))
	for _, c := range list {
		e := event3(c.number, c.event, c.subject, []byte(c.content))
		captures = append(captures, capture{number: c.number, name: c.name, account: wechat, message: byPlatform.Notify(e, at(c.number))})
	}
	return captures
}

// sharing is a part of a payment that went to a receiver.
func sharing(number int) string {
	return fmt.Sprintf(`{"mchid":"%s","transaction_id":"%s","order_id":"3008450740201411110007820%d","out_order_no":"SHARE%d",`+
		`"receiver":{"type":"MERCHANT_ID","account":"%s","amount":100,"description":"分账"},"success_time":"2026-01-01T16:21:00+08:00"}`,
		mchID, wechatTxn(301), number, number, mchID)
}

func inState(number int, state string) []byte {
	p := v2Payment(number)
	p.State = state
	return p.V3()
}
