package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// forms are genuine payments in every form in which they have been met: all of
// them count.
func forms() []Scenario {
	return []Scenario{
		scenario("unknown-fields", "fields and words that nobody knows yet", "P01 P15 P22 P32 P35", plot{v3: tellUnknownV3, v2: tellUnknownV2, ali: tellUnknownAlipay}),
		scenario("odd-text", "Chinese, emoji, blanks and marks in the text", "P03 P29 P38", plot{v3: tellOddText, v2: tellOddText, ali: tellOddTextAlipay}),
		scenario("content-types", "the Content-Type that Alipay sends is malformed; others change or drop it", "P22 P28", plot{all: tellContentTypes}),
		scenario("foreign-parameters", "a query string and a cookie that claim other values", "P34", plot{all: tellForeignParameters}),
		scenario("timestamps", "clocks that differ by almost five minutes", "P09", plot{v3: tellTimestamps}),
		scenario("key-switch", "certificate, next certificate and public key in turn, as in the weeks of a switch", "P11", plot{v3: tellKeySwitch}),
		scenario("associated-data", "associated_data left out or empty", "P14", plot{v3: tellAssociatedData}),
		scenario("signing-rules", "every documented way to sign, and those that are none", "P19 P20 P32", plot{v2: tellSigningRulesV2, ali: tellSigningRulesAlipay}),
		scenario("wrapped-refund", "req_info in lines of 76 characters", "P26", plot{v2: tellWrappedRefund}),
		scenario("gbk", "the text in GBK, GB2312 and GB18030", "P03", plot{ali: tellGBK}),
		scenario("passback", "passback_params that the merchant has encoded once", "P31", plot{ali: tellPassback}),
		scenario("yuan-forms", "amounts like 0.1 and 0.10", "P35", plot{ali: tellYuanForms}),
	}
}

func fen(n int64) string { return fmt.Sprint(n) }

func tellUnknownV3(t *teller) {
	o, other := t.next(), t.next()
	t.pays("a field that nobody knows in the content", o, t.edited(t.Payment(o), SetJSON("field_of_tomorrow", `{"a":[1,null]}`),
		Set("trade_type", "MOONPAY"), Set("bank_type", "BANK_OF_TOMORROW")))
	t.pays("and one around it", other, t.edited(t.Payment(other), SetJSON("envelope.field_of_tomorrow", "2037"), Set("envelope.summary", "明天")))
}

func tellUnknownV2(t *teller) {
	o := t.order
	t.pays("fields that nobody knows, and coupons", o, t.edited(t.Payment(o), Set("field_of_tomorrow", "2037"), Set("coupon_count", "1"),
		Set("coupon_id_0", "10001"), Set("coupon_fee_0", "1"), Set("coupon_type_0", "COUPON_OF_TOMORROW")))
}

func tellUnknownAlipay(t *teller) {
	o := t.order
	t.pays("fields that nobody knows, and vouchers", o, t.edited(t.Payment(o), Set("merchant_app_id", "9999"),
		Set("voucher_detail_list", `[{"voucherId":"20`+t.number(26)+`","type":"ALIPAY_COUPON_OF_TOMORROW","amount":"0.10"}]`)))
}

func tellOddText(t *teller) {
	o := t.order
	t.pays("an attach that is hard to carry", o, t.edited(t.Payment(o), Set("attach", "端午 🍡 & <少冰> 100% \"半价\"\\")))
}

func tellOddTextAlipay(t *teller) {
	o := t.order
	t.pays("a subject that is hard to carry", o, t.edited(t.Payment(o), Set("subject", "端午 🍡 100% a+b=c;d  \"半价\"\\第1盒 ")))
}

func tellContentTypes(t *teller) {
	for _, kind := range []string{"application/x-www-form-urlencoded; text/html; charset=UTF-8", "application/json; charset=utf-8", "text/xml", "text/plain", ""} {
		o := t.next()
		t.pays(fmt.Sprintf("Content-Type: %s", kind), o, t.Payment(o).then(func(m *Message) {
			m.Header["Content-Type"] = []string{kind}
			if kind == "" {
				m.Header.Del("Content-Type")
			}
		}))
	}
}

func tellForeignParameters(t *teller) {
	o := t.order
	t.pays("a query string and a cookie that claim another order", o, t.Payment(o).then(func(m *Message) {
		m.Path += "?s=/pay/notify&out_trade_no=OTHER&total_amount=0.01&total_fee=1"
		m.Header.Set("Cookie", "trade_status=WAIT_BUYER_PAY; trade_state=NOTPAY")
	}))
}

// almostStale is within the five minutes that are allowed, with room for the way.
const almostStale = 295 * time.Second

func tellTimestamps(t *teller) {
	for _, shift := range []time.Duration{-almostStale, almostStale} {
		o := t.next()
		t.pays(fmt.Sprintf("signed %v off", shift), o, t.Payment(o).v3(func(d *v3) { d.shift = shift }))
	}
}

