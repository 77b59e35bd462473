package wechat

import (
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// problemsOf are the faults that New finds.
func problemsOf(t *testing.T, o Options, f files) provider.Problems {
	t.Helper()
	a, err := New(o, env(f))
	if err == nil {
		return nil
	}
	var p provider.Problems
	if a != nil || !errors.As(err, &p) || len(p) == 0 {
		t.Fatalf("New: %v, %v", a, err)
	}
	return p
}

func TestNewNamesEveryFault(t *testing.T) {
	f := keyFiles()
	f["private.pem"] = string(forge.PlatformKey.PrivatePEM())
	f["both.pem"] = f["pub.pem"] + string(forge.PlatformKey.PrivatePEM())
	f["two.pem"] = f["pub.pem"] + f["stranger.pem"]
	f["garbage.pem"] = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
	f["garbage-cert.pem"] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	f["other.pem"] = "-----BEGIN DH PARAMETERS-----\nAAAA\n-----END DH PARAMETERS-----\n"
	f["text.pem"] = "hello"
	f["empty.key"] = "\n"
	f["short.key"] = "short\n"
	f["own.pem"] = string(forge.MerchantKey.CertificatePEM(forge.Cert{Subject: pkix.Name{CommonName: mchID}, SerialHex: "77"}))
	for name, c := range map[string]struct {
		change func(*Options)
		field  string
		text   string
	}{
		"no mchid":              {func(o *Options) { o.MchID = "" }, "mchid", "missing"},
		"odd mchid":             {func(o *Options) { o.MchID = "16 00" }, "mchid", "not a merchant number"},
		"no appids":             {func(o *Options) { o.AppIDs = nil }, "appids", "empty"},
		"empty appid":           {func(o *Options) { o.AppIDs = []string{appID, ""} }, "appids[1]", "not an app id"},
		"empty sub_mchid":       {asPartner(""), "sub_mchids[0]", "not a merchant number"},
		"odd sign type":         {func(o *Options) { o.V2SignTypes = []string{"MD5", "md5"} }, "v2_sign_types[1]", "MD5 or HMAC-SHA256"},
		"no key":                {func(o *Options) { o.APIv2Key, o.APIv3Key = "", "" }, "", "has no key"},
		"v2 key twice":          {func(o *Options) { o.APIv2KeyFile = "v2.key" }, "api_v2_key", "both set"},
		"v3 key twice":          {func(o *Options) { o.APIv3KeyFile = "v3.key" }, "api_v3_key", "both set"},
		"v3 key of 31 bytes":    {func(o *Options) { o.APIv3Key = provider.Secret(forge.WechatV3Key[1:]) }, "api_v3_key", "31 bytes"},
		"v3 key of 33 bytes":    {func(o *Options) { o.APIv3Key += "x" }, "api_v3_key", "33 bytes"},
		"v3 key file too short": {func(o *Options) { o.APIv3Key, o.APIv3KeyFile = "", "short.key" }, "api_v3_key", "5 bytes"},
		"v3 without keys":       {func(o *Options) { o.PublicKeys, o.Certificates = nil, nil }, "api_v3_key", "needs public_keys or certificates"},
		"secret file missing":   {func(o *Options) { o.APIv2Key, o.APIv2KeyFile = "", "no.key" }, "api_v2_key_file", "cannot be read"},
		"secret file empty":     {func(o *Options) { o.APIv2Key, o.APIv2KeyFile = "", "empty.key" }, "api_v2_key_file", "empty"},
		"public key missing":    {func(o *Options) { o.PublicKeys[0].File = "no.pem" }, "public_keys[0].file", "cannot be read"},
		"public key unnamed":    {func(o *Options) { o.PublicKeys[0].File = "" }, "public_keys[0].file", "missing"},
		"public key id":         {func(o *Options) { o.PublicKeys[0].ID = "01AB" }, "public_keys[0].id", "PUB_KEY_ID_"},
		"public key id twice":   {func(o *Options) { o.PublicKeys = append(o.PublicKeys, o.PublicKeys[0]) }, "public_keys[1].id", "twice"},
		"private key":           {func(o *Options) { o.PublicKeys[0].File = "private.pem" }, "public_keys[0].file", "private key"},
		"private key beside":    {func(o *Options) { o.PublicKeys[0].File = "both.pem" }, "public_keys[0].file", "private key"},
		"two keys":              {func(o *Options) { o.PublicKeys[0].File = "two.pem" }, "public_keys[0].file", "more than one"},
		"garbage":               {func(o *Options) { o.PublicKeys[0].File = "garbage.pem" }, "public_keys[0].file", "not a public key"},
		"no PEM":                {func(o *Options) { o.PublicKeys[0].File = "text.pem" }, "public_keys[0].file", "no PEM block"},
		"another block":         {func(o *Options) { o.PublicKeys[0].File = "other.pem" }, "public_keys[0].file", "DH PARAMETERS"},
		"certificate as key":    {func(o *Options) { o.PublicKeys[0].File = "cert.pem" }, "public_keys[0].file", "list it under certificates"},
		"key as certificate":    {func(o *Options) { o.Certificates[0].File = "pub.pem" }, "certificates[0].file", "under public_keys"},
		"garbage certificate":   {func(o *Options) { o.Certificates[0].File = "garbage-cert.pem" }, "certificates[0].file", "not a certificate"},
		"another block as cert": {func(o *Options) { o.Certificates[0].File = "other.pem" }, "certificates[0].file", "DH PARAMETERS"},
		"certificate twice":     {func(o *Options) { o.Certificates[1] = o.Certificates[0] }, "certificates[1].file", "twice"},
		"private as cert":       {func(o *Options) { o.Certificates[0].File = "private.pem" }, "certificates[0].file", "private key"},
		"merchant's own":        {func(o *Options) { o.Certificates[0].File = "own.pem" }, "certificates[0].file", "merchant's own"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.PublicKeys, o.Certificates = slices.Clone(o.PublicKeys), slices.Clone(o.Certificates)
			c.change(&o)
			p := problemsOf(t, o, f)
			if len(p) != 1 || p[0].Field != c.field || !strings.Contains(p[0].Text, c.text) {
				t.Errorf("%+v, want %s: …%s…", p, c.field, c.text)
			}
			for _, secret := range []string{forge.WechatV2Key, forge.WechatV3Key[1:]} {
				if strings.Contains(fmt.Sprintf("%+v", p), secret) {
					t.Error("a secret stands in the problem")
				}
			}
		})
	}
	// All at once.
	p := problemsOf(t, Options{APIv3Key: "x", APIv2Key: "y", APIv2KeyFile: "z", Certificates: []CertificateFile{{"own.pem"}, {"no.pem"}}}, f)
	if len(p) < 5 {
		t.Errorf("%+v", p)
	}
}

