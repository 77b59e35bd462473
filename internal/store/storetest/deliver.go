package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store"
)

// shop is the merchant that is told of its events; the others have no endpoints.
const shop = "shop"

// Subscriptions is what a store under test is opened with: the merchant shop,
// sub-merchants included, is told of everything at "erp", and of payments at
// "mail" as well.
func Subscriptions(m string, t order.EventType) []string {
	switch {
	case order.BaseMerchant(m) != shop:
		return nil
	case t == order.EventPaid:
		return []string{"mail", "erp"}
	}
	return []string{"erp"}
}

var endpoints = []outbox.Want{{Endpoint: "erp", Limit: 100}, {Endpoint: "mail", Limit: 100}}

// told is an event of the shop at one endpoint only.
func told(id, orderNo string, version int64) order.Event {
	e := anEvent(id, orderNo, version)
	e.Key.Merchant, e.Type = shop, order.EventShipped
	return e
}

// toldOf writes the events.
func toldOf(t *testing.T, db store.DB, events ...order.Event) {
	t.Helper()
	put(t, db, &order.Changes{Events: events})
}

// leases counts the claims: each has a token of its own.
var leases atomic.Int64

func claimAt(now time.Time, want ...outbox.Want) outbox.Claim {
	if want == nil {
		want = endpoints
	}
	return outbox.Claim{Now: now, Lease: fmt.Sprintf("lease-%d", leases.Add(1)), For: time.Minute, Want: want}
}

func claim(t *testing.T, db store.DB, c outbox.Claim) outbox.Claimed {
	t.Helper()
	claimed, err := db.Claim(t.Context(), c)
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	slices.SortFunc(claimed.Deliveries, func(a, b outbox.Delivery) int {
		return slices.Compare([]string{a.EventID, a.Endpoint}, []string{b.EventID, b.Endpoint})
	})
	return claimed
}

// keysOf are what a claim brought, as "event@endpoint".
func keysOf(deliveries []outbox.Delivery) []string {
	out := []string{}
	for _, d := range deliveries {
		out = append(out, d.EventID+"@"+d.Endpoint)
	}
	return out
}

func finish(t *testing.T, db store.DB, now time.Time, results ...outbox.Result) {
	t.Helper()
	if err := db.Finish(t.Context(), now, results); err != nil {
		t.Fatalf("Finish: %v", err)
	}
}

// ended is a result with an attempt.
func ended(d outbox.Delivery, state outbox.State, next time.Time) outbox.Result {
	r := outbox.Result{Delivery: d, State: state, Step: d.Step + 1, NextAt: next, Attempt: &outbox.Attempt{
		ID: "att_" + d.EventID + d.Endpoint + d.Lease, Key: d.Key, Number: d.Attempts + 1, StartedAt: start, Duration: 1500 * time.Microsecond,
		StatusCode: 500, Response: []byte("\x00\xffno")}}
	if state == outbox.Delivered {
		r.Attempt.StatusCode = 200
	}
	return r
}

func deliveriesFollowEvents(t *testing.T, db store.DB) {
	paid, sub, other := told("evt_1", "T1", 1), told("evt_2", "T2", 7), told("evt_3", "T3", 1)
	paid.Type = order.EventPaid
	sub.Key.Merchant = shop + "/1900000109"
	other.Key.Merchant = merchant
	strange := told("evt_4", "", 0)
	strange.Type = order.EventUnhandled
	toldOf(t, db, paid, sub, other, strange)
	claimed := claim(t, db, claimAt(start))
	same(t, "deliveries", keysOf(claimed.Deliveries), []string{"evt_1@erp", "evt_1@mail", "evt_2@erp", "evt_4@erp"})
	d := claimed.Deliveries[2]
	same(t, "a delivery", d, outbox.Delivery{Key: outbox.Key{EventID: "evt_2", Endpoint: "erp"}, Merchant: shop + "/1900000109", OutTradeNo: "T2",
		OrderVersion: 7, State: outbox.Pending, NextAt: start.Add(time.Minute), Lease: d.Lease, CreatedAt: start, UpdatedAt: start, Body: sub.JSON()})

	// A unit that loses its race tells nobody.
	lost := order.Changes{Orders: []order.Order{{Key: order.Key{Merchant: shop, OutTradeNo: "T9"}, Rev: 5}}, Events: []order.Event{told("evt_9", "T9", 1)}}
	if err := try(t.Context(), db, &lost); err == nil {
		t.Error("a lost race is no error")
	}
	same(t, "after a lost race", keysOf(claim(t, db, claimAt(start)).Deliveries), []string{})
}

