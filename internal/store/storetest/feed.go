package storetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// sequence gives places and wants as many given.
func sequence(t *testing.T, db store.DB, limit, want int) {
	t.Helper()
	if n, err := db.Sequence(t.Context(), limit); err != nil || n != want {
		t.Fatalf("Sequence(%d) = %d, %v, want %d", limit, n, err, want)
	}
}

func wantHead(t *testing.T, db store.DB, last int64, waiting bool) {
	t.Helper()
	gotLast, gotWaiting, err := db.Head(t.Context())
	if err != nil || gotLast != last || gotWaiting != waiting {
		t.Errorf("Head() = %d, %v, %v, want %d, %v", gotLast, gotWaiting, err, last, waiting)
	}
}

func after(t *testing.T, db store.DB, of string, place int64, limit int) []order.Event {
	t.Helper()
	events, through := page(t, db, of, place, limit)
	if len(events) == limit && through != events[limit-1].Seq {
		t.Errorf("a full page that ends at %d got through %d", events[limit-1].Seq, through)
	}
	return events
}

func page(t *testing.T, db store.DB, of string, place int64, limit int) ([]order.Event, int64) {
	t.Helper()
	events, through, err := db.EventsAfter(t.Context(), of, place, limit)
	if err != nil {
		t.Fatal(err)
	}
	return events, through
}

// ids are an event list's ids with their places.
func ids(events []order.Event) (all []string) {
	for _, e := range events {
		all = append(all, fmt.Sprintf("%d %s", e.Seq, e.ID))
	}
	return all
}

func feedIsRead(t *testing.T, db store.DB) {
	wantHead(t, db, 0, false)
	sequence(t, db, 10, 0)
	events := []order.Event{anEvent("evt_1", "T1", 1), anEvent("evt_2", "T1", 1), anEvent("evt_3", "T1", 1), anEvent("evt_4", "T1", 1),
		anEvent("evt_5", "", 0), anEvent("evt_6", "T2", 1)}
	for i, of := range []string{merchant, "default2", merchant + "/19", "defaul", merchant, merchant} {
		events[i].Key.Merchant = of
	}
	events[5].NotificationID, events[5].Reason = "", order.ReasonAmountMismatch
	for _, unit := range [][]order.Event{events[:3], events[3:4], events[4:]} {
		put(t, db, &order.Changes{Events: unit})
	}
	wantHead(t, db, 0, true)
	if got := after(t, db, merchant, 0, 10); len(got) != 0 {
		t.Errorf("events without a place are in the feed: %v", ids(got))
	}
	if _, through := page(t, db, merchant, 0, 10); through != 0 {
		t.Errorf("without places the feed reaches %d", through)
	}
	sequence(t, db, 4, 4)
	wantHead(t, db, 4, true)
	sequence(t, db, 1, 2) // a unit's events stay together
	sequence(t, db, 4, 0)
	wantHead(t, db, 6, false)
	for i := range events {
		events[i].Seq = int64(i + 1)
	}
	same(t, "the merchant's feed", after(t, db, merchant, 0, 10), []order.Event{events[0], events[2], events[4], events[5]})
	same(t, "its second page", after(t, db, merchant, 1, 2), []order.Event{events[2], events[4]})
	same(t, "another's feed", after(t, db, "default2", 0, 10), []order.Event{events[1]})
	for _, of := range []string{merchant + "/19", "nobody", "", "\x00"} {
		if got := after(t, db, of, 0, 10); len(got) != 0 {
			t.Errorf("the feed of %q has %v", of, ids(got))
		}
	}
	if got := after(t, db, merchant, 6, 10); len(got) != 0 {
		t.Errorf("after the end there is %v", ids(got))
	}
}

