package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
)

const (
	// askTimeout bounds a whole call; the server itself gives up after 10 s.
	askTimeout = 15 * time.Second
	// maxAnswerBytes is far more than a page of 200 orders or a raw body needs.
	maxAnswerBytes = 16 << 20
)

// adminClient asks the admin API of a running server. Commands look at orders
// through it alone: the store belongs to the server.
type adminClient struct {
	base  string // "http://127.0.0.1:8081"
	token config.Secret
	http  *http.Client
}

func newAdminClient(base string, token config.Secret) *adminClient {
	return &adminClient{base: strings.TrimSuffix(base, "/"), token: token, http: &http.Client{
		Timeout: askTimeout,
		// The private listener is near. A proxy would see the token, and a
		// redirect could carry it elsewhere.
		Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// adminAnswer is a whole answer; of ask, a successful one.
type adminAnswer struct {
	status int
	body   []byte
}

// adminPath joins parts to a path below /admin/v1, each encoded: order numbers
// may hold a slash.
func adminPath(parts ...string) string {
	path := "/admin/v1"
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// ask makes one call; body, when there is one, is sent as JSON. Its errors end a
// run with the right exit code.
func (c *adminClient) ask(ctx context.Context, method, path string, query url.Values, body any) (adminAnswer, error) {
	answer, err := c.call(ctx, method, path, query, body)
	if err == nil && answer.status/100 != 2 {
		return adminAnswer{}, c.problem(answer)
	}
	return answer, err
}

// call is ask for who wants to see every status.
func (c *adminClient) call(ctx context.Context, method, path string, query url.Values, body any) (adminAnswer, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return adminAnswer{}, err
		}
		sent = bytes.NewReader(text)
	}
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, sent)
	if err != nil {
		return adminAnswer{}, exitWith(exitUsage, "%s is no address of a server: %w", c.base, err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	if sent != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return adminAnswer{}, c.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return adminAnswer{}, c.unreachable(ctx, err)
	case len(text) > maxAnswerBytes:
		return adminAnswer{}, exitWith(exitFailed, "the answer of %s is larger than %d bytes", c.base, maxAnswerBytes)
	}
	return adminAnswer{answer.StatusCode, text}, nil
}

// askFor makes one call and reads its answer into a value.
func (c *adminClient) askFor(ctx context.Context, into any, path string, query url.Values) error {
	answer, err := c.ask(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	return c.read(answer, into)
}

func (c *adminClient) read(answer adminAnswer, into any) error {
	if err := json.Unmarshal(answer.body, into); err != nil {
		return exitWith(exitFailed, "the answer of %s cannot be read: %w", c.base, err)
	}
	return nil
}

func (c *adminClient) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // interrupted
	}
	var tooLong interface{ Timeout() bool }
	if errors.As(err, &tooLong) && tooLong.Timeout() {
		return exitWith(exitUnreachable, "the server at %s did not answer within %s", c.base, askTimeout)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which we name ourselves
	}
	return exitWith(exitUnreachable, "cannot reach the server at %s: %w. Is notifyd serve running, and is this its private listener (admin.listen)?", c.base, err)
}

// problem turns an error of the server into words and an exit code.
func (c *adminClient) problem(answer adminAnswer) error {
	var p httpapi.Problem
	if json.Unmarshal(answer.body, &p) != nil || p.Code == "" {
		return exitWith(exitFailed, "%s answered %d %s, and not like notifyd's admin API. Is this its private listener (admin.listen)?", c.base, answer.status, http.StatusText(answer.status))
	}
	detail := strings.ReplaceAll(shown(p.Detail), "?merchant=", "--merchant")
	if len(p.Waiting) > 0 {
		detail += ": " + shown(strings.Join(p.Waiting, ", "))
	}
	switch p.Status {
	case http.StatusUnauthorized:
		return exitWith(exitFailed, "the server at %s does not accept the token. Give the one of its configuration: --config FILE, --token-file FILE or %s", c.base, tokenVariable)
	case http.StatusBadRequest:
		return exitWith(exitUsage, "%s", detail)
	case http.StatusServiceUnavailable:
		return exitWith(exitUnreachable, "%s", detail)
	}
	return &exitError{exitFailed, &adminProblem{&p, detail}}
}

// adminProblem is what the server said, in the words of the command line.
type adminProblem struct {
	problem *httpapi.Problem
	words   string
}

func (p *adminProblem) Error() string { return p.words }
func (p *adminProblem) Unwrap() error { return p.problem }
