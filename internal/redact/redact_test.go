package redact

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/notifyd/notifyd/internal/provider"
)

// fields is a small table with a name of each kind.
var fields = map[string]provider.Sensitive{
	"openid": provider.SensitiveOpenID, "buyer_id": provider.SensitiveBuyer, "user_name": provider.SensitiveNames,
	"total_fee": provider.SensitiveAmounts, "coupon_fee": provider.SensitiveAmounts, "fund_bill_list": provider.SensitiveAmounts,
	"attach": provider.SensitiveTexts, "ciphertext": provider.SensitiveEncrypted, "app_auth_token": provider.SensitiveToken,
	"sign": provider.SensitiveProof,
}

func redactor(t interface{ Fatal(...any) }, choice string) *Redactor {
	chosen, err := Choose(choice)
	if err != nil {
		t.Fatal(err)
	}
	return New(chosen, fields)
}

func TestBodies(t *testing.T) {
	for _, c := range []struct{ name, choice, body, want, masked string }{
		{"form", "buyer", "a=1&buyer_id=2088&total_fee=10&sign=x%2By%3D", "a=1&buyer_id=***&total_fee=10&sign=***", "buyer"},
		{"form, two kinds", "amounts,buyer", "buyer_id=2088&total_fee=10", "buyer_id=***&total_fee=***", "amounts, buyer"},
		{"form, nothing of it", "openid", "a=1&buyer_id=2088&sign=x", "a=1&buyer_id=2088&sign=x", ""},
		{"form, a number behind the name", "amounts", "coupon_fee_0=7&coupon_fee_12=8", "coupon_fee_0=***&coupon_fee_12=***", "amounts"},
		{"form, another spelling", "buyer", "buyerId=1&BUYER_ID=2&buyer%5Fid=3&buyer%255Fid=4", "buyerId=***&BUYER_ID=***&buyer%5Fid=***&buyer%255Fid=***", "buyer"},
		{"form, HTML-escaped", "buyer", "a=1&amp;buyer_id=2088&amp;b=2", "a=1&amp;buyer_id=***&amp;b=2", "buyer"},
		{"form, encoded twice", "buyer", "a%3D1%26buyer_id%3D2088", "***", "what could not be read"},
		{"form, a list inside", "amounts", `a=%5B%7B%22total_fee%22%3A%2210%22%7D%5D&b=c`, "a=***&b=c", "amounts"},
		{"form, a form inside", "buyer", "attach=x%26buyer_id%3D2088&b=c", "attach=***&b=c", "buyer"},
		{"form, a piece without a value", "buyer", "a=1&2088000000000009", "a=1&***", "what could not be read"},
		{"form, a token goes with anything", "buyer", "app_auth_token=t&a=1", "app_auth_token=***&a=1", "token"},
		{"form, GBK", "texts", "attach=\xb2\xe8&b=\xb2\xe8", "attach=***&b=\xb2\xe8", "texts"},

		{"XML", "amounts", "<xml><a>1</a><total_fee>10</total_fee><sign>S</sign></xml>", "<xml><a>1</a><total_fee>***</total_fee><sign>***</sign></xml>", "amounts"},
		{"XML, CDATA", "openid", "<xml>\n<openid><![CDATA[o1]]></openid>\n<b>x</b></xml>\n", "<xml>\n<openid>***</openid>\n<b>x</b></xml>\n", "openid"},
		{"XML, what is inside goes too", "openid", "<xml><openid><b>o1</b></openid></xml>", "<xml><openid>***</openid></xml>", "openid"},
		{"XML, nothing there", "openid", "<xml><openid></openid><openid/></xml>", "<xml><openid></openid><openid/></xml>", ""},
		{"XML, JSON inside", "amounts", `<xml><a><![CDATA[{"total_fee":1}]]></a></xml>`, `<xml><a>***</a></xml>`, "amounts"},
		{"XML, a declaration", "openid", `<?xml version="1.0" encoding="UTF-8"?><xml><openid>o</openid></xml>`, `<?xml version="1.0" encoding="UTF-8"?><xml><openid>***</openid></xml>`, "openid"},

		{"JSON", "openid", `{"a": "1", "payer": {"openid" : "o1", "n":[1,2]}}`, `{"a": "1", "payer": {"openid" : "***", "n":[1,2]}}`, "openid"},
		{"JSON, a number", "amounts", `{"total_fee":10,"b":10}`, `{"total_fee":"***","b":10}`, "amounts"},
		{"JSON, an object", "texts", `{"attach":{"x":"y"},"b":[{"attach":null}]}`, `{"attach":"***","b":[{"attach":"***"}]}`, "texts"},
		{"JSON, an escaped name", "openid", `{"\u006fpenid":"o1"}`, `{"\u006fpenid":"***"}`, "openid"},
		{"JSON, JSON inside", "openid", `{"a":"{\"openid\":\"o1\"}","b":["x"]}`, `{"a":"***","b":["x"]}`, "openid"},
		{"JSON, JSON inside with an escaped name", "openid", `{"a":"{\"\\u006fpenid\":\"o1\"}"}`, `{"a":"***"}`, "openid"},
		{"a name of no table", "names,amounts", "rest_amount=1&truename=x&trade_no=2", "rest_amount=***&truename=***&trade_no=2", "amounts, names"},
		{"a signature that looks like a name", "names,amounts", "sign=abc/Phone+xMobile/fee==", "sign=abc/Phone+xMobile/fee==", ""},
		{"empty", "all", "", "", ""},
		{"blank", "all", " \n", " \n", ""},
	} {
		got, done := redactor(t, c.choice).Body([]byte(c.body))
		if string(got) != c.want || words(done.Masked) != c.masked || done.Whole || done.Changed() != (c.body != c.want) {
			t.Errorf("%s: %q (%+v), want %q", c.name, got, done, c.want)
		}
	}
}

