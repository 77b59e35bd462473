package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

func TestEveryRowOfTheAnswersTable(t *testing.T) {
	t.Parallel()
	fails := func(err error) func(context.Context, order.Notification) (order.Receipt, error) {
		return func(context.Context, order.Notification) (order.Receipt, error) { return order.Receipt{}, err }
	}
	for _, c := range []struct {
		name, method, body string
		header             []string
		record             func(context.Context, order.Notification) (order.Receipt, error)
		status             int
		verdict, code      string
	}{
		{name: "durable", body: "ok", status: 200, verdict: "accepted"},
		{name: "a repeat", body: "ok", status: 200, verdict: "accepted",
			record: func(context.Context, order.Notification) (order.Receipt, error) {
				return order.Receipt{NotificationID: "ntf_earlier", Outcome: order.Applied, Repeat: true}, nil
			}},
		{name: "not proven", body: "forged", status: 401, verdict: "refused", code: "tp.bad_signature"},
		{name: "foreign", body: "foreign", status: 401, verdict: "refused", code: "tp.foreign"},
		{name: "no envelope", body: "no envelope", status: 400, verdict: "refused", code: "tp.no_envelope"},
		{name: "too large", body: strings.Repeat("x", maxBodyBytes+1), status: 413, verdict: "refused", code: "edge.too_large"},
		{name: "encoded", body: "ok", header: []string{"Content-Encoding", "gzip"}, status: 415, verdict: "refused", code: "edge.encoding"},
		{name: "encoded twice", body: "ok", header: []string{"Content-Encoding", "identity, br"}, status: 415, verdict: "refused", code: "edge.encoding"},
		{name: "identity", body: "ok", header: []string{"Content-Encoding", "Identity"}, status: 200, verdict: "accepted"},
		{name: "GET", method: "GET", status: 405, verdict: "refused", code: "edge.method"},
		{name: "HEAD", method: "HEAD", status: 405, verdict: "refused", code: "edge.method"},
		{name: "PUT", method: "PUT", status: 405, verdict: "refused", code: "edge.method"},
		{name: "a method that nobody knows", method: "BREW", status: 405, verdict: "refused", code: "edge.method"},
		{name: "adapter cannot tell now", body: "not now", status: 503, verdict: "unavailable", code: "tp.not_now"},
		{name: "store away", body: "ok", record: fails(fmt.Errorf("dial: %w", order.ErrUnavailable)), status: 503, verdict: "unavailable", code: "edge.store"},
		{name: "queue full", body: "ok", record: fails(order.ErrOverloaded), status: 503, verdict: "unavailable", code: "edge.overloaded"},
		{name: "fate of the commit unknown", body: "ok", record: fails(errors.New("no word")), status: 503, verdict: "unavailable", code: "edge.failed"},
		{name: "adapter panics", body: "panic", status: 503, verdict: "unavailable", code: "edge.panic"},
		{name: "recorder panics", body: "ok", status: 503, verdict: "unavailable", code: "edge.panic",
			record: func(context.Context, order.Notification) (order.Receipt, error) { panic("the body's secret") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, nil)
			b.recorder.will(c.record)
			method := c.method
			if method == "" {
				method = "POST"
			}
			got := b.send(t, method, "/notify/shop", c.body, c.header...)
			if got.status != c.status {
				t.Fatalf("status %d, want %d", got.status, c.status)
			}
			want := "failure"
			switch {
			case c.status == 200:
				want = "success"
			case method == "HEAD":
				want = ""
			}
			if got.body != want {
				t.Errorf("body %q, want %q", got.body, want)
			}
			if (got.header.Get("Retry-After") != "") != (c.status == 503) {
				t.Errorf("Retry-After %q with %d", got.header.Get("Retry-After"), c.status)
			}
			if allow := got.header.Get("Allow"); (allow == "POST") != (c.status == 405) {
				t.Errorf("Allow %q with %d", allow, c.status)
			}
			line := b.theLine(t)
			if line["verdict"] != c.verdict || c.code != "" && line["reason"] != c.code {
				t.Errorf("log says %v %v, want %s %s", line["verdict"], line["reason"], c.verdict, c.code)
			}
			if strings.Contains(b.log.text(), "the body's secret") {
				t.Error("the log holds what a panic said")
			}
		})
	}
}

// theLine waits for the end of the request and returns its line.
func (b *bench) theLine(t *testing.T) map[string]any {
	t.Helper()
	b.end() // the answer may be out before the line is written; the end waits for both
	if err := <-b.ended; err != nil {
		t.Fatal(err)
	}
	b.ended <- nil
	lines := b.log.lines(t, "notification")
	if len(lines) != 1 {
		t.Fatalf("%d log lines for one request", len(lines))
	}
	return lines[0]
}

