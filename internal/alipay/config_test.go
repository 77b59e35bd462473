package alipay

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

func alipayCert(key forge.Key) string {
	return string(key.CertificatePEM(forge.Cert{Subject: pkix.Name{CommonName: "Alipay-2088021686765143"}, SerialHex: "AB12"}))
}

// The keys of the configuration file are fixed from outside; every option has
// one of them.
func TestOptionsHaveTheirKeys(t *testing.T) {
	var got []string
	for f := range reflect.TypeFor[Options]().Fields() {
		got = append(got, f.Tag.Get("yaml"))
	}
	want := []string{
		"app_id", "seller_id", "auth_app_ids", "public_keys", "certificates", "sign_types", "aes_key", "aes_key_file", "echo_fields",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	o := Options{AESKey: "secretsecret"}
	if text := fmt.Sprintf("%v %+v %#v", o, o, o); strings.Contains(text, "secretsecret") {
		t.Error("the options print their secret")
	}
}

// Every form in which a key comes.
func TestKeyFiles(t *testing.T) {
	public := &forge.AlipayKey.Private().PublicKey
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(public)})
	bare := forge.AlipayKey.PublicBase64()
	for name, content := range map[string]string{
		"PKIX":            string(forge.AlipayKey.PublicPEM()),
		"PKCS 1":          string(pkcs1),
		"bare":            bare,
		"bare, PKCS 1":    base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(public)),
		"bare, in lines":  bare[:64] + "\r\n" + bare[64:] + "\r\n",
		"byte order mark": "\xEF\xBB\xBF" + bare,
		"Windows lines":   strings.ReplaceAll(string(forge.AlipayKey.PublicPEM()), "\n", "\r\n"),
	} {
		o := options()
		o.PublicKeys = []KeyFile{{"k"}}
		a, err := New(o, env(files{"k": content}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		accept(t, a, sign(baseline()))
	}
}

// What lies beside the right file, and is given instead of it.
func TestWrongKeyFiles(t *testing.T) {
	for name, c := range map[string]struct{ public, cert, want string }{
		"missing":              {"", "", "cannot be read"},
		"empty":                {" \n", "", "is empty"},
		"no key":               {"hello", "", "neither PEM nor"},
		"private, PEM":         {string(forge.MerchantKey.PrivatePEM()), "", "holds a private key"},
		"private, bare":        {pemBody(forge.MerchantKey.PrivatePEM()), "", "holds a private key"},
		"private behind":       {string(forge.AlipayKey.PublicPEM()) + string(forge.MerchantKey.PrivatePEM()), "", "holds a private key"},
		"two keys":             {string(forge.AlipayKey.PublicPEM()) + string(forge.Alipay2Key.PublicPEM()), "", "more than one key"},
		"certificate":          {alipayCert(forge.AlipayKey), "", "list it under certificates"},
		"short":                {weakPublic(t, 1024), "", "key of 1024 bits"},
		"no RSA":               {ecPublic(t), "", "does not hold an RSA key"},
		"cert: no certificate": {"", "hello", "is no certificate"},
		"cert: public key":     {"", string(forge.AlipayKey.PublicPEM()), "list it under public_keys"},
		"cert: private key":    {"", alipayCert(forge.AlipayKey) + string(forge.MerchantKey.PrivatePEM()), "holds a private key"},
		"cert: broken":         {"", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"},
		"cert: our own":        {"", string(forge.MerchantKey.CertificatePEM(forge.Cert{Subject: pkix.Name{CommonName: "2088000000000001-" + appID}})), "application's own certificate"},
		"cert: rubbish behind": {"", alipayCert(forge.AlipayKey) + "rubbish", "something else after"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.PublicKeys = nil
			f := files{"k": c.public, "c": c.cert}
			switch {
			case name == "missing":
				o.PublicKeys = []KeyFile{{"nowhere"}}
			case c.public != "":
				o.PublicKeys = []KeyFile{{"k"}}
			default:
				o.Certificates = []KeyFile{{"c"}}
			}
			_, err := New(o, env(f))
			var problems provider.Problems
			if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(problems[0].Text, c.want) {
				t.Fatalf("%v, want one problem with %q", err, c.want)
			}
			if strings.Contains(problems[0].Text, "MII") {
				t.Error("the problem shows a key")
			}
		})
	}
}

func weakPublic(t *testing.T, bits int) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(&key.PublicKey))
}

