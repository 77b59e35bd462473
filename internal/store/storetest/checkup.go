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
	for i := range 5 {
		n := aNotification(i, "T1")
		n.Account = fmt.Sprintf("account-%d", i%2)
		rows = append(rows, n)
	}
	put(t, db, &order.Changes{Notifications: rows})
	for _, c := range []struct {
		f    store.ArrivalFilter
		want []int
	}{
		{store.ArrivalFilter{}, nil},
		{store.ArrivalFilter{Newest: 3}, []int{4, 3, 2}},
		{store.ArrivalFilter{Bounds: []string{"", "z"}, PerSpan: 10}, []int{0, 1, 2, 3, 4}},
		{store.ArrivalFilter{Bounds: []string{"", "z"}, PerSpan: 2}, []int{0, 1}},
		{store.ArrivalFilter{Bounds: []string{rows[0].ID, rows[3].ID, rows[4].ID}, PerSpan: 2}, []int{1, 2, 4}},
		{store.ArrivalFilter{Bounds: []string{rows[4].ID, "z"}, PerSpan: 2, Newest: 1}, []int{4}},
		{store.ArrivalFilter{Bounds: []string{"z"}, PerSpan: 2, Newest: 1}, []int{4}},
	} {
		want := []store.Arrival{}
		for _, i := range c.want {
			want = append(want, store.Arrival{ID: rows[i].ID, Account: rows[i].Account, At: rows[i].ReceivedAt.Truncate(time.Microsecond)})
		}
		got, err := db.Arrivals(t.Context(), c.f)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("arrivals by %+v", c.f), got, want)
	}
}
