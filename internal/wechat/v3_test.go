package wechat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func TestV3PaymentFields(t *testing.T) {
	a := newAdapter(t)
	e := paidEvent(payment().V3())
	e.ID = "EV-2018022511223320873"
	n := accept(t, a, v3(e))
	says(t, n, order.KindPaid, paidFact())
	if n.Provider != Name || n.Account != account || n.Merchant != "default" || n.Scope != mchID ||
		n.ProviderID != e.ID || !n.ReceivedAt.Equal(received) {
		t.Errorf("notification %+v", n)
	}
	if n.Distinct != nil || n.Content != nil {
		t.Error("the facts of a payment say it all")
	}
}

func TestV3PaymentOfASubMerchant(t *testing.T) {
	p := payment()
	p.SubMchID = subID
	want := paidFact()
	want.Merchant, want.SubMerchant = "default/"+subID, subID
	for _, subs := range [][]string{{subID}, {"1", subID}, {"*"}} {
		says(t, accept(t, newAdapter(t, asPartner(subs...)), v3(paidEvent(p.V3()))), order.KindPaid, want)
	}
	for _, subs := range [][]string{nil, {"1900000110"}} {
		refuse(t, newAdapter(t, asPartner(subs...)), v3(paidEvent(p.V3())), provider.ErrForeign, CodeForeignSubMchID)
	}
	// A service provider's payment that names no sub-merchant is nobody's.
	without := bytes.Replace(p.V3(), []byte(`"sub_mchid":"`+subID+`",`), nil, 1)
	isConflicted(t, accept(t, newAdapter(t, asPartner("*")), v3(paidEvent(without))), order.KindPaid, order.ReasonUnreadableField)
}

// edited is the baseline's content with one piece exchanged.
func edited(t testing.TB, content []byte, old, new string) []byte {
	t.Helper()
	if bytes.Count(content, []byte(old)) != 1 {
		t.Fatalf("%s does not stand once in %s", old, content)
	}
	return bytes.Replace(content, []byte(old), []byte(new), 1)
}

func TestV3PaymentFieldsThatMayBeMissing(t *testing.T) {
	a := newAdapter(t)
	for _, time := range []string{``, `"success_time":null,`, `"success_time":"",`} {
		n := accept(t, a, v3(paidEvent(edited(t, payment().V3(), `"success_time":"2026-01-01T12:00:00+08:00",`, time))))
		if !n.Facts[0].At.IsZero() || n.Facts[0].Conflict != "" {
			t.Errorf("%q: %+v", time, n.Facts[0])
		}
	}
	for _, currency := range []string{``, `,"currency":null`, `,"currency":""`} {
		n := accept(t, a, v3(paidEvent(edited(t, payment().V3(), `,"currency":"CNY"`, currency))))
		if n.Facts[0].Currency != "CNY" {
			t.Errorf("%q: %+v", currency, n.Facts[0])
		}
	}
	p := payment()
	p.Currency = "HKD"
	if n := accept(t, a, v3(paidEvent(p.V3()))); n.Facts[0].Currency != "HKD" {
		t.Errorf("%+v", n.Facts[0])
	}
	// An attach that was cut in the middle of a character is a payment all the same.
	says(t, accept(t, a, v3(paidEvent(edited(t, payment().V3(), `"attach":""`, "\"attach\":\"\xe8\x8c\"")))), order.KindPaid, paidFact())
	says(t, accept(t, a, v3(paidEvent(edited(t, payment().V3(), `"attach":""`, `"attach":"\ud83d"`)))), order.KindPaid, paidFact())
}

