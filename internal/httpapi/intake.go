package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

// Reason codes of the edge: what can go wrong before an adapter sees a request
// or after it has verified one. Part of the closed list of codes.
const (
	codeNoAccount  = "edge.no_account" // the URL names none that is configured
	codeMethod     = "edge.method"
	codeEncoding   = "edge.encoding"
	codeTooLarge   = "edge.too_large"
	codeBodySlow   = "edge.body_slow" // it did not arrive in time
	codeBodyCut    = "edge.body_cut"  // the connection ended, or the chunks were malformed
	codeBodyLost   = "edge.body_lost" // something in front of us read it
	codeOverloaded = "edge.overloaded"
	codeDeadline   = "edge.deadline"
	codeGone       = "edge.gone" // the sender hung up before the commit
	codeStopping   = "edge.stopping"
	codeStore      = "edge.store"
	codeFailed     = "edge.failed"
	codePanic      = "edge.panic"
	codeNotHTTP    = "edge.not_http" // net/http refuses it; only a capture can bring it further
)

// intake reads bodies: every byte once, within bounds.
type intake struct {
	large chan struct{} // a slot for each body above smallBodyBytes
}

func newIntake() *intake { return &intake{large: make(chan struct{}, maxLargeBodies)} }

// read returns the body of r. done must be called when the bytes are no longer
// needed. Errors are *provider.Refusal.
func (in *intake) read(w http.ResponseWriter, r *http.Request, until time.Time) (body []byte, done func(), err error) {
	done = func() {}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(until) // a connection that has no deadlines is a test's
	src := http.MaxBytesReader(raw(w), r.Body, maxBodyBytes)
	body, err = readAll(io.LimitReader(src, smallBodyBytes), r.ContentLength)
	if err == nil && len(body) == smallBodyBytes {
		select {
		case in.large <- struct{}{}:
			done = func() { <-in.large }
		default:
			return body, done, provider.Refuse(provider.ErrUnavailable, codeOverloaded, "too many large bodies at a time")
		}
		var rest []byte
		rest, err = io.ReadAll(src)
		body = append(body, rest...)
	}
	if err != nil {
		return body, done, bodyRefusal(w, err)
	}
	_ = control.SetReadDeadline(time.Time{})
	if r.ContentLength > 0 && int64(len(body)) != r.ContentLength {
		return body, done, provider.Refuse(provider.ErrUnavailable, codeBodyLost,
			"%d bytes announced, %d read", r.ContentLength, len(body))
	}
	return body, done, nil
}

// readAll is io.ReadAll, but a body that announces its length, as genuine ones do,
// lands where it stays. An announcement costs its sender nothing: what is larger
// than genuine ones are gets its memory as it comes.
func readAll(src io.Reader, announced int64) ([]byte, error) {
	if announced <= 0 || announced > promptBytes {
		return io.ReadAll(src)
	}
	body := make([]byte, 0, announced)
	for {
		n, err := src.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, 1) // the end was not told together with the last byte
		}
	}
}

func bodyRefusal(w http.ResponseWriter, err error) error {
	hangUp(w)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return provider.Refuse(provider.ErrTooLarge, codeTooLarge, "more than %d bytes", maxBodyBytes)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return provider.Refuse(provider.ErrUnavailable, codeBodySlow, "the body did not arrive in time")
	}
	return provider.Refuse(provider.ErrMalformed, codeBodyCut, "the body ended early or its chunks are malformed")
}

// hangUp ends the connection after the answer without reading what is left of
// the body. net/http would read on for a while to keep the connection; the
// deadline in the past stops that.
func hangUp(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}

// encoded says whether the body is anything but its own bytes. There is no
// decoder on this path, so there is nothing to bomb.
func encoded(h http.Header) bool {
	for _, v := range h.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(v, ",") {
			if c := strings.TrimSpace(coding); c != "" && !strings.EqualFold(c, "identity") {
				return true
			}
		}
	}
	return false
}
