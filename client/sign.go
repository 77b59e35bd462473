package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of the merchant API. Source: docs/merchant-api.md.
const (
	HeaderAPIKey         = "X-Api-Key"
	HeaderTimestamp      = "X-Timestamp"
	HeaderSignature      = "X-Signature"
	HeaderIdempotencyKey = "X-Idempotency-Key"
)

// Sign signs a request to the merchant API, for those who make their own
// requests; [Client] does it by itself. The request must be complete: its URL,
// and its X-Idempotency-Key header if it has one. Body is exactly what is sent.
//
// The signature is the lower-case hex HMAC-SHA256, under the key's secret, of
// five lines joined by one LF: method, request URI, timestamp in Unix seconds,
// idempotency key, and the hex SHA-256 of the body. notifyd takes it for 300 s
// around now. Source: docs/merchant-api.md, which has a test vector.
func Sign(r *http.Request, keyID, secret string, body []byte, now time.Time) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	hash := sha256.Sum256(body)
	lines := []string{r.Method, r.URL.RequestURI(), timestamp, r.Header.Get(HeaderIdempotencyKey), hex.EncodeToString(hash[:])}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(lines, "\n")))
	r.Header.Set(HeaderAPIKey, keyID)
	r.Header.Set(HeaderTimestamp, timestamp)
	r.Header.Set(HeaderSignature, hex.EncodeToString(mac.Sum(nil)))
}
