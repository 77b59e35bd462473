package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// T28: whatever is sent to confuse a proxy and us about where a request ends, no
// second request is found inside a body, and nothing inside is taken.
func TestNoRequestIsSmuggled(t *testing.T) {
	t.Parallel()
	const inner = "POST /notify/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nsmuggled"
	const start = "POST /notify/shop HTTP/1.1\r\nHost: x\r\n"
	for name, sent := range map[string]string{
		"two lengths":               start + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok" + inner,
		"two lengths in one field":  start + "Content-Length: 2, 3\r\n\r\nok" + inner,
		"signed length":             start + "Content-Length: +2\r\n\r\nok" + inner,
		"negative length":           start + "Content-Length: -1\r\n\r\n" + inner,
		"length in hex":             start + "Content-Length: 0x2\r\n\r\nok" + inner,
		"chunked after a length":    start + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n", 5+len(inner)) + "0\r\n\r\n" + inner,
		"coding that is not known":  start + "Transfer-Encoding: xchunked\r\n\r\n" + inner,
		"two codings":               start + "Transfer-Encoding: gzip, chunked\r\n\r\n" + inner,
		"chunked twice":             start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"space before the colon":    start + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + inner,
		"continued field":           start + "Transfer-Encoding:\r\n chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n" + inner,
		"chunk size with a sign":    start + "Transfer-Encoding: chunked\r\n\r\n+2\r\nok\r\n0\r\n\r\n" + inner,
		"chunk size that overflows": start + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff2\r\nok\r\n0\r\n\r\n" + inner,
		"chunk without its end":     start + "Transfer-Encoding: chunked\r\n\r\n2\r\nokXX0\r\n\r\n" + inner,
		"NUL in a field":            start + "X: a\x00b\r\nContent-Length: 2\r\n\r\nok" + inner,
		"no host":                   "POST /notify/shop HTTP/1.1\r\nContent-Length: 2\r\n\r\nok" + inner,
		"two hosts":                 "POST /notify/shop HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 2\r\n\r\nok" + inner,
		"version 3":                 "POST /notify/shop HTTP/3.0\r\nHost: x\r\nContent-Length: 2\r\n\r\nok" + inner,
		"too large, and then some":  start + fmt.Sprintf("Content-Length: %d\r\n\r\n", 8<<20) + inner,
		"the preface of HTTP/2":     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + inner,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, nil)
			public, _ := b.Addrs()
			conn := dialTCP(t, public)
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			if c, ok := conn.(interface{ CloseWrite() error }); ok {
				_ = c.CloseWrite()
			}
			in := bufio.NewReader(conn)
			for answers := 0; ; answers++ {
				res, err := http.ReadResponse(in, nil)
				if err != nil {
					break // the end of the connection
				}
				_, _ = io.Copy(io.Discard, res.Body)
				if res.StatusCode < 300 && answers > 0 {
					t.Errorf("answer %d is %s", answers+1, res.Status)
				}
			}
			for _, req := range b.adapter.requests() {
				if strings.Contains(string(req.Body), "smuggled") && !strings.HasPrefix(string(req.Body), "POST") {
					t.Errorf("the inner request was handled: %q", req.Body)
				}
			}
		})
	}
}

// Two honest requests on one connection are two requests.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	public, _ := b.Addrs()
	conn := dialTCP(t, public)
	for range 2 {
		if got := ask(t, conn, wholeRequest); got.status != 200 || got.closes {
			t.Errorf("%d, closes: %v", got.status, got.closes)
		}
	}
	// A proxy that speaks HTTP/1.0 is as good.
	if got := ask(t, conn, "POST /notify/shop HTTP/1.0\r\nContent-Length: 2\r\n\r\nok"); got.status != 200 {
		t.Errorf("HTTP/1.0: %d", got.status)
	}
}

func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	public, _ := b.Addrs()
	for size, want := range map[int]int{maxHeaderBytes - 100: 200, maxHeaderBytes + 1: 431, 1 << 20: 431} {
		conn := dialTCP(t, public)
		const before, after = "POST /notify/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nX: ", "\r\n\r\n"
		request := before + strings.Repeat("x", size-len(before)-len(after)) + after + "ok"
		go func() { _, _ = io.WriteString(conn, request) }() // ends early where the server hangs up
		if got := readReply(t, conn); got.status != want {
			t.Errorf("a header of %d bytes: %d, want %d", size, got.status, want)
		}
	}
}

// HTTP/2 is off, with and without an upgrade.
func TestOnlyHTTP1(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	public, _ := b.Addrs()
	conn := dialTCP(t, public)
	if got := ask(t, conn, "PRI * HTTP/2.0\r\n\r\n"); got.status != 505 || !got.closes {
		t.Errorf("the preface of HTTP/2: %d, closes: %v", got.status, got.closes)
	}
	conn = dialTCP(t, public)
	got := ask(t, conn, "POST /notify/shop HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"+
		"HTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: 2\r\n\r\nok")
	if got.status != 200 {
		t.Errorf("an offered upgrade: %d, want the answer to the request itself", got.status)
	}
}
