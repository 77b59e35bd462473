package simulator

import (
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"sync"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// stranger is a key that nobody configures. It is made when it is first needed.
var stranger = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		panic(err) // the reader of crypto/rand does not fail
	}
	return key
})

// unproven are messages of v3 whose header alone refuses them.
func unproven() []Scenario {
	return []Scenario{
		scenario("probe", "WeChat Pay's deliberately wrong signature (SIGNTEST), and the true copy after it", "P10", plot{v3: tellProbe}),
		scenario("stale", "signed more than five minutes ago, and sent anew", "P09", plot{v3: tellOff(-tooOld)}),
		scenario("future", "signed more than five minutes from now, and sent anew", "P09", plot{v3: tellOff(tooOld)}),
		scenario("bad-timestamps", "timestamps that are no Unix seconds", "P09", plot{v3: tellBadTimestamps}),
		scenario("unknown-serial", "keys that the account does not have: a certificate, and a public key", "P11", plot{v3: tellUnknownSerial}),
		scenario("missing-headers", "one of the headers of the signature is missing", "P24", plot{v3: tellMissingHeaders}),
		scenario("repeated-header", "a header of the signature comes twice", "", plot{v3: tellRepeatedHeader}),
		scenario("national-algorithms", "SM2 and SM4 in place of RSA and AES", "P14", plot{v3: tellNationalAlgorithms}),
	}
}

const (
	// tooOld is beyond the five minutes that WeChat Pay allows.
	tooOld = 330 * time.Second
	// probePrefix begins WeChat Pay's deliberately wrong signatures.
	probePrefix = "WECHATPAY/SIGNTEST/"
)

// Probe is the notification as WeChat Pay sends it to test whether signatures
// are checked: with a deliberately wrong one. It must be refused; the true copy
// follows. WeChat Pay does so with v3 alone; elsewhere Probe changes nothing.
func (n Notification) Probe() Notification {
	if _, ok := n.draft.(v3); !ok {
		return n
	}
	// 40 letters, which is no whole number of base64 groups with the prefix.
	return n.thenHeader("Wechatpay-Signature", probePrefix+strings.Repeat("MTIzNDU2Nzg5MA", 3)[:40])
}

func tellProbe(t *teller) {
	n := t.Payment(t.order)
	t.say("a probe", n.Probe(), refused("wx.probe"))
	t.pays("the true copy", t.order, n)
}

func tellOff(shift time.Duration) func(*teller) {
	return func(t *teller) {
		n := t.Payment(t.order)
		t.say("signed "+shift.String()+" off", n.v3(func(d *v3) { d.shift = shift }), refused("wx.stale"))
		t.pays("the same, signed now", t.order, n)
	}
}

func tellBadTimestamps(t *teller) {
	for _, timestamp := range []string{"0", "-1", "1767258000000", "1700000000abc", "17672580.0"} {
		t.say("timestamp "+timestamp, t.Payment(t.order).v3(func(d *v3) { d.timestamp = timestamp }), refused("wx.timestamp"))
	}
	t.end(t.order, "", 0, 0)
}

func tellUnknownSerial(t *teller) {
	o := t.order
	for _, serial := range []string{"1" + strings.Repeat("A7", 19) + "1", publicKeyIDPrefix + t.number(idDigits)} {
		t.say("signed under "+serial, t.Payment(o).v3(func(d *v3) { d.signer.Private, d.signer.Serial = stranger(), serial }), refused("wx.unknown_serial"))
	}
	t.end(o, "", 0, 0)
}

func tellMissingHeaders(t *teller) {
	for _, name := range []string{"Wechatpay-Serial", "Wechatpay-Timestamp", "Wechatpay-Nonce"} {
		t.say("without "+name, t.Payment(t.order).then(func(m *Message) { m.Header.Del(name) }), refused("wx.missing_header"))
	}
	t.end(t.order, "", 0, 0)
}

func tellRepeatedHeader(t *teller) {
	t.refuses("Wechatpay-Serial twice", t.order, t.Payment(t.order).then(func(m *Message) { m.Header.Add("Wechatpay-Serial", "1") }), "wx.repeated_header")
}

