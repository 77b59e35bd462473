package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store"
)

// depot is a server whose deliveries are real: a store, an outbox that runs, and
// a shop that answers with the status that its path names.
type depot struct {
	*bench
	db     store.DB
	status atomic.Int64 // of the shop's answers
	asked  atomic.Int64
}

func newDepot(t *testing.T) *depot {
	t.Helper()
	d := &depot{}
	d.status.Store(http.StatusNoContent)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.asked.Add(1)
		w.WriteHeader(int(d.status.Load()))
		if d.status.Load() != http.StatusNoContent {
			_, _ = w.Write([]byte("no \xff thanks"))
		}
	}))
	t.Cleanup(shop.Close)
	db, err := store.Open("sqlite:"+filepath.Join(t.TempDir(), "n.db"), store.Options{Subscriptions: func(merchant string, _ order.EventType) []string {
		if order.BaseMerchant(merchant) == "default" {
			return []string{"shop"}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.db = db
	var n atomic.Int64
	out := outbox.New(outbox.Options{Store: db, Now: time.Now, NewID: func(p string) string { return fmt.Sprintf("%s%06d", p, n.Add(1)) },
		Random: func() float64 { return 0.5 },
		Endpoints: []outbox.Endpoint{{Name: "shop", Merchant: "default", URL: shop.URL + "/secret-path", Keys: [][]byte{[]byte("throw-away")}, Events: []string{"*"}, AllowPrivate: true},
			{Name: "other", Merchant: "west", URL: shop.URL, AllowPrivate: true}}})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); out.Run(ctx) }()
	t.Cleanup(func() { end(); <-ended })
	d.bench = serve(t, func(o *Options) {
		o.Merchants = []string{"default", "west"}
		o.Deliveries = Deliveries{Events: db, Desk: db, Pause: db.Pause, Outbox: out}
		o.Now = time.Now
	})
	return d
}

// event commits one.
func (d *depot) event(t *testing.T, id, merchant, number string, version int64) {
	t.Helper()
	err := d.db.Transact(t.Context(), order.Want{}, func(*order.Found) (*order.Changes, error) {
		return &order.Changes{Events: []order.Event{{ID: id, Type: order.EventPaid, Key: order.Key{Merchant: merchant, OutTradeNo: number},
			OrderVersion: version, CreatedAt: time.Now().Truncate(time.Microsecond), Snapshot: []byte(`{"order":null,"payment":null,"refund":null}`)}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// read calls and reads the answer.
func read[T any](t *testing.T, b *bench, method, path, body string) (v T) {
	t.Helper()
	got := b.admin(t, method, path, body)
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || got.status != 200 {
		t.Fatalf("%s %s: %d %v %s", method, path, got.status, err, got.body)
	}
	return v
}

// until asks for an event until its first delivery is as wanted.
func (d *depot) until(t *testing.T, id string, is func(DeliveryStory) bool) EventStory {
	t.Helper()
	for t.Context().Err() == nil {
		story := read[EventStory](t, d.bench, "GET", "/events/"+id, "")
		if len(story.Deliveries) > 0 && is(story.Deliveries[0]) {
			return story
		}
	}
	t.Fatal("too late")
	return EventStory{}
}

func delivered(s DeliveryStory) bool { return s.State == outbox.Delivered }

func TestEventsAndTheirDeliveries(t *testing.T) {
	d := newDepot(t)
	d.event(t, "evt_1", "default/1900000109", "T1", 1)
	d.event(t, "evt_2", "west", "T1", 1)
	read[Resent](t, d.bench, "POST", "/events/evt_1/redeliver", "") // wakes the outbox
	story := d.until(t, "evt_1", delivered)
	attempt := story.Deliveries[0].AttemptLog[0]
	if *attempt.Status != 204 || attempt.Failure != nil || attempt.Endpoint != "shop" || attempt.Number != 1 || story.Deliveries[0].Sending {
		t.Errorf("%+v", story)
	}
	for query, want := range map[string][]string{"": {"evt_2", "evt_1"}, "?merchant=west": {"evt_2"}, "?type=order.paid&out_trade_no=T1&limit=1": {"evt_2"}, "?type=order.closed": {},
		"?endpoint=shop": {"evt_1"}, "?endpoint=other": {}, "?state=delivered": {"evt_1"}, "?state=exhausted": {}, "?state=delivered&endpoint=shop&type=order.paid": {"evt_1"},
		"?until=2026-01-01T00:00:00Z": {}} {
		var ids = []string{}
		for _, e := range read[page[order.EventView]](t, d.bench, "GET", "/events"+query, "").Items {
			ids = append(ids, e.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	first := read[page[order.EventView]](t, d.bench, "GET", "/events?limit=1", "")
	second := read[page[order.EventView]](t, d.bench, "GET", "/events?limit=1&cursor="+*first.NextCursor, "")
	if len(second.Items) != 1 || second.Items[0].ID != "evt_1" || second.NextCursor != nil {
		t.Errorf("the second page: %+v", second)
	}
	list := read[page[DeliveryView]](t, d.bench, "GET", "/deliveries?state=delivered&endpoint=shop&merchant=default/1900000109&event_id=evt_1", "")
	if len(list.Items) != 1 || list.Items[0].EventID != "evt_1" || time.Time(list.Items[0].NextAt) != (time.Time{}) {
		t.Errorf("%+v", list)
	}
	wantProblem(t, "a cursor of another list", d.admin(t, "GET", "/deliveries?cursor="+*first.NextCursor, ""), 400, "bad_parameter")
	wantProblem(t, "state", d.admin(t, "GET", "/deliveries?state=lost", ""), 400, "bad_parameter")
	wantProblem(t, "state of events", d.admin(t, "GET", "/events?state=lost", ""), 400, "bad_parameter")
	wantProblem(t, "merchant", d.admin(t, "GET", "/events?merchant=north", ""), 404, "merchant_unknown")
	wantProblem(t, "unknown", d.admin(t, "GET", "/events/evt_9", ""), 404, "event_unknown")
}

func TestRedeliver(t *testing.T) {
	d := newDepot(t)
	d.event(t, "evt_1", "default", "T1", 1)
	d.event(t, "evt_2", "west", "T1", 1)
	read[Resent](t, d.bench, "POST", "/events/evt_1/redeliver", "{}")
	d.until(t, "evt_1", delivered)

	if got := read[Resent](t, d.bench, "POST", "/events/evt_1/redeliver?endpoint=shop", ""); got.Count != 1 {
		t.Errorf("again: %+v", got)
	}
	d.until(t, "evt_1", func(s DeliveryStory) bool { return delivered(s) && len(s.AttemptLog) == 2 })
	wantProblem(t, "for nobody", d.admin(t, "POST", "/events/evt_2/redeliver", ""), 409, "no_deliveries")
	wantProblem(t, "another's endpoint", d.admin(t, "POST", "/events/evt_2/redeliver?endpoint=shop", ""), 404, "endpoint_unknown")
	read[Resent](t, d.bench, "POST", "/events/evt_2/redeliver?endpoint=other", "")
	d.until(t, "evt_2", delivered)
	wantProblem(t, "unknown", d.admin(t, "POST", "/events/evt_9/redeliver", ""), 404, "event_unknown")

	since := time.Now().Add(-time.Hour).Format(time.RFC3339)
	for body, want := range map[string]Resent{`{}`: {}, `{"dry_run":true}`: {DryRun: true}, `{"state":"delivered","since":"` + since + `","dry_run":true}`: {2, true},
		`{"state":"delivered","out_trade_no":"T1","endpoint":"shop","merchant":"default","dry_run":true}`: {1, true}} {
		if got := read[Resent](t, d.bench, "POST", "/deliveries/redeliver", body); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
	if got := read[Resent](t, d.bench, "POST", "/deliveries/redeliver", `{"state":"delivered","out_trade_no":"T1","endpoint":"shop"}`); got.Count != 1 {
		t.Errorf("%+v", got)
	}
	d.until(t, "evt_1", func(s DeliveryStory) bool { return delivered(s) && len(s.AttemptLog) == 3 })
	for _, body := range []string{`{"state":"lost"}`, `{"since":"yesterday"}`, `{"dry_run":1}`, `{"all":true}`, `{"endpoint":"a\u0000"}`, `{"state":"delivered"}`} {
		wantProblem(t, body, d.admin(t, "POST", "/deliveries/redeliver", body), 422, "invalid_field")
	}
	wantProblem(t, "merchant", d.admin(t, "POST", "/deliveries/redeliver", `{"merchant":"north"}`), 404, "merchant_unknown")
	wantProblem(t, "cross origin", d.admin(t, "POST", "/deliveries/redeliver", `{}`, "Origin", "https://evil.example"), 403, "cross_origin")
}

func TestEndpoints(t *testing.T) {
	d := newDepot(t)
	list := read[page[EndpointView]](t, d.bench, "GET", "/endpoints", "")
	if len(list.Items) != 2 || list.Items[0].Name != "shop" || list.Items[0].Paused != nil || strings.Contains(fmt.Sprint(list), "secret-path") {
		t.Errorf("%+v", list)
	}
	paused := read[EndpointView](t, d.bench, "POST", "/endpoints/shop/pause", `{"reason":"moving house"}`)
	if paused.Paused == nil || paused.Paused.Reason != "moving house" || !paused.Paused.ByHand {
		t.Errorf("%+v", paused)
	}
	d.event(t, "evt_1", "default", "T1", 1)
	read[Resent](t, d.bench, "POST", "/events/evt_1/redeliver", "")
	d.status.Store(http.StatusTeapot)
	attempt := read[AttemptView](t, d.bench, "POST", "/endpoints/shop/test", "")
	if *attempt.Status != 418 || attempt.Response != "no \uFFFD thanks" {
		t.Errorf("%+v", attempt)
	}
	d.status.Store(http.StatusNoContent)
	if n := d.asked.Load(); n != 1 {
		t.Errorf("a paused endpoint was asked %d times, want the test alone", n)
	}
	if resumed := read[EndpointView](t, d.bench, "POST", "/endpoints/shop/resume", ""); resumed.Paused != nil {
		t.Errorf("%+v", resumed)
	}
	d.until(t, "evt_1", delivered)
	wantProblem(t, "a field", d.admin(t, "POST", "/endpoints/shop/pause", `{"why":"x"}`), 422, "invalid_field")
	wantProblem(t, "long", d.admin(t, "POST", "/endpoints/shop/pause", `{"reason":"`+strings.Repeat("x", maxReasonBytes+1)+`"}`), 422, "invalid_field")
	for _, verb := range []string{"pause", "resume", "test"} {
		wantProblem(t, verb, d.admin(t, "POST", "/endpoints/none/"+verb, ""), 404, "endpoint_unknown")
	}
}

// What waits, what was tried and what needs a person stands in the metrics.
func TestDeliveryMetrics(t *testing.T) {
	b := serve(t, nil)
	m := b.metrics.Deliveries(b.Server.opt.Log, []string{"shop", "mail"})
	key := outbox.Key{EventID: "evt_1", Endpoint: "shop"}
	m.Attempted(outbox.Delivery{Key: key, OutTradeNo: "T1\n"}, outbox.Attempt{StatusCode: 200}, outbox.Delivered)
	m.Attempted(outbox.Delivery{Key: key}, outbox.Attempt{StatusCode: 503}, outbox.Pending)
	m.Attempted(outbox.Delivery{Key: key}, outbox.Attempt{Failure: outbox.FailureTimeout}, outbox.Exhausted)
	m.Paused(outbox.Pause{Endpoint: "shop", Reason: "gone"})
	m.Backlogs([]outbox.Backlog{{Endpoint: "shop", Pending: 3, OldestAt: receivedAt}, {Endpoint: "left over", Pending: 9}}, receivedAt.Add(time.Minute))
	text := b.send(t, "GET", "/metrics", "").body
	for _, line := range []string{`notifyd_delivery_attempts_total{endpoint="shop",result="2xx"} 1`, `notifyd_delivery_attempts_total{endpoint="shop",result="5xx"} 1`,
		`notifyd_delivery_attempts_total{endpoint="shop",result="timeout"} 1`, `notifyd_delivery_pending{endpoint="shop"} 3`, `notifyd_delivery_pending{endpoint="mail"} 0`,
		`notifyd_delivery_oldest_seconds{endpoint="shop"} 60`, `notifyd_delivery_oldest_seconds{endpoint="mail"} 0`,
		`notifyd_alarms_total{reason="endpoint_gone"} 1`, `notifyd_alarms_total{reason="delivery_exhausted"} 1`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	if strings.Contains(text, "left over") {
		t.Error("an endpoint that is not configured has a series")
	}
}
