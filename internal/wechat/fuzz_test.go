package wechat

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// FuzzXML: what is read, the standard library reads in the same way; nothing panics.
func FuzzXML(f *testing.F) {
	for _, c := range hostileXML {
		f.Add([]byte(fmt.Sprintf(c.text, "<a>1</a><b><![CDATA[2]]></b>")))
	}
	f.Add(fields().With("sign", baselineMD5).XML("xml"))
	f.Add([]byte(`<?xml version='1.0' encoding='utf-8' standalone='yes' ?><xml><a>&#x1F375;<![CDATA[]]]]><![CDATA[>]]></a><b /></xml>`))
	f.Fuzz(func(t *testing.T, src []byte) {
		var x flatXML
		if x.read(bytes.Clone(src), "xml") == nil {
			agreesWithDecoder(t, src, &x)
		}
	})
}

// FuzzV2: whatever the body, a notification is refused, or says nothing that its
// signer did not.
func FuzzV2(f *testing.F) {
	a := newAdapter(f)
	f.Add(v2(fields()).Body)
	f.Add(v2(combination(part(1)).V2()).Body)
	outer, inner := refund().V2()
	f.Add(v2Refund(outer, inner).Body)
	f.Fuzz(func(t *testing.T, body []byte) {
		wellFormed(t, a, v2XML(string(body)))
	})
}

// FuzzRefundXML puts a document of any kind into req_info.
func FuzzRefundXML(f *testing.F) {
	a := newAdapter(f)
	f.Add(innerXML())
	for _, c := range hostileXML[:20] {
		f.Add([]byte(fmt.Sprintf(c.text, "<a>1</a>")))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		wellFormed(t, a, withReqInfo(forge.WechatV2Signer{}.ReqInfo(document)))
	})
}

// FuzzECB decrypts any bytes: what opens encrypts to the same again.
func FuzzECB(f *testing.F) {
	key, err := newV2Key(forge.WechatV2Key)
	if err != nil {
		f.Fatal(err)
	}
	digest := []byte("44a28b797784ebf9069f6baae939e4df")
	f.Add(forge.EncryptECB(digest, innerXML()))
	f.Add(forge.EncryptECB(digest, nil))
	f.Add([]byte("sixteen bytes, no"))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		plain, ok := openECB(key.ecb, bytes.Clone(sealed))
		if ok && !bytes.Equal(forge.EncryptECB(digest, plain), sealed) {
			t.Errorf("%x opens to %x, which does not encrypt to it", sealed, plain)
		}
	})
}

// FuzzEnvelope signs a body of any kind.
func FuzzEnvelope(f *testing.F) {
	a := newAdapter(f)
	f.Add(v3(paidEvent(payment().V3())).Body)
	for _, c := range hostileObjects {
		f.Add([]byte("{" + hostilePiece(c.text) + "}"))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		wellFormed(t, a, v3Body(body))
	})
}

// FuzzResource reads content of any kind under any event, as if it had been
// signed and opened: RSA would leave the fuzzer no time.
func FuzzResource(f *testing.F) {
	a := newAdapter(f, asPartner("*"))
	for _, e := range genuineEvents() {
		f.Add(e.Type, e.OriginalType, e.Content)
	}
	f.Add("REFUND.", "", []byte(`{"refund_status":"SUCCESS"}`))
	f.Fuzz(func(t *testing.T, eventType, originalType string, content []byte) {
		envelope := forge.WechatV3Signer{}.Envelope(event(eventType, originalType, nil))
		m := message{a: a, req: &provider.Request{ReceivedAt: received}, keys: a.keys.Load(), scratch: newScratch()}
		if fault := m.envelope.read(envelope, maxEnvelopeNodes); fault != nil {
			t.Fatalf("%+v", fault)
		}
		m.plain = content
		n, err := m.factsV3()
		keepsTheRules(t, n, err)
	})
}

