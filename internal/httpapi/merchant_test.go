package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

func TestMerchantOrders(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const t1 = `{"out_trade_no":"T1","amount_fen":1000}`
	wantOrder(t, "register", d.ask(t, "POST", "/v1/orders", t1), 201, order.Created)
	wantOrder(t, "the same again", d.ask(t, "POST", "/v1/orders", t1), 200, order.Created)
	wantProblem(t, "another amount", d.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1001}`), 409, "order_facts_differ")
	wantProblem(t, "an unknown field", d.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T2","amount_fen":1,"amount":1}`), 422, "invalid_field")
	wantProblem(t, "no amount", d.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T2"}`), 422, "invalid_field")
	wantProblem(t, "no JSON", d.ask(t, "POST", "/v1/orders", `out_trade_no=T2`), 400, "not_json")
	wantOrder(t, "read", d.ask(t, "GET", "/v1/orders/T1", ""), 200, order.Created)
	p := wantProblem(t, "ship what is not paid", d.ask(t, "POST", "/v1/orders/T1/ship", ""), 409, "illegal_transition")
	if p.OrderStatus != order.Created {
		t.Errorf("the problem says that the order is %q", p.OrderStatus)
	}
	d.paid(t, "T1", 1000)
	for _, step := range []struct {
		path   string
		stands order.Status
	}{{"ship", order.Shipped}, {"ship", order.Shipped}, {"complete", order.Completed}} {
		wantOrder(t, step.path, d.ask(t, "POST", "/v1/orders/T1/"+step.path, "{}"), 200, step.stands)
	}
	if s := d.story(t, "T1"); !s.AmountVerified || s.Version != 4 {
		t.Errorf("the order: %+v", s.View)
	}

	// A notification was first: the registration is still the first of its kind.
	d.paid(t, "T3", 500)
	wantOrder(t, "register what is paid", d.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T3","amount_fen":501}`), 201, order.Paid)
	if s := d.story(t, "T3"); s.Transitions[1].Reason != order.ReasonAmountMismatch {
		t.Errorf("transitions: %+v", s.Transitions)
	}
	wantProblem(t, "an unknown order", d.ask(t, "GET", "/v1/orders/T9", ""), 404, "order_unknown")
	wantProblem(t, "an unknown order", d.ask(t, "POST", "/v1/orders/T9/cancel", ""), 404, "order_unknown")
}

// The merchant is the one whose key signed; a sub-merchant stands in the query,
// or in the body of a registration.
func TestMerchantIsWhoSigned(t *testing.T) {
	t.Parallel()
	east := newDesk(t)
	west := east.as(westKey)
	wantOrder(t, "east", east.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1}`), 201, order.Created)
	wantProblem(t, "west reads it", west.ask(t, "GET", "/v1/orders/T1", ""), 404, "order_unknown")
	wantProblem(t, "west cancels it", west.ask(t, "POST", "/v1/orders/T1/cancel", ""), 404, "order_unknown")
	wantOrder(t, "west has its own", west.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":2}`), 201, order.Created)
	wantOrder(t, "a sub-merchant's", east.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":3,"sub_merchant":"19"}`), 201, order.Created)
	wantOrder(t, "the same by the query", east.ask(t, "POST", "/v1/orders?sub_merchant=19", `{"out_trade_no":"T1","amount_fen":3}`), 200, order.Created)
	wantProblem(t, "two sub-merchants", east.ask(t, "POST", "/v1/orders?sub_merchant=20", `{"out_trade_no":"T1","amount_fen":3,"sub_merchant":"19"}`), 422, "invalid_field")
	wantOrder(t, "cancel the sub-merchant's", east.ask(t, "POST", "/v1/orders/T1/cancel?sub_merchant=19", ""), 200, order.Cancelled)
	if got := parsed[order.StoryView](t, east.ask(t, "GET", "/v1/orders/T1?sub_merchant=19", "")); got.Merchant != "east/19" || *got.ExpectedFen != 3 {
		t.Errorf("the sub-merchant's order: %+v", got.View)
	}
	wantOrder(t, "east's own stays", east.ask(t, "GET", "/v1/orders/T1", ""), 200, order.Created)
	for _, query := range []string{"?sub_merchant=a/b", "?sub_merchant=19&sub_merchant=19", "?merchant=west", "?x=1", "?%"} {
		wantProblem(t, query, east.ask(t, "GET", "/v1/orders/T1"+query, ""), 400, "bad_parameter")
		wantProblem(t, query, east.ask(t, "POST", "/v1/orders/T1/cancel"+query, ""), 400, "bad_parameter")
	}
	if n := east.orders(t); n != 3 {
		t.Errorf("%d orders, want 3", n)
	}
}