// TestT7V3 changes each bound field of a signed message: nothing is guessed.
func TestT7V3(t *testing.T) {
	a := newAdapter(t)
	for _, c := range []struct{ old, new string }{
		{`"total":1000,`, `"total":"1000",`}, {`"total":1000,`, `"total":1000.0,`}, {`"total":1000,`, `"total":1e3,`},
		{`"total":1000,`, `"total":-1000,`}, {`"total":1000,`, `"total":null,`}, {`"total":1000,`, ``},
		{`"total":1000,`, `"total":9223372036854775808,`}, {`"total":1000,`, `"total":true,`}, {`"total":1000,`, `"total":[1000],`},
		{`"amount":{"total":1000,`, `"amount":null,"b":{`}, {`"amount":{"total":1000,`, `"amounts":{"total":1000,`},
		{txnID, ""}, {`"` + txnID + `"`, `4200`}, {`"` + txnID + `"`, `null`}, {txnID, "42 00"}, {txnID, "420０"}, {txnID, strings.Repeat("4", 33)},
		{`"success_time":"2026-01-01T12:00:00+08:00"`, `"success_time":"2026-01-01 12:00:00"`},
		{`"success_time":"2026-01-01T12:00:00+08:00"`, `"success_time":20260101`},
		{`"currency":"CNY",`, `"currency":"cny",`}, {`"currency":"CNY",`, `"currency":1,`}, {`"currency":"CNY",`, `"currency":"CN",`},
	} {
		t.Run(c.new, func(t *testing.T) {
			n := accept(t, a, v3(paidEvent(edited(t, payment().V3(), c.old, c.new))))
			isConflicted(t, n, order.KindPaid, order.ReasonUnreadableField)
			if n.Facts[0].OutTradeNo != orderNo || n.Facts[0].Key() != (order.Key{Merchant: "default", OutTradeNo: orderNo}) {
				t.Errorf("%+v", n.Facts[0])
			}
		})
	}
	for _, number := range []string{`""`, `null`, `12`, `"a b"`, `"a&b"`, `"` + strings.Repeat("1", 65) + `"`, `"\u0000"`, `"订单"`} {
		t.Run("out_trade_no "+number, func(t *testing.T) {
			n := accept(t, a, v3(paidEvent(edited(t, payment().V3(), `"`+orderNo+`"`, number))))
			isConflicted(t, n, order.KindOther, order.ReasonUnreadableField)
			if n.Facts[0].OutTradeNo != "" {
				t.Errorf("%+v", n.Facts[0])
			}
		})
	}
	for _, c := range []struct{ old, new, code string }{
		{`"mchid":"` + mchID + `"`, `"mchid":"1600000002"`, CodeForeignMchID},
		{`"mchid":"` + mchID + `"`, `"mchid":1600000001`, CodeForeignMchID},
		{`"mchid":"` + mchID + `"`, `"mchid":null`, CodeForeignMchID},
		{`"mchid":"` + mchID + `",`, ``, CodeForeignMchID},
		{`"mchid":"` + mchID + `"`, `"mchid":"` + mchID + `","sp_mchid":"1"`, CodeForeignMchID},
		{`"appid":"` + appID + `"`, `"appid":"wxtest0000000002"`, CodeForeignAppID},
		{`"appid":"` + appID + `"`, `"appid":"WXTEST0000000001"`, CodeForeignAppID},
		{`"appid":"` + appID + `"`, `"appid":""`, CodeForeignAppID},
		{`,"appid":"` + appID + `"`, ``, CodeForeignAppID},
	} {
		t.Run(c.new, func(t *testing.T) {
			refuse(t, a, v3(paidEvent(edited(t, payment().V3(), c.old, c.new))), provider.ErrForeign, c.code)
		})
	}
	// sub_appid belongs to the sub-merchant and is compared with nothing.
	says(t, accept(t, a, v3(paidEvent(edited(t, payment().V3(), `"attach":""`, `"sub_appid":"wxany"`)))), order.KindPaid, paidFact())
}

