package idempotency

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Names of the headers, in their canonical form.
const (
	HeaderAPIKey    = "X-Api-Key"   // the id of the key that signed
	HeaderTimestamp = "X-Timestamp" // Unix seconds, ten digits
	HeaderSignature = "X-Signature" // see Signed.Sign
	HeaderKey       = "X-Idempotency-Key"
	HeaderKeyAlias  = "Idempotency-Key"
	HeaderReplayed  = "X-Idempotency-Replayed"   // "true" on an answer that is told again
	HeaderCreatedAt = "X-Idempotency-Created-At" // RFC 3339, of the original
)

// Signed is what a signature covers. Two requests that differ in any of it have
// different signatures.
type Signed struct {
	Method    string // as in the request line, for instance POST
	URI       string // the request line's own bytes, query and all
	Timestamp string // as in X-Timestamp
	Key       string // as in X-Idempotency-Key; "" when there is none
	Body      []byte // as sent
}

// Text is what is signed: five lines joined by one LF, none at the end.
func (s Signed) Text() string {
	return s.Method + "\n" + s.URI + "\n" + s.Timestamp + "\n" + s.Key + "\n" + bodyHash(s.Body)
}

// Sign is the value of X-Signature: the lower-case hex of HMAC-SHA256 over Text
// under the key's secret.
func (s Signed) Sign(secret Secret) string { return hex.EncodeToString(sum(secret, s.Text())) }

func sum(secret Secret, text string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, text) // a hash never fails
	return mac.Sum(nil)
}

// Secret is a key's secret. However it is printed, it prints as a mask.
type Secret string

const mask = "***"

func (s Secret) String() string               { return mask }
func (s Secret) GoString() string             { return mask }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, mask) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }
