package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// copyCaptures puts testdata into a script's folder: captures DIR.
func copyCaptures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: captures FOLDER")
	}
	ts.Check(os.CopyFS(ts.MkAbs(args[0]), os.DirFS("../../testdata")))
}

// serving starts notifyd serve for the rest of a script and sets $PUBLIC and
// $PRIVATE to its URLs: serving CONFIG.
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serving CONFIG")
	}
	c := exec.Command("notifyd", "serve", "--config", args[0])
	program, err := exec.LookPath("notifyd") // testscript puts it first
	ts.Check(err)
	c.Path, c.Dir = program, ts.MkAbs(".")
	said, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	drained := make(chan struct{})
	ts.Defer(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		<-drained
		_ = c.Wait() // how serve ends is held by its own tests
	})
	in, ready := bufio.NewReader(said), regexp.MustCompile(`^notifyd ready public=(\S+) private=(\S+)\n$`)
	for {
		text, err := in.ReadString('\n')
		if found := ready.FindStringSubmatch(text); found != nil {
			ts.Setenv("PUBLIC", "http://"+found[1])
			ts.Setenv("PRIVATE", "http://"+found[2])
			break
		}
		if err != nil {
			close(drained)
			ts.Fatalf("serve did not begin: %s", text)
		}
	}
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, in)
	}()
}

// peer is a server that notes the bytes it is sent and answers as told.
type peer struct {
	url  string
	seen chan string // one request each, whole
}

func newPeer(t *testing.T, answer string) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{url: "http://" + l.Addr().String(), seen: make(chan string, 10)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.take(conn, answer)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return p
}

// take reads one request as HTTP, and so knows where it ends, but keeps its bytes.
func (p *peer) take(conn net.Conn, answer string) {
	defer conn.Close()
	var raw bytes.Buffer
	r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil {
		raw.WriteString("\nnot HTTP: " + err.Error())
	}
	p.seen <- raw.String()
	_, _ = io.WriteString(conn, answer)
}

const simple = "POST /notify/alipay?s=1 HTTP/1.1\nX-ODD-name:  two  \nx-captured-AT: 2026-01-01T12:00:00+08:00\nwechatpay-serial: 7d4b\n\n\x00a=b\r\n\n"