func TestP01(t *testing.T) {
	a := newAdapter(t)
	genuine := forge.WechatV3Signer{}.Notify(paidEvent(payment().V3()), received)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(genuine.Body, &fields); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, genuine.Body, "", " "); err != nil {
		t.Fatal(err)
	}
	escaped := bytes.ReplaceAll(genuine.Body, []byte("支付成功"), []byte(`\u652f\u4ed8\u6210\u529f`))
	camel := bytes.ReplaceAll(genuine.Body, []byte("event_type"), []byte("eventType"))
	for name, body := range map[string][]byte{"sorted": sorted, "spaced": spaced.Bytes(), "escaped": escaped, "camel": camel} {
		if bytes.Equal(body, genuine.Body) {
			t.Fatalf("%s changes nothing", name)
		}
		changed := forge.Message{Header: genuine.Header, Body: body}.At(received)
		refuse(t, a, changed, provider.ErrSignature, CodeSignature)
		if name == "camel" {
			continue
		}
		says(t, accept(t, a, v3Body(body)), order.KindPaid, paidFact())
	}
	unknown := edited(t, genuine.Body, `"summary"`, `"unknown":{"a":[1,null]},"summary"`)
	says(t, accept(t, a, v3Body(unknown)), order.KindPaid, paidFact())
}

func TestP03(t *testing.T) {
	a := newAdapter(t)
	p := payment()
	p.Attach = "绿茶 🍵"
	e := paidEvent(p.V3())
	e.Summary = "支付成功 🍵"
	for _, locale := range []string{"C", "zh_CN.GBK"} {
		t.Setenv("LANG", locale)
		t.Setenv("LC_ALL", locale)
		req := v3(e)
		sent := bytes.Clone(req.Body)
		says(t, accept(t, a, req), order.KindPaid, paidFact())
		if !bytes.Equal(sent, req.Body) {
			t.Error("the body was changed")
		}
	}
}

func TestP04(t *testing.T) {
	a := newAdapter(t)
	req := v3(paidEvent(payment().V3()))
	empty, cut, lost := req, req, req
	empty.Body, cut.Body, lost.Body = []byte{}, req.Body[:400], nil
	refuse(t, a, empty, provider.ErrMalformed, CodeMalformedJSON)
	refuse(t, a, cut, provider.ErrMalformed, CodeMalformedJSON)
	refuse(t, a, lost, provider.ErrMalformed, CodeMalformedJSON)
}

func TestP05AndT3(t *testing.T) {
	a := newAdapter(t)
	forged := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: forge.WechatSerial}.Notify(paidEvent(payment().V3()), received)
	for _, name := range []string{"Host", "X-Forwarded-Host", "X-Forwarded-For", "X-Real-Ip", "Debug", "X-Debug"} {
		for _, value := range []string{"localhost", "127.0.0.1", "true"} {
			req := forged.At(received)
			req.Header.Set(name, value)
			refuse(t, a, req, provider.ErrSignature, CodeSignature)
			// Without a single Wechatpay- header it is a v2 message, and no XML.
			bare := provider.Request{Header: http.Header{name: {value}}, Body: req.Body, ReceivedAt: received}
			refuse(t, a, bare, provider.ErrMalformed, CodeMalformedXML)
		}
	}
}

func TestP06(t *testing.T) {
	s := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: forge.WechatSerial}
	refuse(t, newAdapter(t), s.Notify(paidEvent(payment().V3()), received).At(received), provider.ErrSignature, CodeSignature)
}

func TestP07(t *testing.T) {
	// Two merchants share the platform's key; m2 has another number and API key.
	m2 := payment()
	m2.MchID = "1600000002"
	other := forge.WechatV3Signer{APIKey: "AnotherApiV3KeyOfAnotherMerchant"}
	refuse(t, newAdapter(t), other.Notify(paidEvent(m2.V3()), received).At(received), provider.ErrSignature, CodeDecrypt)
	refuse(t, newAdapter(t), v3(paidEvent(m2.V3())), provider.ErrForeign, CodeForeignMchID)
	app := payment()
	app.AppID = "wxtest0000000009"
	refuse(t, newAdapter(t), v3(paidEvent(app.V3())), provider.ErrForeign, CodeForeignAppID)
}

