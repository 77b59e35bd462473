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

// findsBeside: what is found from outside is what the unit found that holds the
// locks meanwhile, and nobody waits for anybody.
func findsBeside(t *testing.T, db store.DB) {
	if found, err := db.FindBeside(t.Context(), all()); err != nil || len(found.Orders)+len(found.Known)+len(found.Payments) != 0 {
		t.Errorf("of an empty store: %+v, %v", found, err)
	}
	first, second := one(), two()
	put(t, db, &first)
	want := all()
	want.Stories = []order.Key{key("T1")}
	var inside, outside *order.Found
	err := db.Transact(t.Context(), want, func(found *order.Found) (*order.Changes, error) {
		var err error
		inside = found
		outside, err = db.FindBeside(t.Context(), want)
		return &second, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(inside.Orders) == 0 || len(inside.Known) == 0 || len(inside.Stories[key("T1")].Events) == 0 {
		t.Fatalf("the unit found too little to compare: %+v", inside)
	}
	same(t, "from outside", outside, inside)
	again, err := db.FindBeside(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "after the commit", again, find(t, db, want))
	if _, err := db.FindBeside(t.Context(), order.Want{Orders: []order.Key{{Merchant: "m", OutTradeNo: "\x00"}}}); err == nil {
		t.Error("a key that no column can hold was looked for")
	}
}
