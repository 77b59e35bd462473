package crashtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The merchant's throw-away key.
const (
	apiKeyID  = "k1"
	apiSecret = "throw-away-secret-of-the-merchant"
)

// merchantOptions give the shop's merchant its key.
const merchantOptions = `merchants: [{name: default, api_keys: [{id: ` + apiKeyID + `, secret: ` + apiSecret + `}]}]`

// wish is a signed request; the same one every time it is sent, but for its time.
type wish struct{ method, uri, body, key string }

func register(number string) wish {
	return wish{http.MethodPost, "/v1/orders", fmt.Sprintf(`{"out_trade_no":%q,"amount_fen":1000}`, number), "key-of-" + number}
}

// signingKey is one of a merchant's keys.
type signingKey struct{ id, secret string }

// ask signs with the merchant's key and sends.
func (p *instance) ask(client *http.Client, w wish) answer {
	return p.askWith(client, w, signingKey{apiKeyID, apiSecret})
}

// askWith signs as the outside contract says, section 5, and sends.
func (p *instance) askWith(client *http.Client, w wish, key signingKey) answer {
	r, err := http.NewRequest(w.method, p.private+w.uri, strings.NewReader(w.body))
	if err != nil {
		return answer{err: err}
	}
	timestamp := fmt.Sprint(time.Now().Unix())
	sum := sha256.Sum256([]byte(w.body))
	mac := hmac.New(sha256.New, []byte(key.secret))
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%x", w.method, w.uri, timestamp, w.key, sum)
	r.Header.Set("X-Api-Key", key.id)
	r.Header.Set("X-Timestamp", timestamp)
	r.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	if w.key != "" {
		r.Header.Set("X-Idempotency-Key", w.key)
	}
	return do(client, r)
}

// settled asks until there is an answer that will not change: not "busy", not
// "try again". A dead process's lock holds for 30 seconds.
func (p *instance) settled(t testing.TB, client *http.Client, w wish) answer {
	t.Helper()
	const lockAndMore = 45 * time.Second
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(lockAndMore); ; <-tick.C {
		a := p.ask(client, w)
		busy := a.err == nil && a.status == http.StatusConflict && strings.Contains(a.body, "idempotency_in_progress")
		if a.err == nil && a.status < http.StatusInternalServerError && !busy {
			return a
		}
		if time.Now().After(end) {
			t.Errorf("%s %s is never answered: %s", w.method, w.key, a)
			return a
		}
	}
}
