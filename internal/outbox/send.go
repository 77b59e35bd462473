package outbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Endpoint is where a merchant's events are delivered.
type Endpoint struct {
	Name         string
	Merchant     string
	URL          string
	Keys         [][]byte // each signs every delivery; see Sign
	Events       []string // for people: whoever writes deliveries chooses
	AllowPrivate bool
}

// Failures are the classes of attempts without an answer.
const (
	FailureTimeout = "timeout"
	FailureAddress = "address_refused" // by our own dialer
	FailureName    = "name_unknown"
	FailureConnect = "connect"
	FailureTLS     = "tls"
	FailureBroken  = "broken" // the connection, or what came over it
	FailureURL     = "url"
)

// answer is what came of one POST.
type answer struct {
	status     int // 0: none
	failure    string
	response   []byte
	retryAfter time.Duration // 0: it did not ask
}

func (a answer) delivered() bool { return a.status/100 == 2 }

// gone: the endpoint wants no more, ever.
func (a answer) gone() bool { return a.status == http.StatusGone }

// slow: the endpoint has more to do than it can.
func (a answer) slow() bool {
	switch a.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// post makes one attempt. An answer with 2xx counts from its header on: what
// becomes of its body changes nothing.
func (o *Outbox) post(ctx context.Context, e *Endpoint, id string, body []byte, at time.Time) answer {
	ctx, cancel := context.WithTimeout(ctx, o.opt.AttemptTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return answer{failure: FailureURL}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", o.opt.UserAgent)
	r.Header.Set(headerID, id)
	r.Header.Set(headerTimestamp, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(headerSignature, Sign(e.Keys, id, at, body))
	got, err := o.opt.Client(e.AllowPrivate).Do(r)
	if err != nil {
		return answer{failure: failureOf(err)}
	}
	defer func() { _ = got.Body.Close() }()
	response, _ := io.ReadAll(io.LimitReader(got.Body, MaxResponseBytes)) // as far as it came
	return answer{status: got.StatusCode, response: response, retryAfter: retryAfter(got.Header, o.opt.Now(), o.opt.MaxRetryAfter)}
}

// failureOf is the class of a failed call, by type and never by text.
func failureOf(err error) string {
	var forbidden *ForbiddenAddress
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var timeout interface{ Timeout() bool }
	var op *net.OpError
	switch {
	case errors.As(err, &forbidden):
		return FailureAddress
	case errors.Is(err, errURL):
		return FailureURL
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return FailureTimeout
	case errors.As(err, &name):
		return FailureName
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert), errors.Is(err, http.ErrSchemeMismatch):
		return FailureTLS
	case errors.As(err, &op) && op.Op == "dial":
		return FailureConnect
	}
	return FailureBroken
}