func TestP09AndT15(t *testing.T) {
	a := newAdapter(t)
	s := forge.WechatV3Signer{}
	body := s.Envelope(paidEvent(payment().V3()))
	for offset, code := range map[int64]string{
		-299: "", -300: "", -301: CodeStale, 299: "", 300: "", 301: CodeStale, -86400: CodeStale, 86400: CodeStale,
	} {
		req := s.SignWith(body, fmt.Sprint(received.Unix()+offset), "n").At(received)
		if code == "" {
			says(t, accept(t, a, req), order.KindPaid, paidFact())
			continue
		}
		refuse(t, a, req, provider.ErrSignature, code)
	}
	now := fmt.Sprint(received.Unix())
	for _, timestamp := range []string{"0", "-1", now + "000", "1700000000abc", "1700000abc", "1e9", " " + now, now + " ",
		"+" + now[1:], strings.Repeat("1", 20), "１７００００００００"} {
		refuse(t, a, s.SignWith(body, timestamp, "n").At(received), provider.ErrSignature, CodeTimestamp)
	}
	refuse(t, a, s.SignWith(body, "", "n").At(received), provider.ErrSignature, CodeMissingHeader)
}

func TestP10(t *testing.T) {
	a := newAdapter(t)
	req := v3(paidEvent(payment().V3()))
	probe := req
	probe.Header = req.Header.Clone()
	for _, tail := range []string{strings.Repeat("Q", 39), strings.Repeat("Q", 41), strings.Repeat("Q", 325)} {
		probe.Header.Set("Wechatpay-Signature", probePrefix+tail)
		refuse(t, a, probe, provider.ErrSignature, CodeProbe)
	}
	if got, want := a.Ack(probe, provider.ErrSignature), a.Ack(req, provider.ErrForeign); string(got.Body) != string(want.Body) || got.Status != want.Status {
		t.Error("a probe is answered unlike any other failure")
	}
	says(t, accept(t, a, req), order.KindPaid, paidFact())
}

func TestP11(t *testing.T) {
	a := newAdapter(t)
	keys := []forge.Key{forge.PlatformKey, forge.WechatPublicKey, forge.Platform2Key}
	for i := range 20 {
		p := payment()
		p.OutTradeNo = fmt.Sprintf("T%04d", i)
		s := forge.WechatV3Signer{Key: keys[i%len(keys)]}
		n := accept(t, a, s.Notify(paidEvent(p.V3()), received).At(received))
		if n.Facts[0].OutTradeNo != p.OutTradeNo {
			t.Errorf("%+v", n.Facts[0])
		}
	}
	for serial, code := range map[string]string{
		"PUB_KEY_ID_0000000000000002":             CodeUnknownSerial,
		"pub_key_id_0000000000000001":             CodeUnknownSerial,
		"PUB_KEY_ID_1":                            CodeUnknownSerial,
		forge.WechatSerial + "0":                  CodeUnknownSerial,
		"0x" + forge.WechatSerial:                 CodeUnknownSerial,
		" " + forge.WechatSerial:                  CodeUnknownSerial,
		strings.ToLower(forge.WechatSerial):       "",
		"00" + forge.WechatSerial:                 "",
		strings.TrimLeft(forge.WechatSerial, "0"): "",
		forge.WechatPublicKeyID:                   CodeSignature, // signed with the certificate's key
	} {
		req := forge.WechatV3Signer{Serial: serial}.Notify(paidEvent(payment().V3()), received).At(received)
		if code == "" {
			accept(t, a, req)
			continue
		}
		refuse(t, a, req, provider.ErrSignature, code)
	}
	// A serial that is printed without its leading zero.
	s := forge.WechatV3Signer{Key: forge.Platform2Key, Serial: strings.TrimLeft(forge.Wechat2Serial, "0")}
	accept(t, a, s.Notify(paidEvent(payment().V3()), received).At(received))
	refuse(t, a, forge.WechatV3Signer{Key: forge.WechatPublicKey, Serial: forge.WechatSerial}.Notify(paidEvent(payment().V3()), received).At(received),
		provider.ErrSignature, CodeSignature)
}