func TestNothingElseIsPublic(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	public, _ := b.Addrs()
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/healthz", 200}, {"HEAD", "/healthz", 200}, {"POST", "/healthz", 405},
		{"POST", "/notify/nobody", 404}, {"GET", "/notify/nobody", 404}, {"BREW", "/notify/nobody", 404},
		{"POST", "/notify/", 404}, {"POST", "/notify", 404}, {"POST", "/notify/shop/", 404}, {"POST", "/notify/shop/more", 404},
		{"POST", "/notify/Shop", 404}, {"POST", "/notify/shop%2F..", 404}, {"POST", "/notify/%ZZ", 400}, {"POST", "//notify/shop", 404},
		{"GET", "/", 404}, {"GET", "/metrics", 404}, {"GET", "/readyz", 404}, {"GET", "/openapi.json", 404},
		{"GET", "/admin/v1/orders", 404}, {"POST", "/v1/orders", 404}, {"OPTIONS", "*", 404}, {"BREW", "/", 404},
	} {
		conn := dialTCP(t, public)
		got := ask(t, conn, c.method+" "+c.path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		if got.status != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got.status, c.status)
		}
		_ = conn.Close()
	}
	if n := len(b.recorder.recorded()) + len(b.adapter.requests()); n != 0 {
		t.Errorf("%d calls below the edge", n)
	}
}

// An account's name may be percent-encoded, as proxies do; it is decoded once.
func TestAccountIsDecodedOnce(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	for path, status := range map[string]int{"/notify/sho%70": 200, "/notify/sho%2570": 404, "/%6eotify/shop": 404} {
		if got := b.send(t, "POST", path, "ok"); got.status != status {
			t.Errorf("%s: %d, want %d", path, got.status, status)
		}
	}
}

