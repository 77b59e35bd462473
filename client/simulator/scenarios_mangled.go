package simulator

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// mangled are messages that something on the way, or somebody's software, has
// damaged, and those that were made to do damage.
func mangled() []Scenario {
	return []Scenario{
		scenario("re-encoded", "something in front decodes the body and encodes it again", "P01 P22", plot{v3: tellReencodedV3, v2: tellReencodedV2, ali: tellReencodedAlipay}),
		scenario("bad-ciphertext", "content that does not decrypt: other keys, damaged bytes, strange nonces", "P14 P26", plot{v3: tellBadCiphertextV3, v2: tellBadCiphertextV2, ali: tellBadCiphertextAlipay}),
		scenario("duplicate-fields", "a field stands twice, with two values", "P22 P34", plot{v3: tellDuplicateV3, v2: tellDuplicateV2, ali: tellDuplicateAlipay}),
		scenario("plus-lost", "plus signs of base64 have become blanks", "P26", plot{v2: tellPlusLostV2, ali: tellPlusLostAlipay}),
		scenario("html-escaped", "an input filter has turned quotes into &quot;", "P29", plot{ali: escapedAs("&quot;", "ali.html_escaped")}),
		scenario("backslashed", "an input filter has put backslashes before quotes", "P29", plot{ali: escapedAs(`\"`, "ali.backslashed")}),
		scenario("encoded-twice", "the signature was percent-encoded twice", "P31", plot{ali: tellEncodedTwice}),
		scenario("transcoded", "a filter has turned GBK into UTF-8", "P03", plot{ali: tellTranscoded}),
		scenario("form-syntax", "semicolons or &amp; between the fields", "P38", plot{ali: tellFormSyntax}),
		scenario("not-xml", "JSON around the XML, or junk before it", "P22", plot{v2: tellNotXML}),
		scenario("xml-attacks", "DOCTYPE, entities, ten thousand elements", "P25", plot{v2: tellXMLAttacks}),
		scenario("empty-body", "the header is there, the body is not", "P04", plot{v3: emptyBody("wx.malformed_json"), v2: emptyBody("wx.malformed_xml"), ali: emptyBody("ali.no_signature")}),
		scenario("cut-body", "half of the body is missing", "P04", plot{v3: cutBody("wx.malformed_json"), v2: cutBody("wx.malformed_xml"), ali: cutBody("ali.no_signature")}),
		scenario("too-large", "a body of ten megabytes", "P25", plot{all: tellTooLarge}),
		scenario("compressed", "a body that says it is compressed", "", plot{all: tellCompressed}),
	}
}

const otherV3Key = "NotTheV3KeyOfThisAccount00000001" // 32 bytes, of nobody

// onItsWay is the notification whose body is changed after signing.
func onItsWay(n Notification, change func([]byte) []byte) Notification {
	return n.then(func(m *Message) { m.Body = change(m.Body) })
}

func tellReencodedV3(t *teller) {
	n := t.Payment(t.order)
	forms := []struct {
		what   string
		change func([]byte) []byte
	}{
		{"names sorted", sorted}, {"blanks after colons and commas", spaced}, {`\u escapes`, escaped}, {"other names", renamed},
	}
	for _, f := range forms {
		t.say("changed on the way: "+f.what, onItsWay(n, f.change), refused("wx.signature"))
	}
	t.end(t.order, "", 0, 0)
	for _, f := range forms[:3] { // under other names it would be another message
		o := t.next()
		t.pays("sent and signed like that: "+f.what, o, t.Payment(o).v3(func(d *v3) { d.body = f.change }))
	}
}

// tellReencodedV2: v2 signs the fields, so that another form of the document is
// the same message.
func tellReencodedV2(t *teller) {
	shuffled, text := t.next(), t.next()
	t.pays("elements in another order", shuffled, t.Payment(shuffled).v2(func(d *v2) { d.write = backwards }))
	t.pays("in lines, as text", text, t.Payment(text).v2(func(d *v2) { d.write = lines }))
}

// tellReencodedAlipay: the values are signed, not how they are written.
func tellReencodedAlipay(t *teller) {
	o := t.order
	t.pays("fields in another order, blanks as %20", o, onItsWay(t.Payment(o), func(body []byte) []byte {
		pairs := strings.Split(strings.ReplaceAll(string(body), "+", "%20"), "&")
		return []byte(strings.Join(append(pairs[1:], pairs[0]), "&"))
	}))
}

