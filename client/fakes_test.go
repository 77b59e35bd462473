package client_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client"
)

const (
	keyID     = "k1"
	keySecret = "throw-away-secret-of-the-tests"
	baseURL   = "http://notifyd.test"
)

// attempt is a request as it arrived.
type attempt struct {
	method, uri, key, signature, body string
	timestamp                         string
	at                                time.Time
	header                            http.Header
}

// reply is what the server says to the n-th attempt, counted from 0.
type reply func(n int, a attempt) (*http.Response, error)

// server is the other end without a network: what it waits for, synctest can wait for.
type server struct {
	mu       sync.Mutex
	reply    reply
	attempts []attempt
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // a reader of bytes
	}
	a := attempt{method: r.Method, uri: r.URL.RequestURI(), key: r.Header.Get("X-Idempotency-Key"), body: string(body),
		timestamp: r.Header.Get("X-Timestamp"), signature: r.Header.Get("X-Signature"), at: time.Now(), header: r.Header.Clone()}
	s.mu.Lock()
	n := len(s.attempts)
	s.attempts = append(s.attempts, a)
	s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	response, err := s.reply(n, a)
	if response != nil {
		response.Request = r
	}
	return response, err
}

func newClient(t *testing.T, s *server, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(baseURL, keyID, keySecret, append([]client.Option{client.WithTransport(s)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// says is an answer; headers come in pairs.
func says(status int, body string, headers ...string) *http.Response {
	contentType := "application/json"
	if status >= 400 {
		contentType = "application/problem+json"
	}
	h := http.Header{"Content-Type": {contentType}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

func problem(status int, code string, headers ...string) *http.Response {
	return says(status, fmt.Sprintf(`{"type":"urn:notifyd:problem:%s","title":"t","status":%d,"detail":"why","code":%q}`, code, status, code), headers...)
}

// always answers every attempt in the same way.
func always(status int, body string) reply {
	return func(int, attempt) (*http.Response, error) { return says(status, body), nil }
}

const anOrder = `{"merchant":"default","out_trade_no":"T1001","status":"created","version":1,"amount_fen":1000,"expected_fen":1000,
"amount_verified":false,"currency":"CNY","paid_fen":0,"refunded_fen":0,"provider":null,"account":null,"provider_txn_id":null,
"late":false,"finished":false,"paid_at":null,"created_at":"2026-01-01T12:00:00+08:00","updated_at":"2026-01-01T12:00:00+08:00",
"payments":[],"refunds":[],"transitions":[],"notifications":[]}`

// signatureOf is the signature as the contract words it, written a second time.
func signatureOf(a attempt) string {
	mac := hmac.New(sha256.New, []byte(keySecret))
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%x", a.method, a.uri, a.timestamp, a.key, sha256.Sum256([]byte(a.body)))
	return hex.EncodeToString(mac.Sum(nil))
}

// brokenBody ends in an error instead of its end.
type brokenBody struct{ io.Reader }

func (b brokenBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
func (brokenBody) Close() error { return nil }

func cutShort(status int, body string) *http.Response {
	response := says(status, body)
	response.Body = brokenBody{bytes.NewReader([]byte(body))}
	return response
}