func TestKeysFromFiles(t *testing.T) {
	for _, end := range []string{"", "\n", "\r\n"} {
		f := keyFiles()
		f["v2.key"], f["v3.key"] = forge.WechatV2Key+end, forge.WechatV3Key+end
		o := options()
		o.APIv2Key, o.APIv3Key, o.APIv2KeyFile, o.APIv3KeyFile = "", "", "v2.key", "v3.key"
		a, err := New(o, env(f))
		if err != nil {
			t.Fatal(err)
		}
		accept(t, a, v2(fields()))
		accept(t, a, v3(paidEvent(payment().V3())))
	}
}

func TestReload(t *testing.T) {
	f := keyFiles()
	o := options()
	o.APIv2Key, o.APIv2KeyFile, o.APIv3Key, o.APIv3KeyFile = "", "v2.key", "", "v3.key"
	o.Certificates = []CertificateFile{{"cert.pem"}}
	a, err := New(o, env(f))
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := a.Reload(); changed || err != nil {
		t.Errorf("nothing changed: %v %v", changed, err)
	}
	old, next := v3(paidEvent(payment().V3())), forge.WechatV3Signer{Key: forge.Platform2Key}.Notify(paidEvent(payment().V3()), received).At(received)
	accept(t, a, old)
	refuse(t, a, next, provider.ErrSignature, CodeUnknownSerial)

	// One file is at fault: none of the others takes effect.
	f["cert.pem"], f["v2.key"] = string(forge.Wechat2CertificatePEM()), ""
	var p provider.Problems
	if changed, err := a.Reload(); changed || !errors.As(err, &p) {
		t.Errorf("a broken file: %v %v", changed, err)
	}
	accept(t, a, old)
	accept(t, a, v2(fields()))

	f["v2.key"] = "TestKeyForReceiver00000000000019"
	if changed, err := a.Reload(); !changed || err != nil {
		t.Errorf("two files changed: %v %v", changed, err)
	}
	refuse(t, a, old, provider.ErrSignature, CodeUnknownSerial)
	accept(t, a, next)
	refuse(t, a, v2(fields()), provider.ErrSignature, CodeSignature)
	accept(t, a, forge.WechatV2Signer{APIKey: "TestKeyForReceiver00000000000019"}.Sign(fields()).At(received))
}