// Ids are made before the locks are taken, on clocks that differ: within an
// order only the version tells which event came first, whatever the limit cuts.
func feedKeepsOrdersInOrder(t *testing.T, db store.DB) {
	tangled := func(group string) *order.Changes {
		id := func(n int) string { return fmt.Sprintf("evt_%s%d", group, n) }
		return &order.Changes{Events: []order.Event{
			anEvent(id(1), "T1"+group, 3), anEvent(id(5), "T1"+group, 2), anEvent(id(3), "T1"+group, 1),
			anEvent(id(2), "T2"+group, 1), anEvent(id(4), "T3"+group, 1), anEvent(id(6), "T4"+group, 1)}}
	}
	put(t, db, tangled("a"))
	sequence(t, db, 10, 6)
	want := []string{"1 evt_a2", "2 evt_a3", "3 evt_a4", "4 evt_a5", "5 evt_a1", "6 evt_a6"}
	if got := ids(after(t, db, merchant, 0, 10)); !slices.Equal(got, want) {
		t.Errorf("the feed is %v, want %v", got, want)
	}
	put(t, db, tangled("b"))
	put(t, db, &order.Changes{Events: []order.Event{anEvent("evt_b0", "T1b", 4)}})
	put(t, db, &order.Changes{Events: []order.Event{anEvent("evt_9", "T1b", 6), anEvent("evt_8", "T5b", 1), anEvent("evt_a0", "T1b", 5)}})
	for _, unit := range []int{6, 1, 3, 0} {
		sequence(t, db, 1, unit)
	}
	var versions []int64
	for _, e := range after(t, db, merchant, 6, 20) {
		if e.Key.OutTradeNo == "T1b" {
			versions = append(versions, e.OrderVersion)
		}
	}
	if !slices.Equal(versions, []int64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("the order's versions stand as %v", versions)
	}
}

// A merchant with few events among many of others reads on in bounded steps.
// Wherever it stood, it goes on with its next event.
func feedIsReadInSteps(t *testing.T, db store.DB) {
	const units, perUnit = 9, 300
	var own []int64
	for u := range units {
		var events []order.Event
		for i := range perUnit {
			e := anEvent(fmt.Sprintf("evt_%d_%03d", u, i), fmt.Sprintf("T%d-%03d", u, i), 1)
			e.Key.Merchant = "default2"
			if i == perUnit/2 && (u == 1 || u == units-1) {
				e.Key.Merchant = merchant
				own = append(own, int64(u*perUnit+i+1))
			}
			events = append(events, e)
		}
		put(t, db, &order.Changes{Events: events})
	}
	sequence(t, db, units*perUnit, units*perUnit)
	const last = units * perUnit
	steps := 0
	read := func(place int64) (seen []int64) {
		for through := int64(-1); through != place; steps++ {
			through = place
			var events []order.Event
			events, place = page(t, db, merchant, place, 10)
			for _, e := range events {
				seen = append(seen, e.Seq)
			}
			if place < through || place > last {
				t.Fatalf("after %d it goes on after %d", through, place)
			}
		}
		return seen
	}
	if got := read(0); !slices.Equal(got, own) {
		t.Errorf("it reads %v, want %v", got, own)
	}
	if steps < 3 {
		t.Errorf("%d places were looked at in %d steps", last, steps)
	}
	for _, place := range []int64{1, perUnit, own[0] - 1, own[0], own[0] + 1, own[1] - 1, own[1], last - 1, last} {
		want := slices.DeleteFunc(slices.Clone(own), func(seq int64) bool { return seq <= place })
		if got := read(place); !slices.Equal(got, want) {
			t.Errorf("after %d it reads %v, want %v", place, got, want)
		}
	}
	for _, place := range []int64{last + 1, last + 5000, math.MaxInt64} { // a stranger's numbers
		if events, through := page(t, db, merchant, place, 10); len(events) != 0 || through != place {
			t.Errorf("after %d it reads %v and goes on after %d", place, ids(events), through)
		}
	}
}

