package postgres_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

const insertEvent = `with u as (insert into units (events) values (1) returning unit)
insert into events (id, type, out_trade_no, merchant, order_version, from_status, to_status, kind, reason, created_at, snapshot, unit, ordinal)
select $1, 'order.paid', $1, 'default', 1, 'created', 'paid', 'paid', '', 1, '{}', unit, 1 from u`

func feedOf(t *testing.T, db *postgres.Store, after int64) (ids []string) {
	t.Helper()
	events, _, err := db.EventsAfter(t.Context(), "default", after, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func sequence(t *testing.T, feed order.Feed, want int) {
	t.Helper()
	if n, err := feed.Sequence(t.Context(), 100); err != nil || n != want {
		t.Errorf("Sequence = %d, %v, want %d", n, err, want)
	}
}

// A transaction that was open while later ones were committed and read: what it
// commits comes after what was read, and does not hold the others up.
func TestFeedWaitsForNoOpenTransaction(t *testing.T) {
	url := pgtest.Database(t)
	db, late, soon := open(t, url), raw(t, url), raw(t, url)
	tx, err := late.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insertEvent, "evt_1"); err != nil {
		t.Fatal(err)
	}
	exec(t, soon, insertEvent, "evt_2")
	exec(t, soon, insertEvent, "evt_3")
	sequence(t, db, 2)
	if got := feedOf(t, db, 0); !slices.Equal(got, []string{"evt_2", "evt_3"}) {
		t.Errorf("the feed has %v", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	sequence(t, db, 1)
	if got := feedOf(t, db, 2); !slices.Equal(got, []string{"evt_1"}) {
		t.Errorf("after the second place comes %v, want the event that was committed late", got)
	}
}

// While one instance gives places, the others have nothing to do and do not
// wait; if it dies, its places are given again to the same events.
func TestFeedHasOneSequencer(t *testing.T) {
	url := pgtest.Database(t)
	db, other := open(t, url), raw(t, url)
	exec(t, raw(t, url), insertEvent, "evt_1")
	tx, err := other.BeginTx(t.Context(), pgx.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select 1 from feed for update`); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `update units set base = 0; update feed set last_seq = 1`); err != nil {
		t.Fatal(err)
	}
	sequence(t, db, 0)
	if last, waiting, err := db.Head(t.Context()); last != 0 || !waiting || err != nil {
		t.Errorf("Head = %d, %v, %v: places are known before they are committed", last, waiting, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	sequence(t, db, 1)
	if got := feedOf(t, db, 0); !slices.Equal(got, []string{"evt_1"}) {
		t.Errorf("the feed has %v", got)
	}
}
