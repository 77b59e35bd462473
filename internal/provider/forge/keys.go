package forge

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"embed"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// THROW-AWAY, TEST ONLY. The private keys lie open in the repository: whoever
// configures one of their public keys for real accepts forged payments. They
// are fixed so that captures are reproducible and tests need not make keys.
//
//go:embed keys/*.pem
var keyFiles embed.FS

// Key names one of the throw-away RSA keys (2048 bits).
type Key string

// The keys, by whose part they play.
const (
	PlatformKey     Key = "platform"      // WeChat Pay's platform certificate
	Platform2Key    Key = "platform2"     // the certificate that follows it
	WechatPublicKey Key = "wechat_public" // WeChat Pay's public key, PUB_KEY_ID_…
	AlipayKey       Key = "alipay"        // Alipay's key for an application
	Alipay2Key      Key = "alipay2"       // the key that follows it
	MerchantKey     Key = "merchant"      // the merchant's own, wrong wherever the provider's belongs
	StrangerKey     Key = "stranger"      // nobody configures this one
)

// Keys lists the throw-away keys.
func Keys() []Key {
	return []Key{PlatformKey, Platform2Key, WechatPublicKey, AlipayKey, Alipay2Key, MerchantKey, StrangerKey}
}

var parsed = sync.OnceValue(func() map[Key]*rsa.PrivateKey {
	keys := make(map[Key]*rsa.PrivateKey)
	for _, k := range Keys() {
		block, _ := pem.Decode(k.PrivatePEM())
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			panic(fmt.Sprintf("throw-away key %s: %v", k, err)) // compiled in: cannot be mended at run time
		}
		keys[k] = key.(*rsa.PrivateKey)
	}
	return keys
})

// Private is the key itself.
func (k Key) Private() *rsa.PrivateKey {
	key, ok := parsed()[k]
	if !ok {
		panic("there is no throw-away key named " + string(k))
	}
	return key
}

// PrivatePEM is the key as PEM (PKCS #8).
func (k Key) PrivatePEM() []byte {
	text, err := keyFiles.ReadFile("keys/" + string(k) + ".pem")
	if err != nil {
		panic("there is no throw-away key named " + string(k))
	}
	return text
}

// PublicDER is the public half (PKIX).
func (k Key) PublicDER() []byte {
	der, err := x509.MarshalPKIXPublicKey(&k.Private().PublicKey)
	if err != nil {
		panic(err) // an RSA key always marshals
	}
	return der
}

// PublicPEM is the public half as PEM (PKIX).
func (k Key) PublicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.PublicDER()})
}

// PublicBase64 is the public half as one line of base64 without PEM lines, the
// form in which Alipay's console shows it.
func (k Key) PublicBase64() string { return base64.StdEncoding.EncodeToString(k.PublicDER()) }

// Cert says what stands in a certificate.
type Cert struct {
	Subject   pkix.Name
	Issuer    pkix.Name
	SerialHex string    // upper-case hex, "3A5B…"; "" is "1"
	NotBefore time.Time // zero: 2020-01-01
	NotAfter  time.Time // zero: 2040-01-01
}

// CertificatePEM issues a certificate for the key.
func (k Key) CertificatePEM(c Cert) []byte { return CertificatePEM(k.Private(), c) }

// CertificatePEM issues a certificate for a key, signed by the key itself under
// the issuer's name. The same Cert gives the same bytes.
func CertificatePEM(key *rsa.PrivateKey, c Cert) []byte {
	serial := big.NewInt(1)
	if c.SerialHex != "" {
		if _, ok := serial.SetString(c.SerialHex, 16); !ok {
			panic("not a hex serial: " + c.SerialHex)
		}
	}
	if c.NotBefore.IsZero() {
		c.NotBefore = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: c.Subject,
		NotBefore: c.NotBefore, NotAfter: c.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	issuer := &x509.Certificate{Subject: c.Issuer}
	der, err := x509.CreateCertificate(rand.Reader, leaf, issuer, &key.PublicKey, key)
	if err != nil {
		panic(fmt.Sprintf("certificate %s: %v", c.SerialHex, err)) // cannot happen with a sound key
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