func TestP14(t *testing.T) {
	a := newAdapter(t)
	sealed := func(change func(*forge.WechatEvent)) provider.Request {
		e := paidEvent(payment().V3())
		change(&e)
		return v3(e)
	}
	other := forge.WechatV3Signer{APIKey: "AnotherApiV3KeyOfAnotherMerchant"}
	refuse(t, a, other.Notify(paidEvent(payment().V3()), received).At(received), provider.ErrSignature, CodeDecrypt)
	says(t, accept(t, a, sealed(func(e *forge.WechatEvent) { e.NoAssociatedData = true })), order.KindPaid, paidFact())
	says(t, accept(t, a, sealed(func(e *forge.WechatEvent) { e.OriginalType = "" })), order.KindPaid, paidFact())
	refuse(t, a, sealed(func(e *forge.WechatEvent) { e.AssociatedDataToo = "changed" }), provider.ErrSignature, CodeDecrypt)
	refuse(t, a, sealed(func(e *forge.WechatEvent) { e.Algorithm = "AEAD_SM4_GCM" }), provider.ErrSignature, CodeAlgorithm)

	resource := func(nonce, ciphertext string) provider.Request {
		return v3Body(fmt.Appendf(nil, `{"id":"1","event_type":"TRANSACTION.SUCCESS","resource":{"algorithm":"AEAD_AES_256_GCM","nonce":%s,"ciphertext":%s}}`, nonce, ciphertext))
	}
	for _, nonce := range []string{"11111111111", "1234567890123456", "1"} {
		text := forge.WechatV3Signer{}.Seal(payment().V3(), nonce, "")
		refuse(t, a, resource(`"`+nonce+`"`, `"`+text+`"`), provider.ErrSignature, CodeDecrypt)
	}
	good := forge.WechatV3Signer{}.Seal(payment().V3(), "123456789012", "")
	says(t, accept(t, a, resource(`"123456789012"`, `"`+good+`"`)), order.KindPaid, paidFact())
	says(t, accept(t, a, resource(`"123456789012"`, `"`+strings.ReplaceAll(good, "/", `\/`)+`"`)), order.KindPaid, paidFact())
	flipped := []byte(good)
	flipped[len(flipped)-3] ^= 1
	for _, text := range []string{`"` + string(flipped) + `"`, `""`, `null`, `7`, `"AAAA"`, `"` + good + `\n"`, `" ` + good + `"`,
		`"` + good[:len(good)-4] + `"`, `"` + strings.TrimRight(good, "=") + `!"`} {
		refuse(t, a, resource(`"123456789012"`, text), provider.ErrSignature, CodeDecrypt)
	}
	for _, body := range []string{`{}`, `{"resource":null}`, `{"resource":[]}`, `{"resource":"x"}`} {
		refuse(t, a, v3Body([]byte(body)), provider.ErrSignature, CodeResource)
	}
	for _, body := range []string{`{"resource":{}}`, `{"resource":{"algorithm":7}}`, `{"resource":{"algorithm":"aead_aes_256_gcm"}}`} {
		refuse(t, a, v3Body([]byte(body)), provider.ErrSignature, CodeAlgorithm)
	}
	refuse(t, a, v3Body([]byte(`{"resource":{"algorithm":"AEAD_AES_256_GCM","nonce":"123456789012","associated_data":7}}`)), provider.ErrSignature, CodeResource)
	for _, length := range []int{31, 33} {
		o := options()
		o.APIv3Key = provider.Secret(strings.Repeat("k", length))
		if _, err := New(o, env(keyFiles())); err == nil {
			t.Errorf("a key of %d bytes was accepted", length)
		}
	}
}

