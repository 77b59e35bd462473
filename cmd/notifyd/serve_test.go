package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// watched is a stderr that tells when something was written to it.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{} // closed and renewed at each write
}

func newWatched() *watched { return &watched{news: make(chan struct{})} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.news)
	w.news = make(chan struct{})
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until what was written matches, and returns its groups.
func (w *watched) await(t *testing.T, pattern string) []string {
	t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(30*time.Second)
	for {
		w.mu.Lock()
		found, news := re.FindStringSubmatch(w.text.String()), w.news
		w.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("%q never came:\n%s", pattern, w)
		}
	}
}

// shop is a configuration with one Alipay account in a folder of its own.
type shop struct{ dir, file string }

func newShop(t *testing.T, store string) shop {
	t.Helper()
	s := shop{dir: t.TempDir()}
	s.file = filepath.Join(s.dir, "notifyd.yaml")
	s.write(t, "alipay.pem", forge.AlipayKey.PublicPEM())
	s.write(t, "notifyd.yaml", fmt.Appendf(nil, `
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: %q
accounts:
  - {name: alipay, provider: alipay, app_id: "2021000000000001", public_keys: [{file: alipay.pem}]}
`, store))
	return s
}

func (s shop) write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// served is a running serve.
type served struct {
	public, private string
	err             *watched
	end             context.CancelFunc
	code            chan int
}

func (s shop) serve(t *testing.T) *served {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	r := &served{err: newWatched(), end: end, code: make(chan int, 1)}
	go func() {
		r.code <- run(ctx, []string{"serve", "--config", s.file}, noEnv, stdio{in: strings.NewReader(""), out: io.Discard, err: r.err})
	}()
	t.Cleanup(end)
	at := r.err.await(t, `(?m)^notifyd ready public=(\S+) private=(\S+)$`)
	r.public, r.private = "http://"+at[1], "http://"+at[2]
	return r
}

