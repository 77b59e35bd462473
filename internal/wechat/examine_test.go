package wechat

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

// secretTexts must not be in anything that an examination says.
var secretTexts = []string{forge.WechatV2Key, forge.WechatV3Key, "o_test_1", "支付用户零钱", otherV2Key, otherV3Key}

const (
	otherV2Key = "AnotherApiV2KeyOfAnotherMerchant"
	otherV3Key = "AnotherApiV3KeyOfAnotherMerchant"
)

// examine lets Parse judge a request and examines it.
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

// wantCause examines a refused request.
func wantCause(t *testing.T, a *Adapter, req provider.Request, code string) {
	t.Helper()
	if got := examine(t, a, req, nil).Cause; got.Code != code {
		t.Errorf("%+v, want %s", got, code)
	}
}

// textEvent is a payment with Chinese text, in which encoders differ.
func textEvent() forge.WechatEvent {
	e := paidEvent(payment().V3())
	e.Summary = "支付成功/<b>&"
	return e
}

// rewrite sends a genuine v3 message with another body.
func rewrite(change func(body []byte) []byte) provider.Request {
	req := v3(textEvent())
	req.Body = change(req.Body)
	return req
}

func decoded(body []byte) (v mend.Value) {
	v, err := mend.ReadJSON(string(body))
	if err != nil {
		panic(err) // our own envelope
	}
	return v
}

// asStruct is an envelope in typed fields, as programs declare them: in another
// order, without what is empty.
type asStruct struct {
	Resource struct {
		Nonce          string `json:"nonce"`
		Ciphertext     string `json:"ciphertext"`
		Algorithm      string `json:"algorithm"`
		AssociatedData string `json:"associated_data,omitempty"`
		OriginalType   string `json:"original_type"`
	} `json:"resource"`
	EventType    string `json:"event_type"`
	ID           string `json:"id"`
	Summary      string `json:"summary"`
	CreateTime   string `json:"create_time"`
	ResourceType string `json:"resource_type"`
}

