package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store"
)

// shelf writes five events and closes three of their deliveries.
func shelf(t *testing.T, db store.DB) {
	t.Helper()
	var events []order.Event
	for i := range 5 {
		e := told(fmt.Sprintf("evt_%d", i), fmt.Sprintf("T%d", i), 1)
		e.CreatedAt = start.Add(time.Duration(i) * time.Hour)
		events = append(events, e)
	}
	events[4].Type = order.EventPaid
	events[3].Key.Merchant = shop + "/1900000109"
	toldOf(t, db, events...)
	now := start.Add(5 * time.Hour)
	for _, d := range claim(t, db, claimAt(now)).Deliveries {
		state := outbox.Pending
		switch d.EventID {
		case "evt_0":
			state = outbox.Delivered
		case "evt_1", "evt_2":
			state = outbox.Exhausted
		}
		finish(t, db, now, ended(d, state, now.Add(time.Hour)))
	}
}

func deliveriesByFilter(t *testing.T, db store.DB) {
	shelf(t, db)
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	for _, c := range []struct {
		name   string
		filter outbox.Filter
		want   []string
	}{
		{"all", outbox.Filter{}, []string{"evt_4@mail", "evt_4@erp", "evt_3@erp", "evt_2@erp", "evt_1@erp", "evt_0@erp"}},
		{"pending", outbox.Filter{State: outbox.Pending}, []string{"evt_4@mail", "evt_4@erp", "evt_3@erp"}},
		{"exhausted", outbox.Filter{State: outbox.Exhausted}, []string{"evt_2@erp", "evt_1@erp"}},
		{"delivered", outbox.Filter{State: outbox.Delivered}, []string{"evt_0@erp"}},
		{"no such state", outbox.Filter{State: "lost' or 'a' = 'a"}, []string{}},
		{"endpoint", outbox.Filter{Endpoint: "mail"}, []string{"evt_4@mail"}},
		{"event", outbox.Filter{EventID: "evt_4"}, []string{"evt_4@mail", "evt_4@erp"}},
		{"merchant", outbox.Filter{Merchant: shop + "/1900000109"}, []string{"evt_3@erp"}},
		{"order", outbox.Filter{OutTradeNo: "T2"}, []string{"evt_2@erp"}},
		{"since is inclusive", outbox.Filter{Since: at(3)}, []string{"evt_4@mail", "evt_4@erp", "evt_3@erp"}},
		{"until is exclusive", outbox.Filter{Until: at(1)}, []string{"evt_0@erp"}},
		{"after", outbox.Filter{After: outbox.Key{EventID: "evt_4", Endpoint: "mail"}, Limit: 2}, []string{"evt_4@erp", "evt_3@erp"}},
		{"no key", outbox.Filter{Endpoint: "a\x00"}, []string{}},
	} {
		same(t, c.name, keysOf(deliveries(t, db, c.filter)), c.want)
	}
	got := deliveries(t, db, outbox.Filter{State: outbox.Exhausted, Limit: 1})[0]
	same(t, "a row", got, outbox.Delivery{Key: outbox.Key{EventID: "evt_2", Endpoint: "erp"}, Merchant: shop, OutTradeNo: "T2", OrderVersion: 1,
		State: outbox.Exhausted, Attempts: 1, Step: 1, NextAt: start.Add(6 * time.Hour), CreatedAt: at(2), UpdatedAt: at(5)})
	backlogs, err := db.Backlogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "backlogs", backlogs, []outbox.Backlog{{Endpoint: "erp", Pending: 2, OldestAt: at(3), Exhausted: 2}, {Endpoint: "mail", Pending: 1, OldestAt: at(4)}})
}

func eventIsSentAgain(t *testing.T, db store.DB) {
	shelf(t, db)
	now := start.Add(5 * time.Hour)
	resend := func(id string, want int, at ...string) {
		t.Helper()
		if n, err := db.Resend(t.Context(), id, at, now); n != want || err != nil {
			t.Errorf("Resend of %s at %v: %d, %v, want %d", id, at, n, err, want)
		}
	}
	resend("evt_none", 0, "erp")
	resend("evt_0", 2, "erp", "mail") // delivered at one, and never meant for the other
	resend("evt_1", 1, "erp")
	claimed := claim(t, db, claimAt(now)).Deliveries
	same(t, "due again", keysOf(claimed), []string{"evt_0@erp", "evt_0@mail", "evt_1@erp"})
	for i, attempts := range []int{1, 0, 1} {
		if d := claimed[i]; d.Step != 0 || d.Attempts != attempts || d.OrderVersion != 1 || d.OutTradeNo == "" {
			t.Errorf("sent again: %+v, want the schedule from its beginning and %d attempts", d, attempts)
		}
	}
	resend("evt_1", 0, "erp") // being sent right now
	now = now.Add(time.Minute)
	resend("evt_1", 1, "erp") // its worker has died
}

