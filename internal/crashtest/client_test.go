package crashtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/internal/order"
)

const (
	shopKeyID     = "k1"
	shopKeySecret = "throw-away-secret-for-tests-only"
	hookSecret    = "whsec_dGhyb3ctYXdheS1zZWNyZXQtb2YtdGVzdHMtMDAwMSE="
)

// merchantShop is a merchant's software: a database of its own, an inbox in it,
// and an endpoint that counts what it acked.
type merchantShop struct {
	db       *sql.DB
	inbox    *client.Inbox
	endpoint *httptest.Server
	acked    atomic.Int64
	mu       sync.Mutex
	ran      []string // "order.paid T1001 1000", each time that the handler ran
}

func newMerchantShop(t *testing.T) *merchantShop {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the folder goes, too
	if _, err := db.ExecContext(t.Context(), client.SQLiteTable); err != nil {
		t.Fatal(err)
	}
	m := &merchantShop{db: db}
	if m.inbox, err = client.NewInbox(db, client.SQLite, m.handle); err != nil {
		t.Fatal(err)
	}
	handler, err := m.inbox.Handler(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	m.endpoint = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := httptest.NewRecorder()
		handler.ServeHTTP(kept, r)
		w.WriteHeader(kept.Code)
		if kept.Code == http.StatusNoContent {
			m.acked.Add(1)
		}
	}))
	t.Cleanup(m.endpoint.Close)
	return m
}

func (m *merchantShop) handle(_ context.Context, _ *sql.Tx, e client.Received) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran = append(m.ran, fmt.Sprint(e.Type, " ", e.Order.OutTradeNo, " ", e.Order.PaidFen))
	if e.Stale || e.OrderVersion != int64(len(m.ran)) {
		m.ran = append(m.ran, "out of order")
	}
	return nil
}

// The whole way, through the public package alone: a shop registers an order,
// the customer pays it, the shop learns it by delivery and from the feed, and
// books it once.
func TestAShopFromEndToEnd(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			m := newMerchantShop(t)
			p := newShop(t, store(t), fmt.Sprintf(`merchants:
  - name: default
    api_keys: [{id: %s, secret: %s}]
    endpoints: [{name: shop, url: %s, secrets: [%q], events: ["*"], allow_private: true}]`, shopKeyID, shopKeySecret, m.endpoint.URL, hookSecret)).start(t)
			c, err := client.New(p.private, shopKeyID, shopKeySecret)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			buy(ctx, t, c, p)

			want := []string{"order.created T1001 0", "order.paid T1001 1000", "order.shipped T1001 1000"}
			eventually(t, "three deliveries are acked", func() bool { return m.acked.Load() >= 3 })
			followed, stop := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() { ended <- m.inbox.Follow(followed, c, "shop") }()
			eventually(t, "the feed is read to its end", func() bool {
				var place int64
				err := m.db.QueryRowContext(ctx, "select number from notifyd_inbox where kind = 'feed'").Scan(&place)
				return err == nil && place >= 3
			})
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the feed ends with %v", err)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if !slices.Equal(m.ran, want) {
				t.Errorf("the handler ran for\n%q, want\n%q", m.ran, want)
			}
		})
	}
}

// buy registers an order, twice; pays it, twice; ships it and asks for it.
func buy(ctx context.Context, t *testing.T, c *client.Client, p *instance) {
	t.Helper()
	x := payment{v3, "T1001", 1000}
	var first, second client.Answer
	for n, answer := range []*client.Answer{&first, &second} {
		o, err := c.RegisterOrder(ctx, client.NewOrder{OutTradeNo: x.number, AmountFen: x.fen}, client.WithIdempotencyKey("register:T1001"), client.KeepAnswer(answer))
		if err != nil || o.Status != client.Created || o.ExpectedFen != x.fen || answer.Status != http.StatusCreated || answer.Replayed != (n == 1) {
			t.Fatalf("registration %d: %+v, %+v, %v", n+1, o, answer, err)
		}
	}
	if !first.CreatedAt.Equal(second.CreatedAt) || first.CreatedAt.IsZero() {
		t.Errorf("the answers are of %v and %v", first.CreatedAt, second.CreatedAt)
	}
	if _, err := c.RegisterOrder(ctx, client.NewOrder{OutTradeNo: x.number, AmountFen: 1}); client.CodeOf(err) != client.CodeOrderFactsDiffer {
		t.Errorf("another registration: %v", err)
	}
	if _, err := c.RegisterOrder(ctx, client.NewOrder{OutTradeNo: "T1002", AmountFen: 1}, client.WithIdempotencyKey("register:T1001")); client.CodeOf(err) != client.CodeKeyReused {
		t.Errorf("the key for another request: %v", err)
	}
	if _, err := c.Ship(ctx, x.number); client.CodeOf(err) != client.CodeIllegalTransition {
		t.Errorf("shipped before it is paid: %v", err)
	}
	for range 2 {
		if a := post(newClient(t), p.public+x.path(), x.message(time.Now())); !a.acked(x.protocol) {
			t.Fatalf("the payment: %s", a)
		}
	}
	if o, err := c.Ship(ctx, x.number); err != nil || o.Status != client.Shipped || o.Version != 3 {
		t.Fatalf("shipped: %+v, %v", o, err)
	}
	o, err := c.Order(ctx, x.number)
	if err != nil || o.PaidFen != x.fen || !o.AmountVerified || len(o.Payments) != 1 || o.Payments[0].Role != string(order.Accepted) || len(o.Transitions) != 3 || len(o.Notifications) != 1 {
		t.Errorf("the order: %+v, %v", o, err)
	}
	if _, err := c.Order(ctx, "T404"); client.CodeOf(err) != client.CodeOrderUnknown {
		t.Errorf("an unknown order: %v", err)
	}
	stranger, err := client.New(p.private, shopKeyID, "another secret")
	if err != nil {
		t.Fatal(err)
	}
	var refusal *client.Problem
	if _, err := stranger.Cancel(ctx, x.number); !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized {
		t.Errorf("a stranger cancels: %v", err)
	}
}
