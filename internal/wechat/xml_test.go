package wechat

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// hostileXML are documents that no reader may take; %s is the fields of a
// genuine message, sign included. 400 where no document with root xml stands,
// otherwise 401.
var hostileXML = []struct{ code, text string }{
	// Document types and entities, used or not.
	{CodeXMLShape, `<!DOCTYPE xml><xml>%s</xml>`},
	{CodeXMLShape, `<!doctype xml><xml>%s</xml>`},
	{CodeXMLShape, `<!DOCTYPE xml SYSTEM "http://127.0.0.1:1/x.dtd"><xml>%s</xml>`},
	{CodeXMLShape, `<!DOCTYPE xml PUBLIC "-//X//X" "http://127.0.0.1:1/x.dtd"><xml>%s</xml>`},
	{CodeXMLShape, `<!DOCTYPE xml [<!ENTITY a SYSTEM "file:///etc/passwd">]><xml>%s<attach>&a;</attach></xml>`},
	{CodeXMLShape, `<!DOCTYPE xml [<!ENTITY %% a SYSTEM "http://127.0.0.1:1/x">%%a;]><xml>%s</xml>`},
	{CodeXMLShape, `<!DOCTYPE xml [<!ENTITY a "aa"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]><xml>%s<attach>&c;</attach></xml>`},
	{CodeXMLShape, `<?xml version="1.0"?><!DOCTYPE xml><xml>%s</xml>`},
	{CodeXMLShape, `<xml><!DOCTYPE xml>%s</xml>`},
	{CodeXMLShape, `<xml>%s<attach><!DOCTYPE a></attach></xml>`},
	{CodeMalformedXML, `<xml>%s</xml><!DOCTYPE xml>`},
	{CodeXMLShape, `<!ENTITY a "b"><xml>%s</xml>`},
	{CodeXMLShape, `<!ELEMENT a ANY><xml>%s</xml>`},
	{CodeXMLShape, `<xml><!ENTITY a "b">%s</xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&a;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&nbsp;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&LT;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>& amp;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&amp</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#x;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#X41;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#0;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#1;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#x1F;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#xD800;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#xFFFE;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#x110000;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#-65;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#+65;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#6_5;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#000000000065;</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>&#99999999999999999999;</attach></xml>`},
	// Comments and processing instructions.
	{CodeXMLShape, `<!-- x --><xml>%s</xml>`},
	{CodeXMLShape, `<xml><!-- x -->%s</xml>`},
	{CodeXMLShape, `<xml>%s<!----></xml>`},
	{CodeXMLShape, `<xml>%s<attach>a<!-- b -->c</attach></xml>`},
	{CodeMalformedXML, `<xml>%s</xml><!-- x -->`},
	{CodeXMLShape, `<xml>%s<attach><!--<total_fee>1</total_fee>--></attach></xml>`},
	{CodeXMLShape, `<xml><?php x ?>%s</xml>`},
	{CodeXMLShape, `<?php x ?><xml>%s</xml>`},
	{CodeXMLShape, `<?xml-stylesheet href="x"?><xml>%s</xml>`},
	{CodeXMLShape, `<xml>%s<attach><?x?></attach></xml>`},
	{CodeMalformedXML, `<xml>%s</xml><?x?>`},
	{CodeXMLShape, `<xml><?xml version="1.0"?>%s</xml>`},
	// Declarations.
	{CodeMalformedXML, `<?xml version="1.1"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0" encoding="GBK"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0" encoding="UTF-16"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0" encoding="utf-7"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml encoding="UTF-8"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml encoding="UTF-8" version="1.0"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0"encoding="UTF-8"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0" standalone="maybe"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0" foo="bar"?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version=1.0?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0?><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml version="1.0"><xml>%s</xml>`},
	{CodeMalformedXML, `<?xml ?><xml>%s</xml>`},
	{CodeXMLShape, ` <?xml version="1.0"?><xml>%s</xml>`},
	{CodeXMLShape, `<?XML version="1.0"?><xml>%s</xml>`},
	// Roots.
	{CodeMalformedXML, `<XML>%s</XML>`},
	{CodeMalformedXML, `<root>%s</root>`},
	{CodeMalformedXML, `<xmll>%s</xmll>`},
	{CodeMalformedXML, `<x:xml>%s</x:xml>`},
	{CodeMalformedXML, `<xml:xml>%s</xml:xml>`},
	{CodeMalformedXML, `< xml>%s</xml>`},
	{CodeMalformedXML, `%s`},
	{CodeMalformedXML, `<a/><xml>%s</xml>`},
	{CodeMalformedXML, `text<xml>%s</xml>`},
	{CodeMalformedXML, `<xml>%s</xml>text`},
	{CodeMalformedXML, `<xml>%s</xml><xml></xml>`},
	{CodeMalformedXML, `<xml>%s</xml></xml>`},
	{CodeMalformedXML, `<xml>%s</xml>]]>`},
	{CodeMalformedXML, `<xml>%s`},
	{CodeMalformedXML, `<xml>%s</xml`},
	{CodeMalformedXML, `<xml>%s</`},
	{CodeMalformedXML, `<xml>%s</XML>`},
	{CodeMalformedXML, `<xml>%s</root>`},
	{CodeMalformedXML, `<xml>%s</xml a="b">`},
	{CodeMalformedXML, `<xml/>%s`},
	{CodeMalformedXML, "\uFEFF<xml>%s</xml>"},
	{CodeMalformedXML, "\x00<xml>%s</xml>"},
	{CodeMalformedXML, "<xml>%s</xml>\x00"},
	{CodeMalformedXML, `{"a":"<xml>%s</xml>"}`},
	{CodeMalformedXML, `<html><body>%s</body></html>`},
	{CodeXMLShape, `<![CDATA[<xml>%s</xml>]]>`},
	{CodeXMLShape, `<![CDATA[]]><xml>%s</xml>`},
	// Attributes, prefixes and names.
	{CodeXMLShape, `<xml a="b">%s</xml>`},
	{CodeXMLShape, `<xml xmlns="http://x">%s</xml>`},
	{CodeXMLShape, `<xml xmlns:a="http://x">%s</xml>`},
	{CodeXMLShape, `<xml>%s<attach a="b">x</attach></xml>`},
	{CodeXMLShape, `<xml>%s<attach a='b'/></xml>`},
	{CodeXMLShape, `<xml>%s<attach a>x</attach></xml>`},
	{CodeXMLShape, `<xml>%s<a:total_fee>1</a:total_fee></xml>`},
	{CodeXMLShape, `<xml>%s<:attach>1</:attach></xml>`},
	{CodeXMLShape, `<xml>%s<attach:>1</attach:></xml>`},
	{CodeXMLShape, `<xml>%s<at-tach>1</at-tach></xml>`},
	{CodeXMLShape, `<xml>%s<at.tach>1</at.tach></xml>`},
	{CodeXMLShape, `<xml>%s<附>1</附></xml>`},
	{CodeXMLShape, `<xml>%s<tοtal_fee>1</tοtal_fee></xml>`},
	{CodeMalformedXML, `<xml>%s<1a>1</1a></xml>`},
	{CodeMalformedXML, `<xml>%s<>1</></xml>`},
	{CodeMalformedXML, `<xml>%s< attach>1</attach></xml>`},
	{CodeXMLShape, `<xml>%s<a` + strings.Repeat("a", maxElementName) + `/></xml>`},
	{CodeXMLShape, `<xml>%s<attach / ></attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach`},
	{CodeMalformedXML, `<xml>%s<attach `},
	// Nesting and text between the fields.
	{CodeXMLShape, `<xml>%s<attach><b>1</b></attach></xml>`},
	{CodeXMLShape, `<xml>%s<attach>a<b/></attach></xml>`},
	{CodeXMLShape, `<xml><xml>%s</xml></xml>`},
	{CodeXMLShape, `<xml>text%s</xml>`},
	{CodeXMLShape, `<xml>%stext</xml>`},
	{CodeXMLShape, `<xml>%s<![CDATA[x]]></xml>`},
	{CodeXMLShape, `<xml>%s<![CDATA[]]></xml>`},
	{CodeXMLShape, `<xml>%s&#32;</xml>`},
	{CodeXMLShape, "<xml>%s\u00A0</xml>"},
	{CodeMalformedXML, `<xml>%s<attach>x</attach2></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>x</Attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach>x</xml>`},
	{CodeMalformedXML, `<xml>%s<attach>x</attach a="b"></xml>`},
	// Pieces of text.
	{CodeMalformedXML, `<xml>%s<attach>]]></attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach><![CDATA[x]]</attach></xml>`},
	{CodeMalformedXML, `<xml>%s<attach><![CDATA[x</attach></xml>`},
	{CodeXMLShape, `<xml>%s<attach><![cdata[x]]></attach></xml>`},
	{CodeXMLShape, `<xml>%s<attach><![ CDATA[x]]></attach></xml>`},
	{CodeXMLShape, `<xml>%s<attach><![IGNORE[x]]></attach></xml>`},
	{CodeMalformedXML, "<xml>%s<attach>\x01</attach></xml>"},
	{CodeMalformedXML, "<xml>%s<attach>\x00</attach></xml>"},
	{CodeMalformedXML, "<xml>%s<attach>\x0B</attach></xml>"},
	{CodeMalformedXML, "<xml>%s<attach>\xff</attach></xml>"},
	{CodeMalformedXML, "<xml>%s<attach>\xc0\x80</attach></xml>"},
	{CodeMalformedXML, "<xml>%s<attach>\xed\xa0\x80</attach></xml>"},
	{CodeMalformedXML, "<xml>%s<attach>\uFFFE</attach></xml>"},
	{CodeMalformedXML, "<xml>%s<attach><![CDATA[\x08]]></attach></xml>"},
	// Twice the same.
	{CodeDuplicateField, `<xml>%s<total_fee>1000</total_fee></xml>`},
	{CodeDuplicateField, `<xml><total_fee>1</total_fee>%s</xml>`},
	{CodeDuplicateField, `<xml>%s<total_fee/></xml>`},
	{CodeDuplicateField, `<xml>%s<sign>x</sign></xml>`},
	{CodeDuplicateField, `<xml>%s<attach/><attach/></xml>`},
	{CodeDuplicateField, `<xml>%s%[1]s</xml>`},
	// Too many.
	{CodeXMLShape, `<xml>%s` + strings.Repeat("<a/>", maxElements) + `</xml>`},
}

