package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/providertest"
)

// mutationsOfAll is how many mutated captures the server and verify judge. Each
// examinedEach-th is also examined whole: to search for its cause takes tenths of
// a second.
const (
	mutationsOfAll = 10_000
	examinedEach   = 25
)

// takesAll is a recorder that has room for everything.
type takesAll struct{}

func (takesAll) Record(context.Context, order.Notification) (order.Receipt, error) {
	return order.Receipt{Outcome: order.Applied}, nil
}

func (takesAll) Beat(context.Context) error { return nil }

// reasons hands on the reason of every notification's log line.
type reasons struct{ said chan string }

func (reasons) Enabled(context.Context, slog.Level) bool { return true }
func (r reasons) WithAttrs([]slog.Attr) slog.Handler     { return r }
func (r reasons) WithGroup(string) slog.Handler          { return r }
func (r reasons) Handle(_ context.Context, line slog.Record) error {
	if line.Message != "notification" {
		return nil
	}
	verdict, reason := "", ""
	line.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "verdict":
			verdict = a.Value.String()
		case "reason":
			reason = a.Value.String()
		}
		return true
	})
	r.said <- verdict + " " + reason
	return nil
}

// edgeServer is the real server, on a real port, at the time of the capture that
// is sent.
type edgeServer struct {
	t    *testing.T
	addr string
	now  atomic.Int64 // in microseconds
	said chan string
	conn net.Conn
	in   *bufio.Reader
}

func startEdge(t *testing.T, v *verifying) *edgeServer {
	t.Helper()
	e := &edgeServer{t: t, said: make(chan string, 1)}
	var accounts []httpapi.Account
	for _, name := range slices.Sorted(maps.Keys(v.accounts)) {
		a := v.accounts[name]
		accounts = append(accounts, httpapi.Account{Name: name, Provider: a.Account.Provider, Adapter: a.Provider})
	}
	server, err := httpapi.New(httpapi.Options{
		PublicListen: "127.0.0.1:0", PrivateListen: "127.0.0.1:0", Accounts: accounts, Recorder: takesAll{}, Heart: takesAll{},
		Metrics: httpapi.NewMetrics("test"), Now: func() time.Time { return time.UnixMicro(e.now.Load()) }, NewID: newID,
		Log: slog.New(reasons{e.said}), Version: "test", ShutdownTimeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	public, _ := server.Addrs()
	e.addr = public.String()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		e.hangUp()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *edgeServer) hangUp() {
	if e.conn != nil {
		_ = e.conn.Close() // the server may have closed it
		e.conn = nil
	}
}

// judge sends a request and says what the server thought of it: a verdict and a
// code.
func (e *edgeServer) judge(c captured) string {
	e.t.Helper()
	e.now.Store(c.At.UnixMicro())
	if e.conn == nil {
		conn, err := net.Dial("tcp", e.addr)
		if err != nil {
			e.t.Fatal(err)
		}
		e.conn, e.in = conn, bufio.NewReader(conn)
	}
	if _, err := e.conn.Write(wireOf(c)); err != nil {
		e.t.Fatal(err)
	}
	answer, err := http.ReadResponse(e.in, nil)
	if err != nil {
		e.t.Fatalf("%v\n%q", err, wireOf(c))
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	if answer.Close {
		e.hangUp()
	}
	if bytes.HasPrefix(body, []byte("400 Bad Request")) {
		return verdictRefused + " edge.not_http" // net/http's own answer: no handler was asked
	}
	said := <-e.said
	verdict, code, _ := strings.Cut(said, " ")
	if verdict == verdictAccepted {
		code = ""
	}
	if want := map[string]int{verdictAccepted: 2}[verdict]; want == 2 != (answer.StatusCode/100 == 2) {
		e.t.Errorf("the server logged %q and answered %d", said, answer.StatusCode)
	}
	return verdict + " " + code
}

// wireOf is a capture as it goes over the wire.
func wireOf(c captured) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: pay.example.com\r\nContent-Length: %d\r\n", c.Method, c.Target, len(c.Body))
	writeHeader(&b, c.Header)
	b.WriteString("\r\n")
	b.Write(c.Body)
	return b.Bytes()
}

func writeHeader(b *bytes.Buffer, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
}

// recaptured is a request written to a capture file and read again, as verify
// gets it. A line break in a header would begin another header: there it is
// another character that no header may have.
func recaptured(t *testing.T, c captured) captured {
	t.Helper()
	for _, values := range c.Header {
		for i := range values {
			values[i] = strings.NewReplacer("\r", "\x01", "\n", "\x01").Replace(values[i])
		}
	}
	var header, file bytes.Buffer
	writeHeader(&header, c.Header)
	if err := provider.WriteCapture(&file, order.Capture{RequestLine: c.Method + " " + c.Target + " HTTP/1.1", Header: header.Bytes(), Body: c.Body}, c.At); err != nil {
		t.Fatal(err)
	}
	read, err := provider.ReadCapture(&file)
	if err != nil {
		t.Fatalf("%v\n%q", err, file.Bytes())
	}
	return captured{path: c.path, Captured: read}
}

// Whatever is done to captures, verify says what the server does, by the same
// code; and what it prints shows neither a key nor a person.
func TestVerifyNeverDisagreesWithTheServer(t *testing.T) {
	v := newVerifying(t)
	server := startEdge(t, v)
	paths, err := filepath.Glob("../../testdata/captures/*.http")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	secrets := personalTexts(t)
	rnd := rand.New(rand.NewPCG(2026, 11))
	counts := map[string]int{}
	for i := range mutationsOfAll {
		c, err := readCapture(paths[i%len(paths)])
		if err != nil {
			t.Fatal(err)
		}
		c.Header.Del("Host")
		c.Header.Del("Content-Length")
		if i >= len(paths) { // the first round is as it is
			m := providertest.Mutate(rnd, provider.Request{Header: c.Header, Body: c.Body})
			c.Header, c.Body = m.Header, m.Body
		}
		c = recaptured(t, c)
		v.account = c.Account()
		want := server.judge(c)
		_, judged := v.judge(c)
		got := verdictAccepted + " "
		if judged != nil {
			got = verdictRefused + " " + provider.Code(judged)
		}
		if got != want {
			t.Fatalf("mutation %d of %s: verify says %q, the server %q\n%q", i, c.path, got, want, wireOf(c))
		}
		counts[want]++
		if i%examinedEach == 0 {
			result := v.verify(t.Context(), c, nil)
			if (result.Verdict == verdictVerified) != (judged == nil) {
				t.Fatalf("mutation %d of %s: the verdict is %s, and Parse says %v", i, c.path, result.Verdict, judged)
			}
			text := string(result.text(false, false))
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Fatalf("mutation %d of %s prints %q:\n%s", i, c.path, s, text)
				}
			}
		}
	}
	if counts[verdictAccepted+" "] < 500 || len(counts) < 25 {
		t.Errorf("too little variety: %v", counts)
	}
}
