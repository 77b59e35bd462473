package wechat

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// textFields is a payment with text that filters change.
func textFields() forge.Form { return fields().With("attach", `{"a+b":"茶 <1>"}`) }

// spoiled is a signed message with some of its values changed afterwards.
func spoiled(change func(string) string, names ...string) provider.Request {
	f := textFields()
	f = f.With("sign", forge.WechatV2Signer{}.Signature(f))
	for _, name := range names {
		f = f.With(name, change(f.Get(name)))
	}
	return forge.SendXML(f.XML("xml")).At(received)
}

func TestExamineNamesWhatHappenedToAV2Message(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	md5Only := newAdapter(t, func(o *Options) { o.V2SignTypes = []string{signMD5} })
	hmac := forge.WechatV2Signer{SignType: signHMAC}
	good := string(v2(textFields()).Body)
	quoted, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	latin, err := charmap.ISO8859_1.NewDecoder().String(good)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(s forge.WechatV2Signer, with, without string) provider.Request {
		f := fields()
		if with != "" {
			f = f.With("sign_type", with)
		}
		f = f.With("sign", s.Signature(f))
		if without != "" {
			f = f.Without(without)
		}
		return forge.SendXML(f.XML("xml")).At(received)
	}
	named := func(s forge.WechatV2Signer, name string) provider.Request {
		f := fields()
		return forge.SendXML(f.With("sign", s.Signature(f)).With("sign_type", name).XML("xml")).At(received)
	}
	renamed := func(s forge.WechatV2Signer, was, is string) provider.Request {
		f := fields().With("sign_type", was)
		return forge.SendXML(f.With("sign", s.Signature(f)).With("sign_type", is).XML("xml")).At(received)
	}
	extra := textFields()
	extra = extra.With("sign", forge.WechatV2Signer{}.Signature(extra))
	for name, c := range map[string]struct {
		a    *Adapter
		req  provider.Request
		code string
	}{
		"html in a value":             {a, spoiled(html.EscapeString, "attach"), CodeHTMLEscaped},
		"slashes in a value":          {a, spoiled(func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }, "attach"), CodeBackslashed},
		"plus lost in a value":        {a, spoiled(func(s string) string { return strings.ReplaceAll(s, "+", " ") }, "attach"), CodePlusLost},
		"line end in a value":         {a, spoiled(func(s string) string { return s + "\r\n" }, "out_trade_no"), ""},
		"the whole as Latin-1":        {a, v2XML(latin), CodeTranscoded},
		"the whole as JSON":           {a, v2XML(string(quoted)), CodeWrapped},
		"the whole escaped":           {a, v2XML(html.EscapeString(good)), CodeHTMLEscaped},
		"a byte order mark":           {a, v2XML("\uFEFF" + good), CodeWrapped},
		"empty":                       {a, v2XML(""), CodeBodyEmpty},
		"cut":                         {a, v2XML(good[:len(good)-30]), CodeBodyCut},
		"something else":              {a, v2XML("hello"), CodeMalformedXML},
		"P34 fields of a query":       {a, forge.SendXML(extra.With("s", "/pay").With("ch", "7").XML("xml")).At(received), CodeExtraField},
		"P19 HMAC, MD5 alone":         {md5Only, hmac.Sign(fields()).At(received), CodeHMACWithoutSignType},
		"P19 HMAC named, MD5 alone":   {md5Only, signed(hmac, signHMAC, ""), CodeSignType},
		"P19 MD5, named HMAC":         {a, named(forge.WechatV2Signer{}, signHMAC), CodeSignTypeKept},
		"P19 HMAC, renamed MD5":       {a, renamed(hmac, signHMAC, signMD5), CodeSignTypeWrong},
		"P19 MD5 signs the HMAC name": {a, signed(forge.WechatV2Signer{}, signHMAC, ""), CodeSignTypeWrong},
		"P20 kept":                    {a, named(forge.WechatV2Signer{}, signMD5), CodeSignTypeKept},
		"P20 dropped":                 {a, signed(forge.WechatV2Signer{}, signMD5, "sign_type"), CodeSignTypeDropped},
		"P20 dropped, HMAC":           {a, signed(hmac, signHMAC, "sign_type"), CodeSignTypeDropped},
		"small letters":               {a, spoiled(strings.ToLower, "sign"), CodeHexCase},
		"an amount changed":           {a, spoiled(func(string) string { return "1" }, "total_fee"), CodeSignature},
		"P24 no sign":                 {a, forge.SendXML(fields().XML("xml")).At(received), CodeNoSignature},
		"P27 FAIL":                    {a, v2XML("<xml><return_code>FAIL</return_code></xml>"), CodeReturnFail},
		"P25 DOCTYPE":                 {a, v2XML("<!DOCTYPE x>" + good), CodeXMLShape},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCause(t, c.a, c.req, c.code)
		})
	}
}

