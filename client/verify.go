package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery. Source: the Standard Webhooks specification.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

const (
	// Tolerance is how far the timestamp of a delivery may be from now, either
	// way. Source: the Standard Webhooks specification.
	Tolerance = 5 * time.Minute

	secretPrefix = "whsec_"
	// minSecretBytes: a key that is shorter is a mistake of copying.
	minSecretBytes = 16
	signatureV1    = "v1,"
)

var (
	// ErrUnproven says that a delivery is not proven to be from notifyd, or not
	// from now. The error around it says why: for your log, not for the sender.
	ErrUnproven = errors.New("the delivery is not proven")
	// ErrUnreadable says that a delivery is proven but holds no event.
	ErrUnreadable = errors.New("the delivery holds no event that can be read")
	// ErrSecret says that a secret is not of the form whsec_ and base64.
	ErrSecret = errors.New("a secret of an endpoint is whsec_ and base64 of 16 bytes or more")
)

// VerifyWebhook proves a delivery and reads its event. Body is exactly what
// arrived, before any JSON was parsed. Give all secrets of the endpoint during a
// rotation: one of them must have signed. Errors are [ErrUnproven],
// [ErrUnreadable] and [ErrSecret].
//
// Source: the Standard Webhooks specification, symmetric signatures (v1).
func VerifyWebhook(header http.Header, body []byte, now time.Time, secrets ...string) (Event, error) {
	keys, err := readSecrets(secrets)
	if err != nil {
		return Event{}, err
	}
	return verify(header, body, now, keys)
}

func verify(header http.Header, body []byte, now time.Time, keys [][]byte) (Event, error) {
	id, err := only(header, headerID)
	if err != nil {
		return Event{}, err
	}
	timestamp, err := only(header, headerTimestamp)
	if err != nil {
		return Event{}, err
	}
	signatures, err := only(header, headerSignature)
	if err != nil {
		return Event{}, err
	}
	seconds, err := strconv.ParseUint(timestamp, 10, 63)
	if err != nil {
		return Event{}, fmt.Errorf("%w: its timestamp is no number of seconds", ErrUnproven)
	}
	if distance := now.Sub(time.Unix(int64(seconds), 0)).Abs(); distance > Tolerance {
		return Event{}, fmt.Errorf("%w: its timestamp is %v from this machine's time, %v at most are allowed", ErrUnproven, distance.Truncate(time.Second), Tolerance)
	}
	if !signed(id+"."+timestamp+".", body, strings.Fields(signatures), keys) {
		return Event{}, fmt.Errorf("%w: no signature of it is by one of the %d secrets given", ErrUnproven, len(keys))
	}
	var e Event
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" {
		return Event{}, ErrUnreadable
	}
	if e.ID != id {
		return Event{}, fmt.Errorf("%w: its header and its body name different events", ErrUnreadable)
	}
	return e, nil
}

// only is the value of a header that must come once: of two, a proxy and a
// handler may each believe another.
func only(header http.Header, name string) (string, error) {
	values := header.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", fmt.Errorf("%w: it has %d headers %s instead of one", ErrUnproven, len(values), strings.ToLower(name))
	}
	return values[0], nil
}

// signed compares the texts and not the bytes that they stand for, because
// base64 can write the same bytes in several ways. It compares all, so that its
// time does not tell which one matched.
func signed(prefix string, body []byte, signatures []string, keys [][]byte) bool {
	found := false
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(prefix))
		mac.Write(body)
		want := []byte(signatureV1 + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, one := range signatures {
			if hmac.Equal([]byte(one), want) {
				found = true
			}
		}
	}
	return found
}

// readSecrets never puts a secret into its error.
func readSecrets(secrets []string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%w; none was given", ErrSecret)
	}
	keys := make([][]byte, 0, len(secrets))
	for i, secret := range secrets {
		text, found := strings.CutPrefix(strings.TrimSpace(secret), secretPrefix)
		key, err := base64.StdEncoding.DecodeString(text)
		if !found || err != nil || len(key) < minSecretBytes {
			return nil, fmt.Errorf("%w; number %d is not", ErrSecret, i+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