// FuzzJSON: what is read, the standard library calls valid; what is refused as
// malformed, it does not.
func FuzzJSON(f *testing.F) {
	f.Add(payment().V3())
	f.Add([]byte(` [ {"a":[1,-0.5e+10,"\u00e9\ud83c\/",true,null,{}]} ] `))
	for _, c := range hostileObjects {
		f.Add([]byte("{" + hostilePiece(c.text) + "}"))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var d document
		fault := d.read(src, maxPlainNodes)
		if valid := json.Valid(src); fault == nil && !valid || fault != nil && fault.code == CodeMalformedJSON && valid {
			t.Fatalf("%q: %+v, the standard library says %v", src, fault, valid)
		}
		if fault != nil || d.nodes[root].kind != jsonObject {
			return
		}
		var want map[string]any
		if err := json.Unmarshal(src, &want); err != nil {
			t.Fatal(err)
		}
		count := 0
		for i := root + 1; i < len(d.nodes); i = int(d.nodes[i].next) {
			count++
			name := string(d.key(&d.nodes[i]))
			text, isText := want[name].(string)
			if got := d.text(root, name); isText && text != "" && utf8.Valid(src) && string(got) != text {
				t.Fatalf("%q is %q, the standard library has %q", name, got, text)
			}
		}
		if count != len(want) {
			t.Fatalf("%d names, the standard library has %d", count, len(want))
		}
	})
}

func wellFormed(t *testing.T, a *Adapter, req provider.Request) {
	t.Helper()
	n, err := a.Parse(req)
	keepsTheRules(t, n, err)
}

// keepsTheRules: a refusal has a code, and a notification holds to what every
// one of them must, whatever it says.
func keepsTheRules(t *testing.T, n order.Notification, err error) {
	t.Helper()
	if err != nil {
		if provider.Code(err) == "" || provider.Status(err) >= 500 {
			t.Fatalf("%v", err)
		}
		return
	}
	if len(n.Facts) == 0 || n.Scope != mchID {
		t.Fatalf("%+v", n)
	}
	if !utf8.Valid(n.Content) || bytes.IndexByte(n.Content, 0) >= 0 {
		t.Fatalf("content %q", n.Content)
	}
	for _, f := range n.Facts {
		switch {
		case f.OutTradeNo != "" && !isNumber([]byte(f.OutTradeNo), maxOrderNumber):
			t.Fatalf("order %q", f.OutTradeNo)
		case f.Conflict == "" && f.Kind.Moves() && (f.OutTradeNo == "" || f.ProviderTxnID == "" || f.AmountFen < 0):
			t.Fatalf("moves without numbers: %+v", f)
		case f.Conflict == "" && f.Kind == order.KindRefund && (f.ProviderRefundID == "" || f.OutRefundNo == ""):
			t.Fatalf("refunds without numbers: %+v", f)
		case f.Conflict != "" && n.Distinct == nil:
			t.Fatalf("a conflict without Distinct")
		}
	}
}

var plainFen = regexp.MustCompile(`^[0-9]+$`)

// FuzzFen: an amount is digits, and exactly what they say.
func FuzzFen(f *testing.F) {
	for _, text := range []string{"0", "1000", "007", "-1", "1.5", "1e3", "9223372036854775807", "9223372036854775808", "１"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseFen([]byte(text))
		want, err := strconv.ParseInt(text, 10, 64)
		if plain := plainFen.MatchString(text) && err == nil; ok != plain {
			t.Fatalf("%q: %v", text, ok)
		}
		if ok && got != want {
			t.Fatalf("%q: %d, want %d", text, got, want)
		}
	})
}

// FuzzTime: a time that is read is the one that the standard library reads.
func FuzzTime(f *testing.F) {
	for _, text := range []string{"2026-01-01T12:00:00+08:00", "2026-01-01T12:00:00.123Z", "20260101120000", "2026-01-01 12:00:00", "2026-02-30T12:00:00Z", "2024-02-29T23:59:59-23:59"} {
		f.Add(text)
	}
	china := time.FixedZone("", 8*60*60)
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []struct {
			parse  func([]byte) (time.Time, bool)
			layout string
		}{{parseTime, time.RFC3339Nano}, {parseTimeEnd, "20060102150405"}, {parseRefundTime, "2006-01-02 15:04:05"}} {
			got, ok := c.parse([]byte(text))
			if !ok {
				continue
			}
			want, err := time.ParseInLocation(c.layout, text, china)
			if err != nil || !got.Equal(want.Truncate(time.Microsecond)) || got.Location() != time.UTC || got.IsZero() {
				t.Fatalf("%q: %v, the standard library has %v (%v)", text, got, want, err)
			}
		}
	})
}

// FuzzBase64: what is decoded encodes to the same again.
func FuzzBase64(f *testing.F) {
	f.Add("QUI=")
	f.Add("QUI=\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := decodeBase64(nil, []byte(text)); ok && base64.StdEncoding.EncodeToString(got) != text {
			t.Fatalf("%q: %x", text, got)
		}
	})
}