// What cannot be read is left away: nobody knows what is in it.
func TestUnreadableBodies(t *testing.T) {
	for _, body := range []string{
		`{"openid":"o1"`, `{"openid":"o1"}{}`, `{"openid":}`, `{openid:"o1"}`, `["o1"`, "{" + strings.Repeat(`"a":{`, 40) + strings.Repeat("}", 41),
		"<xml><openid>o1</xml>", "<xml><a>o1", "<xml a='o1'></xml>", "<xml><!-- o1 --></xml>", "<!DOCTYPE x><xml/>", "<xml/>o1", "o1 <xml/>",
		"<xml>o1<a>b</a></xml>", "<xml><a>b</a>o1</xml>", "<xml><openid>o1</a></xml>", "<xml>&nbsp;</xml>", `<?xml version="1.0" encoding="gbk"?><xml/>`,
		"<html><br>o1</html>", "--boundary\r\nContent-Disposition: form-data; name=\"openid\"\r\n\r\no1\r\n", "\x00\x01o1\xff",
	} {
		got, done := redactor(t, "openid").Body([]byte(body))
		if strings.Contains(string(got), "o1") || !done.Changed() {
			t.Errorf("%q: %q (%+v)", body, got, done)
		}
	}
}

func TestSealedContentIsNoticed(t *testing.T) {
	for body, sealed := range map[string]bool{
		`{"resource":{"ciphertext":"q83v+/=="}}`: true, `{"resource":{"ciphertext":""}}`: false, `{"a":"b"}`: false,
		"<xml><ciphertext>q83v==</ciphertext></xml>": true, "ciphertext=q83v%3D%3D": true, "ciphertext=%7B%7D": false,
	} {
		got, done := redactor(t, "openid").Body([]byte(body))
		if done.Sealed != sealed || string(got) != body {
			t.Errorf("%s: %+v", body, done)
		}
		got, done = redactor(t, "encrypted").Body([]byte(body))
		if done.Sealed || strings.Contains(string(got), "q83v") {
			t.Errorf("%s: %s %+v", body, got, done)
		}
	}
}

func TestChoice(t *testing.T) {
	if got, err := Choose("openid, amounts,openid"); err != nil || words(got) != "openid, amounts" {
		t.Errorf("%v %v", got, err)
	}
	if got, err := Choose("openid,all"); err != nil || !slices.Equal(got, Kinds()) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "openid,", "sign", "signature", "token", "OPENID"} {
		if got, err := Choose(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, got)
		}
	}
}

