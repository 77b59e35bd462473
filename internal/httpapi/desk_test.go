package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// Throw-away keys of two merchants.
var (
	eastKey = idempotency.Key{ID: "k1", Secret: "throw-away-secret-of-east", Merchant: "east"}
	westKey = idempotency.Key{ID: "k2", Secret: "throw-away-secret-of-west", Merchant: "west"}
)

// desk is a server with a real store, and a merchant who asks.
type desk struct {
	*bench
	db        store.DB
	commands  *order.Commands
	sequencer *order.Sequencer
	reads     chan struct{} // one for each read of the feed
	key       idempotency.Key
}

func openStore(t *testing.T, url string) store.DB {
	t.Helper()
	db, err := store.Open(url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// newDesk serves an empty SQLite database.
func newDesk(t *testing.T) *desk {
	t.Helper()
	return newDeskOn(t, openStore(t, "sqlite:"+t.TempDir()+"/n.db"), nil)
}

// newDeskOn serves a store; around may put something between it and the commands.
func newDeskOn(t *testing.T, db store.DB, around func(order.Store) order.Store) *desk {
	t.Helper()
	verifier, err := idempotency.NewVerifier([]idempotency.Key{eastKey, westKey})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{db: db, key: eastKey, reads: make(chan struct{}, 1000), sequencer: order.NewSequencer(order.SequencerOptions{Feed: db})}
	d.commands = &order.Commands{Store: db, Now: func() time.Time { return receivedAt.Truncate(time.Microsecond) },
		NewID:     func(prefix string) string { return prefix + rand.Text() },
		Committed: func([]order.Event) { d.sequencer.Wake() }}
	if around != nil {
		d.commands.Store = around(db)
	}
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { d.sequencer.Run(ctx, nil) })
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	d.bench = serve(t, func(o *Options) {
		o.Merchants, o.Commands, o.Reader = []string{"east", "west"}, d.commands, db
		o.API = MerchantAPI{Verifier: verifier, Once: &idempotency.Once{Store: db}, Feed: watchedFeed{db, d.reads}, Moved: d.sequencer.Moved,
			Sealing: func(s order.Sealer) Commands { return d.commands.Sealing(s) }}
	})
	return d
}

// watchedFeed tells of its reads.
type watchedFeed struct {
	order.Feed
	reads chan<- struct{}
}

func (f watchedFeed) EventsAfter(ctx context.Context, merchant string, after int64, limit int) ([]order.Event, int64, error) {
	events, through, err := f.Feed.EventsAfter(ctx, merchant, after, limit)
	f.reads <- struct{}{}
	return events, through, err
}

// request is a call as a merchant makes it, before it is signed.
type request struct {
	method, uri, body string
	key               string // idempotency key; "" for none
}

// sign signs a request as a merchant does.
func (d *desk) sign(r request) http.Header {
	timestamp := strconv.FormatInt(receivedAt.Unix(), 10)
	h := http.Header{
		idempotency.HeaderAPIKey:    {d.key.ID},
		idempotency.HeaderTimestamp: {timestamp},
		idempotency.HeaderSignature: {idempotency.Signed{Method: r.method, URI: r.uri, Timestamp: timestamp, Key: r.key, Body: []byte(r.body)}.Sign(d.key.Secret)},
	}
	if r.key != "" {
		h[idempotency.HeaderKey] = []string{r.key}
	}
	return h
}

// send sends a request with a header, whatever it is.
func (d *desk) sendAs(t *testing.T, r request, h http.Header) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, d.url(r.uri), strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h
	return do(t, req)
}

// call signs and sends.
func (d *desk) call(t *testing.T, r request) reply {
	t.Helper()
	return d.sendAs(t, r, d.sign(r))
}

// ask is a call under a new key where one is needed.
func (d *desk) ask(t *testing.T, method, uri, body string) reply {
	t.Helper()
	r := request{method: method, uri: uri, body: body}
	if method == http.MethodPost {
		r.key = rand.Text()
	}
	return d.call(t, r)
}

// as is the same desk for another merchant.
func (d *desk) as(key idempotency.Key) *desk {
	other := *d
	other.key = key
	return &other
}

// paid makes an order of the merchant's paid, past the API.
func (d *desk) paid(t *testing.T, number string, fen int64) {
	t.Helper()
	r := order.NewRecorder(order.RecorderOptions{Store: d.db, Now: d.commands.Now, NewID: d.commands.NewID, Committed: d.commands.Committed})
	n := order.Notification{ID: "ntf_" + rand.Text(), ReceivedAt: d.commands.Now(), Provider: "testpay", Account: "shop", Merchant: d.key.Merchant,
		Kind: order.KindPaid, Facts: []order.Fact{{Kind: order.KindPaid, Merchant: d.key.Merchant, OutTradeNo: number, Provider: "testpay",
			Account: "shop", ProviderTxnID: "tx" + number, AmountFen: fen, Currency: "CNY", At: d.commands.Now()}}}
	if _, err := r.Record(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) story(t *testing.T, number string) order.StoryView {
	t.Helper()
	s, err := d.db.Story(t.Context(), order.Key{Merchant: d.key.Merchant, OutTradeNo: number})
	if err != nil {
		t.Fatalf("order %s: %v", number, err)
	}
	return s.View()
}

// orders counts what all merchants have.
func (d *desk) orders(t *testing.T) int {
	t.Helper()
	list, err := d.db.Orders(t.Context(), order.OrderFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func parsed[T any](t *testing.T, r reply) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatalf("%d %q: %v", r.status, r.body, err)
	}
	return v
}

// wantOrder checks an answer that shows an order.
func wantOrder(t *testing.T, what string, got reply, status int, stands order.Status) {
	t.Helper()
	if got.status != status || got.header.Get("Content-Type") != jsonType {
		t.Errorf("%s: %d %s %s, want %d", what, got.status, got.header.Get("Content-Type"), got.body, status)
		return
	}
	if s := parsed[order.StoryView](t, got); s.Status != stands {
		t.Errorf("%s: the order is %s, want %s", what, s.Status, stands)
	}
}
