package httpapi

import (
	"context"
	"net/http"
	"runtime"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// Admit refuses a request for what its line and header say, before its body is
// read. Errors are *provider.Refusal.
func Admit(r *http.Request) error {
	switch {
	case r.Method != http.MethodPost:
		return provider.Refuse(provider.ErrMethod, codeMethod, "")
	case encoded(r.Header):
		return provider.Refuse(provider.ErrEncoding, codeEncoding, "")
	case r.ContentLength > maxBodyBytes:
		return provider.Refuse(provider.ErrTooLarge, codeTooLarge, "%d bytes announced", r.ContentLength)
	}
	return nil
}

// Sendable refuses a header that net/http answers with 400 before any handler of
// ours: it can come from a file only. Errors are *provider.Refusal.
func Sendable(h http.Header) error {
	for _, values := range h {
		for _, v := range values {
			for i := range len(v) {
				if c := v[i]; c < ' ' && c != '\t' || c == 0x7f {
					return provider.Refuse(provider.ErrMalformed, codeNotHTTP, "a header with a control character")
				}
			}
		}
	}
	return nil
}

// Taker is the way of an admitted notification from its bytes to its commit. The
// public listener and a replay share it, so that they cannot differ.
type Taker struct {
	recorder Recorder
	newID    func(prefix string) string
	proofs   chan struct{} // a slot for each proof at work
}

// NewTaker makes a Taker.
func NewTaker(recorder Recorder, newID func(prefix string) string) *Taker {
	// Proving is nothing but computing: more at once than there are processors
	// finish no sooner, and keep the committers waiting for a processor while
	// everybody waits for them.
	return &Taker{recorder, newID, make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Take proves a request and makes it durable. The id is the notification's; that
// of the earlier one for a repeat, "" when nothing was proven. Errors are
// *provider.Refusal before the commit, the Recorder's own after that.
func (t *Taker) Take(ctx context.Context, a Account, r *http.Request, req provider.Request) (id string, receipt order.Receipt, err error) {
	n, err := t.prove(a, req)
	if err != nil {
		return "", order.Receipt{}, err
	}
	n.ID, n.ReceivedAt = t.newID("ntf_"), req.ReceivedAt
	n.Capture = capture(r, req.Body)
	if receipt, err = t.recorder.Record(ctx, n); err != nil {
		return n.ID, receipt, err
	}
	return receipt.NotificationID, receipt, nil // a repeat belongs to the one before
}

func (t *Taker) prove(a Account, req provider.Request) (order.Notification, error) {
	t.proofs <- struct{}{}
	defer func() { <-t.proofs }() // also when an adapter panics
	return a.Adapter.Parse(req)
}