func TestCaptureIsMarked(t *testing.T) {
	const head = "POST /notify/a HTTP/1.1\r\nHost: pay\r\nContent-Length: 22\r\nX-Captured-At: 2026-01-01T04:00:00.000000Z"
	raw := []byte(head + "\r\n\r\nbuyer_id=2088&a=1\r\n\r\nx")
	got, done, err := redactor(t, "buyer").Capture(raw)
	if err != nil || !done.Changed() {
		t.Fatal(err, done)
	}
	c, err := provider.ReadCapture(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	if c.Redacted != "buyer" || string(c.Body) != "buyer_id=***&a=1\r\n\r\nx" || c.At.IsZero() || c.Header.Get("Host") != "pay" {
		t.Errorf("%+v", c)
	}
	same, done, err := redactor(t, "openid").Capture(raw)
	if err != nil || done.Changed() || !bytes.Equal(same, raw) {
		t.Errorf("nothing was to be taken out: %q %v", same, err)
	}
	if _, _, err := redactor(t, "openid").Capture([]byte("POST / HTTP/1.1\r\nA: b\r\n")); err == nil {
		t.Error("half a capture is read")
	}
}

// drawn is one field of a drawn message, whose value holds a marker.
type drawn struct {
	name, value, marker string
	kind                provider.Sensitive // "" when it is not sensitive
	nested              bool               // the marker is inside JSON in the value
}

func draw(t *rapid.T) (all []drawn) {
	names := []string{"out_trade_no", "trade_no", "mch_id", "note"}
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range rapid.IntRange(1, 12).Draw(t, "fields") {
		d := drawn{name: rapid.SampledFrom(names).Draw(t, "name"), marker: fmt.Sprintf("marker%dx", i)}
		d.kind = fields[d.name]
		d.value = rapid.SampledFrom([]string{"", "茶 ", "a+b/c ", "<&> ", "100% "}).Draw(t, "before") + d.marker
		if d.kind == "" && rapid.Bool().Draw(t, "nested") {
			inner := rapid.SampledFrom([]string{"openid", "buyer_id", "total_fee", "note"}).Draw(t, "inner")
			text, _ := json.Marshal(map[string]string{inner: d.value})
			d.value, d.kind, d.nested = string(text), fields[inner], true
		}
		all = append(all, d)
	}
	return all
}

// encode writes the fields as a message of a form and says how to read them back.
func encode(form string, all []drawn) ([]byte, func(string) string) {
	var b strings.Builder
	switch form {
	case "form":
		for i, d := range all {
			if i > 0 {
				b.WriteByte('&')
			}
			b.WriteString(d.name + "=" + url.QueryEscape(d.value))
		}
		return []byte(b.String()), unescape
	case "xml":
		b.WriteString("<xml>")
		for _, d := range all {
			b.WriteString("<" + d.name + ">")
			_ = xml.EscapeText(&b, []byte(d.value))
			b.WriteString("</" + d.name + ">\n")
		}
		return []byte(b.String() + "</xml>"), html.UnescapeString
	}
	b.WriteString(`{"id":"1","resource":[`)
	for i, d := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		value, _ := json.Marshal(d.value)
		b.WriteString(`{"` + d.name + `": ` + string(value) + `}`)
	}
	return []byte(b.String() + "]}"), func(s string) string { return s }
}

// Of any message and any choice: no chosen field's value is left, however it is
// encoded; what was not chosen is there; doing it again changes nothing.
func TestNothingChosenIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(Kinds()), 1, 6, rapid.ID).Draw(t, "chosen")
		all := draw(t)
		body, decode := encode(rapid.SampledFrom([]string{"form", "xml", "json"}).Draw(t, "form"), all)
		r := New(chosen, fields)
		got, done := r.Body(body)
		if done.Whole {
			t.Fatalf("%q is not read", body)
		}
		text := string(got) + decode(string(got))
		for _, d := range all {
			goes := slices.Contains(chosen, d.kind) || d.kind == provider.SensitiveToken || d.kind == provider.SensitiveProof && done.Changed()
			if strings.Contains(text, d.marker) == goes {
				t.Fatalf("%s (%s), to go: %v\n%q\n%q", d.name, d.kind, goes, body, got)
			}
			if goes && d.kind != provider.SensitiveProof && !slices.Contains(done.Masked, d.kind) {
				t.Fatalf("%s is not said to be taken out: %+v", d.kind, done)
			}
		}
		if !done.Changed() && !bytes.Equal(got, body) {
			t.Fatalf("%q became %q, and nobody says so", body, got)
		}
		if again, _ := r.Body(got); !bytes.Equal(again, got) {
			t.Fatalf("again: %q became %q", got, again)
		}
	})
}

// Of any bytes: no panic, and no sensitive pair of a form survives a mutation
// around it.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{"", "a=1", `{"a":"b"}`, "<xml><a>1</a></xml>", "&&=&", "<", "{", "\xff\xfe<\x00"} {
		f.Add([]byte(seed), seed)
	}
	r := redactor(f, "all")
	f.Fuzz(func(t *testing.T, before []byte, after string) {
		body := slices.Concat(before, []byte("&buyer_id=marker1x&"), []byte(after))
		got, done := r.Body(body)
		if bytes.Contains(got, []byte("marker1x")) && !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) &&
			!bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) && !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("<")) {
			t.Fatalf("%q became %q (%+v)", body, got, done)
		}
	})
}
