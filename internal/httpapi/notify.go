package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
)

// The verdicts: what became of a notification at the edge.
const (
	accepted    = "accepted"    // durable
	refused     = "refused"     // not proven, or not acceptable as HTTP
	unavailable = "unavailable" // come again
)

// visit is one request to an account while it is handled.
type visit struct {
	account Account
	start   time.Time
	request provider.Request
	id      string // of the notification, once it is verified
	receipt order.Receipt
	whole   bool // the body was read to its end
	status  int  // of the answer
}

// notify takes one notification: bytes, proof, commit, ack. It is the only way
// in, and it has no other branch to a 2xx than a commit that returned.
func (p *public) notify(w *seen, r *http.Request, name string) {
	account, ok := p.account(name)
	if !ok {
		// Whose it was to be is a stranger's claim; a slip in a notify URL shows here.
		w.line.add(slog.String("reason", codeNoAccount),
			slog.String("account_claim", claim(strings.TrimPrefix(r.URL.Path, "/notify/"))))
		p.keepStranger(w, r)
		plain(w, http.StatusNotFound, "not found\n")
		return
	}
	v := &visit{account: account, start: time.Now()}
	v.request = provider.Request{Header: r.Header, ReceivedAt: p.now().UTC().Truncate(time.Microsecond)}
	err := p.take(v, w, r)
	v.status = p.answer(w, p.word(&w.line, v, err), err)
	p.tell(&w.line, v, r, err)
}

// take does the work; its error is a *provider.Refusal. A panic below, in an
// adapter or in the recorder, is one as well: nothing was promised to the sender.
func (p *public) take(v *visit, w *seen, r *http.Request) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			w.line.add(p.edge.panicked(caught)...)
			err = provider.Refuse(provider.ErrUnavailable, codePanic, "")
		}
	}()
	v.whole = r.ContentLength == 0
	if err := Admit(r); err != nil {
		if errors.Is(err, provider.ErrTooLarge) {
			hangUp(w)
		}
		return err
	}
	body, done, err := p.intake.read(w, r, v.start.Add(decideBy))
	defer done()
	v.request.Body = body
	if err != nil {
		return err
	}
	v.whole = true
	serving(r.Context())
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		return provider.Refuse(provider.ErrUnavailable, codeOverloaded, "too many notifications at a time")
	}
	ctx, cancel := context.WithDeadline(r.Context(), v.start.Add(decideBy))
	defer cancel()
	return p.commit(ctx, v, r)
}

// commit verifies and records.
func (p *public) commit(ctx context.Context, v *visit, r *http.Request) (err error) {
	v.id, v.receipt, err = p.taker.Take(ctx, v.account, r, v.request)
	if err == nil {
		return nil
	}
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		return err
	}
	return provider.Refuse(provider.ErrUnavailable, p.whyNotRecorded(ctx, err), "%s", err)
}

func (p *public) whyNotRecorded(ctx context.Context, err error) string {
	switch {
	case p.base.Err() != nil:
		return codeStopping
	case errors.Is(err, order.ErrOverloaded):
		return codeOverloaded
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return codeDeadline
	case ctx.Err() != nil:
		return codeGone
	case errors.Is(err, order.ErrUnavailable):
		return codeStore
	}
	return codeFailed
}

// answer writes what the provider expects, byte for byte, and returns its status.
func (p *public) answer(w http.ResponseWriter, a provider.Answer, err error) int {
	if err != nil && a.Status < http.StatusBadRequest {
		a.Status = provider.Status(err) // whatever an adapter says: no 2xx without a commit
	}
	h := w.Header()
	h["Content-Type"] = nil // not guessed from the bytes
	if a.ContentType != "" {
		h.Set("Content-Type", a.ContentType)
	}
	if a.Status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	switch a.Status {
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", retryAfterSeconds)
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	}
	if p.draining() {
		h.Set("Connection", "close") // so that a proxy turns to somebody else
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the sender may be gone: it will come again
	return a.Status
}

// word asks the adapter for the answer. Should it panic even here, the sender
// is asked to come again.
func (p *public) word(l *line, v *visit, err error) (a provider.Answer) {
	defer func() {
		if caught := recover(); caught != nil {
			l.add(p.edge.panicked(caught)...)
			l.level = slog.LevelError
			a = provider.Answer{Status: http.StatusServiceUnavailable}
		}
	}()
	return v.account.Adapter.Ack(v.request, err)
}

func verdict(err error) string {
	switch {
	case err == nil:
		return accepted
	case provider.Status(err) == http.StatusServiceUnavailable:
		return unavailable
	}
	return refused
}

// tell fills the log line and the metrics.
func (p *public) tell(l *line, v *visit, r *http.Request, err error) {
	verdict, code := verdict(err), provider.Code(err)
	if err != nil && code == "" {
		code = codeFailed // an adapter broke its contract; still a word of a closed list
	}
	p.metrics.notifications.WithLabelValues(v.account.Name, verdict, string(v.receipt.Did())).Inc()
	l.message = "notification"
	l.add(slog.String("account", v.account.Name), slog.String("provider", v.account.Provider),
		slog.String("verdict", verdict), slog.Int("body_bytes", len(v.request.Body)))
	if v.id != "" {
		l.add(slog.String("notification_id", v.id))
	}
	if err == nil {
		p.metrics.acked(time.Since(v.start))
		l.add(slog.String("outcome", string(v.receipt.Did())), slog.String("reason", string(v.receipt.Reason)),
			slog.Bool("repeat", v.receipt.Repeat))
		return
	}
	p.metrics.refusals.WithLabelValues(v.account.Name, code).Inc()
	sum := sha256.Sum256(v.request.Body)
	l.level = max(l.level, slog.LevelWarn)
	l.add(slog.String("reason", code), slog.String("body_sha256", hex.EncodeToString(sum[:])))
	var why *provider.Refusal
	detail := ""
	if errors.As(err, &why) && why.Detail != "" {
		detail = claim(why.Detail)
		l.add(slog.String("detail", detail))
	}
	if verdict == refused {
		p.keep(l, v, r, refusal.Refusal{Code: code, Detail: detail, BodySHA256: sum})
	}
	if alarming(code) {
		p.metrics.alarms.WithLabelValues(code).Inc()
		l.level = slog.LevelError
		l.add(slog.String("alarm", code))
	}
}

// alarming says whether a refusal wants a person: the message names a key that
// we do not have, which is how a key switch at the provider's begins.
// Adapters name such codes unknown_….
func alarming(code string) bool {
	_, what, _ := strings.Cut(code, ".")
	return strings.HasPrefix(what, "unknown_") || code == codePanic || code == codeFailed
}