func tellBadCiphertextV3(t *teller) {
	n := t.Payment(t.order)
	bad := func(what string, change func(*v3)) { t.say(what, n.v3(change), refused("wx.decrypt")) }
	bad("encrypted with another key", func(d *v3) { d.signer.APIKey = otherV3Key })
	bad("the last byte of the tag is wrong", func(d *v3) { d.body = brokenTag })
	bad("another associated_data", func(d *v3) { d.event.AssociatedDataToo = "transaction2" })
	for _, nonce := range []string{"eleven12345", "sixteen123456789"} {
		bad(fmt.Sprintf("a nonce of %d bytes", len(nonce)), func(d *v3) { d.edits = []Edit{Set("resource.nonce", nonce)} })
	}
	bad("no base64", func(d *v3) { d.edits = []Edit{Set("resource.ciphertext", "*")} })
	t.say("no resource", n.v3(func(d *v3) { d.edits = []Edit{Drop("resource")} }), refused("wx.resource"))
	t.end(t.order, "", 0, 0)
}

var ciphertext = regexp.MustCompile(`"ciphertext":"([^"]*)"`)

func brokenTag(body []byte) []byte {
	return ciphertext.ReplaceAllFunc(body, func(found []byte) []byte {
		text := string(ciphertext.FindSubmatch(found)[1])
		return []byte(`"ciphertext":"` + flipped(text, -1) + `"`)
	})
}

// flipped is base64 with a bit of one byte changed; at counts from the end when
// it is negative. What somebody set to something else is wrong as it is.
func flipped(text string, at int) string {
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sealed) == 0 {
		return text
	}
	if at < 0 {
		at += len(sealed)
	}
	sealed[at] ^= 1
	return base64.StdEncoding.EncodeToString(sealed)
}

func tellBadCiphertextV2(t *teller) {
	o := t.order
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	bad := func(what string, reqInfo func(d v2Refund) string) {
		t.say("a refund "+what, t.refunds(o, t.part(), 0, "").v2Refund(func(d *v2Refund) {
			made := *d
			d.reqInfo = func(string) string { return reqInfo(made) }
		}), refused("wx.decrypt"))
	}
	key := []byte(t.account.APIv2Key)
	sum := md5.Sum(key)
	under := func(key []byte) func(d v2Refund) string {
		return func(d v2Refund) string {
			return base64.StdEncoding.EncodeToString(forge.EncryptECB(key, d.inner.XML("root")))
		}
	}
	bad("under another API key", func(d v2Refund) string {
		return forge.WechatV2Signer{APIKey: "NotTheKeyOfThisAccount0000000001"}.ReqInfo(d.inner.XML("root"))
	})
	bad("under the MD5 in capitals", under([]byte(strings.ToUpper(hex.EncodeToString(sum[:])))))
	bad("under the MD5 itself", under(sum[:]))
	bad("of which 15 bytes are missing", func(d v2Refund) string {
		sealed, err := base64.StdEncoding.DecodeString(d.signer.ReqInfo(d.inner.XML("root")))
		if err != nil {
			panic(err) // our own
		}
		return base64.StdEncoding.EncodeToString(sealed[:len(sealed)-15])
	})
	t.end(o, statusPaid, o.AmountFen, 0)
}

// tellBadCiphertextAlipay: the content of a letter that cannot be decrypted is
// kept as it is. It is proven, and moves nothing.
func tellBadCiphertextAlipay(t *teller) {
	t.say("a letter encrypted with another key", t.letter("alipay.trade.settle.success", `{"trade_no":"`+t.order.alipayTxn()+`"}`,
		[]byte("NotOurAESKey0001")), unhandled)
}

func tellDuplicateV3(t *teller) {
	twice := func(body []byte) []byte {
		return bytes.Replace(body, []byte("{"), []byte(`{"event_type":"TRANSACTION.SUCCESS",`), 1)
	}
	inCapitals := func(body []byte) []byte {
		return bytes.Replace(body, []byte("{"), []byte(`{"Event_Type":"TRANSACTION.SUCCESS",`), 1)
	}
	t.say("event_type twice, signed like that", t.Payment(t.order).v3(func(d *v3) { d.body = twice }), refused("wx.duplicate_field"))
	t.say("the same in other letters", t.Payment(t.order).v3(func(d *v3) { d.body = inCapitals }), refused("wx.duplicate_field"))
	t.say("out_trade_no twice in the content", t.Payment(t.order).v3(func(d *v3) {
		d.event.Content = bytes.Replace(d.event.Content, []byte("{"), []byte(`{"out_trade_no":"OTHER",`), 1)
	}), refused("wx.duplicate_field"))
	t.end(t.order, "", 0, 0)
}

