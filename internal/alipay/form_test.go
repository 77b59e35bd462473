package alipay

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// body is a request with these bytes and the header of a genuine one.
func body(text string) provider.Request {
	req := sign(baseline())
	req.Body = []byte(text)
	return req
}

func TestP28ContentTypeDecidesNothing(t *testing.T) {
	a := newAdapter(t)
	for _, contentType := range []string{
		forge.AlipayContentType, "application/x-www-form-urlencoded", "text/plain", "application/json", "multipart/form-data", "",
	} {
		req := sign(baseline())
		req.Header.Set("Content-Type", contentType)
		if contentType == "" {
			req.Header.Del("Content-Type")
		}
		if n := accept(t, a, req); kinds(n) != "paid: paid" {
			t.Errorf("%q: %s", contentType, kinds(n))
		}
	}
}

func TestP31PassbackParamsAreDecodedOnce(t *testing.T) {
	f := baseline().With("passback_params", "%7B%22u%22%3A1%7D")
	req := sign(f)
	if !bytes.Contains(req.Body, []byte("passback_params=%257B%2522u%2522%253A1%257D")) {
		t.Fatalf("the recipe's wire form is not what was sent: %s", req.Body)
	}
	a := newAdapter(t)
	if n := accept(t, a, req); kinds(n) != "paid: paid" {
		t.Error(kinds(n))
	}
	read, _, err := readForm(req.Body)
	if err != nil || read.get("passback_params") != "%7B%22u%22%3A1%7D" {
		t.Errorf("passback_params %q, %v", read.get("passback_params"), err)
	}
}

func TestP38Semicolons(t *testing.T) {
	a := newAdapter(t)
	genuine := string(sign(baseline()).Body)
	for name, text := range map[string]string{
		"between fields": strings.ReplaceAll(genuine, "&", ";"),
		"as an entity":   strings.ReplaceAll(genuine, "&", "&amp;"),
		"in a value":     strings.Replace(genuine, "version=1.0", "version=1;0", 1),
		"at the end":     genuine + ";",
	} {
		t.Run(name, func(t *testing.T) { refuse(t, a, body(text), provider.ErrMalformed, codeFormSyntax) })
	}
	if n := accept(t, a, sign(baseline().With("body", "a;b"))); kinds(n) != "paid: paid" {
		t.Error("a semicolon that is encoded belongs to its value")
	}
}

func TestT09Pollution(t *testing.T) {
	a := newAdapter(t)
	genuine := string(sign(baseline()).Body)
	twice := func(name, value string) forge.Form { return append(baseline(), forge.NewForm(name, value)...) }
	for name, c := range map[string]struct {
		req  provider.Request
		err  error
		code string
	}{
		"same value":     {sign(twice("total_amount", "10.00")), provider.ErrSignature, codeDuplicateField},
		"other value":    {sign(twice("out_trade_no", "OTHER")), provider.ErrSignature, codeDuplicateField},
		"unknown twice":  {sign(append(twice("x", "1"), forge.NewForm("x", "2")...)), provider.ErrSignature, codeDuplicateField},
		"encoded name":   {body(genuine + "&total%5Famount=0.01"), provider.ErrSignature, codeDuplicateField},
		"sign twice":     {body(genuine + "&sign=x"), provider.ErrSignature, codeDuplicateField},
		"lone percent":   {body(genuine + "&x=%"), provider.ErrMalformed, codeFormSyntax},
		"half an escape": {body(genuine + "&x=%4"), provider.ErrMalformed, codeFormSyntax},
		"no hex":         {body(genuine + "&x=%zz"), provider.ErrMalformed, codeFormSyntax},
		"escape in name": {body(genuine + "&%4x=1"), provider.ErrMalformed, codeFormSyntax},
		"no equals sign": {body(genuine + "&x"), provider.ErrMalformed, codeFormSyntax},
		"empty field":    {body(genuine + "&&"), provider.ErrMalformed, codeFormSyntax},
		"question mark":  {body("?" + genuine), provider.ErrSignature, codeFieldName},
		"empty name":     {body(genuine + "&=1"), provider.ErrSignature, codeFieldName},
		"blank in name":  {body(genuine + "&a+b=1"), provider.ErrSignature, codeFieldName},
		"list in name":   {body(genuine + "&a%5B%5D=1"), provider.ErrSignature, codeFieldName},
		"long name":      {body(genuine + "&" + strings.Repeat("a", 65) + "=1"), provider.ErrSignature, codeFieldName},
		"json":           {body(`{"out_trade_no":"T1"}`), provider.ErrMalformed, codeFormSyntax},
		"nothing":        {body(""), provider.ErrSignature, codeNoSignature},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, a, c.req, c.err, c.code) })
	}
	long := strings.Repeat("a", 64)
	if n := accept(t, a, sign(baseline().With(long, "1"))); kinds(n) != "paid: paid" {
		t.Error("a name of 64 bytes is allowed")
	}
}

