package simulator

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

var errAnySubMerchant = errors.New(`the account accepts every sub-merchant ("*"): none is wrong`)

func tellNotXML(t *teller) {
	n := t.Payment(t.order)
	t.say("the XML as a text in JSON", onItsWay(n, func(b []byte) []byte { return mustJSON(string(b)) }), refused("wx.malformed_xml"))
	t.say("junk before the XML", onItsWay(n, func(b []byte) []byte { return append([]byte("junk"), b...) }), refused("wx.malformed_xml"))
	t.say("junk after the XML", onItsWay(n, func(b []byte) []byte { return append(b, "junk"...) }), refused("wx.malformed_xml"))
	t.end(t.order, "", 0, 0)
}

// manyElements is far beyond any message.
const manyElements = 10_000

func tellXMLAttacks(t *teller) {
	before := func(text string) Notification {
		return onItsWay(t.Payment(t.order), func(b []byte) []byte { return append([]byte(text), b...) })
	}
	nested := `<!DOCTYPE xml [<!ENTITY e0 "x">`
	for i := range 10 {
		nested += fmt.Sprintf(`<!ENTITY e%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&e%d;", i), 10))
	}
	t.say("an entity from a file", before(`<!DOCTYPE xml [<!ENTITY e SYSTEM "file:///etc/hostname">]>`), refused("wx.xml_shape"))
	t.say("a parameter entity from a URL", before(`<!DOCTYPE xml [<!ENTITY % e SYSTEM "http://127.0.0.1:9/e.dtd"> %e;]>`), refused("wx.xml_shape"))
	t.say("entities of entities", before(nested+"]>"), refused("wx.xml_shape"))
	var many strings.Builder
	for i := range manyElements {
		fmt.Fprintf(&many, "<f%d>1</f%d>", i, i)
	}
	t.say("ten thousand elements", swapped(t.Payment(t.order), "</xml>", many.String()+"</xml>"), refused("wx.xml_shape"))
	t.end(t.order, "", 0, 0)
}

func emptyBody(code string) func(*teller) {
	return func(t *teller) {
		t.refuses("no body", t.order, onItsWay(t.Payment(t.order), func([]byte) []byte { return nil }), code)
	}
}

// cutBody leaves the first half, up to where a field ends.
func cutBody(code string) func(*teller) {
	return func(t *teller) {
		t.refuses("the first half", t.order, onItsWay(t.Payment(t.order), func(body []byte) []byte {
			half := body[:len(body)/2]
			if at := bytes.LastIndexByte(half, '&'); t.protocol == Alipay && at > 0 {
				return half[:at]
			}
			return half
		}), code)
	}
}

// largeBytes is ten times what a receiver has to take.
const largeBytes = 10 << 20

func tellTooLarge(t *teller) {
	t.refuses("ten megabytes", t.order, onItsWay(t.Payment(t.order), func(body []byte) []byte {
		return append(body, bytes.Repeat([]byte(" "), largeBytes)...)
	}), "edge.too_large")
}

func tellCompressed(t *teller) {
	t.refuses("Content-Encoding: gzip", t.order, t.Payment(t.order).thenHeader("Content-Encoding", "gzip"), "edge.encoding")
}