func writeCapture(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "one.http")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Nothing is renamed, reordered or recoded on the way; what HTTP demands and the
// capture lacks is added, and the time of receipt stays at home.
func TestReplaySendsTheBytesAsTheyAre(t *testing.T) {
	p := newPeer(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	if code, out, said := runIn("replay", "--to", p.url, writeCapture(t, simple)); code != exitDone || !strings.Contains(out, "HTTP 200") {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	host := strings.TrimPrefix(p.url, "http://")
	want := "POST /notify/alipay?s=1 HTTP/1.1\r\nX-ODD-name:  two  \r\nwechatpay-serial: 7d4b\r\n" +
		"Host: " + host + "\r\nContent-Length: 7\r\nConnection: close\r\n\r\n\x00a=b\r\n\n"
	if got := <-p.seen; got != want {
		t.Errorf("sent\n%q\nwant\n%q", got, want)
	}
}

func TestReplayReadsAnswers(t *testing.T) {
	for answer, want := range map[string]struct {
		code    int
		verdict string
	}{
		"HTTP/1.1 204 No Content\r\n\r\n":                                           {exitDone, verdictAccepted},
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": {exitDone, verdictAccepted},
		"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n":                    {exitRefused, verdictRefused},
		"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n":               {exitRefused, verdictRefused},
		"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n":             {exitUnreachable, verdictUnavailable},
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n":               {exitUnreachable, verdictUnavailable},
		strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 9):                        {exitUnreachable, verdictUnavailable},
		"<html>": {exitUnreachable, verdictUnavailable},
		"":       {exitUnreachable, verdictUnavailable},
	} {
		p := newPeer(t, answer)
		code, out, said := runIn("replay", "--to", p.url, writeCapture(t, simple))
		if code != want.code || !strings.Contains(out, "  "+want.verdict+"  ") {
			t.Errorf("%q: exit code %d\n%s%s", answer, code, out, said)
		}
	}
}

// Over TLS nothing is sent to a server that cannot prove who it is.
func TestReplayToAnUnprovenServer(t *testing.T) {
	asked := make(chan struct{}, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about us
	s.StartTLS()
	defer s.Close()
	code, out, said := runIn("replay", "--to", s.URL, writeCapture(t, simple))
	if code != exitUnreachable || !strings.Contains(out, "certificate") || len(asked) > 0 {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
}

func TestReplayKnowsWhereToSend(t *testing.T) {
	for to, want := range map[string][2]string{
		"http://pay.example.com":      {"pay.example.com", "pay.example.com:80"},
		"https://pay.example.com/":    {"pay.example.com", "pay.example.com:443"},
		"https://pay.example.com:444": {"pay.example.com:444", "pay.example.com:444"},
		"http://[::1]:8080":           {"[::1]:8080", "[::1]:8080"},
	} {
		s, err := newSender(to)
		if err != nil || s.host != want[0] || s.address != want[1] || (s.tls != nil) != strings.HasPrefix(to, "https") {
			t.Errorf("%s: %+v, %v", to, s, err)
		}
	}
	for _, to := range []string{"ftp://h", "http://", "http://u:p@h", "http://h?x", "http://h#x", "h:80", "http://%zz"} {
		if _, err := newSender(to); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestReplayKeepsToOneLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a\nb.http")
	if err := os.WriteFile(path, []byte(simple), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	if _, out, said := runIn("replay", "--to", p.url, path); strings.Count(out, "\n") != 1 || !strings.Contains(out, `a\nb.http"`) {
		t.Errorf("%q\n%s", out, said)
	}
}

// An interrupt ends the wait for an answer, and is what the run ends with.
func TestReplayIsInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	go func() { // reads nothing, says nothing
		if conn, err := l.Accept(); err == nil {
			interrupt()
			defer conn.Close()
			<-ctx.Done()
		}
	}()
	var o, e bytes.Buffer
	path := writeCapture(t, simple)
	code := run(ctx, []string{"replay", "--to", "http://" + l.Addr().String(), path, path}, noEnv, stdio{out: &o, err: &e})
	if code != exitInterrupted || !strings.Contains(e.String(), "1 of 2 captures: 1 unavailable\nnotifyd: interrupted\n") {
		t.Errorf("exit code %d\n%s%s", code, o.String(), e.String())
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if code := run(ended, []string{"replay", "--to", "http://127.0.0.1:1", path}, noEnv, stdio{out: &o, err: &e}); code != exitInterrupted {
		t.Errorf("interrupted before the first capture: exit code %d", code)
	}
}

// The bar is drawn on a terminal alone, and no line is written into it.
func TestReplayBar(t *testing.T) {
	var hidden, drawn bytes.Buffer
	for _, c := range []struct {
		w       *bytes.Buffer
		visible bool
	}{{&hidden, false}, {&drawn, true}} {
		s := &show{app: &app{stdio: stdio{out: c.w, err: io.Discard}, now: time.Now}, total: 2, verdicts: map[string]int{},
			bar: newBar(c.w, "replay", 2, c.visible)}
		for range 2 {
			if err := s.add(played{File: "a.http", Verdict: verdictRefused}); err != nil {
				t.Fatal(err)
			}
		}
		s.end()
	}
	if got, want := hidden.String(), strings.Repeat("a.http  refused      -          -                     -\n", 2); got != want {
		t.Errorf("without a terminal:\n%q\nwant\n%q", got, want)
	}
	if !strings.Contains(drawn.String(), "replay") || !strings.Contains(drawn.String(), "(2/2)") && !strings.Contains(drawn.String(), "(1/2)") {
		t.Errorf("on a terminal there is no bar: %q", drawn.String())
	}
}
