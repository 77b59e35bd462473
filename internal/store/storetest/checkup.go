package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/migrations"
)

func soundStoreIsSound(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	e, err := db.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e.Schema != migrations.Newest() || e.Newest != e.Schema || e.ReadOnly != "" || e.Bytes <= 0 {
		t.Errorf("a sound store is said to be %+v", e)
	}
	if len(e.Settings) == 0 {
		t.Error("no setting says whether commits are durable")
	}
	for _, s := range e.Settings {
		if s.Grave || s.Name == "" || s.Risk == "" && s.Fix != "" {
			t.Errorf("a setting of a sound store: %+v", s)
		}
	}
	if e.Disk != nil && (e.Disk.ReadOnly || e.Disk.FreeBytes == 0 || e.Disk.Path == "") {
		t.Errorf("the disk of a sound store: %+v", *e.Disk)
	}
	if faults, err := db.Integrity(t.Context()); err != nil || len(faults) != 0 {
		t.Errorf("a sound store is damaged: %q, %v", faults, err)
	}
	unchanged(t, db, "after it was examined")
	if err := db.Beat(t.Context()); err != nil {
		t.Errorf("it cannot be written after it was examined: %v", err)
	}
}

func arrivalsAreRead(t *testing.T, db store.DB) {
	if got, err := db.Arrivals(t.Context(), store.ArrivalFilter{Bounds: []string{"", "z"}, PerSpan: 10, Newest: 10}); err != nil || got == nil || len(got) != 0 {
		t.Errorf("of an empty store: %v, %v", got, err)
	}
	var rows []order.Row
	for i := range 6 {
		n := aNotification(i, "T1")
		if n.Account = "busy"; i == 2 {
			n.Account = "rare"
		}
		rows = append(rows, n)
	}
	put(t, db, &order.Changes{Notifications: rows})
	type filter = store.ArrivalFilter
	all, busy := []string{"", "z"}, "busy"
	for _, c := range []struct {
		f    filter
		want []int
	}{
		{filter{}, nil},
		{filter{Account: busy}, nil},
		{filter{Account: "nobody", Bounds: all, PerSpan: 10, Newest: 10}, nil},
		{filter{Account: busy, Newest: 3}, []int{5, 4, 3}},
		{filter{Account: busy, Bounds: all, PerSpan: 10}, []int{0, 1, 3, 4, 5}},
		{filter{Account: busy, Bounds: all, PerSpan: 2}, []int{0, 1}},
		{filter{Account: busy, Bounds: []string{rows[0].ID, rows[3].ID, rows[4].ID}, PerSpan: 2}, []int{1, 3, 4}},
		{filter{Account: busy, Bounds: []string{rows[4].ID, "z"}, PerSpan: 2, Newest: 9}, []int{5, 5}},
		{filter{Account: busy, Bounds: []string{"z"}, PerSpan: 2, Newest: 1}, nil},
		// However much of another account lies before and behind it.
		{filter{Account: "rare", Bounds: all, PerSpan: 1}, []int{2}},
		{filter{Account: "rare", Newest: 1}, []int{2}},
	} {
		want := []store.Arrival{}
		for _, i := range c.want {
			want = append(want, store.Arrival{ID: rows[i].ID, At: rows[i].ReceivedAt.Truncate(time.Microsecond)})
		}
		got, err := db.Arrivals(t.Context(), c.f)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("arrivals by %+v", c.f), got, want)
	}
}
