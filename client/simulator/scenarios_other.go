package simulator

import (
	"errors"
	"slices"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// others are messages that speak of no order, and agreements under which orders
// are paid without their buyer.
func others() []Scenario {
	return []Scenario{
		scenario("papay", "an agreement is signed, pays an order, fails to pay one, and ends", "P15 P27", plot{v3: tellPapayV3, v2: tellPapayV2, ali: tellPapayAlipay}),
		scenario("unhandled", "kinds that move no order: transfers, profit sharing, frozen funds and such", "P15 P27", plot{v3: tellUnhandledV3, v2: tellUnhandledV2, ali: tellUnhandledAlipay}),
		scenario("encrypted-message", "a message of the message service whose content is encrypted", "", plot{ali: tellEncryptedMessage}),
	}
}

var errNoSubMerchants = errors.New("the account names no sub-merchant: list one under sub_mchids or auth_app_ids in its configuration")

// anySubMerchant in an account's list accepts every sub-merchant.
const anySubMerchant = "*"

// subMerchants are numbers of sub-merchants that the account accepts.
func (s *Simulator) subMerchants() []string {
	if s.protocol == Alipay {
		return s.account.AuthAppIDs
	}
	if slices.Contains(s.account.SubMchIDs, anySubMerchant) {
		return []string{"1900000109", "1900000110"} // made up
	}
	return s.account.SubMchIDs
}

// of is a message about something else than an order.
func (t *teller) of(event, original, content string) Notification {
	d := t.event(event, original, t.order.PaidAt, []byte(content))
	if d.event.Summary == "" {
		d.event.Summary = "通知"
	}
	return t.notification(d)
}

func tellPapayV3(t *teller) {
	contract := `{"mchid":"` + t.account.MchID + `","contract_id":"20` + t.number(16) + `","out_contract_code":"C` + t.order.OutTradeNo + `","plan_id":12345,"contract_state":`
	paid, failed := t.order, t.next()
	t.say("agreement signed", t.of("ENTRUST.SIGN", "entrust", contract+`"SIGNED"}`), unhandled)
	t.pays("paid by the agreement "+yuan(paid.AmountFen), paid, t.edited(t.Payment(paid), Set("trade_type", "PAP")))
	t.say("could not be paid", t.edited(t.Payment(failed), Set("trade_type", "PAP"), Set("trade_state", "PAY_FAIL"), Drop("success_time"),
		Set("envelope.event_type", "TRANSACTION.FAIL")), unhandled)
	t.end(failed, "", 0, 0)
	t.say("agreement ended", t.of("ENTRUST.TERMINATE", "entrust", contract+`"TERMINATED"}`), unhandled)
}

func tellPapayV2(t *teller) {
	id := "20" + t.number(16)
	contract := func(change string, more ...string) Notification {
		f := forge.NewForm("return_code", "SUCCESS", "result_code", "SUCCESS", "mch_id", t.account.MchID, "contract_code", "C"+t.order.OutTradeNo,
			"plan_id", "123456", "openid", "o_test_1", "change_type", change, "operate_time", t.order.PaidAt.In(beijing).Format(time.DateTime),
			"contract_id", id, "request_serial", t.number(6))
		d := t.signed(append(f, forge.NewForm(more...)...))
		d.form = d.form.Without("nonce_str") // these alone have none
		return t.notification(d)
	}
	deduction := func(o Order, state string) Notification {
		return t.edited(t.Payment(o), Drop("trade_type"), Drop("is_subscribe"), Set("trade_state", state), Set("contract_id", id))
	}
	paid, failed, rejected := t.order, t.next(), t.next()
	t.say("agreement signed", contract("ADD", "contract_expired_time", "2037-01-01 09:54:00"), unhandled)
	t.pays("paid by the agreement "+yuan(paid.AmountFen), paid, deduction(paid, "SUCCESS"))
	t.say("could not be paid", deduction(failed, "PAY_FAIL"), unhandled)
	t.say("could not be paid, and the result says so as well", t.edited(deduction(rejected, "PAY_FAIL"), Set("result_code", "FAIL"),
		Set("err_code", "NOTENOUGH"), Set("err_code_des", "余额不足")), unhandled)
	t.end(failed, "", 0, 0)
	t.end(rejected, "", 0, 0)
	t.say("agreement ended", contract("DELETE", "contract_termination_mode", "2"), unhandled)
}

func tellPapayAlipay(t *teller) {
	agreement := func(kind string, more ...string) Notification {
		return t.notice(kind, append([]string{"agreement_no", "2026" + t.number(16), "external_agreement_no", "C" + t.order.OutTradeNo,
			"personal_product_code", "CYCLE_PAY_AUTH_P", "sign_scene", "INDUSTRY|DIGITAL_MEDIA", "alipay_user_id", "2088000000000009"}, more...)...)
	}
	at := t.order.PaidAt.In(beijing).Format(time.DateTime)
	t.say("agreement signed", agreement("dut_user_sign", "status", "NORMAL", "sign_time", at), unhandled)
	t.pays("paid by the agreement "+yuan(t.order.AmountFen), t.order, t.Payment(t.order))
	t.say("agreement ended", agreement("dut_user_unsign", "status", "UNSIGN", "unsign_time", at), unhandled)
}

// number is a number of n digits that belongs to the story's order.
func (t *teller) number(n int) string { return digitsOf(n, "number", t.order.OutTradeNo) }

func tellUnhandledV3(t *teller) {
	o := t.order
	mch := t.account.MchID
	sharing := `{"mchid":"` + mch + `","transaction_id":"` + o.wechatTxn() + `","order_id":"30` + t.number(26) + `","out_order_no":"S` + o.OutTradeNo +
		`","receiver":{"type":"MERCHANT_ID","account":"` + mch + `","amount":1,"description":"分账"},"success_time":"` + o.PaidAt.In(beijing).Format(time.RFC3339) + `"}`
	t.say("profit sharing, under the name of a payment", t.of("TRANSACTION.SUCCESS", "profitsharing", sharing), unhandled)
	t.say("profit sharing, under its own name", t.of("PROFITSHARING.SUCCESS", "profitsharing", sharing), unhandled)
	t.say("a transfer arrived", t.of("MCHTRANSFER.BILL.FINISHED", "mch_payment", `{"out_bill_no":"B`+o.OutTradeNo+`","transfer_bill_no":"13`+t.number(35)+
		`","state":"SUCCESS","mch_id":"`+mch+`","transfer_amount":2000,"openid":"o_test_1"}`), unhandled)
	t.say("pay score: paid", t.of("PAYSCORE.USER_PAID", "payscore", `{"appid":"`+t.account.AppID+`","mchid":"`+mch+`","out_order_no":"P`+o.OutTradeNo+
		`","state":"DONE","collection":{"state":"USER_PAID","total_amount":1000,"paid_amount":1000}}`), unhandled)
	t.say("a complaint", t.of("COMPLAINT.CREATE", "complaint", `{"complaint_id":"2002`+t.number(24)+`","action_type":"CREATE_COMPLAINT"}`), unhandled)
	t.say("a test of the line", t.of("SECURITY_ECHO.SUCCESS", "security_echo", `{"mchid":"`+mch+`","echo":"`+t.number(12)+`"}`), unhandled)
	t.say("a payment that was reversed", t.edited(t.Payment(o), Set("trade_state", "REVOKED")), unhandled)
	t.end(o, "", 0, 0)
}

func tellUnhandledV2(t *teller) {
	refund := t.edited(t.refunds(t.order, t.part(), 0, ""), Set("refund_status", "STATUS_OF_TOMORROW"))
	t.say("a payment that failed", t.edited(t.Payment(t.order), Set("result_code", "FAIL"), Set("err_code", "NOTENOUGH"), Set("err_code_des", "余额不足")), unhandled)
	t.say("a refund in a state that nobody knows", refund, unhandled)
	t.end(t.order, "", 0, 0)
}

// notice is a message of protocol 1.0 that is about no trade.
func (t *teller) notice(kind string, namesAndValues ...string) Notification {
	f := forge.NewForm("notify_type", kind, "charset", "utf-8", "version", "1.0", "app_id", t.account.AlipayAppID, "auth_app_id", t.account.AlipayAppID)
	return t.notification(t.form(append(f, forge.NewForm(namesAndValues...)...)))
}

// letter is a message of the message service, protocol 1.1.
func (t *teller) letter(method, content string, key []byte) Notification {
	m := forge.AlipayMessage{AppID: t.account.AlipayAppID, Method: method, SentAt: t.order.PaidAt, BizContent: content, AESKey: key}
	return t.notification(t.form(m.Form()))
}

func tellUnhandledAlipay(t *teller) {
	o := t.order
	t.say("funds frozen", t.notice("fund_auth_freeze", "auth_no", "20"+t.number(26), "out_order_no", "H"+o.OutTradeNo, "operation_id", t.number(20),
		"out_request_no", "F"+o.OutTradeNo, "operation_type", "FREEZE", "amount", yuan(o.AmountFen), "status", "SUCCESS", "payer_user_id", "2088000000000009"), unhandled)
	t.say("a transfer arrived", t.letter("alipay.fund.trans.order.changed", `{"out_biz_no":"B`+o.OutTradeNo+`","order_id":"20`+t.number(30)+
		`","status":"SUCCESS","action_type":"FINISH","trans_amount":"20.00"}`, nil), unhandled)
	t.say("a kind that nobody knows", t.notice("notify_of_tomorrow", "tea", "pu'er "+o.OutTradeNo), unhandled)
	t.say("a trade in a state that nobody knows", t.edited(t.Payment(o), Set("trade_status", "TRADE_PENDING")), unhandled)
	t.end(o, "", 0, 0)
}

func (t *teller) aesKey() []byte {
	key, err := t.account.aesKey()
	if err == nil && len(key) == 0 {
		err = errors.New("the account has no aes_key, with which the message would be encrypted")
	}
	t.must(Notification{}, err)
	return key
}

func tellEncryptedMessage(t *teller) {
	key := t.aesKey()
	if t.err != nil {
		return
	}
	t.say("profit sharing is done (encrypted)", t.letter("alipay.trade.settle.success",
		`{"trade_no":"`+t.order.alipayTxn()+`","out_request_no":"S`+t.order.OutTradeNo+`"}`, key), unhandled)
}
