package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

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

func (p *public) handler() http.Handler {
	r := chi.NewRouter()
	r.Use(p.edge.wrap, byPathOnly)
	r.Get("/healthz", alive)
	r.Get("/notify/{account}", p.notify)
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusNotFound, "not found\n") })
	return r
}

// byPathOnly routes on the path as it was sent (handlers decode their part of
// it once) and leaves the method to the handlers, which know what Allow must say.
func byPathOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := chi.RouteContext(r.Context())
		c.RoutePath, c.RouteMethod = r.URL.EscapedPath(), http.MethodGet
		next.ServeHTTP(w, r)
	})
}

// alive says that the process answers. Whether it can commit is /readyz: a
// restart would not help against a store that is away.
func alive(w http.ResponseWriter, r *http.Request) {
	lineOf(r.Context()).level = levelProbe
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

// account finds the account that a request names; the last part of the path is
// decoded once.
func (p *public) account(r *http.Request) (Account, bool) {
	name, err := pathValue(r, "account")
	if err != nil || strings.Contains(name, "/") {
		return Account{}, false
	}
	a, ok := p.accounts[name]
	return a, ok
}