// stop ends serve as a signal does.
func (r *served) stop(t *testing.T) {
	t.Helper()
	r.end()
	select {
	case code := <-r.code:
		if code != exitDone {
			t.Errorf("exit code %d:\n%s", code, r.err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("serve does not end")
	}
}

func get(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer throw-away-token")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func paid(number string, key forge.Key) string { return paidFen(number, 1000, key) }

// paidFen is a payment of an amount, with an id of its own.
func paidFen(number string, fen int64, key forge.Key) string {
	at := time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	trade := forge.AlipayTrade{AppID: "2021000000000001", AuthAppID: "2021000000000001", SellerID: "2088000000000001",
		OutTradeNo: number, TradeNo: "2026010122001" + number, Status: "TRADE_SUCCESS", TotalFen: fen, Subject: "茶 + 100%",
		Created: at, Paid: at, NotifyID: fmt.Sprintf("n%s-%d", number, fen), NotifiedAt: at}
	return string(forge.AlipaySigner{Key: key}.Sign(trade.Form()).Body)
}

// The whole program: a payment is acked, shown, and still there after a restart.
func TestServe(t *testing.T) {
	s := newShop(t, "sqlite:./data/notifyd.db")
	r := s.serve(t)
	for range 2 {
		if status, body := get(t, "POST", r.public+"/notify/alipay", paid("T1", forge.AlipayKey)); status != 200 || body != "success" {
			t.Fatalf("a payment: %d %q\n%s", status, body, r.err)
		}
	}
	if status, body := get(t, "POST", r.public+"/notify/alipay", paid("T2", forge.StrangerKey)); status != 401 || body != "failure" {
		t.Errorf("a forged payment: %d %q", status, body)
	}
	var order struct {
		Status        string
		PaidFen       int64 `json:"paid_fen"`
		Notifications []struct{ ID string }
	}
	for range 2 {
		status, body := get(t, "GET", r.private+"/admin/v1/orders/T1", "")
		if err := json.Unmarshal([]byte(body), &order); err != nil || status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		if order.Status != "paid" || order.PaidFen != 1000 || len(order.Notifications) != 1 {
			t.Errorf("order %+v", order)
		}
		if status, raw := get(t, "GET", r.private+"/admin/v1/notifications/"+order.Notifications[0].ID+"/raw", ""); status != 200 || raw != paid("T1", forge.AlipayKey) {
			t.Errorf("raw: %d %q", status, raw)
		}
		if status, body := get(t, "GET", r.private+"/readyz", ""); status != 200 {
			t.Errorf("not ready: %s", body)
		}
		r.stop(t)
		r = s.serve(t)
	}
	if status, body := get(t, "POST", r.private+"/admin/v1/orders/T1/ship", ""); status != 200 || !strings.Contains(body, `"status":"shipped"`) {
		t.Errorf("ship: %d %s", status, body)
	}
	if status, body := get(t, "POST", r.private+"/admin/v1/orders", `{"out_trade_no":"T1","amount_fen":999}`); status != 201 {
		t.Errorf("register: %d %s", status, body)
	}
	r.err.await(t, `"msg":"alarm","reason":"amount_mismatch"`)
	if _, body := get(t, "GET", r.private+"/metrics", ""); !strings.Contains(body, `notifyd_events_total{type="order.shipped"} 1`) {
		t.Error("the event is not counted")
	}
	r.stop(t)
}

func TestServeReadsKeysAgainOnSIGHUP(t *testing.T) {
	s := newShop(t, "sqlite:./data/notifyd.db")
	r := s.serve(t)
	if status, _ := get(t, "POST", r.public+"/notify/alipay", paid("T1", forge.Alipay2Key)); status != 401 {
		t.Fatalf("the next key before its time: %d", status)
	}
	s.write(t, "alipay.pem", forge.Alipay2Key.PublicPEM())
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.err.await(t, `"msg":"keys changed","account":"alipay"`)
	if status, _ := get(t, "POST", r.public+"/notify/alipay", paid("T1", forge.Alipay2Key)); status != 200 {
		t.Errorf("the new key: %d", status)
	}
	s.write(t, "alipay.pem", []byte("rubbish"))
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.err.await(t, `"msg":"key files cannot be used, the keys from before stay","error":".*accounts\[0\]\.public_keys\[0\]\.file`)
	if status, _ := get(t, "POST", r.public+"/notify/alipay", paid("T2", forge.Alipay2Key)); status != 200 {
		t.Errorf("after a broken file: %d", status)
	}
	r.stop(t)
}

// All or nothing holds over the accounts: a broken file of one keeps the keys of all.
func TestBrokenKeyFileKeepsTheKeysOfAllAccounts(t *testing.T) {
	s := newShop(t, "sqlite:./data/notifyd.db")
	s.write(t, "other.pem", forge.AlipayKey.PublicPEM())
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "notifyd.yaml", fmt.Appendf(text, "  - {name: other, provider: alipay, app_id: \"2021000000000002\", public_keys: [{file: other.pem}]}\n"))
	r := s.serve(t)
	s.write(t, "alipay.pem", forge.Alipay2Key.PublicPEM())
	s.write(t, "other.pem", []byte("rubbish"))
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.err.await(t, `"msg":"key files cannot be used, the keys from before stay","error":".*accounts\[1\]\.public_keys\[0\]\.file`)
	if status, _ := get(t, "POST", r.public+"/notify/alipay", paid("T1", forge.AlipayKey)); status != 200 {
		t.Errorf("the key from before: %d", status)
	}
	s.write(t, "other.pem", forge.AlipayKey.PublicPEM())
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.err.await(t, `"msg":"keys changed","account":"alipay"`)
	r.stop(t)
}

// It starts without its PostgreSQL and says 503 meanwhile.
func TestServeWithoutItsDatabase(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0") // a port at which nobody answers
	if err != nil {
		t.Fatal(err)
	}
	address := nobody.Addr().String()
	_ = nobody.Close()
	r := newShop(t, "postgres://notifyd:throw-away@"+address+"/notifyd?sslmode=disable").serve(t)
	if status, body := get(t, "POST", r.public+"/notify/alipay", paid("T1", forge.AlipayKey)); status != 503 || body != "failure" {
		t.Errorf("a payment: %d %q", status, body)
	}
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200, "/admin/v1/orders": 503, "/metrics": 200} {
		if status, _ := get(t, "GET", r.private+path, ""); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	r.stop(t)
	if strings.Contains(r.err.String(), "throw-away") {
		t.Error("the database's password is in the log")
	}
}

func TestServeRefusesToStart(t *testing.T) {
	s := newShop(t, "sqlite:./data/notifyd.db")
	r := s.serve(t)
	code, _, said := runIn("serve", "--config", s.file)
	if code != exitUnreachable || !strings.Contains(said, fmt.Sprintf("process %d", os.Getpid())) || strings.Contains(said, "notifyd ready") {
		t.Errorf("a second process: code %d, said %q", code, said)
	}
	r.stop(t)

	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "notifyd.yaml", bytes.Replace(text, []byte("127.0.0.1:0"), []byte(busy.Addr().String()), 1))
	if code, _, said = runIn("serve", "--config", s.file); code != exitFailed || !strings.Contains(said, busy.Addr().String()) {
		t.Errorf("a port that is taken: code %d, said %q", code, said)
	}
	s.write(t, "notifyd.yaml", []byte("lisen: x\n"))
	if code, _, said = runIn("serve", "--config", s.file); code != exitConfig || !strings.Contains(said, "lisen") {
		t.Errorf("a bad configuration: code %d, said %q", code, said)
	}
	if code, _, said = runIn("serve", "--config", s.file, "--log-format", "xml"); code != exitUsage {
		t.Errorf("a bad format: code %d, said %q", code, said)
	}
}
