package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sethvargo/go-retry"
)

// request is one call, the same in all its attempts but for time and signature.
type request struct {
	method   string
	path     string // with its query
	body     []byte
	key      string        // idempotency key; "": a GET
	extra    time.Duration // how much longer than usual the answer may take
	attempts int           // 0: until the context ends
	answer   *Answer
}

// send makes attempts until there is an answer that another attempt would not
// change, and reads it into out.
func (c *Client) send(ctx context.Context, call request, out any) error {
	var last error
	var wish time.Duration // of the last answer
	pauses := retry.WithJitterPercent(jitterPercent, retry.WithCappedDuration(c.longestPause, retry.NewExponential(c.firstPause)))
	if call.attempts > 0 {
		pauses = retry.WithMaxRetries(uint64(call.attempts-1), pauses)
	}
	next := retry.BackoffFunc(func() (time.Duration, bool) {
		pause, stop := pauses.Next()
		pause = max(pause, min(wish, longestRetryAfter))
		// Sleeping into the caller's deadline would hide what went wrong.
		if end, bounded := ctx.Deadline(); bounded && time.Until(end) <= pause {
			stop = true
		}
		return pause, stop
	})
	answer := &Answer{IdempotencyKey: call.key}
	if call.answer != nil {
		answer = call.answer
		*answer = Answer{IdempotencyKey: call.key}
	}
	err := retry.Do(ctx, next, func(ctx context.Context) error {
		answer.Attempts++
		var again bool
		again, last = c.attempt(ctx, call, answer, out)
		if !again {
			return last
		}
		wish = 0
		var p *Problem
		if errors.As(last, &p) {
			wish = p.RetryAfter
		}
		return retry.RetryableError(last)
	})
	if err != nil && last != nil && !errors.Is(err, last) {
		return fmt.Errorf("%w; the last of %d attempts: %w", err, answer.Attempts, last)
	}
	return err
}

// attempt sends the request once. Again says whether another attempt may end
// better.
func (c *Client) attempt(ctx context.Context, call request, answer *Answer, out any) (again bool, err error) {
	// The caller's own end is final, that of one attempt is not.
	limited, cancel := context.WithTimeout(ctx, c.timeout+call.extra)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, call.method, c.base+call.path, bytes.NewReader(call.body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "application/json")
	if call.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if call.key != "" {
		r.Header.Set(HeaderIdempotencyKey, call.key)
	}
	c.sign(r, call.body)
	response, err := c.http.Do(r)
	if err != nil {
		return ctx.Err() == nil && !untrusted(err), err
	}
	defer func() { _ = response.Body.Close() }() // everything of use was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return ctx.Err() == nil, fmt.Errorf("the answer of notifyd ends early: %w", err)
	}
	if len(body) > maxAnswerBytes {
		return false, fmt.Errorf("the answer is longer than %d bytes: is this notifyd?", maxAnswerBytes)
	}
	answer.read(response)
	if response.StatusCode/100 != 2 {
		p := problemOf(response, body, c.now())
		return p.transient(), p
	}
	if err := json.Unmarshal(body, out); err != nil {
		return false, fmt.Errorf("the answer of notifyd cannot be read: %w", err)
	}
	return false, nil
}

// untrusted says whether a connection failed because of who answered: that does
// not pass by itself.
func untrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}

// Answer is what a call learnt besides its result; see [KeepAnswer].
type Answer struct {
	Status         int       // of HTTP: 201 for a registration that was the first, otherwise 200
	IdempotencyKey string    // the one that was sent; "": a GET
	Replayed       bool      // the answer is the stored one of an earlier request with the same key
	CreatedAt      time.Time // of the original answer; zero: a GET
	Attempts       int
}

func (a *Answer) read(response *http.Response) {
	a.Status = response.StatusCode
	a.Replayed = response.Header.Get("X-Idempotency-Replayed") == "true"
	a.CreatedAt = time.Time{}
	if at, err := time.Parse(time.RFC3339, response.Header.Get("X-Idempotency-Created-At")); err == nil {
		a.CreatedAt = at.UTC()
	}
}