func through[T any](body []byte, indent string) []byte {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		panic(err)
	}
	out, err := json.MarshalIndent(v, "", indent)
	if indent == "" {
		out, err = json.Marshal(v)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func camel(v mend.Value) mend.Value {
	members := slices.Clone(v.Members)
	for i, m := range members {
		words := strings.Split(m.Name, "_")
		for k := 1; k < len(words); k++ {
			words[k] = strings.ToUpper(words[k][:1]) + words[k][1:]
		}
		members[i] = mend.Member{Name: strings.Join(words, ""), Value: camel(m.Value)}
	}
	v.Members = members
	return v
}

func sorted(v mend.Value) mend.Value {
	v.Members = slices.Clone(v.Members)
	slices.SortFunc(v.Members, func(a, b mend.Member) int { return strings.Compare(a.Name, b.Name) })
	return v
}

// Bodies as the encoders of other languages, and the filters and proxies before
// them, make them of a genuine v3 body.
func TestExamineNamesWhatHappenedToAV3Body(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	styled := func(s mend.Style, change ...func(mend.Value) mend.Value) func([]byte) []byte {
		return func(b []byte) []byte {
			v := decoded(b)
			for _, c := range change {
				v = c(v)
			}
			return v.Append(nil, s)
		}
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		code   string
	}{
		"P01 Go map":              {func(b []byte) []byte { return through[map[string]any](b, "") }, CodeReencoded},
		"P01 Go struct":           {func(b []byte) []byte { return through[asStruct](b, "") }, CodeReencoded},
		"P01 Go, indented":        {func(b []byte) []byte { return through[map[string]any](b, "  ") }, CodeReencoded},
		"P01 Python":              {styled(mend.Style{Spaced: true, ASCII: true}), CodeReencoded},
		"P01 Python, sorted":      {styled(mend.Style{Spaced: true, ASCII: true}, sorted), CodeReencoded},
		"P01 PHP":                 {styled(mend.Style{ASCII: true, SlashSafe: true}), CodeReencoded},
		"P01 Java, camel case":    {styled(mend.Style{}, camel), CodeReencoded},
		"P01 Java, camel, sorted": {styled(mend.Style{}, camel, sorted), CodeReencoded},
		"P01 .NET": {func(b []byte) []byte {
			return bytes.ReplaceAll(styled(mend.Style{ASCII: true, HTMLSafe: true})(b), []byte("+"), []byte(`\u002B`))
		}, CodeReencoded},
		"a member of a route":      {func(b []byte) []byte { return bytes.Replace(b, []byte("{"), []byte(`{"s":"/pay/notify",`), 1) }, CodeReencoded},
		"a line end more":          {func(b []byte) []byte { return append(b, '\n') }, CodeLineEnds},
		"read line by line":        {func(b []byte) []byte { return append(append([]byte("\r\n"), b...), "\r\n"...) }, CodeLineEnds},
		"a byte order mark":        {func(b []byte) []byte { return append([]byte("\uFEFF"), b...) }, CodeWrapped},
		"a JSON string":            {func(b []byte) []byte { out, _ := json.Marshal(string(b)); return out }, CodeWrapped},
		"htmlspecialchars":         {func(b []byte) []byte { return []byte(html.EscapeString(string(b))) }, CodeHTMLEscaped},
		"addslashes":               {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"`), []byte(`\"`)) }, CodeBackslashed},
		"percent-encoded":          {func(b []byte) []byte { return []byte(url.QueryEscape(string(b))) }, CodeEncodedTwice},
		"P03 taken for Latin-1":    {func(b []byte) []byte { out, _ := charmap.ISO8859_1.NewDecoder().Bytes(b); return out }, CodeTranscoded},
		"P03 GBK":                  {func(b []byte) []byte { out, _ := simplifiedchinese.GBK.NewEncoder().Bytes(b); return out }, CodeTranscoded},
		"plus signs lost":          {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("+"), []byte(" ")) }, CodePlusLost},
		"P04 empty":                {func([]byte) []byte { return nil }, CodeBodyEmpty},
		"P04 cut":                  {func(b []byte) []byte { return b[:len(b)-40] }, CodeBodyCut},
		"P04 cut in a name":        {func(b []byte) []byte { return b[:len(b)/3] }, CodeBodyCut},
		"another event":            {func(b []byte) []byte { return bytes.Replace(b, []byte("TRANSACTION"), []byte("TRANSACTI0N"), 1) }, CodeBodyChanged},
		"a member taken away":      {func(b []byte) []byte { return bytes.Replace(b, []byte(`"resource_type":"encrypt-resource",`), nil, 1) }, CodeBodyChanged},
		"another charset's ??":     {func(b []byte) []byte { return bytes.Replace(b, []byte("支付成功"), []byte("????"), 1) }, CodeBodyChanged},
		"no JSON, nothing to mend": {func([]byte) []byte { return []byte("[]") }, CodeBodyChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCause(t, a, rewrite(c.change), c.code)
		})
	}
	// The usual summary can be looked up where it was lost.
	req := v3(paidEvent(payment().V3()))
	req.Body = bytes.Replace(req.Body, []byte("支付成功"), []byte("????"), 1)
	wantCause(t, a, req, CodeReencoded)
}