// P34: what does not belong to the body has no part in it. The query string and
// the path never reach an adapter; cookies and other headers do.
func TestP34ParametersThatDoNotBelong(t *testing.T) {
	a := newAdapter(t)
	want := accept(t, a, sign(baseline()))
	req := sign(baseline())
	req.Header.Set("Cookie", "trade_status=TRADE_CLOSED; out_trade_no=OTHER")
	req.Header.Set("Out_trade_no", "OTHER")
	req.Header.Set("X-Original-Url", "/notify/alipay?out_trade_no=OTHER&total_amount=0.01")
	got := accept(t, a, req)
	if got.FactKey() != want.FactKey() || got.Facts[0].OutTradeNo != orderNo || got.Facts[0].AmountFen != 1000 {
		t.Errorf("%+v", got.Facts)
	}
	refuse(t, a, sign(append(baseline(), forge.NewForm("out_trade_no", orderNo)...)), provider.ErrSignature, codeDuplicateField)
	for _, foreign := range []string{"s", "ch", "path", "notify_url"} { // added to the body behind the signature
		refuse(t, a, body(string(sign(baseline()).Body)+"&"+foreign+"=7"), provider.ErrSignature, codeSignature)
	}
}

func TestT24VeryManyFields(t *testing.T) {
	a := newAdapter(t)
	f := baseline()
	for len(f) < maxFields-2 { // sign_type and sign follow
		f = f.With(fmt.Sprintf("x%03d", len(f)), "1")
	}
	if n := accept(t, a, sign(f)); n.Kind != order.KindPaid {
		t.Error(kinds(n))
	}
	refuse(t, a, sign(f.With("one_more", "1")), provider.ErrSignature, codeTooManyFields)

	flood := []byte(strings.Repeat("a&", 1<<19))
	start := time.Now()
	const rounds = 20
	for range rounds {
		if _, _, err := readForm(flood); provider.Code(err) != codeTooManyFields {
			t.Fatal(err)
		}
	}
	if each := time.Since(start) / rounds; each > 5*time.Millisecond {
		t.Errorf("1 MiB of fields costs %v, more than 5 ms", each)
	}
	if allocs := testing.AllocsPerRun(10, func() { _, _, _ = readForm(flood) }); allocs > 5 {
		t.Errorf("1 MiB of fields costs %v allocations", allocs)
	}
}

// The reader agrees with the standard library wherever that one reports no
// fault and no name or number of ours is broken.
func TestFormAgreesWithTheStandardLibrary(t *testing.T) {
	for _, text := range []string{
		"a=1", "a=", "a=b=c", "a=1&b=2", "a=%41", "%41=1", "a=+%20%2B", "b=2&a=1", "a=%E4%B8%AD", "a=\xff", "a=1\r\n", "a=%00",
	} {
		f, _, err := readForm([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		agree(t, text, f)
	}
}

func agree(t *testing.T, text string, f form) {
	t.Helper()
	want, err := url.ParseQuery(text)
	if err != nil {
		t.Fatalf("%q: read strictly, but refused by the standard library: %v", text, err)
	}
	if len(want) != len(f) {
		t.Errorf("%q: %d fields, the standard library has %d", text, len(f), len(want))
	}
	for _, p := range f {
		if len(want[p.name]) != 1 || want[p.name][0] != p.value {
			t.Errorf("%q: %s is %q, the standard library has %q", text, p.name, p.value, want[p.name])
		}
	}
}
