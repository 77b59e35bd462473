package alipay

import (
	"bytes"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// What is read strictly is what the standard library reads, sorted, each name
// once; writing it again and reading that gives the same.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		"", "a=1", "a=1&b=2", "a=%41+%2B", "a=1&a=2", "a;b=1", "a=%", "a=%4", "a=%zz", "&", "=", "a", "a=&b", "%61=1&a=2", "a=\xff\x00", "a_1=%E8%8C%B6",
		string(sign(baseline()).Body), string(sign(baseline().GBK("gbk")).Body),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		read, _, err := readForm(text)
		if !bytes.Equal(before, text) {
			t.Fatal("reading changed the body")
		}
		if err != nil {
			if !errors.Is(err, provider.ErrMalformed) && !errors.Is(err, provider.ErrSignature) || provider.Code(err) == "" {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		if len(text) > 0 {
			agree(t, string(text), read)
		}
		var out forge.Form
		for i, p := range read {
			if !validName(p.name) || i > 0 && read[i-1].name >= p.name {
				t.Fatalf("name %q after %q", p.name, read[max(i-1, 0)].name)
			}
			out = out.With(p.name, p.value)
		}
		again, _, err := readForm(out.Encode())
		if err != nil || len(again) != len(read) {
			t.Fatalf("written and read again: %v %v", again, err)
		}
		for i := range read {
			if read[i] != again[i] {
				t.Fatalf("%v became %v", read[i], again[i])
			}
		}
		if got, want := string(read.text(nil, rule{})), out.Text(forge.Rule{}); got != want {
			t.Fatalf("signed text %q, want %q", got, want)
		}
	})
}

// Chinese text is either read into valid text that encodes to the same bytes
// again, or not at all.
func FuzzGBK(f *testing.F) {
	for _, seed := range []string{"", "abc", "\xc2\xcc\xb2\xe8", "\xb2", "\xff\xff", "\x80", "\x81\x30\x81\x30", "\x94\x39\xda\x33", "\x84\x31\xa4\x37", "a\xb2&b=1", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, set := range []charset{charsetUTF8, charsetChinese} {
			text, ok := set.decode(raw)
			if shown := set.show(raw); !utf8.ValidString(shown) {
				t.Fatalf("%q is shown as bytes that are no text: %q", raw, shown)
			}
			if !ok {
				continue
			}
			if !utf8.ValidString(text) {
				t.Fatalf("%q was read as bytes that are no text: %q", raw, text)
			}
			if set == charsetUTF8 && text != raw {
				t.Fatalf("UTF-8 %q became %q", raw, text)
			}
			if set == charsetChinese {
				back, err := simplifiedchinese.GB18030.NewEncoder().String(text)
				if err != nil {
					t.Fatalf("%q was read as %q, which cannot be written: %v", raw, text, err)
				}
				// Two spellings of one character may exist; the text must not differ.
				if twice, ok := set.decode(back); !ok || twice != text {
					t.Fatalf("%q: %q became %q", raw, text, twice)
				}
			}
		}
	})
}

// An amount that is read is exactly what arbitrary-precision arithmetic says.
func FuzzYuan(f *testing.F) {
	for _, seed := range []string{"", "0", "0.1", "0.10", "10.00", "100000000.00", "100000000.01", "1e1", "-1", "+1", ".1", "1.", "0.101", "1,0", "１", "1_0", "0x1", "1/3", "007.5"} {
		f.Add(seed)
	}
	hundred := big.NewRat(100, 1)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := fen(text)
		if !ok {
			return
		}
		if strings.Trim(text, "0123456789.") != "" {
			t.Fatalf("%q was read", text)
		}
		want, valid := new(big.Rat).SetString(text)
		if !valid || want.Mul(want, hundred).Cmp(new(big.Rat).SetInt64(got)) != 0 || got < 0 || got > maxFen {
			t.Fatalf("%q was read as %d fen", text, got)
		}
		if again, ok := fen(forge.Yuan(got)); !ok || again != got {
			t.Fatalf("%d fen written and read again: %d", got, again)
		}
	})
}

// A time that is read writes itself again, eight hours on.
func FuzzTime(f *testing.F) {
	for _, seed := range []string{"", "2026-01-01 12:00:00", "2026-01-01 12:00:00.123", "2026-01-01 12:00:00,1", "2026-02-30 00:00:00", "2026-01-01 1:00:00.0", "0000-00-00 00:00:00", "2026-01-01T12:00:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := instant(text)
		if !ok {
			return
		}
		if got.Location() != time.UTC || got.Nanosecond()%1000 != 0 {
			t.Fatalf("%q: %v is not UTC in microseconds", text, got)
		}
		if back := got.Add(8 * time.Hour).Format(timeLayout); back != text[:len(timeLayout)] {
			t.Fatalf("%q was read as %v", text, got)
		}
	})
}

// Nobody's bytes panic, and without Alipay's key nobody's bytes are accepted
// unless they say what a genuine message says.
func FuzzAlipayParse(f *testing.F) {
	a := newAdapter(f)
	known := map[order.FactKey]bool{}
	for _, form := range genuineForms() {
		req := sign(form)
		n := accept(f, a, req)
		known[n.FactKey()] = true
		f.Add(req.Body)
	}
	for _, seed := range []string{"", "sign=AA==", "a=b", "sign_type=RSA2&sign=", "{}", "<xml/>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		req := provider.Request{Body: text, ReceivedAt: noon}
		before := bytes.Clone(req.Body)
		n, err := a.Parse(req)
		if !bytes.Equal(before, req.Body) {
			t.Fatal("Parse changed the body")
		}
		if err == nil {
			// Cut anew, a genuine message may become one that moves nothing.
			if n.Distinct == nil && !known[n.FactKey()] {
				t.Fatalf("accepted, and no genuine message says it: %+v", n.Facts)
			}
			return
		}
		if provider.Code(err) == "" || provider.Status(err) >= 500 {
			t.Fatalf("%v is no refusal", err)
		}
	})
}
