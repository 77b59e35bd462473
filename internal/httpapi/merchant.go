package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

// MerchantAPI is what the merchant API needs besides what it shares with the
// admin API.
type MerchantAPI struct {
	Verifier *idempotency.Verifier
	Once     *idempotency.Once
	// Sealing gives commands whose answers are stored with their effects.
	Sealing func(order.Sealer) Commands
	Feed    order.Feed
	Moved   func() <-chan struct{} // see order.Sequencer
}

// signer is who sent a request, and the body that was signed.
type signer struct {
	merchant string
	body     []byte
}

type signerKey struct{}

// signed lets through what is signed with a merchant's key. Whatever is wrong,
// the answer is the same to the byte; the log has the cause.
func (a *private) signed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := readCommand(w, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		merchant, err := a.api.Verifier.Verify(r.Method, r.RequestURI, r.Header, body, a.now())
		var refusal *idempotency.Refusal
		if errors.As(err, &refusal) {
			lineOf(r.Context()).add(slog.String("code", string(refusal.Code)))
		}
		if err != nil {
			a.fail(w, r, problemUnsigned)
			return
		}
		lineOf(r.Context()).add(slog.String("merchant", merchant))
		r = r.WithContext(context.WithValue(r.Context(), signerKey{}, signer{merchant, body}))
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// readCommand reads a whole body within the bounds of the private listener.
func readCommand(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	// A test's connection has no deadlines; the server's does.
	_ = control.SetReadDeadline(time.Now().Add(commandBy))
	body, err := io.ReadAll(http.MaxBytesReader(raw(w), r.Body, maxCommandBytes))
	if err != nil {
		hangUp(w)
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, problemBodyTooLarge
		}
		return nil, problemCutBody
	}
	// While an answer waits for an event, nothing has to arrive.
	_ = control.SetReadDeadline(time.Time{})
	return body, nil
}

// once answers a signed POST: the first one runs, later ones under its key hear
// its answer.
func (a *private) once(c *call, op operation) error {
	key, err := idempotency.KeyOf(c.r.Header)
	if err != nil {
		return err
	}
	c.w.Header().Set(idempotency.HeaderKey, key)
	reply, err := a.api.Once.Do(c.r.Context(), idempotency.Request{
		Merchant: c.signer.merchant, Key: key, Method: c.r.Method, URI: c.r.RequestURI, Body: c.signer.body,
	}, func(_ context.Context, lock idempotency.Lock) (idempotency.Answer, bool, error) {
		// What is wrong with the query is an answer like any other.
		err := c.readQuery(op)
		if err == nil {
			var answer idempotency.Answer
			var sealed bool
			if answer, sealed, err = op.effect(a, c, lock); err == nil {
				return answer, sealed, nil
			}
		}
		// What the store or we ourselves are to blame for may end better next
		// time; what the merchant asked for may not.
		p := problemOf(err)
		if p.Status >= http.StatusInternalServerError {
			return idempotency.Answer{}, false, err
		}
		lineOf(c.r.Context()).add(slog.String("problem", p.Code))
		return problemAnswer(p), false, nil
	})
	if !reply.CreatedAt.IsZero() && (err == nil || problemOf(err).Status < http.StatusInternalServerError) {
		c.w.Header().Set(idempotency.HeaderCreatedAt, reply.CreatedAt.UTC().Format(time.RFC3339Nano))
	}
	if err != nil {
		return err
	}
	if reply.Replayed {
		c.w.Header().Set(idempotency.HeaderReplayed, "true")
		lineOf(c.r.Context()).add(slog.Bool("replayed", true))
	}
	c.w.Header().Set("Content-Type", reply.Answer.ContentType)
	c.w.WriteHeader(reply.Answer.Status)
	_, _ = c.w.Write(reply.Answer.Body) // the peer may be gone: it asks again under its key
	return nil
}

func problemAnswer(p *Problem) idempotency.Answer {
	return idempotency.Answer{Status: p.Status, ContentType: problemJSON, Body: jsonBody(p)}
}

// sealed runs a command and stores its answer, the order as it is then, in the
// transaction of its effect.
func (a *private) sealed(lock idempotency.Lock, do func(Commands) error) (answer idempotency.Answer, sealed bool, err error) {
	err = do(a.api.Sealing(func(s order.Story, created bool) *order.Seal {
		status := http.StatusOK
		if created {
			status = http.StatusCreated
		}
		answer = idempotency.Answer{Status: status, ContentType: jsonType, Body: jsonBody(s.View())}
		return &order.Seal{Merchant: lock.Merchant, Key: lock.Key, Token: lock.Token,
			Status: answer.Status, ContentType: answer.ContentType, Body: answer.Body}
	}))
	return answer, err == nil, err
}
