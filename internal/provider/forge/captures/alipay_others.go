package captures

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// common are the fields that every notification of protocol 1.0 has.
func common(number int, kind string, more ...string) forge.Form {
	f := forge.NewForm("notify_id", notifyID(number), "notify_type", kind, "notify_time", "2026-01-01 20:00:00",
		"charset", "utf-8", "version", "1.0", "app_id", alipayApp, "auth_app_id", alipayApp)
	return append(f, forge.NewForm(more...)...)
}

// alipayOthers are the messages that move no order.
// Source: Alipay docs: fund authorisation, agreements, message service 1.1.
func alipayOthers() []capture {
	agreement := []string{"agreement_no", "20260101000000000001", "external_agreement_no", "AGREEMENT702",
		"personal_product_code", "CYCLE_PAY_AUTH_P", "sign_scene", "INDUSTRY|DIGITAL_MEDIA", "alipay_user_id", "2088000000000009"}
	transfer := forge.AlipayMessage{AppID: alipayApp, Method: "alipay.fund.trans.order.changed", NotifyID: notifyID(704), SentAt: at(704),
		BizContent: `{"out_biz_no":"TRANSFER704","order_id":"20260101110070000006000000000001","status":"SUCCESS","action_type":"FINISH","trans_amount":"20.00"}`}
	sealed := forge.AlipayMessage{AppID: alipayApp, Method: "alipay.trade.settle.success", NotifyID: notifyID(705), SentAt: at(705),
		BizContent: `{"trade_no":"` + alipayTxn(601) + `","out_request_no":"SETTLE705"}`, AESKey: []byte(AESKey)}
	return []capture{
		{number: 701, name: "alipay-funds-frozen", account: alipay, message: byAlipay.Sign(common(701, "fund_auth_freeze",
			"auth_no", "2026010110002001000000000001", "out_order_no", "HOTEL701", "operation_id", "20260101000000000001", "out_request_no", "FREEZE701",
			"operation_type", "FREEZE", "amount", "100.00", "status", "SUCCESS", "payer_user_id", "2088000000000009"))},
		{number: 702, name: "alipay-agreement-signed", account: alipay, message: byAlipay.Sign(common(702, "dut_user_sign", append(agreement, "status", "NORMAL", "sign_time", "2026-01-01 19:42:00")...))},
		{number: 703, name: "alipay-agreement-ended", account: alipay, message: byAlipay.Sign(common(703, "dut_user_unsign", append(agreement, "status", "UNSIGN", "unsign_time", "2026-01-01 19:43:00")...))},
		{number: 704, name: "alipay-message-plain", account: alipay, message: byAlipay.Sign(transfer.Form())},
		{number: 705, name: "alipay-message-encrypted", account: alipay, message: byAlipay.Sign(sealed.Form())},
		{number: 706, name: "alipay-unknown-type", account: alipay, message: byAlipay.Sign(common(706, "notify_of_tomorrow", "tea", "pu'er"))},
		{number: 707, name: "alipay-unknown-status", account: alipay, message: byAlipay.Sign(trade(707, "TRADE_PENDING").Form())},
	}
}

