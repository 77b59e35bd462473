package httpapi

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/wechat"
)

// atOnce is a recorder that keeps nothing.
type atOnce struct{}

func (atOnce) Record(_ context.Context, n order.Notification) (order.Receipt, error) {
	return order.Receipt{NotificationID: n.ID, Outcome: order.Applied}, nil
}

// wire is a connection's end as far as a handler sees it: deadlines can be set,
// and what is written is gone.
type wire struct {
	header http.Header
	status int
}

func (w *wire) Header() http.Header           { return w.header }
func (w *wire) Write(b []byte) (int, error)   { return len(b), nil }
func (w *wire) WriteHeader(status int)        { w.status = status }
func (*wire) SetReadDeadline(time.Time) error { return nil }

// announced is a body with a length, which ends with its last byte as that of a
// server does.
type announced struct{ left []byte }

func (b *announced) Read(p []byte) (int, error) {
	n := copy(p, b.left)
	if b.left = b.left[n:]; len(b.left) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (*announced) Close() error { return nil }

// BenchmarkNotify is what the edge and the adapter cost for one payment that is
// accepted: everything between the server's reading of a header and the commit.
func BenchmarkNotify(b *testing.B) {
	p, message := wechatEdge(b)
	h := p.handler()
	body := &announced{}
	w := &wire{header: http.Header{}}
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/notify/wechat", body)
	r.Header, r.ContentLength = message.Header, int64(len(message.Body))
	r.Header.Set("User-Agent", "Mozilla/4.0")
	b.ReportAllocs()
	for b.Loop() {
		body.left = message.Body
		clear(w.header)
		h.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			b.Fatalf("status %d", w.status)
		}
	}
}

// wechatEdge is a public listener's handler with one account, and a payment to it.
func wechatEdge(b *testing.B) (*public, forge.Message) {
	b.Helper()
	a, err := wechat.New(wechat.Options{
		MchID: "1600000001", AppIDs: []string{"wxtest0000000001"}, APIv3Key: forge.WechatV3Key,
		PublicKeys: []wechat.PublicKeyFile{{ID: forge.WechatPublicKeyID, File: "wechat.pem"}},
	}, provider.Env{Account: "wechat", Merchant: "default", ReadFile: func(string) ([]byte, error) {
		return forge.WechatPublicKey.PublicPEM(), nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	payment := forge.WechatPayment{MchID: "1600000001", AppID: "wxtest0000000001", OutTradeNo: "T202601010001",
		TransactionID: "4200000000202601010000000001", TotalFen: 1000, Currency: "CNY", PaidAt: receivedAt}
	event := forge.WechatEvent{Type: "TRANSACTION.SUCCESS", OriginalType: "transaction", CreatedAt: receivedAt, Content: payment.V3()}
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	metrics := NewMetrics("bench")
	newID := func(prefix string) string { return prefix + "01KDRVYTJ0AAAAAAAAAAAAAAAA" }
	accounts := map[string]Account{"wechat": {Name: "wechat", Provider: wechat.Name, Adapter: a}}
	return &public{accounts: accounts, taker: NewTaker(atOnce{}, newID), now: func() time.Time { return receivedAt }, newID: newID, metrics: metrics,
		edge: newEdge(log, metrics, "public"), intake: newIntake(), slots: make(chan struct{}, maxInFlight),
		draining: func() bool { return false }, base: b.Context()}, forge.WechatV3Signer{Key: forge.WechatPublicKey}.Notify(event, receivedAt)
}

// BenchmarkKeptConnections is what the server costs for one request on one of many
// kept connections, with a provider and a recorder that answer at once: net/http,
// the edge and the kernel.
func BenchmarkKeptConnections(b *testing.B) {
	s := newBench(b, func(o *Options) { o.Recorder, o.Log = atOnce{}, slog.New(slog.NewJSONHandler(io.Discard, nil)) })
	s.adapter.forgets = true
	if err := s.Listen(b.Context()); err != nil {
		b.Fatal(err)
	}
	s.run()
	defer func() {
		s.end()
		<-s.ended
	}()
	public, _ := s.Addrs()
	b.ReportAllocs()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", public.String())
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		request, answer := []byte(wholeRequest), make([]byte, 4<<10)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			if n, err := conn.Read(answer); err != nil || !bytes.HasSuffix(answer[:n], []byte("success")) {
				b.Errorf("answered %q, %v", answer[:n], err)
				return
			}
		}
	})
}
