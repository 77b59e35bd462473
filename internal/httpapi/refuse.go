package httpapi

import (
	"bytes"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/refusal"
)

// Keeper keeps refused requests for diagnosis. Neither call waits for anything;
// *refusal.Keeper is one.
type Keeper interface {
	// Room says whether one more may be kept, and how much of its body.
	Room(account, code string) (bodyBytes int, ok bool)
	// Keep takes it, and says whether it waits to be written now.
	Keep(r refusal.Refusal) bool
}

// keep hands a refused request over for diagnosis. Its answer is decided by
// then, and waits for a copy of the body at most: a small one leaves when the
// handler has ended.
func (p *public) keep(l *line, v *visit, r *http.Request, kept refusal.Refusal) {
	limit, ok := p.keeper.Room(v.account.Name, kept.Code)
	if !ok {
		return
	}
	body := v.request.Body
	kept.Account, kept.Provider, kept.Status = v.account.Name, v.account.Provider, v.status
	kept.ReceivedAt, kept.BodyBytes = v.request.ReceivedAt, int64(len(body))
	kept.Cut = !v.whole || len(body) > limit
	p.put(l, r, kept, body[:min(len(body), limit)])
}

// keepStranger keeps a message to an account that is not configured: a mistyped
// notify URL otherwise shows nowhere. Its body is read only when there is room.
func (p *public) keepStranger(w *seen, r *http.Request) {
	if r.Method != http.MethodPost {
		return // whoever knocks at doors does not post
	}
	limit, ok := p.keeper.Room("", codeNoAccount)
	if !ok {
		return
	}
	limit = min(limit, strangerBodyBytes)
	kept := refusal.Refusal{Code: codeNoAccount, Status: http.StatusNotFound, ReceivedAt: p.now().UTC().Truncate(time.Microsecond)}
	var body []byte
	if kept.Cut = Admit(r) != nil; !kept.Cut {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(decideBy)) // a connection that has no deadlines is a test's
		var err error
		body, err = io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
		kept.Cut = err != nil || len(body) > limit
		if err != nil {
			hangUp(w)
		} else {
			_ = control.SetReadDeadline(time.Time{})
		}
	}
	kept.BodyBytes, kept.BodySHA256 = int64(len(body)), sha256.Sum256(body)
	p.put(&w.line, r, kept, body[:min(len(body), limit)])
}

// put hands over what is complete but for the request itself. The bytes are
// copied: the keeper outlives the request.
func (p *public) put(l *line, r *http.Request, kept refusal.Refusal, body []byte) {
	kept.ID = p.newID(refusal.IDPrefix)
	kept.Peer = peer(r)
	kept.KeptBytes = int64(len(body))
	kept.Capture = refusedCapture(r, body)
	if p.keeper.Keep(kept) {
		l.add(slog.String("refusal_id", kept.ID))
	}
}

// refusedCapture is the capture of a refused request. It holds a few fields more
// than one of a notification: what proxies add and change is often the reason.
func refusedCapture(r *http.Request, body []byte) order.Capture {
	return captureOf(r, bytes.Clone(body), keptOfRefused)
}

// keptOfRefused is a list of what may stand in it, not of what may not: a field
// that nobody thought of may be somebody's credential.
func keptOfRefused(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Content-Encoding", "Content-Transfer-Encoding", "Via", "X-Forwarded-Proto", "X-Forwarded-Host":
		return true
	}
	return kept(name)
}