func claimsAreLeased(t *testing.T, db store.DB) {
	toldOf(t, db, told("evt_1", "T1", 1), told("evt_2", "T2", 1))
	if early := claim(t, db, claimAt(start.Add(-time.Microsecond))); len(early.Deliveries) != 0 || !early.NextAt.Equal(start) {
		t.Errorf("before their time: %v, next at %v, want none and %v", keysOf(early.Deliveries), early.NextAt, start)
	}
	first := claim(t, db, claimAt(start, outbox.Want{Endpoint: "erp", Limit: 1}))
	same(t, "one", keysOf(first.Deliveries), []string{"evt_1@erp"})
	same(t, "the other is due", first.NextAt, start)
	second := claim(t, db, claimAt(start))
	same(t, "what is not leased", keysOf(second.Deliveries), []string{"evt_2@erp"})
	until := start.Add(time.Minute)
	same(t, "the next is the end of a lease", second.NextAt, until)

	stale := first.Deliveries[0]
	again := claim(t, db, claimAt(until, outbox.Want{Endpoint: "erp", Limit: 1}))
	same(t, "after the lease", keysOf(again.Deliveries), []string{"evt_1@erp"})
	finish(t, db, until, ended(stale, outbox.Delivered, until))
	rows := deliveries(t, db, outbox.Filter{EventID: "evt_1"})
	if len(rows) != 1 || rows[0].State != outbox.Pending || rows[0].Lease != again.Deliveries[0].Lease {
		t.Errorf("a lost lease moved %+v", rows)
	}
	finish(t, db, until, ended(again.Deliveries[0], outbox.Delivered, until))
	finish(t, db, until, ended(again.Deliveries[0], outbox.Delivered, until)) // written before, answer lost
	rows = deliveries(t, db, outbox.Filter{EventID: "evt_1"})
	if len(rows) != 1 || rows[0].State != outbox.Delivered || rows[0].Lease != "" || rows[0].Attempts != 1 || !rows[0].UpdatedAt.Equal(until) {
		t.Errorf("delivered: %+v", rows)
	}
	attempts, err := db.Attempts(t.Context(), "evt_1")
	if err != nil {
		t.Fatal(err)
	}
	want := []outbox.Attempt{*ended(stale, outbox.Delivered, until).Attempt, *ended(again.Deliveries[0], outbox.Delivered, until).Attempt}
	slices.SortFunc(want, func(a, b outbox.Attempt) int { return slices.Compare([]string{a.ID}, []string{b.ID}) })
	same(t, "both attempts are kept", attempts, want)
}

func givenBackIsDue(t *testing.T, db store.DB) {
	toldOf(t, db, told("evt_1", "T1", 1))
	d := claim(t, db, claimAt(start)).Deliveries[0]
	finish(t, db, start, outbox.Result{Delivery: d, State: outbox.Pending, Step: d.Step, NextAt: start})
	again := claim(t, db, claimAt(start)).Deliveries
	if len(again) != 1 || again[0].Attempts != 0 || again[0].Step != 0 {
		t.Errorf("given back: %+v", again)
	}
	later := start.Add(5 * time.Second)
	finish(t, db, start, ended(again[0], outbox.Pending, later))
	none := claim(t, db, claimAt(start))
	same(t, "before its time", keysOf(none.Deliveries), []string{})
	same(t, "its time", none.NextAt, later)
	retried := claim(t, db, claimAt(later)).Deliveries
	if len(retried) != 1 || retried[0].Attempts != 1 || retried[0].Step != 1 {
		t.Errorf("retried: %+v", retried)
	}
}