func TestP15(t *testing.T) {
	a := newAdapter(t)
	sharing := []byte(`{"mchid":"` + mchID + `","transaction_id":"` + txnID + `","order_id":"30","out_order_no":"P1","receiver":{"type":"MERCHANT_ID","account":"1","amount":1},"success_time":"2026-01-01T12:00:00+08:00"}`)
	for _, e := range []forge.WechatEvent{
		event(eventPaid, "profitsharing", sharing),
		event(eventPaid, "transaction", sharing),
		event(eventPaid, "profitsharing", []byte(`{"transaction_id":"`+txnID+`"}`)),
		event("PROFITSHARING.RETURN", "profitsharing", sharing),
	} {
		movesNothing(t, accept(t, a, v3(e)), order.KindProfitSharing, "")
	}
	movesNothing(t, accept(t, a, v3(event("MCHTRANSFER.BILL.FINISHED", "mch_payment", []byte(`{"mch_id":"`+mchID+`","out_bill_no":"B1","state":"SUCCESS"}`)))), order.KindTransfer, "")
	movesNothing(t, accept(t, a, v3(event("ENTRUST.SIGN", "entrust", []byte(`{"contract_id":"C1"}`)))), order.KindContract, "")
	movesNothing(t, accept(t, a, v3(event("SECURITY_ECHO.SUCCESS", "", []byte(`{"echo":"x"}`)))), order.KindOther, "")
	for _, state := range []string{"REVOKED", "NOTPAY", "REFUND", "success", "PAY_FAIL"} {
		p := payment()
		p.State = state
		movesNothing(t, accept(t, a, v3(paidEvent(p.V3()))), order.KindOther, orderNo)
	}
	// A payment's content pays under its own event only.
	for _, name := range []string{"TRANSACTION.FAIL", "TRANSACTION.INDUSTRY_SUCCESS", "MALL_TRANSACTION.SUCCESS", "REFUND.SUCCESS", "transaction.success", ""} {
		movesNothing(t, accept(t, a, v3(event(name, "transaction", payment().V3()))), order.KindOther, orderNo)
	}
	odd := edited(t, payment().V3(), `"trade_type":"NATIVE"`, `"trade_type":"HOLOGRAM"`)
	says(t, accept(t, a, v3(paidEvent(edited(t, odd, `"bank_type":"OTHERS"`, `"bank_type":"MOON_BANK"`)))), order.KindPaid, paidFact())
}

func TestEveryOtherEventIsHandedOn(t *testing.T) {
	a := newAdapter(t)
	content := []byte(`{"complaint_id":"1","text":"` + "\xff" + `"}`)
	n := accept(t, a, v3(event("COMPLAINT.CREATE", "complaint", content)))
	movesNothing(t, n, order.KindOther, "")
	if string(n.Content) != `{"complaint_id":"1","text":"`+"\uFFFD"+`"}` {
		t.Errorf("content %q", n.Content)
	}
	other := accept(t, a, v3(event("COMPLAINT.STATE_CHANGE", "complaint", content)))
	if n.FactKey() == other.FactKey() {
		t.Error("two events with the same content are one")
	}
	refuse(t, a, v3(event("COMPLAINT.CREATE", "complaint", []byte(`{"mchid":"1600000002"}`))), provider.ErrForeign, CodeForeignMchID)
	refuse(t, a, v3(event("COUPON.USE", "coupon", []byte(`{"appid":"wxforeign"}`))), provider.ErrForeign, CodeForeignAppID)
	refuse(t, a, v3(event("COUPON.USE", "coupon", []byte(`{"sub_mchid":"1"}`))), provider.ErrForeign, CodeForeignSubMchID)
}

func TestContentThatIsNoObject(t *testing.T) {
	a := newAdapter(t)
	for _, content := range []string{``, `null`, `[]`, `"x"`, `7`, `{`, `{"a":1}}`, "\x00", `{"a":01}`} {
		n := accept(t, a, v3(paidEvent([]byte(content))))
		isConflicted(t, n, order.KindOther, order.ReasonUnreadableField)
		if bytes.IndexByte(n.Content, 0) >= 0 {
			t.Errorf("NUL in %q", n.Content)
		}
	}
}