// Asked again under its key, a request is answered with the bytes of its first
// answer, whatever the order has come to since.
func TestMerchantRepeatsAreAnsweredAlike(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.paid(t, "T5", 5)
	for i, r := range []request{
		{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1000}`, ""},
		{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1000}`, ""},
		{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1}`, ""},
		{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":-1}`, ""},
		{"POST", "/v1/orders", `nonsense`, ""},
		{"POST", "/v1/orders/T1/ship", "", ""},
		{"POST", "/v1/orders/T1/ship?x=1", "", ""},
		{"POST", "/v1/orders/T9/ship", "", ""},
		{"POST", "/v1/orders/T5/ship", "", ""},
		{"POST", "/v1/orders/T5/complete", "{}", ""},
		{"POST", "/v1/orders/T1/cancel", " ", ""},
	} {
		r.key = fmt.Sprintf("key-%d", i)
		first := d.call(t, r)
		if first.header.Get(idempotency.HeaderReplayed) != "" || first.header.Get(idempotency.HeaderKey) != r.key {
			t.Errorf("%d: the first answer's header: %v", i, first.header)
		}
		if at, err := time.Parse(time.RFC3339, first.header.Get(idempotency.HeaderCreatedAt)); err != nil || time.Since(at).Abs() > time.Minute {
			t.Errorf("%d: created at %q", i, first.header.Get(idempotency.HeaderCreatedAt))
		}
		orders, version := d.orders(t), d.story(t, "T5").Version
		for range 2 {
			again := d.call(t, r)
			if again.status != first.status || again.body != first.body || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
				t.Errorf("%d: first %d %s\nagain %d %s", i, first.status, first.body, again.status, again.body)
			}
			if again.header.Get(idempotency.HeaderReplayed) != "true" || again.header.Get(idempotency.HeaderKey) != r.key ||
				again.header.Get(idempotency.HeaderCreatedAt) != first.header.Get(idempotency.HeaderCreatedAt) {
				t.Errorf("%d: the repeat's header: %v, the first's: %v", i, again.header, first.header)
			}
		}
		if d.orders(t) != orders || d.story(t, "T5").Version != version {
			t.Errorf("%d: a repeat changed something", i)
		}
	}
	wantOrder(t, "in the end", d.ask(t, "GET", "/v1/orders/T5", ""), 200, order.Completed)
}

func TestMerchantKeyIsNeeded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := request{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1000}`, ""}
	wantProblem(t, "no key", d.call(t, r), 400, "idempotency_key_missing")
	for key, code := range map[string]string{strings.Repeat("k", idempotency.MaxKeyBytes+1): "idempotency_key_invalid", "a b": "idempotency_key_invalid", "ä": "idempotency_key_invalid"} {
		r.key = key
		wantProblem(t, key, d.call(t, r), 400, code)
	}
	r.key = "k"
	h := d.sign(r)
	h[idempotency.HeaderKeyAlias] = []string{"other"}
	wantProblem(t, "both and different", d.sendAs(t, r, h), 400, "idempotency_key_ambiguous")
	if n := d.orders(t); n != 0 {
		t.Errorf("%d orders without a key", n)
	}
	h[idempotency.HeaderKeyAlias] = []string{"k"}
	wantOrder(t, "both and equal", d.sendAs(t, r, h), 201, order.Created)
	delete(h, idempotency.HeaderKey)
	if got := d.sendAs(t, r, h); got.status != 201 || got.header.Get(idempotency.HeaderReplayed) != "true" || got.header.Get(idempotency.HeaderKey) != "k" {
		t.Errorf("the alias: %d %v", got.status, got.header)
	}
	r.key = strings.Repeat("k", idempotency.MaxKeyBytes)
	wantOrder(t, "the longest key", d.call(t, r), 200, order.Created)
}

// moody is a store whose transactions end as told.
type moody struct {
	order.Store
	fail  func() error // before the transaction; nil: as it is
	after func() error // after its commit
}

func (m *moody) Transact(ctx context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	if err := m.fail(); err != nil {
		return err
	}
	if err := m.Store.Transact(ctx, want, decide); err != nil {
		return err
	}
	return m.after()
}

// What failed here, and not with the merchant, can be sent again under its key;
// what was committed though nobody heard of it is answered as it was.
func TestMerchantFailuresFreeTheirKey(t *testing.T) {
	t.Parallel()
	var before, after error
	m := &moody{fail: func() error { return before }, after: func() error { return after }}
	d := newDeskOn(t, openStore(t, "sqlite:"+t.TempDir()+"/n.db"), func(s order.Store) order.Store {
		m.Store = s
		return m
	})
	r := request{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1000}`, "k"}
	before = errors.New("a fault of ours")
	wantProblem(t, "a fault", d.call(t, r), 500, "internal")
	before = order.ErrUnavailable
	got := d.call(t, r)
	wantProblem(t, "the store is away", got, 503, "store_unavailable")
	if got.header.Get("Retry-After") == "" || got.header.Get(idempotency.HeaderCreatedAt) != "" || got.header.Get(idempotency.HeaderKey) != "k" {
		t.Errorf("header %v", got.header)
	}
	before, after = nil, order.ErrUnavailable
	wantProblem(t, "committed, and nobody knows", d.call(t, r), 503, "store_unavailable")
	after = nil
	got = d.call(t, r)
	wantOrder(t, "sent again", got, 201, order.Created)
	if got.header.Get(idempotency.HeaderReplayed) != "true" || d.story(t, "T1").Version != 1 {
		t.Errorf("replayed %q, version %d", got.header.Get(idempotency.HeaderReplayed), d.story(t, "T1").Version)
	}
}

