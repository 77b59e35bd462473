package idempotency

import (
	"errors"
	"net/http"
)

// MaxKeyBytes bounds an idempotency key: far more than any id needs, and little
// enough for an index entry.
const MaxKeyBytes = 255

// Errors of the idempotency key itself. They are answered with 400 and stored
// nowhere.
var (
	ErrKeyMissing   = errors.New("the request needs an X-Idempotency-Key: 1 to 255 visible ASCII characters, a new one for everything that shall happen once more, the same one when a request is sent again")
	ErrKeyInvalid   = errors.New("the X-Idempotency-Key is not 1 to 255 visible ASCII characters")
	ErrKeyAmbiguous = errors.New("the request names more than one idempotency key: send X-Idempotency-Key, or its alias Idempotency-Key, once")
)

// KeyOf is the idempotency key of a request: X-Idempotency-Key, or its alias
// Idempotency-Key, or both when they are the same. Errors: ErrKeyMissing,
// ErrKeyInvalid, ErrKeyAmbiguous.
func KeyOf(header http.Header) (string, error) {
	if len(header[HeaderKey]) > 1 || len(header[HeaderKeyAlias]) > 1 {
		return "", ErrKeyAmbiguous
	}
	sent := sentKeys(header)
	switch key := sent[0]; {
	case len(sent) > 1:
		return "", ErrKeyAmbiguous
	case key == "":
		return "", ErrKeyMissing
	case !isKey(key):
		return "", ErrKeyInvalid
	default:
		return key, nil
	}
}

func isKey(key string) bool {
	for i := range len(key) {
		if key[i] < '!' || key[i] > '~' {
			return false
		}
	}
	return len(key) <= MaxKeyBytes
}