func TestIdentityAndKeys(t *testing.T) {
	a := newAdapter(t)
	if a.Identity() != "mchid "+mchID {
		t.Error(a.Identity())
	}
	var described []string
	for _, k := range a.Keys() {
		described = append(described, fmt.Sprint(k.Kind, " ", k.ID, " ", k.NotAfter.Year()))
	}
	want := []string{"public key " + forge.WechatPublicKeyID + " 1", "certificate " + forge.WechatSerial + " 2040",
		"certificate " + strings.TrimLeft(forge.Wechat2Serial, "0") + " 2040",
		"api v3 key " + fingerprint(forge.WechatV3Key) + " 1", "api v2 key " + fingerprint(forge.WechatV2Key) + " 1"}
	if !slices.Equal(described, want) {
		t.Errorf("%q", described)
	}
}

// TestT5 asks for 10,000 keys that nobody has.
func TestT5(t *testing.T) {
	a := newAdapter(t)
	rnd := rand.New(rand.NewPCG(5, 5))
	req := v3(paidEvent(payment().V3()))
	took := make([]time.Duration, 0, 10_000)
	for i := range 10_000 {
		serial := fmt.Sprintf("%X%016X", rnd.Uint64(), rnd.Uint64())
		switch i % 3 {
		case 1:
			serial = publicKeyIDPrefix + serial
		case 2:
			noise := make([]byte, rnd.IntN(100)+1)
			for j := range noise {
				noise[j] = byte(rnd.IntN(256))
			}
			serial = string(noise)
		}
		req.Header["Wechatpay-Serial"] = []string{serial}
		began := time.Now()
		refuse(t, a, req, provider.ErrSignature, CodeUnknownSerial)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	if p99 := took[len(took)*99/100]; p99 > 5*time.Millisecond {
		t.Errorf("p99 %v", p99)
	}
	// A genuine message of one merchant at another's account.
	other := newAdapter(t, func(o *Options) {
		o.MchID, o.APIv3Key, o.APIv2Key = "1600000002", "AnotherApiV3KeyOfAnotherMerchant", "AnotherApiV2KeyOfAnotherMerchant"
	})
	refuse(t, other, v3(paidEvent(payment().V3())), provider.ErrSignature, CodeDecrypt)
	refuse(t, other, v2(fields()), provider.ErrSignature, CodeSignature)
	outer, inner := refund().V2()
	refuse(t, other, v2Refund(outer, inner), provider.ErrSignature, CodeDecrypt)
}
