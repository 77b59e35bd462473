package wechat

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"net/http"
	"strings"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

const (
	headerPrefix        = "Wechatpay-"
	headerSignatureType = "Wechatpay-Signature-Type"
	headerTimestamp     = "Wechatpay-Timestamp"
	headerNonce         = "Wechatpay-Nonce"
	headerSerial        = "Wechatpay-Serial"

	signatureType = "WECHATPAY2-SHA256-RSA2048"
	probePrefix   = "WECHATPAY/SIGNTEST/"
	algorithm     = "AEAD_AES_256_GCM"

	// maxAgeSeconds is WeChat Pay's own window, both ways.
	maxAgeSeconds = 300
	// timestampDigits: Unix seconds from 2001 to 2286.
	timestampDigits = 10
	// maxHeader is longer than any nonce, and than a signature of 4096 bits.
	maxHeader = 1024
)

// v3Header is what the signature of a v3 message needs besides the body.
type v3Header struct {
	timestamp, nonce, serial, signature string
	seconds                             int64
}

// parseV3 works from the cheap to the dear: is there an object, are the headers
// whole and fresh, is the key known, and only then RSA.
func (m *message) parseV3() (order.Notification, error) {
	body := m.req.Body
	if at := skipSpace(body, 0); at == len(body) || body[at] != '{' {
		return order.Notification{}, (&formFault{CodeMalformedJSON, "the body is not a JSON object", at}).refusal()
	}
	if m.keys.v3 == nil {
		return order.Notification{}, unproven(CodeNoV3Key, "the account has no API v3 key")
	}
	h, err := readV3Header(m.req.Header)
	if err != nil {
		return order.Notification{}, err
	}
	if age := m.req.ReceivedAt.Unix() - h.seconds; age > maxAgeSeconds || age < -maxAgeSeconds {
		return order.Notification{}, unproven(CodeStale, "signed %d s before it was received; at most %d are accepted, both ways", age, maxAgeSeconds)
	}
	m.text = normalSerial(m.text[:0], h.serial)
	key := m.keys.platform[string(m.text)]
	if key == nil {
		return order.Notification{}, unproven(CodeUnknownSerial, "no key %q is configured", provider.Clip(h.serial, maxSerial))
	}
	if fault := m.envelope.read(body, maxEnvelopeNodes); fault != nil {
		return order.Notification{}, fault.refusal()
	}
	if err := m.verifyV3(&h, key); err != nil {
		return order.Notification{}, err
	}
	if err := m.open(); err != nil {
		return order.Notification{}, err
	}
	return m.factsV3()
}

// onceEach refuses a Wechatpay-… header that came twice, in a message of either
// version: the next reader may take the other one.
func onceEach(h http.Header) error {
	for name, values := range h {
		if len(values) > 1 && strings.HasPrefix(name, headerPrefix) {
			return unproven(CodeRepeatedHeader, "%s came %d times", name, len(values))
		}
	}
	return nil
}

// readV3Header demands each header once and in its form.
func readV3Header(h http.Header) (v3Header, error) {
	if err := onceEach(h); err != nil {
		return v3Header{}, err
	}
	v := v3Header{timestamp: first(h, headerTimestamp), nonce: first(h, headerNonce), serial: first(h, headerSerial), signature: first(h, headerSignature)}
	switch "" {
	case v.timestamp, v.nonce, v.serial, v.signature:
		return v3Header{}, unproven(CodeMissingHeader, "one of %s, %s, %s and %s is missing or too long", headerTimestamp, headerNonce, headerSerial, headerSignature)
	}
	if t, ok := h[headerSignatureType]; ok && (len(t) != 1 || t[0] != signatureType) {
		return v3Header{}, unproven(CodeSignatureType, "%s names another algorithm than RSA with SHA-256", headerSignatureType)
	}
	if len(v.timestamp) != timestampDigits {
		return v3Header{}, unproven(CodeTimestamp, "%s is not ten digits", headerTimestamp)
	}
	for i := 0; i < timestampDigits; i++ {
		c := v.timestamp[i]
		if c < '0' || c > '9' {
			return v3Header{}, unproven(CodeTimestamp, "%s is not ten digits", headerTimestamp)
		}
		v.seconds = v.seconds*10 + int64(c-'0')
	}
	return v, nil
}

// first is a header's value; "" when it is missing, or longer than any is.
func first(h http.Header, name string) string {
	values := h[name]
	if len(values) == 0 || len(values[0]) > maxHeader {
		return ""
	}
	return values[0]
}

// verifyV3 checks RSA PKCS#1 v1.5 with SHA-256 over timestamp, nonce and body,
// each followed by a line feed: the bytes as they came.
func (m *message) verifyV3(h *v3Header, key *platformKey) error {
	m.text = append(m.text[:0], h.timestamp...)
	m.text = append(m.text, '\n')
	m.text = append(m.text, h.nonce...)
	m.text = append(m.text, '\n')
	m.hash.Reset()
	m.hash.Write(m.text)
	m.hash.Write(m.req.Body)
	m.hash.Write(m.text[len(m.text)-1:])
	m.sum = m.hash.Sum(m.sum[:0])

	m.text = append(m.text[:0], h.signature...)
	signature, ok := decodeBase64(m.signature[:0], m.text)
	m.signature = signature
	if ok && rsa.VerifyPKCS1v15(key.public, crypto.SHA256, m.sum, signature) == nil {
		return nil
	}
	// A probe is a failed signature like any other; only its name differs.
	if strings.HasPrefix(h.signature, probePrefix) {
		return unproven(CodeProbe, "a test of WeChat Pay's: the message follows once more")
	}
	if !ok {
		return unproven(CodeSignature, "%s is not base64", headerSignature)
	}
	return unproven(CodeSignature, "does not hold under %s %s (body of %d bytes)", key.kind, key.id, len(m.req.Body))
}

// errSealed: the resource was sealed with another key, or is not whole.
var errSealed = unproven(CodeDecrypt, "resource does not open under the API v3 key")

// open decrypts the resource of a verified envelope into m.plain.
func (m *message) open() error {
	e := &m.envelope
	resource := e.member(root, "resource")
	if !e.isObject(resource) {
		return unproven(CodeResource, "the message has no resource")
	}
	if a := e.text(resource, "algorithm"); string(a) != algorithm {
		return unproven(CodeAlgorithm, "resource.algorithm is %s", quoted(a))
	}
	nonce := e.text(resource, "nonce")
	// Open panics on a nonce of another length.
	if len(nonce) != m.keys.v3.NonceSize() {
		return unproven(CodeDecrypt, "resource.nonce has %d bytes, not %d", len(nonce), m.keys.v3.NonceSize())
	}
	associated := e.text(resource, "associated_data")
	if bytes.Equal(associated, wrongType) {
		return unproven(CodeResource, "resource.associated_data is no text")
	}
	sealed, ok := decodeBase64(m.plain[:0], e.text(resource, "ciphertext"))
	m.plain = sealed
	if !ok {
		return unproven(CodeDecrypt, "resource.ciphertext is not base64")
	}
	plain, err := m.keys.v3.Open(sealed[:0], nonce, sealed, associated)
	if err != nil {
		return errSealed
	}
	m.plain = plain
	return nil
}