func tellNationalAlgorithms(t *teller) {
	n := t.Payment(t.order)
	t.say("signed with SM2", n.thenHeader("Wechatpay-Signature-Type", "WECHATPAY2-SM2-WITH-SM3"), refused("wx.signature_type"))
	t.say("encrypted with SM4", n.v3(func(d *v3) { d.event.Algorithm = "AEAD_SM4_GCM" }), refused("wx.algorithm"))
	t.end(t.order, "", 0, 0)
}

// forged are messages that somebody made up or changed.
func forged() []Scenario {
	return []Scenario{
		scenario("bad-signature", "signed by somebody else; in v3 it even decrypts", "P06", plot{v3: tellStrangerV3, v2: tellStrangerV2, ali: tellStrangerAlipay}),
		scenario("tampered", "a genuine message, changed after it was signed", "", plot{v3: tellTamperedV3, v2: tellTamperedV2, ali: tellTamperedAlipay}),
		scenario("claimed-localhost", "forged, and says that it comes from this very machine", "P05", plot{all: tellClaimedLocalhost}),
		scenario("serial-of-another-key", "signed with one of the provider's keys under the serial of another", "P11", plot{v3: tellMixedKeys}),
		scenario("unsigned", "no signature, or something in its place", "P05 P24", plot{v3: tellUnsignedV3, v2: tellUnsignedV2, ali: tellUnsignedAlipay}),
		scenario("fail-messages", "return_code FAIL, which nothing signs", "P27", plot{v2: tellFailMessages}),
	}
}

// forgedBy signs with a key that is not the provider's.
func (t *teller) forgedBy(n Notification) Notification {
	switch t.protocol {
	case WechatV3:
		return n.v3(func(d *v3) { d.signer.Private = stranger() })
	case WechatV2:
		return n.v2(func(d *v2) { d.signer.APIKey = "NotTheKeyOfThisAccount0000000001" })
	}
	return n.form(func(d *form) { d.signer.Private = stranger() })
}

func tellStrangerV3(t *teller) {
	t.refuses("encrypted with the right key, signed with a wrong one", t.order, t.forgedBy(t.Payment(t.order)), "wx.signature")
}

func tellStrangerV2(t *teller) {
	t.say("signed with another API key", t.forgedBy(t.Payment(t.order)), refused("wx.signature"))
	t.say("no signature at all, but its form", t.Payment(t.order).v2(func(d *v2) {
		d.signature = func(forge.Form) string { return strings.Repeat("0A", 16) }
	}), refused(wrongDigest(t, signMD5)))
	t.end(t.order, "", 0, 0)
}

// wrongDigest is the code for a digest of the type that does not hold.
func wrongDigest(t *teller, signType string) string {
	for _, accepted := range t.account.v2SignTypes() {
		if accepted == signType {
			return "wx.signature"
		}
	}
	return "wx.sign_type"
}

func tellStrangerAlipay(t *teller) {
	t.refuses("signed with another key", t.order, t.forgedBy(t.Payment(t.order)), "ali.signature")
}

// swapped is the notification with a piece of its body exchanged on the way.
func swapped(n Notification, old, other string) Notification {
	return n.then(func(m *Message) { m.Body = []byte(strings.Replace(string(m.Body), old, other, 1)) })
}

func tellTamperedV3(t *teller) {
	n := t.Payment(t.order)
	t.say("another kind of event", swapped(n, "TRANSACTION.SUCCESS", "TRANSACTION.CLOSED"), refused("wx.signature"))
	t.say("another timestamp", n.then(func(m *Message) {
		m.Header.Set("Wechatpay-Timestamp", fen(m.SentAt.Unix()+1))
	}), refused("wx.signature"))
	t.say("a line end more", n.then(func(m *Message) { m.Body = append(m.Body, '\n') }), refused("wx.signature"))
	t.end(t.order, "", 0, 0)
}

func tellTamperedV2(t *teller) {
	t.refuses("a fen less", t.order, t.Payment(t.order).v2(func(d *v2) {
		d.write = func(f forge.Form, sign string) []byte {
			return f.With("total_fee", fen(t.order.AmountFen-1)).With("sign", sign).XML("xml")
		}
	}), "wx.signature")
}