func ecPublic(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

func TestCertificateMode(t *testing.T) {
	o := options()
	o.PublicKeys, o.Certificates = nil, []KeyFile{{"alipay.crt"}}
	authority := string(forge.StrangerKey.CertificatePEM(forge.Cert{Subject: pkix.Name{CommonName: "Authority"}}))
	a, err := New(o, env(files{"alipay.crt": alipayCert(forge.AlipayKey) + authority}))
	if err != nil {
		t.Fatal(err)
	}
	accept(t, a, sign(baseline()))
	refuse(t, a, at(forge.AlipaySigner{Key: forge.StrangerKey}.Sign(baseline())), provider.ErrSignature, codeSignature)
	keys := a.Keys()
	if len(keys) != 1 || keys[0].ID != "AB12" || keys[0].Kind != "certificate" || keys[0].NotAfter.Year() != 2040 {
		t.Errorf("%+v", keys)
	}
}

func TestEveryFaultAtOnce(t *testing.T) {
	o := Options{
		AppID: "wx1", SellerID: "seller", AuthAppIDs: []string{"1", "1", "x"}, SignTypes: []string{"RSA2", "MD5"},
		PublicKeys: []KeyFile{{"alipay.pem"}, {""}, {"nowhere"}, {"alipay.pem"}}, Certificates: []KeyFile{{"alipay.crt"}},
		AESKey: "short-canary", AESKeyFile: "aes", EchoFields: []string{"subject", "total_amount", "a b"},
	}
	f := keyFiles()
	f["alipay.crt"] = alipayCert(forge.AlipayKey)
	_, err := New(o, env(f))
	var problems provider.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v is no list of problems", err)
	}
	got := map[string]string{}
	for _, p := range problems {
		got[p.Field] += p.Text
	}
	for _, field := range []string{
		"app_id", "seller_id", "auth_app_ids[1]", "auth_app_ids[2]", "sign_types[1]", "public_keys[1].file", "public_keys[2].file",
		"public_keys[3].file", "aes_key", "echo_fields[1]", "echo_fields[2]",
	} {
		if got[field] == "" {
			t.Errorf("nothing is said about %s", field)
		}
		delete(got, field)
	}
	if len(got) > 0 {
		t.Errorf("said as well: %v", got)
	}
	if strings.Contains(fmt.Sprintf("%v", problems), "canary") {
		t.Error("the problems show the key")
	}
	_, err = New(Options{}, env(nil))
	if !errors.As(err, &problems) || len(problems) != 2 {
		t.Errorf("empty options: %v", problems)
	}
	many := options()
	many.PublicKeys = make([]KeyFile, maxKeys+1)
	if _, err := New(many, env(nil)); err == nil || !strings.Contains(fmt.Sprint(errorTexts(err)), "more than 8") {
		t.Errorf("too many keys: %v", errorTexts(err))
	}
}

func errorTexts(err error) (texts []string) {
	var problems provider.Problems
	errors.As(err, &problems)
	for _, p := range problems {
		texts = append(texts, p.Field+": "+p.Text)
	}
	return texts
}

func TestReloadIsAllOrNothing(t *testing.T) {
	f := keyFiles()
	var lock sync.Mutex
	e := env(f)
	e.ReadFile = func(path string) ([]byte, error) {
		lock.Lock()
		defer lock.Unlock()
		return f.read(path)
	}
	set := func(path, content string) {
		lock.Lock()
		defer lock.Unlock()
		f[path] = content
	}
	o := options()
	o.AESKey, o.AESKeyFile = "", "aes"
	set("aes", aesKey+"\n")
	a, err := New(o, e)
	if err != nil {
		t.Fatal(err)
	}
	fromStranger := at(forge.AlipaySigner{Key: forge.StrangerKey}.Sign(baseline()))
	refuse(t, a, fromStranger, provider.ErrSignature, codeSignature)

	// One of two files is broken: neither is taken.
	set("alipay.pem", string(forge.StrangerKey.PublicPEM()))
	set("alipay2.pem", "rubbish")
	if changed, err := a.Reload(); changed || err == nil {
		t.Errorf("changed %v, error %v", changed, err)
	}
	accept(t, a, sign(baseline()))
	refuse(t, a, fromStranger, provider.ErrSignature, codeSignature)

	// Both are right: both are taken, while requests come in.
	set("alipay2.pem", string(forge.Alipay2Key.PublicPEM()))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				accept(t, a, at(forge.AlipaySigner{Key: forge.Alipay2Key}.Sign(baseline())))
			}
		})
	}
	if changed, err := a.Reload(); !changed || err != nil {
		t.Errorf("changed %v, error %v", changed, err)
	}
	wg.Wait()
	accept(t, a, fromStranger)
	refuse(t, a, sign(baseline()), provider.ErrSignature, codeSignature)
	if changed, err := a.Reload(); changed || err != nil {
		t.Errorf("nothing changed, but: %v, error %v", changed, err)
	}

	set("aes", "rubbish")
	if changed, err := a.Reload(); changed || err == nil {
		t.Errorf("a broken content key: changed %v, error %v", changed, err)
	}
}

// At the end of a rotation the new key's file is copied over the old one's: the
// old key is then gone, at the next look at the files.
func TestNewKeyCopiedOverTheOldOne(t *testing.T) {
	f := files{"new.pem": string(forge.Alipay2Key.PublicPEM()), "old.pem": string(forge.AlipayKey.PublicPEM())}
	o := options()
	o.PublicKeys = []KeyFile{{"new.pem"}, {"old.pem"}}
	a, err := New(o, env(f))
	if err != nil {
		t.Fatal(err)
	}
	accept(t, a, at(forge.AlipaySigner{Key: forge.AlipayKey}.Sign(baseline())))
	f["old.pem"] = f["new.pem"]
	if changed, err := a.Reload(); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	accept(t, a, at(forge.AlipaySigner{Key: forge.Alipay2Key}.Sign(baseline())))
	refuse(t, a, at(forge.AlipaySigner{Key: forge.AlipayKey}.Sign(baseline())), provider.ErrSignature, codeSignature)
}