func tellDuplicateV2(t *teller) {
	t.refuses("total_fee twice", t.order, swapped(t.Payment(t.order), "</xml>", "<total_fee>1</total_fee></xml>"), "wx.duplicate_field")
}

func tellDuplicateAlipay(t *teller) {
	n := t.Payment(t.order)
	t.say("out_trade_no twice", onItsWay(n, func(b []byte) []byte { return append(b, "&out_trade_no=OTHER"...) }), refused("ali.duplicate_field"))
	t.say("total_amount twice, its name encoded", onItsWay(n, func(b []byte) []byte { return append(b, "&total%5Famount=0.01"...) }), refused("ali.duplicate_field"))
	t.end(t.order, "", 0, 0)
}

// tries bounds the search for a text with a plus sign. Of 340 letters of base64
// one is a plus sign in 99.5 of 100 texts.
const tries = 64

func tellPlusLostV2(t *teller) {
	o := t.order
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	n := t.refunds(o, t.part(), 0, "")
	for i := range tries { // until the base64 has a plus sign
		n = t.edited(n, Set("refund_recv_accout", fmt.Sprintf("支付用户零钱%d", i)))
		d := n.draft.(v2Refund)
		if strings.Contains(d.signer.ReqInfo(d.inner.XML("root")), "+") {
			break
		}
	}
	t.say("a refund whose req_info has blanks for plus signs", n.v2Refund(func(d *v2Refund) {
		d.reqInfo = func(s string) string { return strings.ReplaceAll(s, "+", " ") }
	}), refused("wx.decrypt"))
	t.end(o, statusPaid, o.AmountFen, 0)
}

func tellPlusLostAlipay(t *teller) {
	t.refuses("blanks for plus signs in sign", t.order, t.Payment(t.order).form(func(d *form) {
		d.send = func(d form, f forge.Form) []byte {
			for i := range tries { // until the base64 has a plus sign
				f = f.With("body", fmt.Sprintf("%d", i))
				m := d.signer.Sign(f)
				// The signature is the last field. Only its plus signs are lost.
				if head, sign, _ := bytes.Cut(m.Body, []byte("&sign=")); bytes.Contains(sign, []byte("%2B")) {
					return append(append(head, "&sign="...), bytes.ReplaceAll(sign, []byte("%2B"), []byte("+"))...)
				}
			}
			return d.signer.Sign(f).Body
		}
	}), "ali.plus_lost")
}

func escapedAs(quote, code string) func(*teller) {
	return func(t *teller) {
		waits, paid := t.next(), t.next()
		bills := t.Payment(paid).draft.(form).fields.Get("fund_bill_list")
		t.say("a message without quotes gets through", t.edited(t.must(t.Waiting(waits)), Drop("fund_bill_list")), applied)
		t.end(waits, statusPending, 0, 0)
		t.refuses("quotes have become "+quote, paid, t.sentAs(t.Payment(paid), Set("fund_bill_list", strings.ReplaceAll(bills, `"`, quote))), code)
	}
}

func tellEncodedTwice(t *teller) {
	t.refuses("sign encoded twice", t.order, t.Payment(t.order).form(func(d *form) {
		d.send = func(d form, f forge.Form) []byte {
			f = f.With("sign_type", t.account.alipaySignTypes()[0])
			return d.signer.Send(f, url.QueryEscape(d.signer.Signature(f.Text(forge.Rule{})))).Body
		}
	}), "ali.encoded_twice")
}

func tellTranscoded(t *teller) {
	t.refuses("signed as GBK, sent as UTF-8", t.order, t.Payment(t.order).form(func(d *form) {
		d.send = func(d form, f forge.Form) []byte {
			signature := d.signer.Signature(f.GBK("GBK").Text(forge.Rule{}))
			return d.signer.Send(f.With("charset", "GBK").With("sign_type", t.account.alipaySignTypes()[0]), signature).Body
		}
	}), "ali.transcoded")
}

func tellFormSyntax(t *teller) {
	n := t.Payment(t.order)
	for _, between := range []string{";", "&amp;"} {
		t.say(between+" between the fields", onItsWay(n, func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte("&"), []byte(between))
		}), refused("ali.form_syntax"))
	}
	t.say("a bare semicolon in a value", onItsWay(t.edited(n, Set("body", "a;b")), func(body []byte) []byte {
		return bytes.Replace(body, []byte("%3B"), []byte(";"), 1)
	}), refused("ali.form_syntax"))
	t.end(t.order, "", 0, 0)
}
