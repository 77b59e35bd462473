package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receivedAt is the edge's clock in tests; it has more than microseconds, which
// must be gone in what is recorded.
var receivedAt = time.Date(2026, 1, 1, 4, 0, 0, 123456789, time.UTC)

const testToken = "throw-away-admin-token"

// adapter is a provider whose messages say what Parse does with them.
type adapter struct {
	ack  func(err error) provider.Answer
	keys []provider.KeyInfo

	forgets bool // what it has seen

	mu   sync.Mutex
	seen []provider.Request
}

func (a *adapter) Parse(req provider.Request) (order.Notification, error) {
	a.mu.Lock()
	if !a.forgets {
		a.seen = append(a.seen, req)
	}
	a.mu.Unlock()
	n := order.Notification{Provider: "testpay", Account: "shop", Merchant: "default", Kind: order.KindPaid,
		Facts: []order.Fact{{Kind: order.KindPaid, Merchant: "default", OutTradeNo: "T1"}}}
	switch string(req.Body) {
	case "", "no envelope":
		return n, provider.Refuse(provider.ErrMalformed, "tp.no_envelope", "")
	case "forged":
		return n, provider.Refuse(provider.ErrSignature, "tp.bad_signature", "")
	case "foreign":
		return n, provider.Refuse(provider.ErrForeign, "tp.foreign", "")
	case "unknown serial":
		return n, provider.Refuse(provider.ErrSignature, "tp.unknown_serial", "serial %s is not configured", req.Header.Get("Wechatpay-Serial"))
	case "not now":
		return n, provider.Refuse(provider.ErrUnavailable, "tp.not_now", "")
	case "panic":
		var none map[string]int
		none["the body's secret"] = 1
	}
	return n, nil
}

func (a *adapter) Ack(_ provider.Request, err error) provider.Answer {
	if a.ack != nil {
		return a.ack(err)
	}
	if err != nil {
		return provider.Answer{Status: provider.Status(err), ContentType: "text/plain", Body: []byte("failure")}
	}
	return provider.Answer{Status: http.StatusOK, ContentType: "text/plain", Body: []byte("success")}
}

func (a *adapter) Reload() (bool, error)    { return false, nil }
func (a *adapter) Identity() string         { return "shop 1" }
func (a *adapter) Keys() []provider.KeyInfo { return a.keys }

func (a *adapter) requests() []provider.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

// recorder notes what it is given and answers as told.
type recorder struct {
	mu     sync.Mutex
	got    []order.Notification
	answer func(ctx context.Context, n order.Notification) (order.Receipt, error)
}

func (r *recorder) Record(ctx context.Context, n order.Notification) (order.Receipt, error) {
	r.mu.Lock()
	r.got = append(r.got, n)
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		return answer(ctx, n)
	}
	return order.Receipt{NotificationID: n.ID, Outcome: order.Applied}, nil
}

func (r *recorder) will(answer func(context.Context, order.Notification) (order.Receipt, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *recorder) recorded() []order.Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

// heart beats as told.
type heart struct{ beat func(context.Context) error }

func (h heart) Beat(ctx context.Context) error { return h.beat(ctx) }

// logBook holds log lines.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines returns the lines with a message, parsed; a line that is not JSON fails the test.
func (l *logBook) lines(t *testing.T, message string) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for text := range strings.Lines(l.b.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("log line is not JSON: %q", text)
		}
		if line["msg"] == message {
			out = append(out, line)
		}
	}
	return out
}

func (l *logBook) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bench is a server with its surroundings.
type bench struct {
	*Server
	adapter  *adapter
	recorder *recorder
	commands *commands
	reader   *reader
	refusals *refusals
	keeper   *keeper
	metrics  *Metrics
	log      *logBook

	end     context.CancelFunc
	ended   chan error
	publicL *pipes // when not on real listeners
	private *pipes
}

// newBench makes a server; change alters its options.
func newBench(t testing.TB, change func(*Options)) *bench {
	t.Helper()
	b := &bench{adapter: &adapter{keys: []provider.KeyInfo{{ID: "K1"}}}, recorder: &recorder{}, commands: &commands{},
		reader: &reader{}, refusals: &refusals{}, keeper: &keeper{}, metrics: NewMetrics("test"), log: &logBook{}, ended: make(chan error, 1)}
	count := 0
	var mu sync.Mutex
	verifier, err := idempotency.NewVerifier(nil)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		PublicListen: "127.0.0.1:0", PrivateListen: "127.0.0.1:0",
		Accounts:  []Account{{Name: "shop", Provider: "testpay", Adapter: b.adapter}},
		Merchants: []string{"default"}, Token: testToken,
		Deliveries: Deliveries{Events: noDeliveries{}, Desk: noDeliveries{}, Outbox: noDeliveries{}},
		Recorder:   b.recorder, Commands: b.commands, Reader: b.reader, Refusals: b.refusals, Keeper: b.keeper, API: MerchantAPI{Verifier: verifier},
		Heart: heart{func(context.Context) error { return nil }}, Metrics: b.metrics,
		Now: func() time.Time { return receivedAt },
		NewID: func(prefix string) string {
			mu.Lock()
			defer mu.Unlock()
			count++
			return prefix + string(rune('0'+count))
		},
		Log:     slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Version: "test", ShutdownTimeout: 15 * time.Second,
	}
	if change != nil {
		change(&opt)
	}
	if b.Server, err = New(opt); err != nil {
		t.Fatal(err)
	}
	return b
}

// serve starts a server on real listeners; the test's end stops it.
func serve(t *testing.T, change func(*Options)) *bench {
	t.Helper()
	b := newBench(t, change)
	if err := b.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.run()
	t.Cleanup(func() {
		b.end()
		if err := <-b.ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return b
}

func (b *bench) run() {
	ctx, end := context.WithCancel(context.Background())
	b.end = end
	go func() { b.ended <- b.Run(ctx) }()
}

// serveInBubble starts a server on pipes, for tests with synctest.
func serveInBubble(t *testing.T, change func(*Options)) *bench {
	t.Helper()
	b := newBench(t, change)
	b.publicL, b.private = newPipes(), newPipes()
	b.use(b.publicL, b.private)
	b.run()
	return b
}

func (b *bench) url(path string) string {
	public, private := b.Addrs()
	if strings.HasPrefix(path, "/notify/") {
		return "http://" + public.String() + path
	}
	return "http://" + private.String() + path
}

// reply is an answer read whole.
type reply struct {
	status int
	header http.Header
	body   string
	closes bool // the server ends the connection
}

func do(t *testing.T, req *http.Request) reply {
	t.Helper()
	res, err := http.DefaultTransport.RoundTrip(req) // no redirects followed
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(body), res.Close}
}

func (b *bench) send(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.url(path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	return do(t, req)
}

// pipes is a listener of in-memory connections.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// dial returns the client's end of a new connection.
func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	select {
	case p.conns <- server:
	case <-p.closed:
		t.Fatal("the listener is closed")
	}
	return client
}

// ask sends a whole request and reads the answer.
func ask(t *testing.T, conn net.Conn, request string) reply {
	t.Helper()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	return readReplyTo(t, method, conn)
}

func readReply(t *testing.T, conn net.Conn) reply {
	t.Helper()
	return readReplyTo(t, "POST", conn)
}

func readReplyTo(t *testing.T, method string, conn net.Conn) reply {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(body), res.Close}
}