func TestExamineNamesWhatHappenedToAV2Refund(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	other := newAdapter(t, func(o *Options) { o.APIv2Key = otherV2Key })
	outer, inner := refund().V2()
	sealed := func(s forge.WechatV2Signer, change func(string) string) provider.Request {
		return forge.SendXML(outer.With("req_info", change(s.ReqInfo(inner.XML("root")))).XML("xml")).At(received)
	}
	same := func(s string) string { return s }
	plus := func(s string) string { return strings.ReplaceAll(s, "+", " ") }
	if !strings.Contains(forge.WechatV2Signer{}.ReqInfo(inner.XML("root")), "+") {
		t.Fatal("the sealed refund has no plus sign to lose")
	}
	for name, c := range map[string]struct {
		req    provider.Request
		others []provider.Provider
		code   string
	}{
		"P26 plus lost":       {sealed(forge.WechatV2Signer{}, plus), nil, CodePlusLost},
		"P26 cut":             {sealed(forge.WechatV2Signer{}, func(s string) string { return s[:len(s)-20] }), nil, CodeBodyCut},
		"P26 another key":     {sealed(forge.WechatV2Signer{APIKey: otherV2Key}, same), nil, CodeAPIKeyChanged},
		"P26 another account": {sealed(forge.WechatV2Signer{APIKey: otherV2Key}, same), []provider.Provider{other}, CodeOtherAccount},
		"P26 the v3 key":      {sealed(forge.WechatV2Signer{APIKey: forge.WechatV3Key}, same), nil, CodeAPIKeysSwapped},
	} {
		t.Run(name, func(t *testing.T) {
			if got := examine(t, a, c.req, c.others).Cause; got.Code != c.code {
				t.Errorf("%+v, want %s", got, c.code)
			}
		})
	}
	got := examine(t, a, sealed(forge.WechatV2Signer{}, same), nil)
	if got.Cause.Code != "" || got.Signed != nil {
		t.Errorf("a genuine refund: %+v", got)
	}
}

// What is shown of the text has the length and the hash of the text itself, but
// neither the key nor who paid.
func TestExamineShowsTheTextWithoutKeyAndPayer(t *testing.T) {
	t.Parallel()
	got := examine(t, newAdapter(t), v2(fields()), nil).Signed
	const start, end = "appid=wxtest0000000001&bank_type=OTHERS&", "&key=***"
	if !strings.HasPrefix(got.Text, start) || !strings.HasSuffix(got.Text, end) || !strings.Contains(got.Text, "&openid=***&") {
		t.Errorf("%+v", got)
	}
	whole := strings.Replace(strings.TrimSuffix(got.Text, end), "openid=***", "openid=o_test_1", 1)
	if got.Bytes != len(whole) || got.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(whole))) {
		t.Errorf("%d bytes, sha256 %s, want those of %q", got.Bytes, got.SHA256, whole)
	}
	req := v3(paidEvent(payment().V3()))
	got = examine(t, newAdapter(t), req, nil).Signed
	if !bytes.Contains([]byte(got.Text), req.Body) || got.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(got.Text))) {
		t.Errorf("%+v", got)
	}
}