func tellTamperedAlipay(t *teller) {
	t.refuses("a fen less", t.order, t.sentAs(t.Payment(t.order), Set("total_amount", yuan(t.order.AmountFen-1))), "ali.signature")
}

// sentAs is a form that is signed as it is and sent with a field changed.
func (t *teller) sentAs(n Notification, e Edit) Notification {
	return n.form(func(d *form) {
		d.send = func(d form, f forge.Form) []byte {
			f = f.With("sign_type", t.account.alipaySignTypes()[0])
			sent, _ := editForm(f, e) // names a field of the form: cannot fail
			return d.signer.Send(sent, d.signer.Signature(f.Text(d.signer.Rule))).Body
		}
	})
}

func tellClaimedLocalhost(t *teller) {
	code := "wx.signature"
	if t.protocol == Alipay {
		code = "ali.signature"
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		t.say("forged, Host: "+host, t.forgedBy(t.Payment(t.order)).thenHeader("Host", host).thenHeader("X-Forwarded-For", "127.0.0.1"), refused(code))
	}
	t.end(t.order, "", 0, 0)
}

func tellMixedKeys(t *teller) {
	t.refuses("the public key's signature under the certificate's serial", t.order,
		t.Payment(t.order).v3(func(d *v3) { d.signer.Private = t.keys.PublicKey.Private }), "wx.signature")
}

func tellUnsignedV3(t *teller) {
	t.say("an empty signature", t.Payment(t.order).thenHeader("Wechatpay-Signature", ""), refused("wx.missing_header"))
	t.say("a signature that is no base64", t.Payment(t.order).thenHeader("Wechatpay-Signature", "undefined!"), refused("wx.signature"))
	t.end(t.order, "", 0, 0)
}

func tellUnsignedV2(t *teller) {
	o := t.order
	unsigned := func(f forge.Form) Notification {
		return t.Payment(o).v2(func(d *v2) {
			fields := f
			if fields == nil {
				fields = d.form
			}
			d.write = func(forge.Form, string) []byte { return fields.XML("xml") }
		})
	}
	with := func(sign string) Notification {
		return t.Payment(o).v2(func(d *v2) { d.signature = func(forge.Form) string { return sign } })
	}
	t.say("no sign", unsigned(nil), refused("wx.no_signature"))
	t.say("an empty sign", with(""), refused("wx.no_signature"))
	t.say("sign is undefined", with("undefined"), refused("wx.signature"))
	t.say("nothing but a number and an amount", unsigned(forge.NewForm("out_trade_no", o.OutTradeNo, "total_fee", fen(o.AmountFen))), refused("wx.missing_field"))
	t.say("signed, but without return_code", t.edited(t.Payment(o), Drop("return_code")), refused("wx.missing_field"))
	t.say("signed, but without mch_id", t.edited(t.Payment(o), Drop("mch_id")), refused("wx.foreign_mchid"))
	t.say("signed, but without appid", t.edited(t.Payment(o), Drop("appid")), refused("wx.foreign_appid"))
	t.end(o, "", 0, 0)
}

func tellUnsignedAlipay(t *teller) {
	with := func(sign string) Notification {
		return t.Payment(t.order).form(func(d *form) {
			d.send = func(d form, f forge.Form) []byte {
				return d.signer.Send(f.With("sign_type", t.account.alipaySignTypes()[0]), sign).Body
			}
		})
	}
	t.say("an empty sign", with(""), refused("ali.no_signature"))
	t.say("sign is undefined", with("undefined"), refused("ali.signature_form"))
	t.say("signed, but without app_id", t.edited(t.Payment(t.order), Drop("app_id")), refused("ali.foreign_app"))
	t.end(t.order, "", 0, 0)
}

func tellFailMessages(t *teller) {
	f := forge.NewForm("return_code", "FAIL", "return_msg", "签名失败")
	t.refuses("return_code FAIL", t.order, t.Payment(t.order).v2(func(d *v2) {
		d.write = func(forge.Form, string) []byte { return f.XML("xml") }
	}), "wx.return_fail")
}
