// Package idempotency lets a merchant ask for something again without fear: it
// proves who asks (Verifier), and runs a request under one key once (Once), so
// that whoever asks again hears the first answer. It owns the form of the
// signature, the rules of the key and of its life; the stores own the rows.
//
// It imports the standard library only. The effects of requests are none of its
// business: they commit their answers themselves, and only while the lock that
// was taken here still holds.
package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
)

// Fingerprint tells one request from another: same method, same URI, same body.
type Fingerprint [sha256.Size]byte

// FingerprintOf is the fingerprint of a request. uri is the request line's own
// bytes, as they are signed.
func FingerprintOf(method, uri string, body []byte) Fingerprint {
	// Neither a method nor a URI can hold a line feed.
	return sha256.Sum256([]byte(method + "\n" + uri + "\n" + bodyHash(body)))
}

// bodyHash is how a body stands in what is hashed and signed: hex(sha256(body)).
func bodyHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
