package wechat

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// fields is the v2 baseline: exactly those that the check values are made of.
func fields() forge.Form {
	return forge.NewForm("appid", appID, "mch_id", mchID, "nonce_str", "N0000000000000001", "openid", "o_test_1",
		"out_trade_no", orderNo, "transaction_id", txnID, "trade_type", "NATIVE", "bank_type", "OTHERS",
		"total_fee", "1000", "cash_fee", "1000", "fee_type", "CNY", "is_subscribe", "N", "time_end", "20260101120000",
		"return_code", "SUCCESS", "result_code", "SUCCESS")
}

const (
	baselineMD5  = "468886951A95FD4C3417B15FEABC3D87"
	baselineHMAC = "D0F8A54F9A7DF58A6A55F604037A48622A8B395DCC58EF2CA4F2508B71B96D1F"
)

// withSign is the request of fields with a given sign.
func withSign(f forge.Form, sign string) provider.Request {
	return forge.SendXML(f.With("sign", sign).XML("xml")).At(received)
}

func TestV2CheckValues(t *testing.T) {
	a := newAdapter(t)
	n := accept(t, a, withSign(fields(), baselineMD5))
	says(t, n, order.KindPaid, paidFact())
	if n.ProviderID != "" || n.Scope != mchID || n.Distinct != nil || n.Content != nil {
		t.Errorf("%+v", n)
	}
	says(t, accept(t, a, withSign(fields(), baselineHMAC)), order.KindPaid, paidFact())

	// The sample of the provider's own documentation.
	sample := forge.NewForm("appid", "wxd930ea5d5a258f4f", "mch_id", "10000100", "device_info", "1000", "body", "test",
		"nonce_str", "ibuaiVcKdpRxkhJA", "return_code", "SUCCESS")
	for _, sign := range []string{"9A0A8659F005D6984697E2CA0A9CF3B7", "6A9AE1657590FD6257D693A078E1C3E4BB6BA4DC30B23E0EE2496E54170DACD6"} {
		key, err := newV2Key("192006250b4c09247ec02edce69f6a2d")
		if err != nil {
			t.Fatal(err)
		}
		m := message{a: a, keys: &keySet{v2: key}, scratch: newScratch()}
		if fault := m.xml.read(sample.Without("return_code").With("sign", sign).XML("xml"), "xml"); fault != nil {
			t.Fatal(fault)
		}
		if err := m.verifyV2(); err != nil {
			t.Errorf("%s: %v", sign, err)
		}
	}
}

func TestP19(t *testing.T) {
	a := newAdapter(t)
	md5Signer, hmacSigner := forge.WechatV2Signer{}, forge.WechatV2Signer{SignType: signHMAC}
	named := func(signType string) forge.Form { return fields().With("sign_type", signType) }
	for name, req := range map[string]provider.Request{
		"MD5":              withSign(fields(), md5Signer.Signature(fields())),
		"HMAC":             withSign(fields(), hmacSigner.Signature(fields())),
		"MD5, named":       md5Signer.Sign(named("MD5")).At(received),
		"HMAC, named":      hmacSigner.Sign(named("HMAC-SHA256")).At(received),
		"sign_type, empty": withSign(named(""), baselineMD5),
	} {
		t.Run(name, func(t *testing.T) { says(t, accept(t, a, req), order.KindPaid, paidFact()) })
	}
	for name, c := range map[string]struct {
		req  provider.Request
		code string
	}{
		"MD5 under the name of HMAC": {md5Signer.Sign(named("HMAC-SHA256")).At(received), CodeSignType},
		"HMAC under the name of MD5": {hmacSigner.Sign(named("MD5")).At(received), CodeSignType},
		"MD5 in small letters":       {withSign(fields(), strings.ToLower(baselineMD5)), CodeSignature},
		"HMAC in small letters":      {withSign(fields(), strings.ToLower(baselineHMAC)), CodeSignature},
		"one small letter":           {withSign(fields(), strings.Replace(baselineMD5, "A", "a", 1)), CodeSignature},
		"SHA-1":                      {withSign(fields(), strings.Repeat("0A", 20)), CodeSignature},
		"the digest in base64":       {withSign(fields(), "RoiGlRqV/UwzF7Ff6rw9hw=="), CodeSignature},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, a, c.req, provider.ErrSignature, c.code) })
	}
	onlyHMAC := newAdapter(t, func(o *Options) { o.V2SignTypes = []string{signHMAC} })
	refuse(t, onlyHMAC, withSign(fields(), baselineMD5), provider.ErrSignature, CodeSignType)
	refuse(t, onlyHMAC, md5Signer.Sign(named("MD5")).At(received), provider.ErrSignature, CodeSignType)
	accept(t, onlyHMAC, withSign(fields(), baselineHMAC))
	onlyMD5 := newAdapter(t, func(o *Options) { o.V2SignTypes = []string{signMD5} })
	refuse(t, onlyMD5, withSign(fields(), baselineHMAC), provider.ErrSignature, CodeSignType)
	accept(t, onlyMD5, withSign(fields(), baselineMD5))
}

// TestT4 names algorithms that the account does not accept, each with the sign
// that would hold under MD5 and under HMAC.
func TestT4(t *testing.T) {
	a := newAdapter(t)
	for _, name := range []string{"md5", "Md5", " MD5", "MD5 ", "MD5,HMAC-SHA256", "HMAC_SHA256", "hmac-sha256", "HMAC-SHA1", "SHA256",
		"NONE", "none", "null", "RSA", "RSA2", "0", "HMAC-SHA256\n", "ＭＤ５"} {
		for _, s := range []forge.WechatV2Signer{{}, {SignType: signHMAC}} {
			refuse(t, a, s.Sign(fields().With("sign_type", name)).At(received), provider.ErrSignature, CodeSignType)
		}
	}
	for _, value := range []string{"", "WECHATPAY2-SM2-WITH-SM3", "wechatpay2-sha256-rsa2048", " WECHATPAY2-SHA256-RSA2048", "WECHATPAY2-SHA1-RSA2048", "NONE", "RSA"} {
		req := v3(paidEvent(payment().V3()))
		req.Header.Set("Wechatpay-Signature-Type", value)
		refuse(t, a, req, provider.ErrSignature, CodeSignatureType)
	}
	req := v3(paidEvent(payment().V3()))
	req.Header.Del("Wechatpay-Signature-Type")
	accept(t, a, req)
}

func TestP20(t *testing.T) {
	a := newAdapter(t)
	named := fields().With("sign_type", "MD5")
	says(t, accept(t, a, withSign(named, "EB1A738FEF8403212AA64BAA09F46F6F")), order.KindPaid, paidFact())
	refuse(t, a, withSign(named, baselineMD5), provider.ErrSignature, CodeSignature)
}

