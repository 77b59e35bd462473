package alipay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// content reads a notification's Content.
func content(t testing.TB, n order.Notification) map[string]string {
	t.Helper()
	var fields map[string]string
	if err := json.Unmarshal(n.Content, &fields); err != nil {
		t.Fatalf("content %q: %v", n.Content, err)
	}
	return fields
}

// unhandled is a message of a kind that moves no order, so that its text is kept.
func unhandled() forge.Form { return baseline().With("notify_type", "something_new") }

func TestP03TheLocaleDecidesNothing(t *testing.T) {
	for _, locale := range []string{"C", "zh_CN.GBK", "zh_CN.UTF-8"} {
		t.Setenv("LANG", locale)
		t.Setenv("LC_ALL", locale)
		n := accept(t, newAdapter(t), sign(unhandled().With("body", "茶🍵")))
		if got := content(t, n)["body"]; got != "茶🍵" {
			t.Errorf("%s: body %q", locale, got)
		}
	}
}

func TestT13Charset(t *testing.T) {
	a := newAdapter(t)
	for _, label := range []string{"gbk", "GBK", "gb2312", "GB2312", "gb18030", "GB18030"} {
		f := unhandled().With("subject", "绿茶 10 元").GBK(label)
		n := accept(t, a, sign(f))
		if got := content(t, n)["subject"]; got != "绿茶 10 元" {
			t.Errorf("%s: subject %q", label, got)
		}
		// The header says something else and is not asked.
		req := sign(f)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		accept(t, a, req)
	}
	for _, label := range []string{"utf-8", "UTF-8", ""} {
		f := unhandled()
		if label == "" {
			f = f.Without("charset")
		} else {
			f = f.With("charset", label)
		}
		if got := content(t, accept(t, a, sign(f)))["subject"]; got != paidTrade().Subject {
			t.Errorf("%q: subject %q", label, got)
		}
	}
	for _, label := range []string{"utf-16", "UTF-16LE", "utf-7", "latin1", "big5", "utf-8 ", " gbk", "gbk,utf-8", "utf8\x00", "x", strings.Repeat("gbk", 40)} {
		refuse(t, a, sign(baseline().With("charset", label)), provider.ErrSignature, codeCharset)
	}
	genuine := string(sign(baseline()).Body)
	utf16 := ""
	for _, c := range genuine {
		utf16 += string(c) + "\x00"
	}
	for name, text := range map[string]string{"byte order mark": "\xEF\xBB\xBF" + genuine, "UTF-16": utf16, "NUL": "\x00" + genuine} {
		if _, err := a.Parse(body(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestT13BytesThatAreNoText(t *testing.T) {
	a := newAdapter(t)
	for name, c := range map[string]struct{ charset, bytes string }{
		"utf-8": {"utf-8", "\xff\xfe"}, "half of UTF-8": {"utf-8", "茶"[:2]}, "surrogate": {"utf-8", "\xed\xa0\x80"},
		"gbk": {"gbk", "\xff\xff"}, "half of GBK": {"gbk", "\xb2"},
	} {
		t.Run(name, func(t *testing.T) {
			// In a field that nobody acts on it is only shown escaped.
			f := baseline().With("charset", c.charset).With("subject", c.bytes)
			if n := accept(t, a, sign(f)); kinds(n) != "paid: paid" {
				t.Errorf("subject: %s", kinds(n))
			}
			shown := content(t, accept(t, a, sign(f.With("notify_type", "something_new"))))["subject"]
			if !strings.HasPrefix(shown, "%") {
				t.Errorf("subject is shown as %q", shown)
			}
			// In one that we act on it is a conflict, or unhandled without an order.
			n := conflict(t, a, sign(f.With("trade_no", c.bytes)), order.ReasonUnreadableField)
			if n.Kind != order.KindPaid || n.Facts[0].OutTradeNo != orderNo {
				t.Errorf("trade_no: %s of %q", n.Kind, n.Facts[0].OutTradeNo)
			}
			n = conflict(t, a, sign(f.With("out_trade_no", c.bytes)), order.ReasonUnreadableField)
			if n.Kind != order.KindOther || n.Facts[0].OutTradeNo != "" {
				t.Errorf("out_trade_no: %s of %q", n.Kind, n.Facts[0].OutTradeNo)
			}
		})
	}
}

// One signed message in GBK gives the same order number as in UTF-8.
func TestNumbersAreTextInEveryCharset(t *testing.T) {
	a := newAdapter(t)
	f := baseline().With("out_trade_no", "订单1")
	inUTF8 := accept(t, a, sign(f))
	inGBK := accept(t, a, sign(f.GBK("gbk")))
	if inUTF8.Facts[0].OutTradeNo != "订单1" || inUTF8.FactKey() != inGBK.FactKey() {
		t.Errorf("%q and %q", inUTF8.Facts[0].OutTradeNo, inGBK.Facts[0].OutTradeNo)
	}
}
