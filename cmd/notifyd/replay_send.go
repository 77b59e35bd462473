package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

const (
	// sendTimeout bounds one exchange: the server answers within 4 s.
	sendTimeout = 15 * time.Second
	// maxReplyBytes is far above any answer to a notification.
	maxReplyBytes = 64 << 10
	// maxInterim is how many 1xx answers may come before the one that counts.
	maxInterim = 5
)

// sender plays captures by sending them to a running server. It writes to the
// connection itself: what an HTTP client adds, renames or refuses to send would
// no longer be what was captured.
type sender struct {
	host, address string // as in Host, and to connect to
	tls           *tls.Config
}

func newSender(to string) (*sender, error) {
	u, err := url.Parse(to)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, exitWith(exitUsage, "--to is not the URL of a server, like http://127.0.0.1:8080")
	}
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, exitWith(exitUsage, "--to: give the server alone, as in http://127.0.0.1:8080; the path is the capture's own")
	}
	s := &sender{host: u.Host}
	port := u.Port()
	if u.Scheme == "https" {
		s.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
		if port == "" {
			port = "443"
		}
	}
	if port == "" {
		port = "80"
	}
	s.address = net.JoinHostPort(u.Hostname(), port)
	return s, nil
}

func (s *sender) close(context.Context) error { return nil }

// play sends a capture and reads the status of the answer. That the server
// cannot be reached or does not answer is a verdict: nobody knows.
func (s *sender) play(ctx context.Context, c captured) (played, error) {
	result := played{File: c.path, Account: c.Account(), ReceivedAt: order.Moment(c.At)}
	status, err := s.exchange(ctx, s.message(c), c.Method)
	if err != nil {
		detail := strings.Join(strings.Fields(err.Error()), " ")
		result.Verdict, result.Detail = verdictUnavailable, &detail
		return result, nil
	}
	result.HTTPStatus = &status
	switch {
	case status >= 200 && status < 300:
		result.Verdict = verdictAccepted
	case status == http.StatusTooManyRequests || status >= 500:
		result.Verdict = verdictUnavailable
	default: // a redirect too: providers follow none
		result.Verdict = verdictRefused
	}
	return result, nil
}

// message is the request as it stands in the file, without the line that only
// captures have, and with what HTTP/1.1 demands where it is missing. The order
// and the spelling of the header, and every byte of the body, stay.
func (s *sender) message(c captured) []byte {
	var out bytes.Buffer
	out.Grow(len(c.raw) + 128)
	head := c.raw[:len(c.raw)-len(c.Body)]
	first := true
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		name, _, _ := bytes.Cut(line, []byte(":"))
		if len(line) == 0 || !first && strings.EqualFold(string(name), "X-Captured-At") {
			continue
		}
		first = false
		out.Write(line)
		out.WriteString("\r\n")
	}
	for _, want := range [][2]string{{"Host", s.host}, {"Content-Length", strconv.Itoa(len(c.Body))}, {"Connection", "close"}} {
		if c.Header.Get(want[0]) == "" {
			out.WriteString(want[0] + ": " + want[1] + "\r\n")
		}
	}
	out.WriteString("\r\n")
	out.Write(c.Body)
	return out.Bytes()
}

// exchange writes the message on a connection of its own and reads the status.
func (s *sender) exchange(ctx context.Context, message []byte, method string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return 0, fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer conn.Close()
	ended := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer ended()
	// A server may answer and hang up before it has read everything, so a failed
	// write is no reason not to read.
	_, unsent := conn.Write(message)
	in := bufio.NewReader(io.LimitReader(conn, maxReplyBytes))
	for range maxInterim {
		answer, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			if unsent != nil {
				err = unsent
			}
			return 0, fmt.Errorf("the server did not answer: %w", err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode >= http.StatusOK {
			return answer.StatusCode, nil
		}
	}
	return 0, fmt.Errorf("the server did not answer: more than %d interim answers", maxInterim)
}

func (s *sender) dial(ctx context.Context) (net.Conn, error) {
	if s.tls != nil {
		return (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
}
