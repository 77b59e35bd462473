package forge

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

func TestKeysAreMarkedAndDiffer(t *testing.T) {
	seen := map[string]Key{}
	for _, k := range Keys() {
		if !strings.HasPrefix(string(k.PrivatePEM()), "THROW-AWAY, TEST ONLY") {
			t.Errorf("key %s is not marked as throw-away", k)
		}
		if other, twice := seen[k.PublicBase64()]; twice {
			t.Errorf("keys %s and %s are the same", k, other)
		}
		seen[k.PublicBase64()] = k
		if bits := k.Private().N.BitLen(); bits != 2048 {
			t.Errorf("key %s has %d bits", k, bits)
		}
	}
}

func TestCertificateIsReproducible(t *testing.T) {
	c := Cert{Subject: pkix.Name{CommonName: "Tenpay.com sign"}, Issuer: pkix.Name{CommonName: "Tenpay.com Root CA"}, SerialHex: "5157F09EFDC096DE15EBE81A47057A72"}
	first, again := PlatformKey.CertificatePEM(c), PlatformKey.CertificatePEM(c)
	if !bytes.Equal(first, again) {
		t.Fatal("the same certificate came out differently")
	}
	block, _ := pem.Decode(first)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ToUpper(cert.SerialNumber.Text(16)); got != c.SerialHex {
		t.Errorf("serial %s, want %s", got, c.SerialHex)
	}
	if cert.Issuer.CommonName != "Tenpay.com Root CA" || cert.Subject.CommonName != "Tenpay.com sign" {
		t.Errorf("names: subject %q issuer %q", cert.Subject, cert.Issuer)
	}
	if !PlatformKey.Private().PublicKey.Equal(cert.PublicKey.(*rsa.PublicKey)) {
		t.Error("the certificate holds another key")
	}
}

func TestMessageAtOwnsItsBytes(t *testing.T) {
	m := Message{Header: map[string][]string{"A": {"1"}}, Body: []byte("body")}
	req := m.At(time.Unix(1, 0))
	req.Body[0] = 'X'
	req.Header.Set("A", "2")
	if string(m.Body) != "body" || m.Header.Get("A") != "1" {
		t.Error("a change of the request reached the message")
	}
	if want := (provider.Request{}); req.ReceivedAt == want.ReceivedAt {
		t.Error("the time of receipt is missing")
	}
}
