package alipay

import (
	"context"
	"net/url"
	"strings"
	"testing"

	sdk "github.com/smartwalle/alipay/v3"
	"pgregory.net/rapid"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// oracle verifies with the SDK, which shares no code with us.
func oracle(t testing.TB) func(body []byte) error {
	t.Helper()
	private := pemBody(forge.MerchantKey.PrivatePEM())
	client, err := sdk.New(appID, private, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.LoadAliPayPublicKey(forge.AlipayKey.PublicBase64()); err != nil {
		t.Fatal(err)
	}
	return func(body []byte) error {
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return err
		}
		_, err = client.DecodeNotification(context.Background(), values)
		return err
	}
}

// pemBody is the base64 between a PEM file's lines.
func pemBody(pem []byte) string {
	_, text, _ := strings.Cut(string(pem), "-----BEGIN PRIVATE KEY-----\n")
	text, _, _ = strings.Cut(text, "-----END")
	return strings.ReplaceAll(text, "\n", "")
}

// Where the rule is the same (no value is empty or has outer blanks, no field
// twice, and pairs sort as their names do), an independent verifier and we agree on every message: genuine, of
// another key, and with one byte changed.
func TestVerificationAgreesWithAnIndependentOne(t *testing.T) {
	a := newAdapter(t, func(o *Options) { o.PublicKeys = []KeyFile{{"alipay.pem"}} })
	theirs := oracle(t)
	agreed := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		f := baseline()
		for range rapid.IntRange(0, 4).Draw(t, "fields") {
			name := rapid.StringMatching(`[a-z][A-Za-z0-9_]{0,20}`).Filter(func(s string) bool { return !isSignature(s) && s != "alipay_cert_sn" }).Draw(t, "name")
			value := rapid.String().Filter(func(s string) bool { return s != "" && s == strings.TrimSpace(s) }).Draw(t, "value")
			if f.Get(name) == "" {
				f = f.With(name, value)
			}
		}
		key := rapid.SampledFrom([]forge.Key{forge.AlipayKey, forge.AlipayKey, forge.StrangerKey}).Draw(t, "key")
		req := at(forge.AlipaySigner{Key: key}.Sign(f))
		if rapid.Bool().Draw(t, "spoil") {
			i := rapid.IntRange(0, len(req.Body)-1).Draw(t, "at")
			req.Body[i] = rapid.SampledFrom([]byte("0aZ=&%+.")).Draw(t, "byte")
		}
		read, _, err := readForm(req.Body)
		if err != nil {
			return // we are stricter about forms; that is tested elsewhere
		}
		for i, p := range read {
			sorted := i == 0 || read[i-1].name+"=" < p.name+"="
			if strings.TrimSpace(p.value) != p.value || p.value == "" || !sorted {
				return // another rule there
			}
		}
		set, err := charsetOf(read)
		if err != nil || set != charsetUTF8 || read.get("sign_type") != signRSA2 {
			return
		}
		if _, err := decodeSignature(nil, read.get("sign")); err != nil {
			return // loose base64 is taken there
		}
		ours := a.verify(read, nil)
		if other := theirs(req.Body); (ours == nil) != (other == nil) {
			t.Fatalf("we say %v, the other verifier says %v\n%s", ours, other, req.Body)
		}
		agreed[ours == nil]++
	})
	if agreed[true] == 0 || agreed[false] == 0 {
		t.Fatalf("agreed on %v: both verdicts must occur", agreed)
	}
}