// v3, v2, v2Refund and form change how a message is made: a story knows which
// protocol it is in.
func (n Notification) v3(change func(*v3)) Notification             { return redraft(n, change) }
func (n Notification) v2(change func(*v2)) Notification             { return redraft(n, change) }
func (n Notification) v2Refund(change func(*v2Refund)) Notification { return redraft(n, change) }
func (n Notification) form(change func(*form)) Notification         { return redraft(n, change) }

func redraft[D draft](n Notification, change func(*D)) Notification {
	d := n.draft.(D)
	change(&d)
	n.draft = d
	return n
}

func tellKeySwitch(t *teller) {
	signers := []struct {
		name  string
		apply func(*v3)
	}{
		{"certificate", func(d *v3) {}},
		{"public key", func(d *v3) { d.signer.Private, d.signer.Serial = t.keys.PublicKey.Private, t.keys.PublicKey.ID }},
		{"next certificate", func(d *v3) {
			d.signer.Private, d.signer.Serial = t.keys.NextPlatform.Private, t.keys.NextPlatform.Serial
		}},
	}
	for i := range severalOrders {
		o := t.next()
		by := signers[i%len(signers)]
		t.pays("paid, signed with the "+by.name, o, t.Payment(o).v3(by.apply))
	}
}

func tellAssociatedData(t *teller) {
	without, empty := t.next(), t.next()
	t.pays("associated_data left out", without, t.Payment(without).v3(func(d *v3) { d.event.NoAssociatedData = true }))
	t.pays("associated_data empty", empty, t.Payment(empty).v3(func(d *v3) {
		d.event.NoAssociatedData = true
		d.edits = []Edit{Set("resource.associated_data", "")}
	}))
}

func tellWrappedRefund(t *teller) {
	o := t.order
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.say("refunded "+yuan(t.part()), t.refunds(o, t.part(), 0, "").v2Refund(func(d *v2Refund) { d.reqInfo = wrapped }), applied)
	t.end(o, statusPaid, o.AmountFen, t.part())
}

// wrapped breaks base64 after every 76th character.
func wrapped(text string) string {
	const column = 76
	return string(bytes.Join(slices.Collect(slices.Chunk([]byte(text), column)), []byte("\n")))
}

func tellGBK(t *teller) {
	for _, label := range []string{"GBK", "gb2312", "GB18030"} {
		o := t.next()
		t.pays("paid, text in "+label, o, t.Payment(o).InGBK(label))
	}
}

// InGBK is the notification with its text in GBK, under the name of GBK, gb2312
// or GB18030. Alipay does so for some merchants; elsewhere InGBK changes nothing.
func (n Notification) InGBK(charset string) Notification {
	if _, ok := n.draft.(form); !ok {
		return n
	}
	return n.form(func(d *form) { d.gbk = charset })
}

func tellPassback(t *teller) {
	o := t.order
	t.pays("paid, with passback_params", o, t.edited(t.Payment(o), Set("passback_params", url.QueryEscape(`{"u":1}`))))
}

func tellYuanForms(t *teller) {
	for _, amount := range []string{"0.1", "0.10"} {
		o := t.next()
		o.AmountFen = 10
		t.pays("paid "+amount, o, t.edited(t.Payment(o), Set("total_amount", amount), Set("point_amount", "0.00")))
	}
}

// lines is the same document in another form: a declaration, an element to a
// line, text instead of CDATA.
func lines(f forge.Form, sign string) []byte {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<xml>\r\n")
	for _, p := range f.With("sign", sign) {
		b.WriteString("\t<" + p.Name + ">" + p.Value + "</" + p.Name + ">\r\n")
	}
	b.WriteString("</xml>\r\n")
	return []byte(b.String())
}

// backwards is the same document with its elements in the other order.
func backwards(f forge.Form, sign string) []byte {
	f = f.With("sign", sign)
	slices.Reverse(f)
	return f.XML("xml")
}

// sorted is a JSON text decoded and encoded again: what decoders lose is lost.
func sorted(body []byte) []byte {
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // somebody may have set a number that fits no type
	if err := decoder.Decode(&members); err != nil {
		panic(err) // our own envelope
	}
	return mustJSON(members)
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // what was decoded encodes
	}
	return text
}

// spaced has a blank after every colon and comma between members.
func spaced(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte(`":`), []byte(`": `))
	return bytes.ReplaceAll(body, []byte(`,"`), []byte(`, "`))
}

// escaped writes everything beyond ASCII as \uXXXX.
func escaped(body []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(body) {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r) // what we write is within the first plane
	}
	return b.Bytes()
}

// renamed has camelCase names.
func renamed(body []byte) []byte {
	return []byte(strings.NewReplacer(`"create_time"`, `"createTime"`, `"event_type"`, `"eventType"`, `"resource_type"`, `"resourceType"`,
		`"original_type"`, `"originalType"`, `"associated_data"`, `"associatedData"`).Replace(string(body)))
}
