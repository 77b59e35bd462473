package mend

import (
	"context"
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"crypto/rsa"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// Every damage that is done here the way the world does it can be undone.
func TestUndoneFindsTheTextBefore(t *testing.T) {
	t.Parallel()
	const original = "[{\"amount\":\"10.00\",\"of\":\"a+b %41/茶\"}]\r\nend"
	gbk, err := simplifiedchinese.GB18030.NewEncoder().String(original)
	if err != nil {
		t.Fatal(err)
	}
	latin, err := charmap.ISO8859_1.NewDecoder().String(original)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(original)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		damage            Damage
		original, damaged string
	}{
		"html":                    {HTMLEscaped, original, html.EscapeString(original)},
		"html twice":              {HTMLEscaped, original, html.EscapeString(html.EscapeString(original))},
		"html, quotes alone":      {HTMLEscaped, `"&lt;"`, `&quot;&lt;&quot;`},
		"addslashes":              {Backslashed, original, strings.NewReplacer(`"`, `\"`, `'`, `\'`, `\`, `\\`).Replace(original)},
		"plus":                    {PlusLost, "a+b/c", "a b/c"},
		"encoded twice":           {EncodedTwice, original, url.QueryEscape(original)},
		"encoded twice, %20":      {EncodedTwice, original, url.PathEscape(original)},
		"decoded twice":           {DecodedTwice, "%7B%22u%22%3A1%7D", `{"u":1}`},
		"decoded twice, small":    {DecodedTwice, "%7b%22u%22%3a1%7d", `{"u":1}`},
		"UTF-8 to GBK":            {Transcoded, original, gbk},
		"GBK to UTF-8":            {Transcoded, gbk, original},
		"UTF-8 taken for Latin-1": {Transcoded, original, latin},
		"LF":                      {LineEnds, original, strings.ReplaceAll(original, "\r\n", "\n")},
		"CRLF":                    {LineEnds, "a\nb", "a\r\nb"},
		"one more at the end":     {LineEnds, "a", "a\n"},
		"one fewer at the end":    {LineEnds, "a\r\n", "a"},
		"byte order mark":         {Wrapped, "{}", "\uFEFF{}"},
		"a JSON string":           {Wrapped, original, string(quoted)},
	} {
		found := false
		for damage, before := range Undone(c.damaged) {
			found = found || damage == c.damage && before == c.original
		}
		if !found {
			t.Errorf("%s: %q is not found to have been %q", name, c.damaged, c.original)
		}
	}
	for damage, before := range Undone("plain") {
		if damage != LineEnds {
			t.Errorf("a plain text shows no sign of %s (%q)", damage, before)
		}
	}
}

func TestDigestOf(t *testing.T) {
	t.Parallel()
	key := forge.PlatformKey.Private()
	text := []byte("signed")
	long, short := sha256.Sum256(text), sha1.Sum(text)
	for hash, sum := range map[crypto.Hash][]byte{crypto.SHA256: long[:], crypto.SHA1: short[:]} {
		proof, err := rsa.SignPKCS1v15(nil, key, hash, sum)
		if err != nil {
			t.Fatal(err)
		}
		digest, made := DigestOf(&key.PublicKey, proof)
		if !made || !digest.Signs(text) || digest.Signs([]byte("Signed")) || digest.Hash != hash.String() {
			t.Errorf("%s: %v %v", hash, made, digest)
		}
		if _, made := DigestOf(&forge.StrangerKey.Private().PublicKey, proof); made {
			t.Errorf("%s: a stranger's key is said to have made it", hash)
		}
		for i := range proof {
			broken := slices.Clone(proof)
			broken[i] ^= 1
			if _, made := DigestOf(&key.PublicKey, broken); made {
				t.Errorf("%s: byte %d changed, and it is still taken for a signature", hash, i)
			}
		}
	}
	for _, proof := range [][]byte{nil, {1}, make([]byte, key.Size()), make([]byte, key.Size()+1), key.N.Bytes()} {
		if _, made := DigestOf(&key.PublicKey, proof); made {
			t.Errorf("%d bytes are taken for a signature", len(proof))
		}
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	const original = `{"b_c":"茶","a":{"y":1,"x":"/"}}`
	for got, want := range map[string]string{
		original:                                "",
		`{"a":{"x":"/","y":1},"b_c":"茶"}`:       "key order",
		`{"b_c": "茶", "a": {"y":1,"x":"/"}}`:    "blanks",
		`{"b_c":"\u8336","a":{"y":1,"x":"/"}}`:  "escapes",
		`{"bC":"茶","a":{"y":1,"x":"/"}}`:        "names",
		`{"b_c":"茶","a":{"y":1,"x":"/"},"z":1}`: "members",
		`{"a":{"y":1,"x":"\/"}, "b_c":"茶"}`:     "key order blanks escapes",
	} {
		if all := strings.Join(Differences(got, original), " "); all != want {
			t.Errorf("%s: %q, want %q", got, all, want)
		}
	}
}

// What is read is written as it was, in every style whose encoder wrote it.
func TestJSONComesBack(t *testing.T) {
	t.Parallel()
	const text = `{"id":"a\"\\\n","n":[1,2.50,-1e5,true,false,null],"o":{"t":"茶🍵</"}}`
	v, err := ReadJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.Append(nil, Style{})); got != text {
		t.Errorf("%s\n%s", text, got)
	}
	for _, s := range Styles {
		again, err := ReadJSON(string(v.Append(nil, s)))
		if err != nil || string(again.Append(nil, Style{})) != text {
			t.Errorf("%+v: %v %s", s, err, again.Append(nil, s))
		}
	}
	for _, bad := range []string{"", "{", `{"a":1}x`, `{"a" 1}`, strings.Repeat("[", 99) + strings.Repeat("]", 99)} {
		if _, err := ReadJSON(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for at := range Orders(5) {
		key := ""
		for _, i := range at {
			key += string(rune('0' + i))
		}
		if len(seen) == 0 && key != "01234" {
			t.Errorf("the first order is %s", key)
		}
		seen[key] = true
	}
	if len(seen) != 120 {
		t.Errorf("%d orders of five things", len(seen))
	}
}

func FuzzUndone(f *testing.F) {
	f.Add("{\"a\":\"&quot;\\u8336 %22\"}\r\n")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, before := range Undone(text) {
			if v, err := ReadJSON(before); err == nil {
				Differences(before, string(v.Append(nil, Style{ASCII: true})))
			}
		}
	})
}

// Whoever stops early has paid for what was looked at, not for all the hundreds
// of texts that there are.
func TestUndoneIsMadeAsItIsAskedFor(t *testing.T) {
	text := strings.Repeat("a ", maxBlanks) + strings.Repeat("x", 1<<20)
	all, blanks := 0, 0
	made := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			for damage := range Undone(text) {
				if damage == PlusLost {
					break
				}
			}
		}
	}).AllocedBytesPerOp()
	for damage := range Undone(text) {
		if all++; damage == PlusLost {
			blanks++
		}
	}
	if blanks != 1<<maxBlanks {
		t.Errorf("%d choices of %d blanks", blanks, maxBlanks)
	}
	if most := int64(all-blanks+2) * int64(len(text)); made > 2*most {
		t.Errorf("%d bytes were made of a text of %d until the first of %d choices", made, len(text), blanks)
	}
}

func TestSearchEnds(t *testing.T) {
	t.Parallel()
	s, trials := NewSearch(t.Context()), 0
	for s.Try(1 << 20) {
		trials++
	}
	if trials < 500 || trials > 512 || s.Unfinished() != fmt.Sprintf("the search was broken off after %d trials", trials) {
		t.Errorf("%d trials: %s", trials, s.Unfinished())
	}
	ctx, end := context.WithCancel(t.Context())
	if s = NewSearch(ctx); !s.Try(1) || s.Unfinished() != "" {
		t.Error("a new search may not try anything")
	}
	if end(); s.Try(1) || !s.Over() {
		t.Error("it goes on after its context")
	}
}
