package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// Account is a place to which a provider sends: POST /notify/{Name}.
type Account struct {
	Name, Provider string
	Adapter        provider.Provider
}

// Recorder commits verified notifications.
type Recorder interface {
	// Record returns when the notification is durable, or with an error when
	// it is not or may not be. Every error means: ask the provider to come again.
	Record(ctx context.Context, n order.Notification) (order.Receipt, error)
}

// public is the handler of the public listener: notifications and a sign of
// life, nothing else.
type public struct {
	accounts map[string]Account
	taker    *Taker
	now      func() time.Time
	newID    func(prefix string) string
	metrics  *Metrics
	edge     edge
	intake   *intake
	keeper   Keeper
	slots    chan struct{} // one for each notification that is verified or committed
	draining func() bool
	base     context.Context // ends when work must be given up
}

func (p *public) handler() http.Handler { return p.edge.around(p.route) }

// route goes by the path as it was sent; the last part is decoded once, below. It
// leaves the method to the handlers, which know what Allow must say. Two paths
// need no router, and it would cost each notification a copy of its request.
func (p *public) route(w *seen, r *http.Request) {
	path := r.URL.EscapedPath()
	account, found := strings.CutPrefix(path, "/notify/")
	switch {
	case found && account != "" && !strings.Contains(account, "/"):
		p.notify(w, r, account)
	case path == "/healthz":
		w.line.level = levelProbe
		alive(w, r)
	default:
		plain(w, http.StatusNotFound, "not found\n")
	}
}

// alive says that the process answers. Whether it can commit is /readyz: a
// restart would not help against a store that is away.
func alive(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		plain(w, http.StatusMethodNotAllowed, "method not allowed\n")
		return
	}
	plain(w, http.StatusOK, "ok\n")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the peer may be gone: nothing to do about it
}

// account finds the account that a part of a path names.
func (p *public) account(part string) (Account, bool) {
	name, err := url.PathUnescape(part)
	if err != nil || strings.Contains(name, "/") {
		return Account{}, false
	}
	a, ok := p.accounts[name]
	return a, ok
}
