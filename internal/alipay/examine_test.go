package alipay

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// secretTexts must not be in anything that an examination says.
var secretTexts = []string{aesKey, "canarycanary1234", "2088000000000009", "token-canary-1"}

func examine(t testing.TB, a *Adapter, req provider.Request, others []provider.Provider, tries ...[]byte) provider.Examination {
	t.Helper()
	_, err := a.Parse(req)
	got := a.Examine(t.Context(), provider.Exhibit{Request: req, Err: err, Others: others, Tries: tries})
	failed := slices.ContainsFunc(got.Steps, func(s provider.Step) bool { return s.State == provider.StepFailed })
	switch {
	case err == nil && (failed || got.Cause.Code != ""):
		t.Errorf("verified, and yet %+v: %+v", got.Cause, got.Steps)
	case err != nil && (!failed || got.Cause.Code == ""):
		t.Errorf("refused with %v, and yet no step failed or no cause is named: %+v, %+v", err, got.Cause, got.Steps)
	}
	said := fmt.Sprintf("%+v %+v %+v", got.Steps, got.Cause, got.Signed)
	for _, s := range secretTexts {
		if strings.Contains(said, s) {
			t.Errorf("the examination says %q", s)
		}
	}
	return got
}

// later is a signed form with changes made to it after it was signed.
func later(f forge.Form, s forge.AlipaySigner, change func(forge.Form) forge.Form) provider.Request {
	name := s.SignType
	if name == "" {
		name = signRSA2
	}
	f = f.With("sign_type", name)
	f = f.With("sign", s.Signature(f.Text(s.Rule)))
	return at(forge.Message{Body: change(f).Encode()})
}

// Forms as the filters, frameworks and gateways before us make them of a genuine
// one.
func TestExamineNamesWhatHappenedToTheForm(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	form := baseline().With("body", "").With("passback_params", "%7B%22u%22%3A1%7D").With("memo", "line\r\nend ")
	each := func(change func(string) string, names ...string) func(forge.Form) forge.Form {
		return func(f forge.Form) forge.Form {
			for _, p := range f {
				if len(names) == 0 && p.Name != "sign" || slices.Contains(names, p.Name) {
					f = f.With(p.Name, change(p.Value))
				}
			}
			return f
		}
	}
	latin := func(s string) string { out, _ := charmap.ISO8859_1.NewDecoder().String(s); return out }
	slashes := func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
	blanks := func(s string) string { return strings.ReplaceAll(s, "+", " ") }
	set := func(name, value string) func(forge.Form) forge.Form {
		return func(f forge.Form) forge.Form { return f.With(name, value) }
	}
	drop := func(names ...string) func(forge.Form) forge.Form {
		return func(f forge.Form) forge.Form { return f.Without(names...) }
	}
	rsa1 := forge.AlipaySigner{SignType: signRSA}
	typeSigned := forge.AlipaySigner{Rule: forge.Rule{KeepSignType: true}}
	ownRule := forge.AlipaySigner{Rule: forge.Rule{KeepSignType: true, DropEmpty: true}}
	for name, c := range map[string]struct {
		signer forge.AlipaySigner
		change func(forge.Form) forge.Form
		code   string
	}{
		"P29 htmlspecialchars":      {change: each(html.EscapeString), code: codeHTMLEscaped},
		"P29 html in one value":     {change: each(html.EscapeString, "fund_bill_list"), code: codeHTMLEscaped},
		"P29 addslashes":            {change: each(slashes), code: codeBackslashed},
		"P03 taken for Latin-1":     {change: each(latin), code: codeTranscoded},
		"plus lost in a value":      {change: each(blanks, "subject"), code: codePlusLost},
		"plus lost everywhere":      {change: each(blanks), code: codePlusLost},
		"P31 decoded twice":         {change: set("passback_params", `{"u":1}`), code: codeDecodedTwice},
		"encoded twice":             {change: each(url.QueryEscape), code: codeEncodedTwice},
		"line ends":                 {change: each(func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }), code: codeLineEnds},
		"trimmed":                   {change: each(strings.TrimSpace), code: codeLineEnds},
		"P35 an amount as a number": {change: set("total_amount", "10"), code: codeReencoded},
		"P35 amounts as numbers":    {change: each(func(s string) string { return strings.TrimSuffix(s, ".00") }), code: codeReencoded},
		"P35 JSON written anew":     {change: set("fund_bill_list", `[ {"amount": "10.00", "fundChannel": "ALIPAYACCOUNT"} ]`), code: codeReencoded},
		"P34 of a query":            {change: set("s", "/pay/notify"), code: codeExtraField},
		"P34 three of a query":      {change: func(f forge.Form) forge.Form { return f.With("s", "a").With("ch", "7").With("lang", "zh") }, code: codeExtraField},
		"P34 of a query, escaped":   {change: func(f forge.Form) forge.Form { return each(html.EscapeString)(f).With("s", "a").With("m", "b") }, code: codeBodyChanged},
		"P32 empty field lost":      {change: drop("body"), code: codeFieldLost},
		"P32 sign_type dropped":     {signer: typeSigned, change: drop("sign_type"), code: codeSignTypeDropped},
		"P32 another rule":          {signer: ownRule, change: drop(), code: codeSigningRule},
		"P32 RSA renamed RSA2":      {signer: rsa1, change: set("sign_type", signRSA2), code: codeSignTypeWrong},
		"P32 RSA2 renamed RSA":      {change: set("sign_type", signRSA), code: codeSignTypeWrong},
		"P32 RSA not allowed":       {signer: rsa1, change: drop(), code: codeSignType},
		"an amount changed":         {change: set("total_amount", "0.01"), code: codeBodyChanged},
		"a value lost":              {change: drop("trade_no"), code: codeBodyChanged},
		"sign encoded twice":        {change: each(url.QueryEscape, "sign"), code: codeEncodedTwice},
		"sign with line ends":       {change: each(func(s string) string { return s[:76] + "\r\n" + s[76:] }, "sign"), code: codeLineEnds},
		"sign cut":                  {change: each(func(s string) string { return s[:100] }, "sign"), code: codeWrongKey},
		"P24 no sign":               {change: drop("sign"), code: codeNoSignature},
		"a stranger":                {signer: forge.AlipaySigner{Key: forge.StrangerKey}, change: drop(), code: codeWrongKey},
		"a name that nobody sends":  {change: set("a.b", "1"), code: codeExtraField},
		"foreign":                   {signer: forge.AlipaySigner{Key: forge.AlipayKey}, change: drop(), code: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := examine(t, a, later(form, c.signer, c.change), nil).Cause; got.Code != c.code {
				t.Errorf("%+v, want %s", got, c.code)
			}
		})
	}
}