func TestExamineNamesTheHeader(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	set := func(name, value string) provider.Request {
		req := v3(paidEvent(payment().V3()))
		req.Header.Set(name, value)
		return req
	}
	// A signature with a plus sign in it, which is lost or encoded on its way.
	var plus provider.Request
	for i := range 50 {
		e := paidEvent(payment().V3())
		e.ID = fmt.Sprintf("EV-%d", i)
		if plus = v3(e); strings.Contains(plus.Header.Get("Wechatpay-Signature"), "+") {
			break
		}
	}
	signature := plus.Header.Get("Wechatpay-Signature")
	changed := func(value string) provider.Request {
		req := plus
		req.Header = plus.Header.Clone()
		req.Header.Set("Wechatpay-Signature", value)
		return req
	}
	stripped := v3(paidEvent(payment().V3()))
	stripped.Header = http.Header{"Content-Type": {"application/json"}}
	without := v3(paidEvent(payment().V3()))
	without.Header.Del("Wechatpay-Nonce")
	for name, c := range map[string]struct {
		req  provider.Request
		code string
	}{
		"a blank for a plus":    {changed(strings.ReplaceAll(signature, "+", " ")), CodePlusLost},
		"encoded":               {changed(url.QueryEscape(signature)), CodeEncodedTwice},
		"made up":               {changed("AAAA"), CodeSignature},
		"no base64":             {changed("~"), CodeSignature},
		"another nonce":         {set("Wechatpay-Nonce", "0123456789"), CodeBodyChanged},
		"P10 probe":             {set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/abc"), CodeProbe},
		"all headers lost":      {stripped, CodeHeadersLost},
		"one header lost":       {without, CodeMissingHeader},
		"P09 milliseconds":      {set("Wechatpay-Timestamp", "1767240000000"), CodeTimestamp},
		"a loaded key's serial": {set("Wechatpay-Serial", forge.Wechat2Serial), CodeKeyUnderOtherID},
		"an unknown serial":     {set("Wechatpay-Serial", "ABCDEF"), CodeKeyUnderOtherID},
	} {
		t.Run(name, func(t *testing.T) { wantCause(t, a, c.req, c.code) })
	}
	late := v3(paidEvent(payment().V3()))
	late.ReceivedAt = received.Add(301 * time.Second)
	if got := examine(t, a, late, nil).Cause; got.Code != CodeStale || !strings.Contains(got.Detail, "the signature holds") {
		t.Errorf("P09: %+v", got)
	}
}

// Keys and accounts that do not fit, by themselves.
func TestExamineNamesTheKey(t *testing.T) {
	t.Parallel()
	files := keyFiles()
	files["own.pem"] = string(forge.MerchantKey.CertificatePEM(forge.Cert{Subject: pkix.Name{CommonName: "1600000099"}, SerialHex: forge.WechatSerial}))
	files["old.pem"] = string(forge.StrangerKey.CertificatePEM(forge.Cert{SerialHex: "0DD", NotAfter: noon.Add(-time.Hour)}))
	files["own_pub.pem"] = string(forge.MerchantKey.PublicPEM())
	with := func(change func(*Options)) *Adapter {
		o := options()
		change(&o)
		a, err := New(o, env(files))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	publicOnly := func(o *Options) { o.Certificates = nil }
	certificatesOnly := func(o *Options) { o.PublicKeys = nil }
	underOwn := func(o *Options) { o.PublicKeys, o.Certificates = nil, []CertificateFile{{"own.pem"}} }
	ownPublic := func(o *Options) {
		o.Certificates, o.PublicKeys = nil, []PublicKeyFile{{forge.WechatPublicKeyID, "own_pub.pem"}}
	}
	exchanged := func(o *Options) {
		o.PublicKeys = []PublicKeyFile{{forge.WechatPublicKeyID, "stranger.pem"}, {"PUB_KEY_ID_0000000000000002", "pub.pem"}}
	}
	other := with(func(o *Options) {
		o.MchID, o.AppIDs, o.APIv2Key, o.APIv3Key = "1600000002", []string{"wxtest0000000002"}, otherV2Key, otherV3Key
		o.Certificates, o.PublicKeys = nil, []PublicKeyFile{{forge.WechatPublicKeyID, "stranger.pem"}}
	})
	others := []provider.Provider{other}
	byPublic := forge.WechatV3Signer{Key: forge.WechatPublicKey}
	stranger := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: forge.WechatSerial}
	request := func(s forge.WechatV3Signer) provider.Request {
		return s.Notify(paidEvent(payment().V3()), received).At(received)
	}
	foreign := paidEvent(payment().V3())
	foreign.Content = bytes.ReplaceAll(foreign.Content, []byte(mchID), []byte("1600000002"))
	for name, c := range map[string]struct {
		a     *Adapter
		req   provider.Request
		tries [][]byte
		code  string
	}{
		"P11 public key mode":           {with(certificatesOnly), request(byPublic), nil, CodePublicKeyMode},
		"P11 certificate mode":          {with(publicOnly), request(forge.WechatV3Signer{}), nil, CodeCertificateMode},
		"P11 unknown certificate":       {with(certificatesOnly), request(forge.WechatV3Signer{Key: forge.StrangerKey, Serial: "77"}), nil, CodeUnknownSerial},
		"P11 exchanged ids":             {with(exchanged), request(byPublic), nil, CodeKeyUnderOtherID},
		"certificate expired":           {with(func(o *Options) { o.PublicKeys, o.Certificates = nil, []CertificateFile{{"old.pem"}} }), request(forge.WechatV3Signer{}), nil, CodeCertificateExpired},
		"own certificate":               {with(underOwn), request(forge.WechatV3Signer{}), nil, CodeOwnKey},
		"own public key":                {with(ownPublic), request(byPublic), nil, CodeWrongKey},
		"own public key, tried":         {with(ownPublic), request(byPublic), [][]byte{forge.MerchantKey.PrivatePEM()}, CodeOwnKey},
		"the right key, tried":          {with(ownPublic), request(byPublic), [][]byte{forge.WechatPublicKey.PublicPEM()}, CodeWrongKey},
		"P06 knows the API key":         {with(func(*Options) {}), request(stranger), nil, CodeWrongKey},
		"P06 knows no key":              {with(func(*Options) {}), request(forge.WechatV3Signer{Key: forge.MerchantKey, Serial: forge.WechatSerial, APIKey: "TestApiV3KeyForReceiver000000009"}), nil, CodeSignature},
		"signed for another account":    {with(func(*Options) {}), request(stranger), nil, CodeOtherAccount},
		"P07 sealed for another":        {with(func(*Options) {}), request(forge.WechatV3Signer{APIKey: otherV3Key}), nil, CodeOtherAccount},
		"P07 forged for another":        {with(func(*Options) {}), request(forge.WechatV3Signer{Key: forge.MerchantKey, Serial: forge.WechatSerial, APIKey: otherV3Key}), nil, CodeOtherAccount},
		"P14 API key changed":           {with(func(*Options) {}), request(forge.WechatV3Signer{APIKey: "TestApiV3KeyForReceiver000000009"}), nil, CodeAPIKeyChanged},
		"v2 key as v3 key":              {with(func(o *Options) { o.APIv3Key = o.APIv2Key }), request(forge.WechatV3Signer{}), nil, CodeAPIKeysSwapped},
		"keys exchanged":                {with(func(o *Options) { o.APIv2Key, o.APIv3Key = o.APIv3Key, o.APIv2Key }), request(forge.WechatV3Signer{}), nil, CodeAPIKeysSwapped},
		"keys exchanged, v2":            {with(func(o *Options) { o.APIv2Key, o.APIv3Key = o.APIv3Key, o.APIv2Key }), v2(fields()), nil, CodeAPIKeysSwapped},
		"v2 of another account":         {with(func(*Options) {}), forge.WechatV2Signer{APIKey: otherV2Key}.Sign(fields()).At(received), nil, CodeOtherAccount},
		"P45 genuine for another":       {with(func(*Options) {}), v3(foreign), nil, CodeForeignMchID},
		"no key at all":                 {with(func(o *Options) { o.APIv3Key, o.PublicKeys, o.Certificates = "", nil, nil }), request(byPublic), nil, CodeNoV3Key},
		"no v2 key at all":              {with(func(o *Options) { o.APIv2Key = "" }), v2(fields()), nil, CodeNoV2Key},
		"unknown serial, the key tried": {with(certificatesOnly), request(byPublic), [][]byte{forge.WechatPublicKey.PublicPEM()}, CodeUnknownSerial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			siblings := others
			if c.code != CodeOtherAccount {
				siblings = nil
			}
			if got := examine(t, c.a, c.req, siblings, c.tries...).Cause; got.Code != c.code {
				t.Errorf("%+v, want %s", got, c.code)
			}
		})
	}
}
