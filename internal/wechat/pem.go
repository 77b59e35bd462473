package wechat

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

const (
	publicKeyIDPrefix = "PUB_KEY_ID_"
	// maxSerial is longer than any certificate serial in hex (20 bytes) and any
	// public key id.
	maxSerial = 64
	// minKeyBits: WeChat Pay signs with 2048-bit keys.
	minKeyBits = 2048
)

// onlyBlock is the one PEM block that a key file holds.
func onlyBlock(content []byte) (*pem.Block, error) {
	block, rest := pem.Decode(content)
	if block == nil {
		return nil, errors.New("holds no PEM block (-----BEGIN …-----): take the file that the WeChat Pay console gives")
	}
	if strings.Contains(block.Type, "PRIVATE KEY") || bytes.Contains(content, []byte("PRIVATE KEY-----")) {
		return nil, errors.New("holds a private key; verifying needs WeChat Pay's public key or certificate only: take the private key away from here")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("holds more than one PEM block: one file for each key")
	}
	return block, nil
}

func parsePublicKey(content []byte) (*rsa.PublicKey, error) {
	block, err := onlyBlock(content)
	if err != nil {
		return nil, err
	}
	var parsed any
	switch block.Type {
	case "PUBLIC KEY":
		parsed, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		parsed, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		return nil, errors.New("holds a certificate: list it under certificates")
	default:
		return nil, fmt.Errorf("holds a PEM block %q where PUBLIC KEY is due", block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("is not a public key: %v", err)
	}
	return rsaKey(parsed)
}

func parseCertificate(content []byte) (*x509.Certificate, *rsa.PublicKey, error) {
	block, err := onlyBlock(content)
	if err != nil {
		return nil, nil, err
	}
	switch block.Type {
	case "CERTIFICATE":
	case "PUBLIC KEY", "RSA PUBLIC KEY":
		return nil, nil, errors.New("holds a public key: list it with its id under public_keys")
	default:
		return nil, nil, fmt.Errorf("holds a PEM block %q where CERTIFICATE is due", block.Type)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("is not a certificate: %v", err)
	}
	public, err := rsaKey(cert.PublicKey)
	return cert, public, err
}

func rsaKey(parsed any) (*rsa.PublicKey, error) {
	public, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("is not an RSA key; other algorithms are not supported")
	}
	if bits := public.N.BitLen(); bits < minKeyBits {
		return nil, fmt.Errorf("is an RSA key of %d bits; WeChat Pay's have %d", bits, minKeyBits)
	}
	return public, nil
}

func serialOf(cert *x509.Certificate) string {
	return strings.ToUpper(cert.SerialNumber.Text(16))
}

func isPublicKeyID(id string) bool {
	rest, ok := strings.CutPrefix(id, publicKeyIDPrefix)
	return ok && isNumber([]byte(rest), maxSerial-len(publicKeyIDPrefix))
}

// normalSerial appends to dst the form under which a key is kept: a public key
// id as it is, a serial in capitals without leading zeros, for sources print it
// both ways. What is neither is nil.
func normalSerial(dst []byte, serial string) []byte {
	if serial == "" || len(serial) > maxSerial {
		return nil
	}
	if strings.HasPrefix(serial, publicKeyIDPrefix) {
		return append(dst, serial...)
	}
	start := len(dst)
	for i := 0; i < len(serial); i++ {
		switch c := serial[i]; {
		case c == '0' && len(dst) == start:
		case c >= '0' && c <= '9', c >= 'A' && c <= 'F':
			dst = append(dst, c)
		case c >= 'a' && c <= 'f':
			dst = append(dst, c-'a'+'A')
		default:
			return nil
		}
	}
	if len(dst) == start {
		dst = append(dst, '0')
	}
	return dst
}
