package mend

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
)

// PublicKeys reads the RSA keys of a file of whatever kind: public keys,
// certificates, private keys (of which only the public half is used), in PEM or
// as the bare base64 that consoles show. own says whether a private key was
// among them: then the file is the merchant's own.
func PublicKeys(content []byte) (keys []*rsa.PublicKey, own bool) {
	rest := content
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		key, private := publicKey(block.Bytes)
		if key != nil {
			keys, own = append(keys, key), own || private
		}
	}
	if len(keys) > 0 {
		return keys, own
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(content)), ""))
	if err != nil {
		return nil, false
	}
	if key, private := publicKey(der); key != nil {
		return []*rsa.PublicKey{key}, private
	}
	return nil, false
}

func publicKey(der []byte) (key *rsa.PublicKey, private bool) {
	if cert, err := x509.ParseCertificate(der); err == nil {
		key, _ = cert.PublicKey.(*rsa.PublicKey)
		return key, false
	}
	if parsed, err := x509.ParsePKIXPublicKey(der); err == nil {
		key, _ = parsed.(*rsa.PublicKey)
		return key, false
	}
	if parsed, err := x509.ParsePKCS1PublicKey(der); err == nil {
		return parsed, false
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if p, ok := parsed.(*rsa.PrivateKey); ok {
			return &p.PublicKey, true
		}
		return nil, false
	}
	if parsed, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return &parsed.PublicKey, true
	}
	return nil, false
}
