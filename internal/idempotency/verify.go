package idempotency

import (
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// MaxSkew is how far a request's timestamp may be from our clock, both ways.
// A captured request is worth something for no longer than that, and a repeat
// within it meets its idempotency key.
const MaxSkew = 300 * time.Second

// timestampDigits is the length of a timestamp, from 2001 to 2286. One form
// only: "+1767225600" or "01767225600" would be other texts for one time.
const timestampDigits = 10

// Key is a merchant's key for signing requests.
type Key struct {
	ID       string // as in X-Api-Key; unique among all merchants
	Secret   Secret // unique, too: the id itself is not signed
	Merchant string
}

// ErrUnproven: nobody can say whose request it is. It is the same error, with
// the same text, whatever the cause.
var ErrUnproven = errors.New("the request is not signed with a key of this server, or not now: see X-Api-Key, X-Timestamp and X-Signature")

// Refusal is ErrUnproven with its cause, which is for logs and not for whoever asks.
type Refusal struct{ Code Code }

func (*Refusal) Error() string { return ErrUnproven.Error() }

// Unwrap makes every Refusal an ErrUnproven.
func (*Refusal) Unwrap() error { return ErrUnproven }

// Code says why a request was refused.
type Code string

// The codes of refusals.
const (
	CodeHeaderMissing Code = "api.header_missing" // one of the three headers
	CodeHeaderDoubled Code = "api.header_doubled" // one of them, or of the idempotency key's, comes twice
	CodeTimestamp     Code = "api.timestamp"      // not ten digits
	CodeStale         Code = "api.stale"          // further than MaxSkew from our clock
	CodeUnknownKey    Code = "api.unknown_key"
	CodeSignature     Code = "api.signature"
)

// Codes are all codes of refusals.
func Codes() []Code {
	return []Code{CodeHeaderMissing, CodeHeaderDoubled, CodeTimestamp, CodeStale, CodeUnknownKey, CodeSignature}
}

// Verifier knows the merchants' keys. It is safe for concurrent use.
type Verifier struct {
	keys   map[string]Key
	nobody Secret // is compared with when the key is unknown, so that this takes as long
}

// NewVerifier makes a verifier of all merchants' keys; several of one merchant
// hold side by side, for a rotation. Errors: a key without an id, a secret or a
// merchant; an id or a secret that two keys share.
func NewVerifier(keys []Key) (*Verifier, error) {
	v := &Verifier{keys: make(map[string]Key, len(keys)), nobody: Secret(rand.Text())}
	owners := make(map[Secret]string, len(keys))
	for _, k := range keys {
		switch {
		case k.ID == "" || k.Secret == "" || k.Merchant == "":
			return nil, fmt.Errorf("the API key %q of merchant %q needs an id, a secret and a merchant", k.ID, k.Merchant)
		case v.keys[k.ID].ID != "":
			return nil, fmt.Errorf("two API keys have the id %q: the id says which secret signed", k.ID)
		case owners[k.Secret] != "":
			return nil, fmt.Errorf("the API keys %q and %q have one secret: give each its own", owners[k.Secret], k.ID)
		}
		v.keys[k.ID], owners[k.Secret] = k, k.ID
	}
	return v, nil
}

// Verify says which merchant sent a request, or is a *Refusal. uri is the
// request line's own bytes, header as net/http reads it, now our clock. A
// signature that holds for either of two idempotency keys proves the sender;
// KeyOf then refuses the pair.
func (v *Verifier) Verify(method, uri string, header http.Header, body []byte, now time.Time) (merchant string, err error) {
	var values [3]string
	for i, name := range []string{HeaderAPIKey, HeaderTimestamp, HeaderSignature} {
		switch sent := header[name]; len(sent) {
		case 0:
			return "", &Refusal{CodeHeaderMissing}
		case 1:
			values[i] = sent[0]
		default:
			return "", &Refusal{CodeHeaderDoubled}
		}
	}
	id, timestamp, signature := values[0], values[1], values[2]
	if len(header[HeaderKey]) > 1 || len(header[HeaderKeyAlias]) > 1 {
		return "", &Refusal{CodeHeaderDoubled}
	}
	if code := checkTime(timestamp, now); code != "" {
		return "", &Refusal{code}
	}
	key, known := v.keys[id]
	if !known {
		key.Secret = v.nobody
	}
	holds := false
	for _, k := range sentKeys(header) {
		want := Signed{method, uri, timestamp, k, body}.Sign(key.Secret)
		holds = hmac.Equal([]byte(signature), []byte(want)) || holds
	}
	switch {
	case !known:
		return "", &Refusal{CodeUnknownKey}
	case !holds:
		return "", &Refusal{CodeSignature}
	}
	return key.Merchant, nil
}

// checkTime is "" for a timestamp that may be.
func checkTime(timestamp string, now time.Time) Code {
	if len(timestamp) != timestampDigits {
		return CodeTimestamp
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 64)
	if err != nil {
		return CodeTimestamp
	}
	// Whole seconds on both sides: what was sent within the limit is within it.
	if away := now.Unix() - int64(seconds); away > int64(MaxSkew/time.Second) || -away > int64(MaxSkew/time.Second) {
		return CodeStale
	}
	return ""
}

// sentKeys are the idempotency keys that a request names: "" when it names
// none, two when its two headers differ.
func sentKeys(header http.Header) []string {
	sent := slices.Compact(slices.Concat(header[HeaderKey], header[HeaderKeyAlias]))
	if len(sent) == 0 {
		return []string{""}
	}
	return sent
}
