package alipay

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/provider"
)

// Algorithms that Alipay names in sign_type.
const (
	signRSA2 = "RSA2" // RSA PKCS #1 v1.5 with SHA-256
	signRSA  = "RSA"  // the same with SHA-1, for old applications
)

// maxSignatureBytes is the signature of the largest key allowed (4096 bits).
const maxSignatureBytes = maxKeyBits / 8

// isSignature says whether a field is the signature or speaks of it: these two
// stand outside the signed text.
func isSignature(name string) bool {
	switch name {
	case "sign", "sign_type":
		return true
	}
	return false
}

// rule says what of a form is signed.
type rule struct{ keepSignType, dropEmpty bool }

// rules are the documented ones, in the order in which they are tried, and no
// others: each further one is another way to read one signature.
// Source: Alipay docs, "verify the signature of asynchronous notifications"
// (all fields); life account events keep sign_type; some senders leave fields
// without a value out.
var rules = [...]rule{{}, {dropEmpty: true}, {keepSignType: true}}

// text appends what is signed under r: name=value joined by '&' in the order of
// the names, the bytes as they came.
func (f form) text(to []byte, r rule) []byte {
	first := true
	for _, p := range f {
		if p.name == "sign" || p.name == "sign_type" && !r.keepSignType || len(p.value) == 0 && r.dropEmpty {
			continue
		}
		if !first {
			to = append(to, '&')
		}
		first = false
		to = append(to, p.name...)
		to = append(to, '=')
		to = append(to, p.value...)
	}
	return to
}

// applies says whether r reads this form in another way than the first rule.
func (r rule) applies(f form) bool {
	switch {
	case r.dropEmpty:
		for _, p := range f {
			if len(p.value) == 0 && !isSignature(p.name) {
				return true
			}
		}
		return false
	case r.keepSignType:
		return len(f.get("sign_type")) > 0
	}
	return true
}

// verify returns nil when the form was signed with one of the keys. What can be
// told without a key is told first: a flood of nonsense costs no RSA. scratch is
// room for the signed text.
func (a *Adapter) verify(f form, scratch []byte) error {
	given := f.get("sign")
	if len(given) == 0 {
		return provider.Refuse(provider.ErrSignature, codeNoSignature, "")
	}
	algorithm, err := a.algorithm(f)
	if err != nil {
		return err
	}
	if _, err := charsetOf(f); err != nil {
		return err
	}
	var buffer [maxSignatureBytes]byte
	proof, err := decodeSignature(buffer[:0], given)
	if err != nil {
		return err
	}
	ring := a.ring.Load()
	for _, r := range rules {
		if !r.applies(f) {
			continue
		}
		if ring.signed(algorithm, f.text(scratch[:0], r), proof) {
			return nil
		}
	}
	return whyNot(f)
}

// algorithm is the one that the message names, if the account allows it. A
// message that names none is RSA2: the sender must not be able to choose the
// weaker one by leaving the name out.
func (a *Adapter) algorithm(f form) (string, error) {
	name := signRSA2
	for _, p := range f {
		if p.name == "sign_type" {
			name = p.value
		}
	}
	for _, allowed := range a.signTypes {
		if name == allowed {
			return name, nil
		}
	}
	return "", provider.Refuse(provider.ErrSignature, codeSignType, "%q is not in sign_types", provider.Clip(name, maxNamed))
}

var strictBase64 = base64.StdEncoding.Strict()

// decodeSignature reads base64 strictly: no line breaks, no loose bits.
func decodeSignature(to []byte, given string) ([]byte, error) {
	if len(given) <= base64.StdEncoding.EncodedLen(maxSignatureBytes) && !strings.ContainsAny(given, "\r\n") {
		if proof, err := strictBase64.AppendDecode(to, []byte(given)); err == nil {
			return proof, nil
		}
	}
	code := codeSignatureForm
	switch {
	case strings.Contains(given, " ") && strings.Trim(given, base64Letters+" ") == "":
		code = codePlusLost
	case strings.Contains(given, "%"):
		code = codeEncodedTwice
	}
	return nil, provider.Refuse(provider.ErrSignature, code, "%d bytes", len(given))
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// signed says whether one of the keys signed the text: during a change of keys
// nothing on the wire says which.
func (ring *keyring) signed(algorithm string, text, proof []byte) bool {
	var long [sha256.Size]byte
	var short [sha1.Size]byte
	hash, digest := crypto.SHA256, long[:]
	if algorithm == signRSA {
		short = sha1.Sum(text)
		hash, digest = crypto.SHA1, short[:]
	} else {
		long = sha256.Sum256(text)
	}
	for _, key := range ring.keys {
		if rsa.VerifyPKCS1v15(key.public, hash, digest, proof) == nil {
			return true
		}
	}
	return false
}

// whyNot names the likely cause of a signature that does not hold, from what
// can be seen in the values: one look at them and no further cryptography.
func whyNot(f form) error {
	set, _ := charsetOf(f)
	code := codeSignature
	for _, p := range f {
		switch {
		case strings.Contains(p.value, "&quot;"), strings.Contains(p.value, "&amp;"), strings.Contains(p.value, "&#"):
			code = codeHTMLEscaped
		case strings.Contains(p.value, `\"`) && code == codeSignature:
			code = codeBackslashed
		case set != charsetUTF8 && !ascii(p.value) && utf8.ValidString(p.value) && code == codeSignature:
			code = codeTranscoded
		}
	}
	return provider.Refuse(provider.ErrSignature, code, "")
}
