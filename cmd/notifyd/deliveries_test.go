package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

const throwAwaySecret = "whsec_dGhyb3ctYXdheS1zZWNyZXQtb2YtdGVzdHMtMDE="

// customer is a merchant's server: it verifies what it gets and keeps the events.
type customer struct {
	*httptest.Server
	status atomic.Int64
	events chan order.EventView
}

func newCustomer(t *testing.T) *customer {
	t.Helper()
	verifier, err := standard.NewWebhook(throwAwaySecret)
	if err != nil {
		t.Fatal(err)
	}
	c := &customer{events: make(chan order.EventView, 100)}
	c.status.Store(http.StatusOK)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		var event order.EventView
		if err != nil || json.Unmarshal(body, &event) != nil {
			t.Errorf("not a signed event: %v %s", err, body)
		}
		status := int(c.status.Load())
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "says "+http.StatusText(status))
		if status == http.StatusOK {
			c.events <- event
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *customer) next(t *testing.T) order.EventView {
	t.Helper()
	select {
	case e := <-c.events:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
		return order.EventView{}
	}
}

// delivering is a server whose merchant has an endpoint.
func delivering(t *testing.T, to *customer) counter {
	t.Helper()
	s := newShop(t, "sqlite:n.db")
	s.write(t, "token", []byte("throw-away-token\n"))
	s.write(t, "notifyd.yaml", []byte(`
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: "sqlite:n.db"
merchants:
  - name: default
    endpoints:
      - {name: erp, url: "`+to.URL+`/hook", secrets: ["`+throwAwaySecret+`"], events: [order.paid, order.shipped], allow_private: true}
accounts:
  - {name: alipay, provider: alipay, app_id: "2021000000000001", public_keys: [{file: alipay.pem}]}
`))
	return counter{s.serve(t), s.dir + "/token"}
}