func eventsOfAnOrderFollow(t *testing.T, db store.DB) {
	toldOf(t, db, told("evt_9", "T1", 1), told("evt_8", "T1", 2), told("evt_7", "T1", 3), told("evt_6", "T2", 5))
	strange := told("evt_5", "T1", 0)
	toldOf(t, db, strange)
	first := claim(t, db, claimAt(start))
	same(t, "the first of each", keysOf(first.Deliveries), []string{"evt_5@erp", "evt_6@erp", "evt_9@erp"})
	head := first.Deliveries[2]
	same(t, "the second waits", keysOf(claim(t, db, claimAt(start.Add(59*time.Second))).Deliveries), []string{})

	// A failure keeps the others back.
	retry := start.Add(10 * time.Minute)
	finish(t, db, start, ended(head, outbox.Pending, retry))
	finish(t, db, start, ended(first.Deliveries[0], outbox.Delivered, start), ended(first.Deliveries[1], outbox.Delivered, start))
	for _, after := range []time.Duration{0, time.Minute, 9 * time.Minute} {
		same(t, "while the first is tried again", keysOf(claim(t, db, claimAt(start.Add(after))).Deliveries), []string{})
	}
	toldOf(t, db, told("evt_4", "T1", 4)) // comes while they wait
	same(t, "a new one waits too", keysOf(claim(t, db, claimAt(start.Add(9*time.Minute))).Deliveries), []string{})
	head = claim(t, db, claimAt(retry)).Deliveries[0]
	same(t, "the first again", head.EventID, "evt_9")

	// Given up or delivered, the next may go, at once.
	for _, step := range []struct {
		state outbox.State
		next  string
	}{{outbox.Exhausted, "evt_8"}, {outbox.Delivered, "evt_7"}, {outbox.Delivered, "evt_4"}} {
		finish(t, db, retry, ended(head, step.state, retry))
		claimed := claim(t, db, claimAt(retry)).Deliveries
		if len(claimed) != 1 || claimed[0].EventID != step.next {
			t.Fatalf("after %s: %v, want %s", step.state, keysOf(claimed), step.next)
		}
		head = claimed[0]
	}
}

// The time of a waiting delivery is put off, so that it is not looked at again
// and again; each claim still sees past many that wait.
func manyThatWaitHideNone(t *testing.T, db store.DB) {
	var events []order.Event
	for i := range 3 * outbox.LookAhead {
		events = append(events, told(fmt.Sprintf("evt_a%03d", i), "T1", int64(i+1)))
	}
	late := told("evt_b", "T2", 1)
	late.CreatedAt = start.Add(time.Second)
	toldOf(t, db, append(events, late)...)
	var got []string
	for range 5 {
		got = append(got, keysOf(claim(t, db, claimAt(start.Add(time.Second), outbox.Want{Endpoint: "erp", Limit: 1})).Deliveries)...)
	}
	same(t, "in five claims", got, []string{"evt_a000@erp", "evt_b@erp"})
}