// A request that outlives its lock commits nothing, whoever has the lock by then.
func TestMerchantTooSlowCommitsNothing(t *testing.T) {
	t.Parallel()
	m := &moody{after: func() error { return nil }}
	d := newDeskOn(t, openStore(t, "sqlite:"+t.TempDir()+"/n.db"), func(s order.Store) order.Store {
		m.Store = s
		return m
	})
	d.paid(t, "T1", 1000)
	d.opt.API.Once.LockFor = time.Microsecond // over before the effect begins, by the database's clock
	m.fail = func() error { return nil }
	slow := request{"POST", "/v1/orders/T1/cancel", "", "k"}
	wantProblem(t, "its lock is over", d.call(t, slow), 503, "idempotency_lock_lost")
	wantProblem(t, "an answer without an effect", d.call(t, request{"POST", "/v1/orders/T9/cancel", "", "k2"}), 503, "idempotency_lock_lost")
	if s := d.story(t, "T1"); s.Status != order.Paid || s.Version != 1 {
		t.Errorf("the order: %+v", s.View)
	}

	// Meanwhile the same request came again, ran and was answered.
	var second reply
	m.fail = func() error {
		m.fail = func() error { return nil }
		d.opt.API.Once.LockFor = 0
		second = d.call(t, slow)
		return nil
	}
	wantProblem(t, "the first", d.call(t, slow), 503, "idempotency_lock_lost")
	wantOrder(t, "the second", second, 200, order.Cancelled)
	if s := d.story(t, "T1"); s.Version != 2 {
		t.Errorf("the order has %d events, want 2", s.Version)
	}
	if third := d.call(t, slow); third.body != second.body || third.header.Get(idempotency.HeaderReplayed) != "true" {
		t.Errorf("the third: %d %s", third.status, third.body)
	}
}

func TestMerchantPathsAndMethods(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	wantProblem(t, "no such path", d.ask(t, "GET", "/v1/nothing", ""), 404, "not_found")
	wantProblem(t, "no such path", d.ask(t, "POST", "/v1/orders/T1/pay", ""), 404, "not_found")
	for path, allow := range map[string]string{"/v1/orders": "POST", "/v1/orders/T1": "GET, HEAD", "/v1/orders/T1/ship": "POST", "/v1/events": "GET, HEAD"} {
		got := d.ask(t, "DELETE", path, "")
		wantProblem(t, path, got, 405, "method_not_allowed")
		if got.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q, want %q", path, got.header.Get("Allow"), allow)
		}
	}
	// What exists is nobody else's business.
	for _, path := range []string{"/v1/nothing", "/v1/orders", "/v1/events"} {
		got := d.send(t, "GET", path, "", "Authorization", "Bearer "+testToken)
		wantProblem(t, path, got, 401, "unauthorized")
		if !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "HMAC-SHA256 ") {
			t.Errorf("WWW-Authenticate %q", got.header.Get("WWW-Authenticate"))
		}
	}
	wantProblem(t, "a large body", d.ask(t, "POST", "/v1/orders", strings.Repeat(" ", maxCommandBytes+1)), 413, "body_too_large")
	wantOrder(t, "the largest", d.ask(t, "POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1}`+strings.Repeat(" ", maxCommandBytes-36)), 201, order.Created)
	r := request{"POST", "/v1/orders/T1/cancel", "", "k"}
	h := d.sign(r)
	h.Set("Origin", "https://evil.example")
	wantProblem(t, "a page of another origin", d.sendAs(t, r, h), 403, "cross_origin")
	if s := d.story(t, "T1"); s.Status != order.Created {
		t.Errorf("the order is %s", s.Status)
	}
}
