package outbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery. HTTP does not tell their case apart.
// Source: the Standard Webhooks specification, "Webhook headers".
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// Sign is the value of the header webhook-signature: one signature for each key,
// so that while secrets are rotated, the receiver may know either.
// Source: the Standard Webhooks specification, "Signature scheme".
func Sign(keys [][]byte, id string, at time.Time, body []byte) string {
	content := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write(content)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