func deliveriesAreSentAgain(t *testing.T, db store.DB) {
	shelf(t, db)
	now := start.Add(5 * time.Hour)
	step := func(f outbox.Filter, dryRun bool, want outbox.ResentPage) {
		t.Helper()
		page, err := db.ResendPage(t.Context(), f, now, dryRun)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "page", page, want)
	}
	exhausted := outbox.Filter{State: outbox.Exhausted, Limit: 1}
	first, second := outbox.Key{EventID: "evt_1", Endpoint: "erp"}, outbox.Key{EventID: "evt_2", Endpoint: "erp"}
	step(exhausted, true, outbox.ResentPage{Count: 1, Last: first, More: true})
	same(t, "a dry run changes nothing", keysOf(claim(t, db, claimAt(now)).Deliveries), []string{})
	step(exhausted, false, outbox.ResentPage{Count: 1, Last: first, More: true})
	exhausted.After = first
	step(exhausted, false, outbox.ResentPage{Count: 1, Last: second, More: true})
	exhausted.After = second
	step(exhausted, false, outbox.ResentPage{})
	step(outbox.Filter{OutTradeNo: "T0", Limit: 9}, false, outbox.ResentPage{Count: 1, Last: outbox.Key{EventID: "evt_0", Endpoint: "erp"}})
	same(t, "due again", keysOf(claim(t, db, claimAt(now)).Deliveries), []string{"evt_0@erp", "evt_1@erp", "evt_2@erp"})
	step(outbox.Filter{OutTradeNo: "T0", Limit: 9}, false, outbox.ResentPage{}) // being sent right now
}

// eventsByDelivery: as on the shelf, evt_0 is delivered, evt_1 and evt_2 are
// exhausted, evt_3 and evt_4 are pending, and only evt_4 is at mail.
func eventsByDelivery(t *testing.T, db store.DB) {
	shelf(t, db)
	put(t, db, &order.Changes{Events: []order.Event{anEvent("evt_9", "T9", 1)}}) // for no endpoint
	for _, c := range []struct {
		name   string
		filter order.EventFilter
		want   []string
	}{
		{"endpoint", order.EventFilter{Endpoint: "mail"}, []string{"evt_4"}},
		{"the other endpoint", order.EventFilter{Endpoint: "erp"}, []string{"evt_4", "evt_3", "evt_2", "evt_1", "evt_0"}},
		{"no such endpoint", order.EventFilter{Endpoint: "fax"}, []string{}},
		{"delivered", order.EventFilter{Delivery: "delivered"}, []string{"evt_0"}},
		{"exhausted", order.EventFilter{Delivery: "exhausted"}, []string{"evt_2", "evt_1"}},
		{"pending, two of one event", order.EventFilter{Delivery: "pending"}, []string{"evt_4", "evt_3"}},
		{"both of one delivery", order.EventFilter{Delivery: "pending", Endpoint: "mail"}, []string{"evt_4"}},
		{"not of two", order.EventFilter{Delivery: "exhausted", Endpoint: "mail"}, []string{}},
		{"with the rest", order.EventFilter{Delivery: "exhausted", Endpoint: "erp", OutTradeNo: "T1", AfterID: "evt_2", Limit: 5}, []string{"evt_1"}},
		{"no such state", order.EventFilter{Delivery: "lost' or 'a' = 'a"}, []string{}},
	} {
		list, err := db.Events(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, e := range list {
			ids = append(ids, e.ID)
		}
		same(t, c.name, ids, c.want)
	}
}

func eventsByFilter(t *testing.T, db store.DB) {
	events := []order.Event{anEvent("evt_1", "T1", 1), anEvent("evt_2", "T1", 2), anEvent("evt_3", "T2", 1), anEvent("evt_4", "T1", 0), anEvent("evt_5", "T1", 1)}
	events[1].Type = order.EventRefunded
	events[2].CreatedAt = start.Add(time.Hour)
	events[3].Type, events[3].NotificationID = order.EventUnhandled, "ntf_000007"
	events[4].Key.Merchant = shop
	put(t, db, &order.Changes{Notifications: []order.Row{aNotification(7, "T1")}, Events: events})
	for _, c := range []struct {
		name   string
		filter order.EventFilter
		want   []int
	}{
		{"all", order.EventFilter{}, []int{5, 4, 3, 2, 1}},
		{"merchant", order.EventFilter{Merchant: shop}, []int{5}},
		{"order", order.EventFilter{OutTradeNo: "T1"}, []int{5, 4, 2, 1}},
		{"type", order.EventFilter{Type: order.EventPaid}, []int{5, 3, 1}},
		{"since", order.EventFilter{Since: start.Add(time.Hour)}, []int{3}},
		{"until", order.EventFilter{Until: start.Add(time.Hour), Merchant: merchant}, []int{4, 2, 1}},
		{"page", order.EventFilter{AfterID: "evt_4", Limit: 2}, []int{3, 2}},
		{"no key", order.EventFilter{OutTradeNo: "\xff"}, nil},
	} {
		list, err := db.Events(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var want []order.Event
		for _, n := range c.want {
			want = append(want, events[n-1])
		}
		if len(list) == 0 && list != nil {
			list = nil
		} else if list == nil {
			t.Errorf("%s: the list is nil, it should be empty", c.name)
		}
		same(t, c.name, list, want)
	}
	one, err := db.Event(t.Context(), "evt_2")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "one", one, events[1])
	if _, err := db.Event(t.Context(), "evt_0"); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("no such event: %v, want ErrUnknown", err)
	}
}
