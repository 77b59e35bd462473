package storetest

import (
	"context"
	"fmt"
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
	events, err := db.EventsAfter(t.Context(), of, place, limit)
	if err != nil {
		t.Fatal(err)
	}
	return events
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
	put(t, db, &order.Changes{Events: events})
	wantHead(t, db, 0, true)
	if got := after(t, db, merchant, 0, 10); len(got) != 0 {
		t.Errorf("events without a place are in the feed: %v", ids(got))
	}
	sequence(t, db, 4, 4)
	wantHead(t, db, 4, true)
	sequence(t, db, 4, 2)
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
	for range 6 {
		sequence(t, db, 1, 1)
	}
	var versions []int64
	for _, e := range after(t, db, merchant, 6, 10) {
		if e.Key.OutTradeNo == "T1b" {
			versions = append(versions, e.OrderVersion)
		}
	}
	if !slices.Equal(versions, []int64{1, 2, 3}) {
		t.Errorf("the order's versions stand as %v", versions)
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
			events, err := db.EventsAfter(t.Context(), merchant, place, 7)
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