func pausedEndpointsAreLeftAlone(t *testing.T, db store.DB) {
	paid := told("evt_1", "T1", 1)
	paid.Type = order.EventPaid
	toldOf(t, db, paid)
	pause := outbox.Pause{Endpoint: "erp", Reason: "gone", At: start}
	for _, p := range []outbox.Pause{pause, {Endpoint: "erp", Reason: "again", ByHand: true, At: start.Add(time.Hour)}} {
		if err := db.Pause(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	claimed := claim(t, db, claimAt(start))
	same(t, "the other one", keysOf(claimed.Deliveries), []string{"evt_1@mail"})
	same(t, "the next, not counting the paused", claimed.NextAt, start.Add(time.Minute))
	pauses, err := db.Pauses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "pauses", pauses, []outbox.Pause{pause})
	for _, want := range []bool{true, false} {
		if resumed, err := db.Resume(t.Context(), "erp"); resumed != want || err != nil {
			t.Errorf("Resume: %v, %v, want %v", resumed, err, want)
		}
	}
	same(t, "resumed", keysOf(claim(t, db, claimAt(start)).Deliveries), []string{"evt_1@erp"})
}

// An event waits for its place in the feed, but not for ever.
func unsequencedEventsWait(t *testing.T, db store.DB) {
	toldOf(t, db, told("evt_1", "T1", 1))
	c := claimAt(start)
	c.SequencedBy = start.Add(-time.Second)
	waiting := claim(t, db, c)
	if len(waiting.Deliveries) != 0 || !waiting.NextAt.Equal(start) {
		t.Errorf("without a place: %v, next at %v", keysOf(waiting.Deliveries), waiting.NextAt)
	}
	c = claimAt(start.Add(time.Second))
	c.SequencedBy = start
	same(t, "after a moment", keysOf(claim(t, db, c).Deliveries), []string{"evt_1@erp"})

	toldOf(t, db, told("evt_2", "T2", 1))
	if n, err := db.Sequence(t.Context(), 10); n != 2 || err != nil {
		t.Fatalf("Sequence: %d, %v", n, err)
	}
	c = claimAt(start)
	c.SequencedBy = start.Add(-time.Second)
	placed := claim(t, db, c)
	same(t, "with a place", keysOf(placed.Deliveries), []string{"evt_2@erp"})
	e := told("evt_2", "T2", 1)
	e.Seq = 2
	same(t, "its body", string(placed.Deliveries[0].Body), string(e.JSON()))
}

// Neither a smaller id nor an earlier time hides what is committed after others
// were claimed: workers remember no place.
func lateDeliveriesAreClaimed(t *testing.T, db store.DB) {
	for i := range 10 {
		e := told(fmt.Sprintf("evt_%02d", 99-i), fmt.Sprintf("T%d", i), 1)
		e.CreatedAt = start.Add(-time.Duration(i) * time.Minute)
		toldOf(t, db, e)
		claimed := claim(t, db, claimAt(start)).Deliveries
		same(t, "claimed", keysOf(claimed), []string{e.ID + "@erp"})
		finish(t, db, start, ended(claimed[0], outbox.Delivered, start))
	}
}

func workersShareDeliveries(t *testing.T, db store.DB) {
	const orders, versions = 12, 4
	var events []order.Event
	for v := range versions {
		for o := range orders {
			events = append(events, told(fmt.Sprintf("evt_%d_%02d", v, o), fmt.Sprintf("T%02d", o), int64(v+1)))
		}
	}
	toldOf(t, db, events...)
	var mu sync.Mutex
	sent, current := map[string]int64{}, map[string]bool{}
	atOnce(t, workers, func(ctx context.Context, _ int) error {
		for {
			claimed, err := db.Claim(ctx, claimAt(start, outbox.Want{Endpoint: "erp", Limit: 3}))
			if err != nil {
				return err
			}
			var results []outbox.Result
			mu.Lock()
			for _, d := range claimed.Deliveries {
				if current[d.OutTradeNo] || d.OrderVersion != sent[d.OutTradeNo]+1 {
					t.Errorf("%s has version %d, after %d; at once with another: %v", d.OutTradeNo, d.OrderVersion, sent[d.OutTradeNo], current[d.OutTradeNo])
				}
				current[d.OutTradeNo] = true
				results = append(results, ended(d, outbox.Delivered, start))
			}
			over := len(sent) == orders
			for _, v := range sent {
				over = over && v == versions
			}
			for _, d := range claimed.Deliveries { // the answer, before it is recorded
				sent[d.OutTradeNo], current[d.OutTradeNo] = d.OrderVersion, false
			}
			mu.Unlock()
			if err := db.Finish(ctx, start, results); err != nil || over {
				return err
			}
		}
	})
	if left := deliveries(t, db, outbox.Filter{State: outbox.Pending}); len(left) != 0 {
		t.Errorf("%d are left", len(left))
	}
}

func deliveries(t *testing.T, db store.DB, f outbox.Filter) []outbox.Delivery {
	t.Helper()
	list, err := db.Deliveries(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
