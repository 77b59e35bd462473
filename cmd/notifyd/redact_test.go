package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/redact"
)

// unlisted are fields of other interfaces than those whose notifications are read:
// a stranger may send any of them, and what a redaction promises holds for all.
var unlisted = map[provider.Sensitive]string{
	provider.SensitiveAmounts: `total_freeze_amount rest_amount total_pay_amount credit_amount freeze_amount charge_amount
		coupon_amount transfer_amount payment_amount user_paid_amount total_refund_fee cash_amount settlement_amount
		promotion_fee receive_amount serviceFee refund_amt sub_total coupon_fee_0_1 TotalAmount account_balance`,
	provider.SensitiveNames: `email buyer_phone user_phone mobile_phone receiver_phone card_no bank_card_no payer_show_name
		buyer_nick name refund_recv_account bank_account account_name phone_number truename mobile_no payer_client_ip
		spbill_create_ip contactName shipping_address id_card_number account_no`,
	provider.SensitiveBuyer:  `alipay_logon_id payee_logon_id alipayUserId payer_uid`,
	provider.SensitiveOpenID: `alipay_open_id openids sp_openid openId_2`,
	provider.SensitiveTexts:  `goods_list order_title product_name`,
	provider.SensitiveToken:  `id_token user_auth_code`,
}

// needed are fields by which somebody finds out what went wrong: no choice takes them.
const needed = `mchid mch_id sub_mch_id sp_mchid appid sub_appid app_id auth_app_id seller_id out_trade_no trade_no
	transaction_id out_refund_no refund_id out_biz_no out_request_no agreement_no contract_id plan_id notify_id notify_time
	notify_type event_type resource_type algorithm nonce nonce_str associated_data original_type fee_type cash_fee_type
	currency payer_currency bank_type bank_name coupon_id_0 coupon_type_0 coupon_count is_subscribe return_code return_msg
	result_code err_code err_code_des sign_type charset version serial_no trade_type trade_state trade_state_desc
	trade_status refund_status time_end success_time create_time gmt_payment gmt_create gmt_refund msg_method
	utc_timestamp device_info app_name account_type user_type id`

