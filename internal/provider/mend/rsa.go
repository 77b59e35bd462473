package mend

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"math/big"
)

// Digest is the hash over which somebody made a signature.
type Digest struct {
	Hash string // "SHA-256" or "SHA-1"
	Sum  []byte
}

// What stands between the padding and the sum, by hash.
// Source: RFC 8017, section 9.2, notes.
var digestPrefixes = []struct {
	hash   string
	size   int
	prefix []byte
}{
	{"SHA-256", sha256.Size, []byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}},
	{"SHA-1", sha1.Size, []byte{0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14}},
}

// DigestOf reads out of an RSA PKCS #1 v1.5 signature the digest that was
// signed; false when this key did not make it. That tells apart what looks the
// same to a verifier: a genuine signature over a text that was changed since,
// and a signature by somebody else.
func DigestOf(public *rsa.PublicKey, proof []byte) (Digest, bool) {
	size := public.Size()
	s := new(big.Int).SetBytes(proof)
	if len(proof) != size || s.Cmp(public.N) >= 0 {
		return Digest{}, false
	}
	em := new(big.Int).Exp(s, big.NewInt(int64(public.E)), public.N).FillBytes(make([]byte, size))
	for _, p := range digestPrefixes {
		tail := len(p.prefix) + p.size
		filled := size - tail - 1 // the padding, and one zero after it
		if filled < 2 || em[0] != 0 || em[1] != 1 || em[filled] != 0 ||
			!bytes.Equal(em[2:filled], bytes.Repeat([]byte{0xff}, filled-2)) || !bytes.HasPrefix(em[filled+1:], p.prefix) {
			continue
		}
		return Digest{p.hash, em[size-p.size:]}, true
	}
	return Digest{}, false
}

// Signs says whether the digest is the text's.
func (d Digest) Signs(text []byte) bool {
	switch d.Hash {
	case "SHA-256":
		sum := sha256.Sum256(text)
		return bytes.Equal(sum[:], d.Sum)
	case "SHA-1":
		sum := sha1.Sum(text)
		return bytes.Equal(sum[:], d.Sum)
	}
	return false
}