// genuineFields are the fields of a message that verifies, between the root's tags.
func genuineFields() string {
	text := string(fields().With("sign", baselineMD5).XML("xml"))
	return strings.TrimSuffix(strings.TrimPrefix(text, "<xml>"), "</xml>")
}

func TestT11(t *testing.T) {
	a := newAdapter(t)
	if len(hostileXML) < 120 {
		t.Errorf("%d documents", len(hostileXML))
	}
	accept(t, a, v2XML("<xml>"+genuineFields()+"</xml>"))
	for i, c := range hostileXML {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			req := v2XML(fmt.Sprintf(c.text, genuineFields()))
			class := provider.ErrSignature
			if c.code == CodeMalformedXML {
				class = provider.ErrMalformed
			}
			refuse(t, a, req, class, c.code)
		})
	}
}

// TestT1 puts the same documents where nothing outside sees them: into req_info.
func TestT1(t *testing.T) {
	a := newAdapter(t)
	_, inner := refund().V2()
	text := strings.TrimSuffix(strings.TrimPrefix(string(inner.With("sign", "x").XML("root")), "<root>"), "</root>")
	// Inside req_info the root is root, and xml is a stranger.
	roots := strings.NewReplacer("<?xml ", "<?xml ", "xml", "root", "root", "xml")
	for i, c := range hostileXML {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			document := fmt.Sprintf(roots.Replace(c.text), text)
			refuse(t, a, withReqInfo(forge.WechatV2Signer{}.ReqInfo([]byte(document))), provider.ErrSignature, CodeDecrypt)
		})
	}
}

// TestP25 and T23: what is big, deep or many is refused in no time.
func TestP25(t *testing.T) {
	a := newAdapter(t)
	many := "<xml>"
	for i := range 10_000 {
		many += fmt.Sprintf("<a%d/>", i)
	}
	const mib = 1 << 20
	for name, body := range map[string]string{
		"10,000 fields":    many + "</xml>",
		"100,000 deep":     "<xml>" + strings.Repeat("<a>", 100_000),
		"1 MiB of tags":    strings.Repeat("<a>", mib/3),
		"1 MiB of <":       "<xml>" + strings.Repeat("<", mib),
		"1 MiB of &":       "<xml><a>" + strings.Repeat("&", mib),
		"1 MiB of &amp;":   "<xml><a>" + strings.Repeat("&amp;", mib/5),
		"1 MiB of CDATA":   "<xml><a>" + strings.Repeat("<![CDATA[]]>", mib/12),
		"1 MiB of ]]":      "<xml><a><![CDATA[" + strings.Repeat("]]", mib/2),
		"1 MiB of text":    "<xml><a>" + strings.Repeat("x", mib),
		"1 MiB of a name":  "<xml><" + strings.Repeat("x", mib),
		"1 MiB of blanks":  "<xml>" + strings.Repeat(" ", mib),
		"1 MiB of <!--":    strings.Repeat("<!--", mib/4),
		"1 MiB of a value": "<xml><a>" + strings.Repeat("x", mib) + "</a></xml>",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if _, err := a.Parse(v2XML(body)); err == nil {
				t.Error("accepted")
			}
			// A linear reader needs a few milliseconds; the bound leaves room for a
			// busy machine and none for a quadratic one.
			if took := time.Since(began); took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestXMLValues(t *testing.T) {
	for text, want := range map[string]string{
		"<a>x</a>":                           "x",
		"<a> x\r\n</a>":                      " x\r\n",
		"<a><![CDATA[<b>&amp;]]></a>":        "<b>&amp;",
		"<a>&lt;&gt;&amp;&apos;&quot;</a>":   `<>&'"`,
		"<a>&#65;&#x42;&#x1F375;</a>":        "AB🍵",
		"<a>1<![CDATA[2]]>3&#52;</a>":        "1234",
		"<a><![CDATA[]]]]><![CDATA[>]]></a>": "]]>",
		"<a></a>":                            "",
		"<a/>":                               "",
		"<a ></a\n>":                         "",
		"<a><![CDATA[]]></a>":                "",
	} {
		var x flatXML
		if fault := x.read([]byte("<xml><b>before&amp;</b>"+text+"<c>&lt;after</c></xml>"), "xml"); fault != nil {
			t.Errorf("%s: %+v", text, fault)
			continue
		}
		if got := string(x.get("a")); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if string(x.get("b")) != "before&" || string(x.get("c")) != "<after" || x.get("d") != nil {
			t.Errorf("%s: its neighbours are %q %q", text, x.get("b"), x.get("c"))
		}
	}
}

// TestT6: what a message names is never followed. The adapter has nothing to
// follow it with (see TestNoNetwork); here no file is read either.
func TestT6(t *testing.T) {
	reads := 0
	f := keyFiles()
	e := env(f)
	e.ReadFile = func(path string) ([]byte, error) { reads++; return f.read(path) }
	a, err := New(options(), e)
	if err != nil {
		t.Fatal(err)
	}
	reads = 0
	for _, url := range []string{"http://127.0.0.1:1/cert.pem", "file:///etc/passwd", "cert.pem"} {
		accept(t, a, v2(fields().With("attach", url).With("cert_url", url)))
		accept(t, a, v3(paidEvent(edited(t, payment().V3(), `"attach":""`, `"attach":"`+url+`","cert_url":"`+url+`"`))))
		req := v3(paidEvent(payment().V3()))
		req.Header = http.Header{"Wechatpay-Serial": {url}, "Wechatpay-Signature": {"x"}, "Wechatpay-Nonce": {"x"}, "Wechatpay-Timestamp": {fmt.Sprint(received.Unix())}}
		refuse(t, a, req, provider.ErrSignature, CodeUnknownSerial)
	}
	if reads != 0 {
		t.Errorf("%d files were read", reads)
	}
}
