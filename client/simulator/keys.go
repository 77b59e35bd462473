package simulator

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// Keys are what a simulated provider signs with: throw-away keys, made for one
// account on one machine. Whoever configures their public halves for a real
// account accepts what anybody who has the files makes up.
type Keys struct {
	Platform     Certificate // WeChat Pay's platform certificate
	NextPlatform Certificate // the one that follows it
	PublicKey    PublicKey   // the WeChat Pay public key
	Alipay       *rsa.PrivateKey
}

// Certificate is a key under which WeChat Pay signs by certificate.
type Certificate struct {
	Serial  string // upper-case hex, as in Wechatpay-Serial
	PEM     []byte // the certificate, as an account's configuration names it
	Private *rsa.PrivateKey
}

// PublicKey is a key under which WeChat Pay signs by the id of a public key.
type PublicKey struct {
	ID      string // PUB_KEY_ID_… as in Wechatpay-Serial
	Private *rsa.PrivateKey
}

const (
	// keyBits is what both providers sign with.
	keyBits = 2048
	// certificateYears is how long a platform certificate is good.
	certificateYears = 5
	// serialDigits (hex) and idDigits are the lengths that WeChat Pay's have.
	serialDigits = 40
	idDigits     = 21

	publicKeyIDPrefix = "PUB_KEY_ID_"
)

// NewKeys makes fresh keys. It takes about a second.
func NewKeys() (*Keys, error) {
	var made [4]*rsa.PrivateKey
	for i := range made {
		key, err := rsa.GenerateKey(rand.Reader, keyBits)
		if err != nil {
			return nil, fmt.Errorf("cannot make a key: %w", err)
		}
		made[i] = key
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	return &Keys{
		Platform:     newCertificate(made[0], today),
		NextPlatform: newCertificate(made[1], today),
		PublicKey:    PublicKey{ID: publicKeyIDPrefix + randomDigits(idDigits, 10), Private: made[2]},
		Alipay:       made[3],
	}, nil
}

func newCertificate(key *rsa.PrivateKey, from time.Time) Certificate {
	serial := randomDigits(serialDigits, 16)
	return Certificate{Serial: serial, Private: key, PEM: forge.CertificatePEM(key, forge.Cert{
		Subject:   pkix.Name{CommonName: "WeChat Pay platform (throw-away, test only)"},
		Issuer:    pkix.Name{CommonName: "throw-away root, test only"},
		SerialHex: serial, NotBefore: from, NotAfter: from.AddDate(certificateYears, 0, 0),
	})}
}

// randomDigits is a random number of exactly n digits in the base, and positive
// as the serial of a certificate (20 bytes) has to be: it begins with 1 to 7.
func randomDigits(n, base int) string {
	below := func(limit int64) int64 {
		i, err := rand.Int(rand.Reader, big.NewInt(limit))
		if err != nil {
			panic(err) // the reader of crypto/rand does not fail
		}
		return i.Int64()
	}
	var b strings.Builder
	b.WriteString(big.NewInt(1 + below(7)).Text(base))
	for b.Len() < n {
		b.WriteString(big.NewInt(below(int64(base))).Text(base))
	}
	return strings.ToUpper(b.String())
}

// PEM is the public half, as an account's configuration names it.
func (k PublicKey) PEM() []byte { return publicPEM(k.Private) }

// AlipayPEM is the public half of the key that plays Alipay's, as an account's
// configuration names it.
func (k *Keys) AlipayPEM() []byte { return publicPEM(k.Alipay) }

func publicPEM(key *rsa.PrivateKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		panic(err) // an RSA key always marshals
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