func TestAPaymentIsDelivered(t *testing.T) {
	to := newCustomer(t)
	c := delivering(t, to)
	if status, _ := get(t, http.MethodPost, c.public+"/notify/alipay", paid("T1", forge.AlipayKey)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	event := to.next(t)
	var snapshot order.View
	if err := json.Unmarshal(event.Order, &snapshot); err != nil || event.Type != order.EventPaid || snapshot.OutTradeNo != "T1" || snapshot.Status != order.Paid ||
		event.Seq == nil || *event.Seq < 1 || event.OrderVersion == nil {
		t.Errorf("%v: %+v", err, event)
	}
	c.want(t, exitDone, "orders", "ship", "T1")
	if shipped := to.next(t); shipped.Type != order.EventShipped || *shipped.OrderVersion != *event.OrderVersion+1 {
		t.Errorf("%+v", shipped)
	}

	out, _ := c.want(t, exitDone, "events", "list", "--order", "T1", "--type", "order.paid")
	wantAll(t, out, "EVENT", event.ID, "order.paid", "default")
	out = c.show(t, event.ID, string(outbox.Delivered))
	wantAll(t, out, "endpoint erp", "200", "says OK")
	out, _ = c.want(t, exitDone, "events", "list", "--state", "delivered", "--endpoint", "erp", "--type", "order.paid")
	wantAll(t, out, event.ID)
	out, _ = c.want(t, exitDone, "events", "list", "--state", "exhausted", "--json")
	wantAll(t, out, `"items": []`)
	_, err := c.want(t, exitUsage, "events", "list", "--state", "lost")
	wantAll(t, err, "state: must be one of")
	out, _ = c.want(t, exitDone, "events", "redeliver", event.ID)
	wantAll(t, out, "1 delivery will be sent again")
	if again := to.next(t); again.ID != event.ID {
		t.Errorf("%s came, want %s again", again.ID, event.ID)
	}
	out, _ = c.want(t, exitDone, "events", "recover", "--dry-run")
	wantAll(t, out, "0 deliveries would be sent again")
	out, _ = c.want(t, exitDone, "events", "recover", "--state", "delivered", "--order", "T1", "--dry-run", "--json")
	var n httpapi.Resent
	if err := json.Unmarshal([]byte(out), &n); err != nil || n.Count == 0 || !n.DryRun {
		t.Errorf("%v: %s", err, out)
	}
	_, err = c.want(t, exitFailed, "events", "show", "evt_none")
	wantAll(t, err, "no event of this id")
	_, err = c.want(t, exitUsage, "events", "list", "--type", "order.payed")
	wantAll(t, err, "type: must be one of")
	c.stop(t)
	if strings.Contains(c.err.String(), throwAwaySecret) {
		t.Error("the secret is in the log")
	}
	c.err.await(t, `"msg":"delivery","endpoint":"erp","event_id":"`+event.ID)
}

// show asks for an event until it says a word: what was answered is written down
// a moment later.
func (c counter) show(t *testing.T, id, word string) string {
	t.Helper()
	for t.Context().Err() == nil {
		if out, _ := c.want(t, exitDone, "events", "show", id); strings.Contains(out, word) {
			return out
		}
	}
	t.Fatal("too late")
	return ""
}

func TestEndpointsFromTheCommandLine(t *testing.T) {
	to := newCustomer(t)
	c := delivering(t, to)
	out, _ := c.want(t, exitDone, "endpoints", "list")
	wantAll(t, out, "ENDPOINT", "erp", "well", to.URL)
	out, _ = c.want(t, exitDone, "endpoints", "test", "erp")
	wantAll(t, out, "erp", "200", "says OK")
	if e := to.next(t); e.Type != "endpoint.test" || string(e.Order) != "null" {
		t.Errorf("%+v", e)
	}
	to.status.Store(http.StatusForbidden)
	out, err := c.both(t, exitFailed, "endpoints", "test", "erp")
	wantAll(t, out, "403", "says Forbidden")
	wantAll(t, err, "did not take the test event")

	// 410 pauses, with an alarm; the payment is taken all the same.
	to.status.Store(http.StatusGone)
	get(t, http.MethodPost, c.public+"/notify/alipay", paid("T1", forge.AlipayKey))
	c.err.await(t, `"level":"ERROR","msg":"alarm","reason":"endpoint_gone","endpoint":"erp"`)
	for out = ""; !strings.Contains(out, "paused: the endpoint answered 410"); {
		out, _ = c.want(t, exitDone, "endpoints", "list")
	}
	to.status.Store(http.StatusOK)
	out, _ = c.want(t, exitDone, "endpoints", "resume", "erp")
	wantAll(t, out, "well")
	if e := to.next(t); e.Type != order.EventPaid {
		t.Errorf("%+v", e)
	}
	out, _ = c.want(t, exitDone, "endpoints", "pause", "erp", "--reason", "moving house")
	wantAll(t, out, "paused: moving house")
	_, err = c.want(t, exitFailed, "endpoints", "pause", "none")
	wantAll(t, err, "no endpoint none is configured")
	_, metrics := get(t, http.MethodGet, c.private+"/metrics", "")
	wantAll(t, metrics, `notifyd_delivery_attempts_total{endpoint="erp",result="4xx"}`, `notifyd_alarms_total{reason="endpoint_gone"} 1`, `notifyd_delivery_pending{endpoint="erp"}`)
	c.stop(t)
}

// both runs a command that fails and still has something to show.
func (c counter) both(t *testing.T, code int, args ...string) (out, err string) {
	t.Helper()
	got, out, err := c.run(args...)
	if got != code {
		t.Errorf("%v: exit code %d, want %d\n%s%s", args, got, code, out, err)
	}
	return out, err
}

// What was committed while the endpoint was away goes out after a restart.
func TestDeliveriesOutliveTheProcess(t *testing.T) {
	to := newCustomer(t)
	to.status.Store(http.StatusBadGateway)
	c := delivering(t, to)
	var all sync.WaitGroup
	for _, n := range []string{"T1", "T2", "T3"} {
		all.Go(func() { get(t, http.MethodPost, c.public+"/notify/alipay", paid(n, forge.AlipayKey)) })
	}
	all.Wait()
	c.err.await(t, `"msg":"delivery".*"state":"pending"`)
	c.stop(t)
	to.status.Store(http.StatusOK)
	again := shop{dir: strings.TrimSuffix(c.token, "/token"), file: strings.TrimSuffix(c.token, "token") + "notifyd.yaml"}.serve(t)
	seen := map[string]bool{}
	for len(seen) < 3 {
		seen[to.next(t).ID] = true
	}
	again.stop(t)
}
