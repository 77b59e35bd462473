package mend

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
)

// Key is a key of a file. Of a private one there is the public half alone.
type Key struct {
	Public *rsa.PublicKey
	Own    bool // the file has the private half: it is the merchant's own
}

// KeysIn reads the RSA keys of a file of whatever kind: public keys, certificates
// and private keys, in PEM, as the bare base64 that consoles show, or as the bytes
// themselves.
func KeysIn(content []byte) (keys []Key) {
	rest := content
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if public, own := publicKey(block.Bytes); public != nil {
			keys = append(keys, Key{public, own})
		}
	}
	if len(keys) > 0 {
		return keys
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(content)), ""))
	if err != nil {
		der = content
	}
	if public, own := publicKey(der); public != nil {
		return []Key{{public, own}}
	}
	return nil
}

func publicKey(der []byte) (key *rsa.PublicKey, own bool) {
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