func TestP22(t *testing.T) {
	a := newAdapter(t)
	signed := fields().With("sign", baselineMD5)
	lines, plain := "<xml>\r\n", "<xml>"
	for _, p := range signed {
		lines += "\t<" + p.Name + "><![CDATA[" + p.Value + "]]></" + p.Name + ">\r\n"
		plain += "<" + p.Name + ">" + p.Value + "</" + p.Name + ">"
	}
	shuffled := slices.Clone(signed)
	slices.Reverse(shuffled)
	bodies := map[string]string{
		"one line": string(signed.XML("xml")), "lines": lines + "</xml>\n", "plain": plain + "</xml>", "shuffled": string(shuffled.XML("xml")),
		"declaration": `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + plain + "</xml>",
		"split":       strings.Replace(plain, "<total_fee>1000<", "<total_fee>1<![CDATA[0]]>0&#48;<![CDATA[]]><", 1) + "</xml>",
		"empty ones":  plain + "<attach/><device_info></device_info><err_code ></err_code ></xml>",
	}
	for name, body := range bodies {
		for _, contentType := range []string{"text/xml", "application/xml", "application/json", ""} {
			req := v2XML(body)
			req.Header = http.Header{}
			if contentType != "" {
				req.Header.Set("Content-Type", contentType)
			}
			t.Run(name+" "+contentType, func(t *testing.T) { says(t, accept(t, a, req), order.KindPaid, paidFact()) })
		}
	}
	literal, err := json.Marshal(bodies["one line"])
	if err != nil {
		t.Fatal(err)
	}
	refuse(t, a, v2XML(string(literal)), provider.ErrMalformed, CodeMalformedXML)
	refuse(t, a, v2XML("junk"+bodies["one line"]), provider.ErrMalformed, CodeMalformedXML)
	refuse(t, a, v2XML("\uFEFF"+bodies["one line"]), provider.ErrMalformed, CodeMalformedXML)
	refuse(t, a, v2XML(strings.Replace(bodies["one line"], "<total_fee>", "<total_fee>1</total_fee><total_fee>", 1)), provider.ErrSignature, CodeDuplicateField)
}

func TestP24(t *testing.T) {
	a := newAdapter(t)
	refuse(t, a, v2XML("<xml><out_trade_no>"+orderNo+"</out_trade_no><total_fee>1000</total_fee></xml>"), provider.ErrSignature, CodeMissingField)
	refuse(t, a, v2XML(string(fields().XML("xml"))), provider.ErrSignature, CodeNoSignature)
	refuse(t, a, withSign(fields(), ""), provider.ErrSignature, CodeNoSignature)
	refuse(t, a, withSign(fields(), "undefined"), provider.ErrSignature, CodeSignature)
	// These were signed without the field, so that only its absence speaks.
	refuse(t, a, v2(fields().Without("appid")), provider.ErrForeign, CodeForeignAppID)
	refuse(t, a, v2(fields().Without("mch_id")), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v2(fields().Without("return_code")), provider.ErrSignature, CodeMissingField)
	refuse(t, a, v2(fields().Without("result_code")), provider.ErrSignature, CodeMissingField)
	refuse(t, a, v2(fields().With("mch_id", "1600000002")), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v2(fields().With("appid", "wxtest0000000002")), provider.ErrForeign, CodeForeignAppID)
	refuse(t, a, v2(fields().With("sub_mch_id", "1")), provider.ErrForeign, CodeForeignSubMchID)
	refuse(t, newAdapter(t, func(o *Options) { o.APIv2Key = "" }), v2(fields()), provider.ErrSignature, CodeNoV2Key)
	refuse(t, newAdapter(t, func(o *Options) { o.APIv3Key = "" }), v3(paidEvent(payment().V3())), provider.ErrSignature, CodeNoV3Key)
	refuse(t, a, forge.WechatV2Signer{APIKey: "TestKeyForReceiver00000000000002"}.Sign(fields()).At(received), provider.ErrSignature, CodeSignature)
	refuse(t, a, forge.WechatV2Signer{APIKey: forge.WechatV3Key}.Sign(fields()).At(received), provider.ErrSignature, CodeSignature)
}

// TestT2 leaves out every subset of what guards a message.
func TestT2(t *testing.T) {
	a := newAdapter(t)
	subsets(t, []string{"sign", "return_code", "result_code", "mch_id", "appid"}, func(t *testing.T, names []string) {
		if _, err := a.Parse(forge.SendXML(fields().With("sign", baselineMD5).Without(names...).XML("xml")).At(received)); err == nil {
			t.Error("accepted")
		}
	})
	subsets(t, []string{"Wechatpay-Timestamp", "Wechatpay-Nonce", "Wechatpay-Serial", "Wechatpay-Signature"}, func(t *testing.T, names []string) {
		for _, value := range []string{"absent", ""} {
			req := v3(paidEvent(payment().V3()))
			for _, name := range names {
				req.Header.Del(name)
				if value == "" {
					req.Header.Set(name, value)
				}
			}
			if _, err := a.Parse(req); err == nil {
				t.Error("accepted")
			}
		}
	})
	subsets(t, []string{"return_code", "mch_id", "req_info"}, func(t *testing.T, names []string) {
		outer, inner := refund().V2()
		outer = outer.With("req_info", forge.WechatV2Signer{}.ReqInfo(inner.XML("root"))).Without(names...)
		if _, err := a.Parse(forge.SendXML(outer.XML("xml")).At(received)); err == nil {
			t.Error("accepted")
		}
	})
	req := v3(paidEvent(payment().V3()))
	for _, name := range []string{"Wechatpay-Timestamp", "Wechatpay-Nonce", "Wechatpay-Serial", "Wechatpay-Signature", "Wechatpay-Signature-Type"} {
		twice := req
		twice.Header = req.Header.Clone()
		twice.Header.Add(name, req.Header.Get(name))
		refuse(t, a, twice, provider.ErrSignature, CodeRepeatedHeader)
	}
	// In v2 they say nothing, and may come no oftener.
	old := withSign(fields(), baselineMD5)
	old.Header = http.Header{"Wechatpay-Nonce": {"a"}}
	accept(t, a, old)
	old.Header.Add("Wechatpay-Nonce", "a")
	refuse(t, a, old, provider.ErrSignature, CodeRepeatedHeader)
}

// subsets runs f with every non-empty subset of names.
func subsets(t *testing.T, names []string, f func(*testing.T, []string)) {
	for bits := 1; bits < 1<<len(names); bits++ {
		var subset []string
		for i, name := range names {
			if bits&(1<<i) != 0 {
				subset = append(subset, name)
			}
		}
		t.Run(strings.Join(subset, " "), func(t *testing.T) { f(t, subset) })
	}
}

func TestP27(t *testing.T) {
	a := newAdapter(t)
	refuse(t, a, v2XML(`<xml><return_code>FAIL</return_code><return_msg>bad sign</return_msg></xml>`), provider.ErrSignature, CodeReturnFail)
	refuse(t, a, v2(fields().With("return_code", "FAIL")), provider.ErrSignature, CodeReturnFail)
	n := accept(t, a, v2(fields().With("result_code", "FAIL").With("err_code", "NOTENOUGH").With("err_code_des", "余额<不足>&")))
	movesNothing(t, n, order.KindOther, orderNo)
	var content map[string]string
	if err := json.Unmarshal(n.Content, &content); err != nil {
		t.Fatal(err)
	}
	if content["err_code_des"] != "余额<不足>&" || content["out_trade_no"] != orderNo || content["sign"] != "" || content["nonce_str"] != "" {
		t.Errorf("content %s", n.Content)
	}
}

func TestV2Deduction(t *testing.T) {
	a := newAdapter(t)
	deduction := fields().Without("trade_type").With("contract_id", "C1")
	says(t, accept(t, a, v2(deduction.With("trade_state", "SUCCESS"))), order.KindPaid, paidFact())
	for _, state := range []string{"PAY_FAIL", "ACCEPT", "NOTPAY", "CLOSED", "REFUND", "success"} {
		movesNothing(t, accept(t, a, v2(deduction.With("trade_state", state))), order.KindOther, orderNo)
	}
}

func TestV2Contract(t *testing.T) {
	a := newAdapter(t)
	f := forge.NewForm("return_code", "SUCCESS", "result_code", "SUCCESS", "mch_id", mchID, "contract_code", "C1", "plan_id", "1",
		"openid", "o_test_1", "change_type", "ADD", "operate_time", "2026-01-01 12:00:00", "contract_id", "20260101", "request_serial", "7")
	n := accept(t, a, v2(f))
	movesNothing(t, n, order.KindContract, "")
	if n.FactKey() == factKey(t, a, v2(f.With("change_type", "DELETE"))) {
		t.Error("signing and ending a contract are one")
	}
	if n.FactKey() != factKey(t, a, v2(f.With("nonce_str", "another").With("sign_type", "MD5"))) {
		t.Error("a repeat with another nonce is not a copy")
	}
	refuse(t, a, v2(f.With("mch_id", "1")), provider.ErrForeign, CodeForeignMchID)
	vehicle := forge.NewForm("return_code", "SUCCESS", "mch_id", mchID, "vehicle_event_type", "BLOCKED")
	movesNothing(t, accept(t, a, forge.WechatV2Signer{SignType: signHMAC}.Sign(vehicle).At(received)), order.KindOther, "")
}

func TestV2PaymentOfASubMerchant(t *testing.T) {
	p := payment()
	p.SubMchID = subID
	want := paidFact()
	want.Merchant, want.SubMerchant = "default/"+subID, subID
	says(t, accept(t, newAdapter(t, asPartner(subID)), v2(p.V2())), order.KindPaid, want)
	says(t, accept(t, newAdapter(t, asPartner("*")), v2(p.V2())), order.KindPaid, want)
	refuse(t, newAdapter(t), v2(p.V2()), provider.ErrForeign, CodeForeignSubMchID)
}

// TestV2Trimmed: one of the provider's signers trims values before it signs.
func TestV2Trimmed(t *testing.T) {
	a := newAdapter(t)
	padded := fields().With("attach", "  two blanks ")
	says(t, accept(t, a, v2(padded)), order.KindPaid, paidFact())
	trimmedSign := forge.WechatV2Signer{}.Signature(padded.With("attach", "two blanks"))
	says(t, accept(t, a, withSign(padded, trimmedSign)), order.KindPaid, paidFact())
	// Where the trimmed text is what was signed, it is what is read: blanks that
	// somebody adds make a copy, not another message.
	says(t, accept(t, a, withSign(fields().With("out_trade_no", " "+orderNo+"\n"), baselineMD5)), order.KindPaid, paidFact())
	says(t, accept(t, a, withSign(fields().With("attach", " \t"), baselineMD5)), order.KindPaid, paidFact())
	refuse(t, a, withSign(padded.With("attach", " other "), trimmedSign), provider.ErrSignature, CodeSignature)
	// A full-width blank is a character.
	refuse(t, a, withSign(fields().With("attach", "\u3000"), baselineMD5), provider.ErrSignature, CodeSignature)
}

func TestT7V2(t *testing.T) {
	a := newAdapter(t)
	for _, c := range [][2]string{
		{"total_fee", "10.00"}, {"total_fee", "1e3"}, {"total_fee", "+1000"}, {"total_fee", "-1"}, {"total_fee", "１０００"}, {"total_fee", "1,000"},
		{"total_fee", ""}, {"total_fee", "1000 "}, {"total_fee", "0x10"}, {"total_fee", "9223372036854775808"},
		{"transaction_id", ""}, {"transaction_id", "42 00"}, {"transaction_id", strings.Repeat("4", 33)},
		{"time_end", "2026-01-01 12:00:00"}, {"time_end", "20260230120000"}, {"time_end", "20260101240000"}, {"time_end", "00000101120000"},
		{"fee_type", "cny"}, {"fee_type", "RMB "}, {"fee_type", "￥"},
	} {
		t.Run(c[0]+"="+c[1], func(t *testing.T) {
			isConflicted(t, accept(t, a, v2(fields().With(c[0], c[1]))), order.KindPaid, order.ReasonUnreadableField)
		})
	}
	for _, number := range []string{"", " ", "a b", "订单", strings.Repeat("1", 65)} {
		isConflicted(t, accept(t, a, v2(fields().With("out_trade_no", number))), order.KindOther, order.ReasonUnreadableField)
	}
	for name, want := range map[string]func(*order.Fact){
		"time_end": func(f *order.Fact) { f.At = time.Time{} },
		"fee_type": func(*order.Fact) {},
	} {
		f := paidFact()
		want(&f)
		says(t, accept(t, a, v2(fields().Without(name))), order.KindPaid, f)
		says(t, accept(t, a, v2(fields().With(name, ""))), order.KindPaid, f)
	}
}

func TestAckBytes(t *testing.T) {
	a := newAdapter(t)
	asV3 := v3(paidEvent(payment().V3()))
	for _, c := range []struct {
		req         provider.Request
		err         error
		status      int
		contentType string
		body        string
	}{
		{asV3, nil, 200, "application/json", `{"code":"SUCCESS","message":"OK"}`},
		{asV3, provider.ErrSignature, 401, "application/json", `{"code":"FAIL","message":"not accepted"}`},
		{asV3, provider.ErrMalformed, 400, "application/json", `{"code":"FAIL","message":"not accepted"}`},
		{asV3, provider.ErrUnavailable, 503, "application/json", `{"code":"FAIL","message":"not accepted"}`},
		{provider.Request{}, nil, 200, "text/xml", `<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>`},
		{provider.Request{}, provider.ErrForeign, 401, "text/xml", `<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[not accepted]]></return_msg></xml>`},
	} {
		got := a.Ack(c.req, c.err)
		if got.Status != c.status || got.ContentType != c.contentType || string(got.Body) != c.body {
			t.Errorf("%v: %d %q %q", c.err, got.Status, got.ContentType, got.Body)
		}
	}
}

func TestRefundKeyDigests(t *testing.T) {
	for key, want := range map[string]string{
		forge.WechatV2Key:                  "44a28b797784ebf9069f6baae939e4df",
		"TestKeyForReceiver00000000000019": "007470e478c0d4009189f73fa308a40b",
	} {
		sum := md5.Sum([]byte(key))
		digest := hex.EncodeToString(sum[:])
		if digest != want {
			t.Errorf("%s: %s", key, digest)
		}
		k, err := newV2Key(key)
		if err != nil {
			t.Fatal(err)
		}
		plain, ok := openECB(k.ecb, forge.EncryptECB([]byte(want), []byte("<root/>")))
		if !ok || string(plain) != "<root/>" {
			t.Errorf("%s opens to %q %v", key, plain, ok)
		}
	}
}