// Two units of one order, from two handles: the second waits for the first one's
// commit, so that it is numbered after it and never seen without it, though its
// id is lower.
func feedFollowsTheLocks(t *testing.T, db store.DB) {
	decided := make(chan struct{})
	var second sync.WaitGroup
	e := func(id string, version int64) *order.Changes {
		return &order.Changes{Events: []order.Event{anEvent(id, "T1", version)}}
	}
	want := order.Want{Orders: []order.Key{key("T1")}}
	err := db.Transact(t.Context(), want, func(*order.Found) (*order.Changes, error) {
		second.Go(func() {
			err := db.Transact(t.Context(), want, func(*order.Found) (*order.Changes, error) {
				select {
				case <-decided:
				default:
					t.Error("the second unit is decided while the first one holds the order")
				}
				return e("evt_1", 2), nil
			})
			if err != nil {
				t.Errorf("the second unit: %v", err)
			}
		})
		wantHead(t, db, 0, false)
		close(decided)
		return e("evt_2", 1), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	second.Wait()
	sequence(t, db, 10, 2)
	if got, want := ids(after(t, db, merchant, 0, 10)), []string{"1 evt_2", "2 evt_1"}; !slices.Equal(got, want) {
		t.Errorf("the feed is %v, want %v", got, want)
	}
}

// An event that is committed late under a lower id comes after those that were
// given out: whoever has read up to a place misses nothing.
func feedNeverSkipsALateEvent(t *testing.T, db store.DB) {
	var place int64
	for i := range 20 {
		put(t, db, &order.Changes{Events: []order.Event{anEvent(fmt.Sprintf("evt_%02d", 99-i), fmt.Sprint("T", i), 1)}})
		sequence(t, db, 10, 1)
		got := after(t, db, merchant, place, 10)
		if len(got) != 1 || got[0].ID != fmt.Sprintf("evt_%02d", 99-i) || got[0].Seq != place+1 {
			t.Fatalf("after place %d comes %v", place, ids(got))
		}
		place = got[0].Seq
	}
}

// Writers, sequencers and a reader at once: the reader, who never looks back,
// sees every event once, without gaps, and each order's in order.
func feedIsOneStream(t *testing.T, db store.DB) {
	const perWriter = 40
	const total = workers * perWriter
	var written atomic.Int64
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range perWriter {
				// Two writers at a time go on with one order; ids fall while versions rise.
				n := fmt.Sprintf("T%d-%d", w/2, i)
				err := db.Transact(t.Context(), order.Want{Orders: []order.Key{key(n)}}, func(f *order.Found) (*order.Changes, error) {
					o, exists := f.Orders[key(n)]
					if !exists {
						o = anOrder(n)
						o.Rev, o.Version = 0, 0
					}
					o.Rev++
					o.Version++
					e := anEvent(fmt.Sprintf("evt_%04d_%d_%d", total-i, 9-o.Version, w), n, o.Version)
					return &order.Changes{Orders: []order.Order{o}, Events: []order.Event{e}}, nil
				})
				if err != nil {
					t.Errorf("writing: %v", err)
				}
				written.Add(1)
			}
		})
	}
	for range 2 {
		all.Go(func() { sequenceUntil(t, db, total, &written) })
	}
	all.Go(func() {
		var place int64
		versions := map[order.Key]int64{}
		for place < total && !t.Failed() {
			events, through, err := db.EventsAfter(t.Context(), merchant, place, 7)
			if err != nil {
				t.Errorf("reading after %d: %v", place, err)
				return
			}
			for _, e := range events {
				if e.Seq != place+1 {
					t.Errorf("after place %d comes %d", place, e.Seq)
				}
				if e.OrderVersion != versions[e.Key]+1 {
					t.Errorf("version %d of an order comes after version %d", e.OrderVersion, versions[e.Key])
				}
				place, versions[e.Key] = e.Seq, e.OrderVersion
			}
			if through != place {
				t.Errorf("it reads up to %d and gets through %d", place, through)
			}
		}
	})
	all.Wait()
	if got := after(t, db, merchant, 0, 2*total); len(got) != total || got[total-1].Seq != total {
		t.Errorf("the feed has %d events, want %d with places from 1 on", len(got), total)
	}
	wantHead(t, db, total, false)
}

// sequenceUntil gives places, a few at a time, until all events have theirs.
func sequenceUntil(t *testing.T, db store.DB, total int64, written *atomic.Int64) {
	for !t.Failed() {
		if _, err := db.Sequence(context.WithoutCancel(t.Context()), 3); err != nil {
			t.Errorf("sequencing: %v", err)
			return
		}
		done := written.Load() == total
		last, waiting, err := db.Head(t.Context())
		if err != nil {
			t.Errorf("the head: %v", err)
			return
		}
		if done && !waiting && last == total {
			return
		}
	}
}