// bodies are a field in each form of a message, also within another field, with
// letters of its name escaped as an encoder may escape them.
func bodies(name, value string) map[string]string {
	escaped := fmt.Sprintf(`\u%04x%s`, name[0], name[1:])
	twice := strings.ReplaceAll(escaped, `\`, `\\`)
	return map[string]string{
		"form":                          "a=1&" + name + "=" + value,
		"XML":                           "<xml><" + name + "><![CDATA[" + value + "]]></" + name + "></xml>",
		"JSON":                          `{"a":[{"` + name + `":"` + value + `"}]}`,
		"JSON, escaped":                 `{"` + escaped + `":"` + value + `"}`,
		"JSON in JSON":                  `{"x":"{\"` + name + `\":\"` + value + `\"}"}`,
		"JSON in JSON, escaped":         `{"x":"{\"` + twice + `\":\"` + value + `\"}"}`,
		"JSON in JSON in JSON, escaped": `{"x":"{\"y\":\"{\\\"` + strings.ReplaceAll(twice, `\`, `\\`) + `\\\":\\\"` + value + `\\\"}\"}"}`,
		"JSON in a form, escaped":       "x=%7B%22" + strings.ReplaceAll(escaped, `\`, "%5C") + "%22%3A%22" + value + "%22%7D",
		"JSON in XML, escaped":          `<xml><x><![CDATA[{"` + escaped + `":"` + value + `"}]]></x></xml>`,
		"a form in JSON, escaped":       fmt.Sprintf(`{"x":"a=1&%%%02x%s=%s"}`, name[0], name[1:], value),
		"XML in JSON, HTML-escaped":     `{"x":"&lt;` + name + `&gt;` + value + `&lt;/` + name + `&gt;"}`,
	}
}

// A redaction keeps its promise for names that stand in no table, wherever they
// are; and it leaves what a diagnosis needs.
func TestRedactionGoesBeyondTheTables(t *testing.T) {
	const secret = "SeCrEt77"
	all := redact.New(redact.Kinds(), sensitive()...)
	for kind, names := range unlisted {
		alone := redact.New([]provider.Sensitive{kind}, sensitive()...)
		for _, name := range strings.Fields(names) {
			for form, body := range bodies(name, secret) {
				for _, r := range []*redact.Redactor{all, alone} {
					got, done := r.Body([]byte(body))
					if bytes.Contains(got, []byte(secret)) || done.What() != string(kind) {
						t.Errorf("%s, %s of %s: %s becomes %s (%+v)", form, name, kind, body, got, done)
					}
				}
			}
		}
	}
	for _, name := range strings.Fields(needed) {
		for form, body := range bodies(name, secret) {
			if got, done := all.Body([]byte(body)); string(got) != body || done.Changed() {
				t.Errorf("%s: %s is needed, and %s becomes %s (%+v)", form, name, body, got, done)
			}
		}
	}
}

// What verify shows goes by the same names.
func TestMaskGoesBeyondTheTables(t *testing.T) {
	const secret = "SeCrEt77"
	for _, table := range sensitive() {
		mask := provider.NewMask(table)
		for kind, names := range unlisted {
			personal := kind != provider.SensitiveAmounts && kind != provider.SensitiveTexts
			for _, name := range strings.Fields(names) {
				for form, body := range bodies(name, secret) {
					if strings.HasPrefix(form, "a form in") || strings.HasPrefix(form, "XML in") {
						continue // a mask does not look for one form in another
					}
					if got := mask.Hide(body); strings.Contains(got, secret) == personal {
						t.Errorf("%s, %s of %s: %s is shown as %s", form, name, kind, body, got)
					}
				}
			}
		}
		for _, name := range strings.Fields(needed) {
			for form, body := range bodies(name, secret) {
				if got := mask.Hide(body); got != body {
					t.Errorf("%s: %s is needed, and %s is shown as %s", form, name, body, got)
				}
			}
		}
	}
}

// By a signature anybody who has the public key can try sums until one fits,
// wherever it stands: WeChat Pay v3 has it in the header.
func TestRedactionTakesTheSignatureOutOfTheHeader(t *testing.T) {
	const head, end = "POST /notify/wechat HTTP/1.1\r\nHost: pay\r\nwechatpay-SIGNATURE: c2VjcmV0\r\nWechatpay-Signature-Type: WECHATPAY2-SHA256-RSA2048\r\n" +
		"Wechatpay-Nonce: n\r\nWechatpay-Serial: s\r\nWechatpay-Timestamp: 1767240000\r\nX-Captured-At: 2026-01-01T04:00:00.000000Z\r\n", "\r\n"
	for _, mark := range []string{"", "X-Capture-Unverified: wx.signature\r\n"} { // accepted, refused
		for _, body := range []string{`{"amount":{"total":1}}`, "{cannot be read"} {
			got, done, err := redact.New(redact.Kinds(), sensitive()...).Capture([]byte(head + mark + end + body))
			if err != nil || !done.Changed() {
				t.Fatal(err, done)
			}
			c, err := provider.ReadCapture(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(got, []byte("c2VjcmV0")) || c.Header.Get("Wechatpay-Signature") != "" {
				t.Errorf("the signature is left: %s", got)
			}
			for _, name := range []string{"Host", "Wechatpay-Signature-Type", "Wechatpay-Nonce", "Wechatpay-Serial", "Wechatpay-Timestamp"} {
				if c.Header.Get(name) == "" {
					t.Errorf("%s is lost: %s", name, got)
				}
			}
		}
	}
	raw := []byte(head + end + `{"id":"1"}`)
	if got, done, err := redact.New(redact.Kinds(), sensitive()...).Capture(raw); err != nil || done.Changed() || !bytes.Equal(got, raw) {
		t.Errorf("nothing was to be taken out: %s %v", got, err)
	}
}
