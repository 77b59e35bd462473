package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
)

// Commands are what people may do to orders.
type Commands interface {
	// Register is order.ErrFactsDiffer when the order is registered otherwise.
	Register(ctx context.Context, r order.Registration) (created bool, err error)
	// Do is order.ErrUnknown or *order.IllegalTransition when it cannot be done.
	Do(ctx context.Context, key order.Key, command order.Kind) error
}

// private is the handler of the private listener: the admin API, the merchant
// API, the metrics and the probes.
type private struct {
	merchants []string
	token     provider.Secret
	commands  Commands
	reader    order.Reader
	refusals  refusal.Reader
	metrics   *Metrics
	edge      edge
	ready     *readiness
	document  []byte // the OpenAPI document

	api        MerchantAPI
	deliveries Deliveries
	now        func() time.Time
	newID      func(prefix string) string
	waiting    chan struct{} // a slot for each call that waits for an event
	stopping   chan struct{} // closed when no further request is accepted
}

func (a *private) handler() http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, problemCrossOrigin)
	}))
	r := chi.NewRouter()
	r.Use(a.edge.wrap, byPathOnly, quietAnswers, crossOrigin.Handler)
	r.Get("/healthz", probe(http.HandlerFunc(alive)).ServeHTTP)
	r.Get("/readyz", onlyReads(probe(http.HandlerFunc(a.ready.answer))))
	r.Get("/metrics", onlyReads(probe(a.metrics.handler())))
	r.Get("/openapi.json", onlyReads(http.HandlerFunc(a.openAPI)))
	r.Group(func(r chi.Router) {
		r.Use(a.bearer)
		a.mount(r, a.operations())
		r.Get("/admin/v1/*", a.notFound) // behind the token: what exists is nobody else's business
	})
	r.Group(func(r chi.Router) {
		r.Use(a.signed)
		a.mount(r, merchantOperations())
		r.Get("/v1/*", a.notFound)
	})
	r.NotFound(a.notFound)
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

func (a *private) notFound(w http.ResponseWriter, r *http.Request) { a.fail(w, r, problemNotFound) }

// bearer lets through who holds the token. Without a configured token nobody does.
func (a *private) bearer(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(a.token.Reveal()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := bearerToken(r.Header)
		sum := sha256.Sum256([]byte(given))
		// The sums have one length, so the time tells nothing of the token's.
		match := subtle.ConstantTimeCompare(sum[:], want[:]) == 1
		if !ok || a.token == "" || !match {
			a.fail(w, r, problemUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bearerToken reads the one Authorization header.
func bearerToken(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	return strings.TrimLeft(token, " "), ok && strings.EqualFold(scheme, "Bearer")
}

// quietAnswers keeps answers out of caches and browsers from guessing at them.
func quietAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// probe marks questions that come every few seconds, so that they do not fill the log.
func probe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lineOf(r.Context()).level = levelProbe
		next.ServeHTTP(w, r)
	})
}

func onlyReads(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeProblem(w, newProblem(http.StatusMethodNotAllowed, "method_not_allowed", "this path takes GET, HEAD"))
			return
		}
		next.ServeHTTP(w, r)
	}
}

// merchant is the merchant that a call speaks of: the one given, whose base must
// be configured, or the only one there is.
func (a *private) merchant(c *call) (string, error) {
	given := c.query["merchant"]
	if given == "" {
		if len(a.merchants) != 1 {
			return "", problemMerchant
		}
		return a.merchants[0], nil
	}
	return given, a.knownMerchant(given)
}

func (a *private) knownMerchant(given string) error {
	base, sub, partner := strings.Cut(given, "/")
	if partner && !subMerchantForm(sub) {
		return badParameter("merchant", "after the slash comes a sub-merchant's number of 1 to %d letters and digits", maxSubMerchantBytes)
	}
	for _, m := range a.merchants {
		if m == base {
			return nil
		}
	}
	return newProblem(http.StatusNotFound, "merchant_unknown", "no merchant %q is configured", base)
}
