package mend

import (
	"crypto/x509"
	"encoding/base64"
	"slices"
	"testing"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// A key is read from whatever people have it in, and is known to be the merchant's
// own by its private half, not by what else the file holds.
func TestKeysIn(t *testing.T) {
	t.Parallel()
	merchant, platform := forge.MerchantKey, forge.PlatformKey
	der := x509.MarshalPKCS1PrivateKey(merchant.Private())
	pkcs8, err := x509.MarshalPKCS8PrivateKey(merchant.Private())
	if err != nil {
		t.Fatal(err)
	}
	certificate := platform.CertificatePEM(forge.Cert{SerialHex: "AB"})
	for name, c := range map[string]struct {
		content []byte
		own     []bool // of each key; the merchant's are the own ones
	}{
		"public PEM":              {platform.PublicPEM(), []bool{false}},
		"certificate":             {certificate, []bool{false}},
		"private PEM":             {merchant.PrivatePEM(), []bool{true}},
		"base64 of a console":     {[]byte(platform.PublicBase64() + "\n"), []bool{false}},
		"base64 of a private key": {[]byte(base64.StdEncoding.EncodeToString(pkcs8)), []bool{true}},
		"bytes, PKCS #1":          {der, []bool{true}},
		"bytes, PKCS #8":          {pkcs8, []bool{true}},
		"both in one file":        {slices.Concat(merchant.PrivatePEM(), certificate), []bool{true, false}},
		"nothing":                 {nil, nil},
		"a secret":                {[]byte("TestApiV3KeyForReceiver000000001"), nil},
	} {
		keys := KeysIn(c.content)
		var own []bool
		for _, k := range keys {
			own = append(own, k.Own)
			of := platform
			if k.Own {
				of = merchant
			}
			if !k.Public.Equal(&of.Private().PublicKey) {
				t.Errorf("%s: another key was read", name)
			}
		}
		if !slices.Equal(own, c.own) {
			t.Errorf("%s: own %v, want %v", name, own, c.own)
		}
	}
}
