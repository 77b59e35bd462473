package captures

import (
	"encoding/json"
	"strings"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// The two ways in which v2 signs.
var (
	byMD5     = forge.WechatV2Signer{}
	byHMAC    = forge.WechatV2Signer{SignType: "HMAC-SHA256"}
	byPartner = forge.WechatV2Signer{APIKey: partnerV2Key}
)

// v2Payment is the payment of the order that a capture begins: 10.00 yuan.
func v2Payment(number int) forge.WechatPayment {
	return forge.WechatPayment{MchID: mchID, AppID: wechatApp, OutTradeNo: orderNo(number), TransactionID: wechatTxn(number),
		TotalFen: 1000, Currency: "CNY", PaidAt: paid(number)}
}

func subPayment(number int, sub string) forge.WechatPayment {
	p := v2Payment(number)
	p.MchID, p.AppID, p.SubMchID = partnerMchID, partnerApp, sub
	return p
}

// wechatV2 are the payments and contracts of v2.
// Source: WeChat Pay docs, v2: payment result, papay, combined payment.
func wechatV2() []capture {
	coupons := v2Payment(105)
	coupons.Attach = "端午 🍡 第二件半价"
	withCoupons := coupons.V2().With("cash_fee", "700").With("coupon_fee", "300").With("coupon_count", "2").
		With("coupon_type_0", "CASH").With("coupon_id_0", "10001").With("coupon_fee_0", "200").
		With("coupon_type_1", "NO_CASH").With("coupon_id_1", "10002").With("coupon_fee_1", "100").
		With("settlement_total_fee", "900").With("field_of_tomorrow", "2027")
	otherShop := subPayment(107, otherSubID)
	otherShop.OutTradeNo = orderNo(106)
	deduction, failed := v2Payment(110), v2Payment(111)
	deduction.State, failed.State = "SUCCESS", "PAY_FAIL"
	free := v2Payment(116)
	free.TotalFen = 0
	partA, partB := subPayment(113, subMchID), subPayment(113, otherSubID)
	partA.MchID, partB.MchID, partA.SubMchID, partB.SubMchID = subMchID, otherSubID, "", ""
	partA.OutTradeNo, partB.OutTradeNo = orderNo(113)+"A", orderNo(113)+"B"
	partB.TransactionID, partB.TotalFen = wechatTxn(913), 2500
	combined := forge.WechatCombined{MchID: partnerMchID, AppID: partnerApp, OutTradeNo: orderNo(113), Parts: []forge.WechatPayment{partA, partB}}
	return []capture{
		{number: 101, name: "v2-payment-md5", account: wechat, message: byMD5.Sign(v2Payment(101).V2())},
		{number: 102, name: "v2-payment-hmac", account: wechat, message: byHMAC.Sign(v2Payment(102).V2())},
		{number: 103, name: "v2-payment-md5-sign-type", account: wechat, message: byMD5.Sign(v2Payment(103).V2().With("sign_type", "MD5"))},
		{number: 104, name: "v2-payment-hmac-sign-type", account: wechat, message: byHMAC.Sign(v2Payment(104).V2().With("sign_type", "HMAC-SHA256"))},
		{number: 105, name: "v2-payment-coupons-unknown-field", account: wechat, message: byMD5.Sign(withCoupons)},
		{number: 106, name: "v2-payment-sub-merchant", account: wechatPartner, message: byPartner.Sign(subPayment(106, subMchID).V2())},
		{number: 107, name: "v2-payment-same-number-other-sub-merchant", account: wechatPartner, message: byPartner.Sign(otherShop.V2())},
		{number: 108, name: "v2-payment-plain-text-and-lines", account: wechat, message: inLines(v2Payment(108).V2())},
		{number: 109, name: "v2-payment-signed-trimmed", account: wechat, message: signedTrimmed(v2Payment(109))},
		{number: 110, name: "v2-deduction", account: wechat, message: byHMAC.Sign(deduction.V2().Without("is_subscribe", "trade_type").With("contract_id", "202601010000000110"))},
		{number: 111, name: "v2-deduction-failed", account: wechat, message: byMD5.Sign(failed.V2().Without("is_subscribe", "trade_type").With("contract_id", "202601010000000110"))},
		{number: 112, name: "v2-result-fail", account: wechat, message: byMD5.Sign(v2Payment(112).V2().With("result_code", "FAIL").With("err_code", "NOTENOUGH").With("err_code_des", "余额不足"))},
		{number: 113, name: "v2-combined", account: wechatPartner, message: byPartner.Sign(combined.V2())},
		{number: 114, name: "v2-contract-signed", account: wechat, message: byMD5.Sign(v2Contract("ADD").With("contract_expired_time", "2027-01-01 09:54:00"))},
		{number: 115, name: "v2-contract-terminated", account: wechat, message: byMD5.Sign(v2Contract("DELETE").With("contract_termination_mode", "2"))},
		{number: 116, name: "v2-payment-of-nothing", account: wechat, message: byMD5.Sign(free.V2())},
		{number: 117, name: "v2-payment-hmac-only-account", account: wechatHMAC, message: byHMAC.Sign(hmacPayment(117))},
	}
}

func hmacPayment(number int) forge.Form {
	p := v2Payment(number)
	p.MchID = hmacMchID
	return p.V2()
}

func v2Contract(change string) forge.Form {
	return forge.NewForm("return_code", "SUCCESS", "result_code", "SUCCESS", "mch_id", mchID, "contract_code", "CONTRACT114",
		"plan_id", "123456", "openid", "o_test_1", "change_type", change, "operate_time", "2026-01-01 09:54:00",
		"contract_id", "202601010000000114", "request_serial", "114")
}

// inLines is the same data in another shape: a declaration, one element to a
// line, text instead of CDATA.
func inLines(f forge.Form) forge.Message {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<xml>\r\n")
	for _, p := range f.With("sign", byMD5.Signature(f)) {
		b.WriteString("\t<" + p.Name + ">" + p.Value + "</" + p.Name + ">\r\n")
	}
	b.WriteString("</xml>\r\n")
	return forge.SendXML([]byte(b.String()))
}

// signedTrimmed is signed over the trimmed attach and sent with its blanks, as
// one of the provider's own signers does.
func signedTrimmed(p forge.WechatPayment) forge.Message {
	p.Attach = "table 4"
	signature := byMD5.Signature(p.V2())
	return forge.SendXML(p.V2().With("attach", "  table 4 ").With("sign", signature).XML("xml"))
}

// wechatV2Refused are v2 messages that prove nothing.
func wechatV2Refused() []capture {
	good := func(number int) forge.Form { return v2Payment(number).V2() }
	signed := func(number int) string { return string(byMD5.Sign(good(number)).Body) }
	foreign, otherApp := v2Payment(127), v2Payment(128)
	foreign.MchID, otherApp.AppID = nobodyMchID, "wxtest0000000999"
	quoted, err := json.Marshal(signed(129))
	if err != nil {
		panic(err) // a text always marshals
	}
	withoutType := byMD5.Signature(good(130))
	return []capture{
		{number: 121, name: "refused-v2-wrong-sign", account: wechat, message: forge.SendXML(good(121).With("sign", strings.Repeat("0A", 16)).XML("xml"))},
		{number: 122, name: "refused-v2-no-sign", account: wechat, message: forge.SendXML(good(122).XML("xml"))},
		{number: 123, name: "refused-v2-return-fail", account: wechat, message: forge.SendXML(forge.NewForm("return_code", "FAIL", "return_msg", "签名失败").XML("xml"))},
		{number: 124, name: "refused-v2-doctype", account: wechat, message: forge.SendXML([]byte(`<!DOCTYPE xml [<!ENTITY e SYSTEM "file:///etc/hostname">]>` + signed(124)))},
		{number: 125, name: "refused-v2-field-twice", account: wechat, message: forge.SendXML([]byte(strings.Replace(signed(125), "</xml>", "<total_fee>1</total_fee></xml>", 1)))},
		{number: 126, name: "refused-v2-md5-not-allowed", account: wechatHMAC, message: byMD5.Sign(hmacPayment(126))},
		{number: 127, name: "refused-v2-foreign-merchant", account: wechat, message: byMD5.Sign(foreign.V2())},
		{number: 128, name: "refused-v2-foreign-app", account: wechat, message: byMD5.Sign(otherApp.V2())},
		{number: 129, name: "refused-v2-json-text", account: wechat, message: forge.SendXML(quoted)},
		{number: 130, name: "refused-v2-sign-type-not-signed", account: wechat, message: forge.SendXML(good(130).With("sign_type", "MD5").With("sign", withoutType).XML("xml"))},
		{number: 131, name: "refused-v2-unlisted-sub-merchant", account: wechatPartner, message: byPartner.Sign(subPayment(131, unlistedSub).V2())},
	}
}