// Bodies that are no form any more.
func TestExamineNamesWhatHappenedToTheBody(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	good := string(sign(baseline()).Body)
	values, err := url.ParseQuery(good)
	if err != nil {
		t.Fatal(err)
	}
	flat := map[string]string{}
	for name := range values {
		flat[name] = values.Get(name)
	}
	object, err1 := json.Marshal(flat)
	text, err2 := json.Marshal(good)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for name, c := range map[string]struct{ body, code string }{
		"P38 &amp;":         {strings.ReplaceAll(good, "&", "&amp;"), codeHTMLEscaped},
		"P38 semicolons":    {strings.ReplaceAll(good, "&", ";"), codeFormSyntax},
		"JSON":              {string(object), codeBodyJSON},
		"forged JSON":       {strings.Replace(string(object), "10.00", "0.01", 1), codeBodyJSON},
		"a JSON string":     {string(text), codeWrapped},
		"encoded whole":     {url.QueryEscape(good), codeEncodedTwice},
		"a byte order mark": {"\uFEFF" + good, codeWrapped},
		"empty":             {"", codeBodyEmpty},
		"a field twice":     {good + "&app_id=1", codeExtraField},
		"a line end more":   {good + "\n", codeLineEnds},
		"no form":           {"hello", codeFormSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := examine(t, a, body(c.body), nil).Cause; got.Code != c.code {
				t.Errorf("%+v, want %s", got, c.code)
			}
		})
	}
}

func TestExamineNamesTheKey(t *testing.T) {
	t.Parallel()
	ended := files{
		"old.pem":      string(forge.StrangerKey.CertificatePEM(forge.Cert{SerialHex: "AB", NotAfter: noon.Add(-time.Hour)})),
		"merchant.pem": string(forge.MerchantKey.PublicPEM()), "alipay.pem": string(forge.AlipayKey.PublicPEM()),
	}
	with := func(o Options) *Adapter {
		o.AppID = appID
		a, err := New(o, env(ended))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	own := with(Options{PublicKeys: []KeyFile{{"merchant.pem"}}})
	other := newAdapter(t, func(o *Options) { o.AppID, o.SellerID = "2021000000000002", "" })
	old := with(Options{Certificates: []KeyFile{{"old.pem"}}})
	good := sign(baseline())
	foreign := paidTrade()
	foreign.AppID, foreign.AuthAppID, foreign.SellerID = "2021000000000002", "2021000000000002", ""
	for name, c := range map[string]struct {
		a      *Adapter
		req    provider.Request
		others []provider.Provider
		tries  [][]byte
		code   string
	}{
		"own key":              {own, good, nil, nil, codeWrongKey},
		"own key, tried":       {own, good, nil, [][]byte{forge.MerchantKey.PrivatePEM()}, codeOwnKey},
		"the right key, tried": {own, good, nil, [][]byte{[]byte(forge.AlipayKey.PublicBase64())}, codeWrongKey},
		"another account's":    {own, good, []provider.Provider{other}, nil, codeOtherAccount},
		"certificate expired":  {old, good, nil, nil, codeCertificateExpired},
		"foreign":              {newAdapter(t), sign(foreign.Form()), []provider.Provider{other}, nil, codeForeignApp},
	} {
		t.Run(name, func(t *testing.T) {
			got := examine(t, c.a, c.req, c.others, c.tries...).Cause
			if got.Code != c.code {
				t.Errorf("%+v, want %s", got, c.code)
			}
			if name == "foreign" && !strings.Contains(got.Detail, "takes it") {
				t.Errorf("%s does not name the account that takes it", got.Detail)
			}
		})
	}
}

// Whatever a genuine message says, its examination is clean and shows no person.
func TestExamineOfGenuineForms(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	for name, f := range genuineForms() {
		got := examine(t, a, sign(f), nil)
		if got.Signed == nil || strings.Contains(got.Signed.Text, "buyer_id=2") {
			t.Errorf("%s: %+v", name, got.Signed)
		}
	}
}

// Every code of either list has one text in both languages.
func TestCodesAreExplained(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range Explanations() {
		if seen[e.Code] || e.Means.English == "" || e.Means.Chinese == "" || e.Fix.English == "" || e.Fix.Chinese == "" {
			t.Errorf("%s is explained twice or in part", e.Code)
		}
		seen[e.Code] = true
	}
	for damage, code := range ofDamage {
		if !seen[code] {
			t.Errorf("%s, for %s, is not explained", code, damage)
		}
	}
}
