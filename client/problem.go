package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem codes that a program may want to tell apart; [Problem.Code] has more.
const (
	CodeOrderUnknown      = "order_unknown"
	CodeOrderFactsDiffer  = "order_facts_differ"      // registered already, with another amount, currency or expiry
	CodeIllegalTransition = "illegal_transition"      // OrderStatus says where the order stands
	CodeInProgress        = "idempotency_in_progress" // the first request with this key still runs
	CodeKeyReused         = "idempotency_key_reused"  // the key was used for another request
)

// Problem is an answer that is no success. Source: RFC 9457.
type Problem struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Status      int      `json:"status"` // of HTTP
	Detail      string   `json:"detail"` // for people
	Code        string   `json:"code"`   // for programs; "" when something else than notifyd answered
	OrderStatus Status   `json:"order_status"`
	Waiting     []string `json:"waiting"` // with order_unknown: notifications that wait for its registration

	RetryAfter time.Duration `json:"-"` // what the answer asked for; 0: nothing
}

func (p *Problem) Error() string {
	text := fmt.Sprintf("notifyd answers %d", p.Status)
	if p.Code != "" {
		text += " " + p.Code
	}
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	return text
}

// CodeOf is the code of the [Problem] in an error, "" when there is none.
func CodeOf(err error) string {
	var p *Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// transient says whether the same request may end better a moment later.
func (p *Problem) transient() bool {
	return p.Status >= http.StatusInternalServerError || p.Status == http.StatusConflict && p.Code == CodeInProgress
}

// problemOf reads the answer that is no success.
func problemOf(response *http.Response, body []byte, now time.Time) *Problem {
	p := &Problem{}
	contentType := response.Header.Get("Content-Type")
	if !strings.HasPrefix(contentType, "application/problem+json") || json.Unmarshal(body, p) != nil {
		// A proxy's page says nothing that a program or a log could use.
		*p = Problem{Title: http.StatusText(response.StatusCode), Detail: "the answer is none of notifyd's: is something else at this address?"}
	}
	if location := response.StatusCode / 100; location == 3 {
		p.Detail = "the answer points elsewhere, which is not followed because a signature is for one address: correct the base URL"
	}
	p.Status = response.StatusCode
	p.RetryAfter = retryAfter(response.Header.Get("Retry-After"), now)
	return p
}

// retryAfter reads the header in both its forms: seconds, and a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
