package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/provider"
)

// levelProbe is for the questions of balancers, which come every few seconds.
const levelProbe = slog.LevelDebug

// line is the one wide log line of a request. Whoever learns something about
// the request adds it; the edge writes it when the answer is out.
type line struct {
	message string
	level   slog.Level
	attrs   []slog.Attr
}

// lineRoom is memory for what a line holds, one line after another: a log copies
// what it is given.
var lineRoom = sync.Pool{New: func() any { return new([lineAttrs]slog.Attr) }}

const (
	// lineHead is what the edge itself puts before all else when the answer is out.
	lineHead = 4
	// lineAttrs is more than lines have; what goes beyond costs memory, no more.
	lineAttrs = 24
)

func (l *line) add(attrs ...slog.Attr) { l.attrs = append(l.attrs, attrs...) }

type lineKey struct{}

// lineOf is the line of the request at hand, for those below a router.
func lineOf(ctx context.Context) *line {
	if l, ok := ctx.Value(lineKey{}).(*line); ok {
		return l
	}
	return &line{} // a handler called outside the edge: nobody reads it
}

// seen is a ResponseWriter that remembers what was answered, and what is said
// about the request.
type seen struct {
	http.ResponseWriter
	status int
	line   line
}

func (s *seen) WriteHeader(status int) {
	if s.status == 0 && status >= http.StatusOK {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *seen) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// raw is net/http's own writer under our wrapper: http.MaxBytesReader tells only
// that one that the rest of the body will not be read.
func raw(w http.ResponseWriter) http.ResponseWriter {
	if s, ok := w.(*seen); ok {
		return s.ResponseWriter
	}
	return w
}

// edge is what both listeners do around every request: one log line, and a panic
// below becomes a 500 that says nothing and a count.
type edge struct {
	log     *slog.Logger // says which listener it is
	metrics *Metrics
}

func newEdge(log *slog.Logger, metrics *Metrics, listener string) edge {
	return edge{log.With(slog.String("listener", listener)), metrics}
}

// wrap is around for a router, which hands on a request and no line.
func (e edge) wrap(next http.Handler) http.Handler {
	return e.around(func(w *seen, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lineKey{}, &w.line)))
	})
}

func (e edge) around(next func(*seen, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		room := lineRoom.Get().(*[lineAttrs]slog.Attr)
		out := &seen{ResponseWriter: w, line: line{message: "request", level: slog.LevelInfo, attrs: room[:lineHead]}}
		l := &out.line
		defer func() {
			if p := recover(); p != nil {
				l.add(e.panicked(p)...)
				l.level = slog.LevelError
				if out.status == 0 {
					out.Header().Set("Connection", "close")
					writeProblem(out, problemInternal)
				}
			}
			e.write(r, l, out.status, time.Since(start))
			l.attrs = nil // who still has the line must not write into another one
			clear(room[:])
			lineRoom.Put(room)
		}()
		if r.ProtoMajor != 1 {
			// The preface of HTTP/2 reaches handlers as a request.
			out.Header().Set("Connection", "close")
			out.WriteHeader(http.StatusHTTPVersionNotSupported)
			return
		}
		if len(r.TransferEncoding) > 0 {
			// A length may have stood beside it, which can no longer be seen, and
			// a proxy may have gone by that. What follows is not taken for a request.
			out.Header().Set("Connection", "close")
		}
		next(out, r)
	})
}

func (e edge) write(r *http.Request, l *line, status int, took time.Duration) {
	ctx := r.Context() // that it may have ended means nothing to a log
	if !e.log.Enabled(ctx, l.level) {
		return
	}
	copy(l.attrs, []slog.Attr{
		slog.String("method", claim(r.Method)),
		slog.String("path", pathClass(r.URL.Path)),
		slog.Int("status", status),
		slog.Int64("duration_us", took.Microseconds()),
	})
	l.add(slog.String("peer", peer(r)))
	// Whatever a header says of the sender is a claim: it is logged, nothing else.
	if v := r.Header.Get("X-Forwarded-For"); v != "" {
		l.add(slog.String("forwarded_for_claim", claim(v)))
	}
	if v := r.Header.Get("Request-Id"); v != "" {
		l.add(slog.String("request_id_claim", claim(v)))
	}
	// Logger.LogAttrs would look up where in the code this is, which no log shows.
	record := slog.NewRecord(time.Now(), l.level, l.message, 0)
	record.AddAttrs(l.attrs...)
	_ = e.log.Handler().Handle(ctx, record) // an error of the log has nowhere to go
}

// panicked counts a panic and describes it without its value, which may hold
// bytes of the request. What the runtime itself says is about our code.
func (e edge) panicked(p any) []slog.Attr {
	e.metrics.panics.Inc()
	text := fmt.Sprintf("%T", p)
	var runtimeError interface{ RuntimeError() }
	if err, ok := p.(error); ok && errors.As(err, &runtimeError) {
		text = err.Error()
	}
	return []slog.Attr{slog.String("panic", claim(text)), slog.String("stack", string(debug.Stack()))}
}

// claim cuts a text of a request to what a log line may carry: bounded, and
// without anything that could look like another line or colour a terminal.
func claim(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, provider.Clip(s, maxClaimBytes))
	// The mark for a byte that cannot be shown takes three.
	for end := maxClaimBytes; len(s) > maxClaimBytes; end-- {
		if utf8.RuneStart(s[end]) {
			s = s[:end]
		}
	}
	return s
}

// peer is the address at the other end of the connection: the proxy's, where
// there is one.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// pathClass is the path as far as it is ours, without what strangers put there.
func pathClass(path string) string {
	for _, prefix := range []string{"/notify/", "/admin/v1/orders", "/admin/v1/notifications", "/admin/v1/events", "/admin/v1/deliveries",
		"/admin/v1/endpoints", "/admin/", "/v1/orders", "/v1/events", "/v1/"} {
		if strings.HasPrefix(path, prefix) {
			return prefix
		}
	}
	switch path {
	case "/healthz", "/readyz", "/metrics", "/openapi.json":
		return path
	}
	return "other"
}
