package alipay

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

// Faults of key files, worded to follow the file's name.
var (
	errPrivateKey  = errors.New("holds a private key; what is needed is Alipay's public key, and private keys do not belong here")
	errIsCert      = errors.New("holds a certificate; list it under certificates")
	errIsPublic    = errors.New("holds a public key; list it under public_keys")
	errNoPublicKey = errors.New("is neither PEM nor the bare base64 of an RSA public key")
	errNotRSA      = errors.New("does not hold an RSA key")
)

// readPublicKey reads PEM (PKIX or PKCS #1) or the bare base64 of either.
func readPublicKey(content []byte) (key, error) {
	der, err := publicDER(content)
	if err != nil {
		return key{}, err
	}
	public, err := parsePublic(der)
	if err != nil {
		return key{}, err
	}
	return key{public, provider.KeyInfo{ID: fingerprint(public), Kind: "public key"}}, nil
}

// publicDER takes the outer form off a public key file.
func publicDER(content []byte) ([]byte, error) {
	content = bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")) // editors leave it
	block, rest := pem.Decode(content)
	if block == nil {
		bare, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(content)), ""))
		if err != nil {
			return nil, errNoPublicKey
		}
		return bare, nil
	}
	switch {
	case strings.HasSuffix(block.Type, "PRIVATE KEY"), bytes.Contains(rest, []byte("PRIVATE KEY")):
		return nil, errPrivateKey
	case block.Type == "CERTIFICATE":
		return nil, errIsCert
	case !strings.HasSuffix(block.Type, "PUBLIC KEY"):
		return nil, fmt.Errorf("holds a %q, not a public key", provider.Clip(block.Type, maxNamed))
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("holds more than one key; give each a file of its own")
	}
	return block.Bytes, nil
}

func parsePublic(der []byte) (*rsa.PublicKey, error) {
	if public, err := x509.ParsePKCS1PublicKey(der); err == nil {
		return public, nil
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		if holdsPrivate(der) {
			return nil, errPrivateKey
		}
		return nil, errNoPublicKey
	}
	if rsaKey, ok := public.(*rsa.PublicKey); ok {
		return rsaKey, nil
	}
	return nil, errNotRSA
}

func holdsPrivate(der []byte) bool {
	_, err1 := x509.ParsePKCS1PrivateKey(der)
	_, err8 := x509.ParsePKCS8PrivateKey(der)
	return err1 == nil || err8 == nil
}

// readCertificate reads Alipay's certificate. Further certificates after it are
// the authorities that issued it; they are not needed, because the file itself
// is what the merchant trusts. Its end is shown, not enforced: a message signed
// a day late by Alipay is still a payment.
func (a *Adapter) readCertificate(content []byte) (key, error) {
	block, rest := pem.Decode(bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")))
	switch {
	case bytes.Contains(content, []byte("PRIVATE KEY")):
		return key{}, errPrivateKey
	case block == nil:
		return key{}, errors.New("is no certificate in PEM")
	case strings.HasSuffix(block.Type, "PUBLIC KEY"):
		return key{}, errIsPublic
	case block.Type != "CERTIFICATE":
		return key{}, fmt.Errorf("holds a %q, not a certificate", provider.Clip(block.Type, maxNamed))
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return key{}, errors.New("holds a certificate that cannot be read; what is needed is alipayCertPublicKey_RSA2.crt")
	}
	if err := a.checkCertificate(cert, rest); err != nil {
		return key{}, err
	}
	public, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok {
		return key{}, errNotRSA
	}
	info := provider.KeyInfo{ID: strings.ToUpper(cert.SerialNumber.Text(16)), Kind: "certificate", NotAfter: cert.NotAfter.UTC()}
	return key{public, info}, nil
}

// checkCertificate refuses the two files that lie beside the right one in the
// download: the authority's and the application's own.
func (a *Adapter) checkCertificate(cert *x509.Certificate, rest []byte) error {
	if cert.IsCA {
		return errors.New("holds the certificate of an authority; what is needed is alipayCertPublicKey_RSA2.crt")
	}
	own := a.options.AppID
	if own != "" && (strings.Contains(cert.Subject.String(), own) || strings.Contains(cert.Subject.SerialNumber, own)) {
		return fmt.Errorf("holds the application's own certificate (its subject names %s); what is needed is Alipay's, alipayCertPublicKey_RSA2.crt", own)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		if next, _ := pem.Decode(rest); next == nil || next.Type != "CERTIFICATE" {
			return errors.New("holds something else after the certificate")
		}
	}
	return nil
}

// fingerprint names a key that has no number of its own.
func fingerprint(public *rsa.PublicKey) string {
	sum := sha256.Sum256(x509.MarshalPKCS1PublicKey(public))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

func readAESKey(text string) (cipher.Block, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errAESKey
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, errAESKey
	}
	return block, nil
}
