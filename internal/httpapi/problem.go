package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

// Problem is the body of every error outside /notify (RFC 9457). Code is what
// programs look at; Detail is for people.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	// Waiting goes with order_unknown, [] when nothing waits: the notifications
	// that wait for the order.
	Waiting []string `json:"waiting,omitzero"`
	// OrderStatus goes with illegal_transition: where the order stands.
	OrderStatus order.Status `json:"order_status,omitempty"`
}

func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// problemJSON is the content type of problems.
const problemJSON = "application/problem+json"

// problemType begins the type of every problem; the code follows.
const problemType = "urn:notifyd:problem:"

func newProblem(status int, code, format string, args ...any) *Problem {
	return &Problem{Type: problemType + code, Title: http.StatusText(status), Status: status,
		Detail: fmt.Sprintf(format, args...), Code: code}
}

// Problems that say the same thing every time. Handlers return them as they are.
var (
	problemInternal     = newProblem(http.StatusInternalServerError, "internal", "something went wrong here; the log says what")
	problemUnavailable  = newProblem(http.StatusServiceUnavailable, "store_unavailable", "the store cannot be used now; try again")
	problemUnauthorized = newProblem(http.StatusUnauthorized, "unauthorized", "send the configured admin token as Authorization: Bearer …")
	problemCrossOrigin  = newProblem(http.StatusForbidden, "cross_origin", "a page of another origin may not change anything here")
	problemNotFound     = newProblem(http.StatusNotFound, "not_found", "there is nothing at this path")
	problemMerchant     = newProblem(http.StatusBadRequest, "merchant_required", "several merchants are configured: name one with ?merchant=")
	problemRawGone      = newProblem(http.StatusNotFound, "raw_pruned", "the raw bytes are older than the retention time and were removed")
	problemNoSuchID     = newProblem(http.StatusNotFound, "notification_unknown", "there is no notification of this id")
	problemNoSuchEvent  = newProblem(http.StatusNotFound, "event_unknown", "there is no event of this id")
	problemNoDeliveries = newProblem(http.StatusConflict, "no_deliveries", "the event was for no endpoint, or its deliveries are past their retention time: name one with ?endpoint=")
	problemFactsDiffer  = newProblem(http.StatusConflict, "order_facts_differ", "the order is registered already, with another amount, currency or expiry")
	problemCutBody      = newProblem(http.StatusBadRequest, "body_unreadable", "the body ended early or did not arrive in time")
	problemBodyTooLarge = newProblem(http.StatusRequestEntityTooLarge, "body_too_large", "the body may have at most %d bytes", maxCommandBytes)
	problemUnsigned     = newProblem(http.StatusUnauthorized, "unauthorized", "%s", idempotency.ErrUnproven)
	problemInProgress   = newProblem(http.StatusConflict, "idempotency_in_progress", "%s", idempotency.ErrInProgress)
	problemReused       = newProblem(http.StatusUnprocessableEntity, "idempotency_key_reused", "%s", idempotency.ErrReused)
	problemKeyMissing   = newProblem(http.StatusBadRequest, "idempotency_key_missing", "%s", idempotency.ErrKeyMissing)
	problemKeyInvalid   = newProblem(http.StatusBadRequest, "idempotency_key_invalid", "%s", idempotency.ErrKeyInvalid)
	problemKeyAmbiguous = newProblem(http.StatusBadRequest, "idempotency_key_ambiguous", "%s", idempotency.ErrKeyAmbiguous)
	problemLockLost     = newProblem(http.StatusServiceUnavailable, "idempotency_lock_lost", "the request took so long that it lost its idempotency key; nothing was done: send it again under the same key")
	problemCrowded      = newProblem(http.StatusServiceUnavailable, "too_many_waiting", "too many calls wait for events: try again, or without wait")
	problemNotJSON      = newProblem(http.StatusBadRequest, "not_json", "the body is not one JSON object in UTF-8")
)

func badParameter(name, format string, args ...any) *Problem {
	return newProblem(http.StatusBadRequest, "bad_parameter", "%s: %s", name, fmt.Sprintf(format, args...))
}

func badField(name, format string, args ...any) *Problem {
	return newProblem(http.StatusUnprocessableEntity, "invalid_field", "%s: %s", name, fmt.Sprintf(format, args...))
}

// spoken are errors that say the same thing every time.
var spoken = []struct {
	err     error
	problem *Problem
}{
	{order.ErrFactsDiffer, problemFactsDiffer},
	{idempotency.ErrInProgress, problemInProgress},
	{idempotency.ErrReused, problemReused},
	{idempotency.ErrKeyMissing, problemKeyMissing},
	{idempotency.ErrKeyInvalid, problemKeyInvalid},
	{idempotency.ErrKeyAmbiguous, problemKeyAmbiguous},
	// Not 409: nobody knows whether another run is under way. Nothing was written,
	// and the same request under the same key finds out.
	{order.ErrSealBroken, problemLockLost},
	{idempotency.ErrLost, problemLockLost},
}

// problemOf is the one place where errors become HTTP. What is not listed is a
// 500 that says nothing.
func problemOf(err error) *Problem {
	var ready *Problem
	var illegal *order.IllegalTransition
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &illegal):
		p := newProblem(http.StatusConflict, "illegal_transition", "%s", illegal.Error())
		p.OrderStatus = illegal.Status
		return p
	}
	for _, known := range spoken {
		if errors.Is(err, known.err) {
			return known.problem
		}
	}
	switch {
	case errors.Is(err, order.ErrUnavailable), errors.Is(err, order.ErrRace),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problemUnavailable
	}
	return problemInternal
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	switch {
	case p == problemUnsigned:
		w.Header().Set("WWW-Authenticate", `HMAC-SHA256 realm="notifyd"`)
	case p == problemInProgress:
		w.Header().Set("Retry-After", strconv.Itoa(int(idempotency.RetryAfter/time.Second)))
	case p.Status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="notifyd"`)
	case p.Status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfterSeconds)
	}
	writeJSON(w, p.Status, problemJSON, p)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(jsonBody(v)) // the peer may be gone: nothing to do about it
}

// jsonBody is how a value is sent. Views hold texts, numbers and JSON that was
// read before, so that one which does not marshal is a fault of ours.
func jsonBody(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(body, '\n')
}