// alipayRefused are forms that prove nothing.
func alipayRefused() []capture {
	paidForm := func(number int) forge.Form { return trade(number, "TRADE_SUCCESS").Form() }
	signature := func(number int) string { return byAlipay.Signature(paidForm(number).Text(forge.Rule{})) }
	send := func(number int, f forge.Form) forge.Message {
		return byAlipay.Send(f.With("sign_type", "RSA2"), signature(number))
	}
	bills := paidForm(723).Get("fund_bill_list")
	seller, app, auth := trade(726, "TRADE_SUCCESS"), trade(727, "TRADE_SUCCESS"), trade(734, "TRADE_SUCCESS")
	seller.SellerID, app.AppID, app.AuthAppID, auth.AuthAppID = nobodySeller, nobodyApp, nobodyApp, nobodyApp
	doubled := byAlipay.Sign(paidForm(725))
	doubled.Body = append(doubled.Body, "&total%5Famount=0.01"...)
	unsigned := byAlipay.Sign(paidForm(729))
	unsigned.Body, _, _ = bytes.Cut(unsigned.Body, []byte("&sign="))
	split := byAlipay.Sign(paidForm(730))
	split.Body = bytes.ReplaceAll(split.Body, []byte("&"), []byte(";"))
	escaped := byAlipay.Sign(paidForm(731))
	escaped.Body = bytes.ReplaceAll(escaped.Body, []byte("&"), []byte("&amp;"))
	gbk := paidForm(733).GBK("GBK")
	return []capture{
		{number: 721, name: "refused-alipay-stranger", account: alipay, message: forge.AlipaySigner{Key: forge.StrangerKey}.Sign(paidForm(721))},
		{number: 722, name: "refused-alipay-plus-lost", account: alipay, message: plusLost(722)},
		{number: 723, name: "refused-alipay-html-escaped", account: alipay, message: send(723, paidForm(723).With("fund_bill_list", strings.ReplaceAll(bills, `"`, "&quot;")))},
		{number: 724, name: "refused-alipay-backslashed", account: alipay, message: send(724, paidForm(724).With("fund_bill_list", strings.ReplaceAll(bills, `"`, `\"`)))},
		{number: 725, name: "refused-alipay-field-twice", account: alipay, message: doubled},
		{number: 726, name: "refused-alipay-foreign-seller", account: alipay, message: byAlipay.Sign(seller.Form())},
		{number: 727, name: "refused-alipay-foreign-app", account: alipay, message: byAlipay.Sign(app.Form())},
		{number: 728, name: "refused-alipay-rsa-not-allowed", account: alipay, message: forge.AlipaySigner{SignType: "RSA"}.Sign(paidForm(728))},
		{number: 729, name: "refused-alipay-no-sign", account: alipay, message: unsigned},
		{number: 730, name: "refused-alipay-semicolons", account: alipay, message: split},
		{number: 731, name: "refused-alipay-ampersands-escaped", account: alipay, message: escaped},
		{number: 732, name: "refused-alipay-encoded-twice", account: alipay, message: byAlipay.Send(paidForm(732).With("sign_type", "RSA2"), url.QueryEscape(signature(732)))},
		{number: 733, name: "refused-alipay-transcoded", account: alipay, message: byAlipay.Send(paidForm(733).With("charset", "GBK").With("sign_type", "RSA2"), byAlipay.Signature(gbk.Text(forge.Rule{})))},
		{number: 734, name: "refused-alipay-foreign-merchant", account: alipay, message: byAlipay.Sign(auth.Form())},
		{number: 735, name: "refused-alipay-unknown-algorithm", account: alipay, message: byAlipay.Send(paidForm(735).With("sign_type", "MD5"), signature(735))},
		{number: 736, name: "refused-alipay-amount-changed", account: alipay, message: send(736, paidForm(736).With("total_amount", "0.01"))},
		{number: 737, name: "refused-alipay-sign-cut", account: alipay, message: byAlipay.Send(paidForm(737).With("sign_type", "RSA2"), signature(737)[:100]+"!")},
		{number: 738, name: "refused-alipay-unknown-charset", account: alipay, message: byAlipay.Sign(paidForm(738).With("charset", "big5"))},
		{number: 739, name: "refused-alipay-key-of-another-account", account: alipayCert, message: certTrade(739)},
	}
}

// certTrade is signed with the key that only the other account has.
func certTrade(number int) forge.Message {
	t := trade(number, "TRADE_SUCCESS")
	t.AppID, t.AuthAppID = alipayCertApp, alipayCertApp
	return forge.AlipaySigner{Key: forge.Alipay2Key}.Sign(t.Form())
}

// plusLost is a form that something has decoded and encoded without escaping the
// plus signs of the signature.
func plusLost(number int) forge.Message {
	f := trade(number, "TRADE_SUCCESS").Form()
	for try := 0; ; try++ {
		f = f.With("notify_id", fmt.Sprintf("%s%02d", notifyID(number), try))
		m := byAlipay.Sign(f)
		if _, sign, _ := bytes.Cut(m.Body, []byte("&sign=")); bytes.Contains(sign, []byte("%2B")) {
			m.Body = bytes.ReplaceAll(m.Body, []byte("%2B"), []byte("+"))
			return m
		}
	}
}
