package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store"
)

// day is the n-th day of the tests of retention.
func day(n int) time.Time { return start.Add(time.Duration(n) * 24 * time.Hour) }

// tell makes one attempt at what is due on a day, with the state that it ends in.
func tell(t *testing.T, db store.DB, on int, state func(outbox.Delivery) outbox.State) {
	t.Helper()
	for _, d := range claim(t, db, claimAt(day(on))).Deliveries {
		r := ended(d, state(d), day(on+1))
		r.Attempt.ID = fmt.Sprintf("att_%d%s%s", on, d.EventID, d.Endpoint)
		r.Attempt.StartedAt = day(on)
		finish(t, db, day(on), r)
	}
}

// left is what is kept of an event at an endpoint: where it stands, and the days
// of its attempts.
func left(t *testing.T, db store.DB, id string) []string {
	t.Helper()
	list, err := db.Deliveries(t.Context(), outbox.Filter{EventID: id})
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, d := range list {
		out = append(out, string(d.State))
	}
	attempts, err := db.Attempts(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts {
		out = append(out, fmt.Sprint("day ", int(a.StartedAt.Sub(start)/(24*time.Hour))))
	}
	return out
}

// What was delivered goes with its attempts; what was not stays, and only its old
// attempts go, however they ended.
func oldDeliveriesArePruned(t *testing.T, db store.DB) {
	const delivered, exhausted, pending, late, again, young = "evt_0", "evt_1", "evt_2", "evt_3", "evt_4", "evt_5"
	for i := range 5 {
		e := told(fmt.Sprintf("evt_%d", i), fmt.Sprintf("T%d", i), 1)
		e.CreatedAt = day(0)
		toldOf(t, db, e)
	}
	ends := func(first, later map[string]outbox.State) func(outbox.Delivery) outbox.State {
		return func(d outbox.Delivery) outbox.State {
			if d.Attempts > 0 {
				return later[d.EventID]
			}
			return first[d.EventID]
		}
	}
	first := map[string]outbox.State{delivered: outbox.Delivered, exhausted: outbox.Exhausted, pending: outbox.Pending, late: outbox.Pending,
		again: outbox.Delivered, young: outbox.Delivered}
	tell(t, db, 0, ends(first, nil))
	if n, err := db.Resend(t.Context(), again, []string{"erp"}, day(5)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	e := told(young, "T5", 1)
	e.CreatedAt = day(5)
	toldOf(t, db, e)
	tell(t, db, 5, ends(first, map[string]outbox.State{pending: outbox.Pending, late: outbox.Delivered, again: outbox.Pending}))

	var total outbox.Pruned
	steps := 0
	for after, more := (outbox.Key{}), true; more; steps++ {
		p, err := db.PruneDeliveries(t.Context(), day(3), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		total.Deliveries, total.Attempts = total.Deliveries+p.Deliveries, total.Attempts+p.Attempts
		after, more = p.Last, p.More
	}
	if total.Deliveries != 1 || total.Attempts != 5 || steps != 4 {
		t.Errorf("%d deliveries and %d attempts were removed in %d steps of two, want 1 and 5 in 4", total.Deliveries, total.Attempts, steps)
	}
	for id, want := range map[string][]string{delivered: {}, exhausted: {"exhausted"}, pending: {"pending", "day 5"}, late: {"delivered", "day 5"},
		again: {"pending", "day 5"}, young: {"delivered", "day 5"}} {
		if got := left(t, db, id); !slices.Equal(got, want) {
			t.Errorf("%s: what is left is %q, want %q", id, got, want)
		}
	}
	if e, err := db.Event(t.Context(), delivered); err != nil || e.ID != delivered {
		t.Errorf("the event of a delivery that was removed: %+v, %v", e, err)
	}
	if n, err := db.Resend(t.Context(), delivered, []string{"erp"}, day(6)); n != 1 || err != nil {
		t.Errorf("it is sent again: %d, %v", n, err)
	}
	// All in one step, later; and then nothing is left to do.
	for _, want := range []outbox.Pruned{{Deliveries: 2, Attempts: 4}, {}} {
		p, err := db.PruneDeliveries(t.Context(), day(6), outbox.Key{}, 100)
		if err != nil || p.Deliveries != want.Deliveries || p.Attempts != want.Attempts || p.More {
			t.Errorf("in one step: %+v, %v, want %+v", p, err, want)
		}
	}
}
