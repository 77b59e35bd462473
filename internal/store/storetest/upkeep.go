package storetest

import (
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

func capturesArePruned(t *testing.T, db store.DB) {
	var rows []order.Row
	for i := range 6 {
		n := aNotification(i, "T1")
		n.ReceivedAt = start.Add(time.Duration(i-5) * time.Hour) // the later the id, the younger
		n.Content = []byte("said")
		rows = append(rows, n)
	}
	rows[4].ReceivedAt = start.Add(-48 * time.Hour) // an old capture that was replayed
	rows[0].Capture.Body = nil                      // an empty body is one that is there
	put(t, db, &order.Changes{Notifications: rows})
	before := start.Add(-90 * time.Minute) // 0, 1, 2, 3, and 4, which was recorded after 3
	prune := func(limit, want int) {
		t.Helper()
		if n, err := db.PruneRaw(t.Context(), before, limit); err != nil || n != want {
			t.Errorf("PruneRaw(%d) = %d, %v, want %d", limit, n, err, want)
		}
	}
	kept := func(want ...bool) {
		t.Helper()
		for i, n := range rows {
			c, receivedAt, err := db.Capture(t.Context(), n.ID)
			if err != nil || !receivedAt.Equal(n.ReceivedAt) {
				t.Fatalf("%s: received at %v (%v), want %v", n.ID, receivedAt, err, n.ReceivedAt)
			}
			if (c.Body != nil) != want[i] || (c.Header != nil) != want[i] || (c.RequestLine != "") != want[i] {
				t.Errorf("%s: the capture is %+v, kept should be %v", n.ID, c, want[i])
			}
		}
	}
	kept(true, true, true, true, true, true)
	prune(3, 3)
	kept(false, false, false, true, true, true)
	prune(3, 2)
	kept(false, false, false, false, false, true)
	prune(3, 0)

	// What is replayed behind one that is younger stays as long as that one.
	replayed := aNotification(6, "T1")
	replayed.ReceivedAt = start.Add(-48 * time.Hour)
	rows = append(rows, replayed)
	put(t, db, &order.Changes{Notifications: rows[6:]})
	prune(3, 0)
	kept(false, false, false, false, false, true, true)
	before = start.Add(time.Minute)
	prune(3, 2)
	kept(false, false, false, false, false, false, false)

	// What it said stays, and so does the key that tells its copies.
	got, err := db.Notification(t.Context(), rows[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	rows[0].Capture = order.Capture{}
	same(t, "notification", got, rows[0])
	if known := find(t, db, order.Want{FactKeys: []order.FactKey{rows[0].FactKey}}).Known; len(known) != 1 {
		t.Error("a notification without its capture is not known any more")
	}
}

func preparesTwice(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	unchanged(t, db, "after a second Prepare")
	if db.Describe() == "" || db.Committers() < 1 {
		t.Errorf("Describe() = %q, Committers() = %d", db.Describe(), db.Committers())
	}
	if w := db.Warnings(); len(w) != 0 {
		t.Errorf("warnings of a sound store: %q", w)
	}
}

func beats(t *testing.T, db store.DB) {
	for range 3 {
		if err := db.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