func dialTCP(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// P42: what each provider reads, byte for byte on the wire.
func TestAnswerBytesOnTheWire(t *testing.T) {
	t.Parallel()
	const xml = `<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>`
	for _, a := range []provider.Answer{
		{Status: 200, ContentType: "text/plain", Body: []byte("success")},
		{Status: 200, ContentType: "text/xml", Body: []byte(xml)},
		{Status: 200, ContentType: "application/json", Body: []byte(`{"code":"SUCCESS","message":"OK"}`)},
		{Status: 200}, {Status: 204},
	} {
		t.Run(fmt.Sprint(a.Status, a.ContentType), func(t *testing.T) {
			t.Parallel()
			b := serve(t, nil)
			b.adapter.ack = func(error) provider.Answer { return a }
			public, _ := b.Addrs()
			conn := dialTCP(t, public)
			// P44: no cookie, an odd agent, a content type that does not parse; compression offered.
			_, err := io.WriteString(conn, "POST /notify/shop HTTP/1.1\r\nHost: x\r\nUser-Agent: Mozilla/4.0\r\nAccept-Encoding: gzip\r\n"+
				"Content-Type: application/x-www-form-urlencoded; text/html; charset=UTF-8\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
			if err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			head, body, _ := strings.Cut(string(all), "\r\n\r\n")
			lines := strings.Split(head, "\r\n")
			if want := fmt.Sprintf("HTTP/1.1 %d %s", a.Status, http.StatusText(a.Status)); lines[0] != want {
				t.Errorf("status line %q, want %q", lines[0], want)
			}
			if body != string(a.Body) {
				t.Errorf("body %q, want %q", body, a.Body)
			}
			got := map[string]string{}
			for _, l := range lines[1:] {
				name, value, _ := strings.Cut(l, ": ")
				got[name] = value
			}
			delete(got, "Date")
			want := map[string]string{"Connection": "close"}
			if a.Status != 204 {
				want["Content-Length"] = fmt.Sprint(len(a.Body))
			}
			if a.ContentType != "" {
				want["Content-Type"] = a.ContentType
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNo2xxWithoutACommitWhateverTheAdapterSays(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	b.adapter.ack = func(error) provider.Answer { return provider.Answer{Status: 200, Body: []byte("success")} }
	if got := b.send(t, "POST", "/notify/shop", "forged"); got.status != 401 {
		t.Errorf("a forged message with an adapter that says 200: %d, want 401", got.status)
	}
	b.adapter.ack = func(error) provider.Answer { panic("words fail") }
	if got := b.send(t, "POST", "/notify/shop", "ok"); got.status != 503 {
		t.Errorf("an adapter without words: %d, want 503", got.status)
	}
	if got := b.send(t, "GET", "/metrics", ""); !strings.Contains(got.body, "\nnotifyd_panics_total 1\n") {
		t.Error("the panic is not counted")
	}
}

// P34, P01: the adapter gets the exact bytes; query, cookies and host take no part.
func TestOnlyHeaderAndBodyReachTheAdapter(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	body := "b=2&a=1 %zz;\x00\xff\r\n"
	got := b.send(t, "POST", "/notify/shop?out_trade_no=OTHER&total_amount=0.01&s=/pay", body,
		"Host", "pay.example.com", "Cookie", "trade_status=TRADE_SUCCESS", "Authorization", "Basic c2VjcmV0", "Wechatpay-Serial", "7D4B",
		"Content-Type", "text/html", "Request-Id", "r-1", "X-Forwarded-For", "127.0.0.1", "User-Agent", "Mozilla/4.0")
	if got.status != 200 {
		t.Fatalf("status %d", got.status)
	}
	req := b.adapter.requests()[0]
	if string(req.Body) != body || !req.ReceivedAt.Equal(receivedAt.Truncate(time.Microsecond)) {
		t.Errorf("the adapter got body %q at %v", req.Body, req.ReceivedAt)
	}
	n := b.recorder.recorded()[0]
	if n.ID != "ntf_1" || !n.ReceivedAt.Equal(receivedAt.Truncate(time.Microsecond)) {
		t.Errorf("recorded as %s at %v", n.ID, n.ReceivedAt)
	}
	want := order.Capture{RequestLine: "POST /notify/shop HTTP/1.1", Body: []byte(body),
		Header: []byte("Host: pay.example.com\r\nContent-Type: text/html\r\nRequest-Id: r-1\r\nUser-Agent: Mozilla/4.0\r\nWechatpay-Serial: 7D4B\r\nContent-Length: 16\r\n")}
	if diff := cmp.Diff(want, n.Capture); diff != "" {
		t.Errorf("capture (-want +got):\n%s", diff)
	}
}

// P05, T3, T33: no host, address or header makes a forged message good or a good one bad.
func TestNoHostOrAddressDecides(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	for _, header := range [][]string{
		nil, {"Host", "localhost"}, {"Host", "127.0.0.1"}, {"X-Forwarded-For", "127.0.0.1"}, {"X-Real-Ip", "127.0.0.1"},
		{"X-Forwarded-Host", "localhost"}, {"Forwarded", "for=127.0.0.1"}, {"X-Debug", "1"}, {"Origin", "https://evil.example"},
		{"Sec-Fetch-Site", "cross-site"},
	} {
		if got := b.send(t, "POST", "/notify/shop", "forged", header...); got.status != 401 {
			t.Errorf("forged with %v: %d", header, got.status)
		}
		if got := b.send(t, "POST", "/notify/shop", "ok", header...); got.status != 200 {
			t.Errorf("genuine with %v: %d", header, got.status)
		}
	}
	if n := len(b.recorder.recorded()); n != 10 {
		t.Errorf("%d recorded, want the 10 genuine ones", n)
	}
}

func TestInFlightLimitShedsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	entered, leave := make(chan struct{}), make(chan struct{})
	b.recorder.will(func(_ context.Context, n order.Notification) (order.Receipt, error) {
		entered <- struct{}{}
		<-leave
		return order.Receipt{NotificationID: n.ID, Outcome: order.Applied}, nil
	})
	p := &public{accounts: b.ready.accounts, taker: NewTaker(b.recorder, b.opt.NewID), now: b.opt.Now, newID: b.opt.NewID, metrics: b.metrics,
		edge: newEdge(b.opt.Log, b.metrics, "public"), intake: newIntake(), slots: make(chan struct{}, 2),
		draining: b.ready.draining.Load, base: t.Context()}
	h := p.handler()
	answers := make(chan int, 2)
	for range 2 {
		go func() { answers <- post(h, "ok") }()
		<-entered
	}
	if got := post(h, "ok"); got != 503 {
		t.Errorf("the third of two at a time: %d, want 503", got)
	}
	close(leave)
	for range 2 {
		if got := <-answers; got != 200 {
			t.Errorf("one that was inside: %d", got)
		}
	}
	if got := b.log.lines(t, "notification")[0]["reason"]; got != "edge.overloaded" {
		t.Errorf("the one that was shed is logged as %v", got)
	}
}
