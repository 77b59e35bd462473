package client_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// shop is a merchant's database with an inbox and a table of the merchant's own.
type shop struct {
	*sql.DB
	dialect client.Dialect
}

// onBoth runs a test on each dialect, in a fresh database.
func onBoth(t *testing.T, test func(t *testing.T, db shop)) {
	t.Run("SQLite", func(t *testing.T) { test(t, openSQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) {
		db := prepared(t, "pgx", pgtest.Empty(t), client.PostgreSQLTable)
		test(t, shop{db, client.PostgreSQL})
	})
}

func openSQLite(t *testing.T) shop {
	t.Helper()
	const waits = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"
	return shop{prepared(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+waits, client.SQLiteTable), client.SQLite}
}

func prepared(t *testing.T, driver, source, table string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(20)
	for _, statement := range []string{table, table, "create table bookings (event_id text not null, fen bigint not null, stale bigint not null)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func quiet() client.InboxOption {
	return client.WithInboxLog(slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func (s shop) inbox(t *testing.T, handle client.HandleFunc) *client.Inbox {
	t.Helper()
	inbox, err := client.NewInbox(s.DB, s.dialect, handle, quiet(), client.WithInboxClock(func() time.Time { return sentAt }))
	if err != nil {
		t.Fatal(err)
	}
	return inbox
}

// book writes a booking of the event, through the inbox's transaction.
func (s shop) book(ctx context.Context, tx *sql.Tx, e client.Received) error {
	insert := "insert into bookings (event_id, fen, stale) values (?1, ?2, ?3)"
	if s.dialect == client.PostgreSQL {
		insert = "insert into bookings (event_id, fen, stale) values ($1, $2, $3)"
	}
	var fen, stale int64
	if e.Order != nil {
		fen = e.Order.PaidFen
	}
	if e.Stale {
		stale = 1
	}
	_, err := tx.ExecContext(ctx, insert, e.ID, fen, stale)
	return err
}

func (s shop) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := s.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func paid(id string, version int64) client.Event {
	return client.Event{ID: id, Type: client.OrderPaid, OrderVersion: version,
		Order: &client.Order{Merchant: "default", OutTradeNo: "T1001", PaidFen: 1000, Version: version}}
}

// A hundred deliveries of one event at once: the handler ran once, and the
// others came back only after it was durable.
func TestAHundredAtOnceRunOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		const crowd = 100
		var runs, firsts atomic.Int64
		inbox := db.inbox(t, func(ctx context.Context, tx *sql.Tx, e client.Received) error {
			runs.Add(1)
			return db.book(ctx, tx, e)
		})
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				ran, err := inbox.Receive(t.Context(), paid("evt_01", 1))
				if err != nil {
					t.Error(err)
					return
				}
				if ran {
					firsts.Add(1)
				}
				var booked int
				if err := db.QueryRowContext(t.Context(), "select count(*) from bookings").Scan(&booked); err != nil || booked != 1 {
					t.Errorf("after an answer there are %d bookings, %v", booked, err)
				}
			})
		}
		all.Wait()
		if runs.Load() != 1 || firsts.Load() != 1 {
			t.Errorf("the handler ran %d times, %d were told so", runs.Load(), firsts.Load())
		}
	})
}

func TestAHandlersErrorRollsBack(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		broken := errors.New("the stock is locked")
		fails := true
		inbox := db.inbox(t, func(ctx context.Context, tx *sql.Tx, e client.Received) error {
			if err := db.book(ctx, tx, e); err != nil || !fails {
				return err
			}
			return broken
		})
		ran, err := inbox.Receive(t.Context(), paid("evt_01", 1))
		if ran || !errors.Is(err, broken) {
			t.Errorf("%v, %v", ran, err)
		}
		if n := db.count(t, "select count(*) from bookings"); n != 0 {
			t.Errorf("%d bookings stayed", n)
		}
		if n := db.count(t, "select count(*) from notifyd_inbox"); n != 0 {
			t.Errorf("%d rows of the inbox stayed", n)
		}
		fails = false
		for round, want := range []bool{true, false, false} {
			if ran, err := inbox.Receive(t.Context(), paid("evt_01", 1)); ran != want || err != nil {
				t.Errorf("round %d: %v, %v", round, ran, err)
			}
		}
		if n := db.count(t, "select count(*) from bookings where stale = 0"); n != 1 {
			t.Errorf("%d bookings", n)
		}
	})
}

func TestAPanicRollsBack(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		inbox := db.inbox(t, func(ctx context.Context, tx *sql.Tx, e client.Received) error {
			if err := db.book(ctx, tx, e); err != nil {
				return err
			}
			panic("a fault of the handler")
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = inbox.Receive(t.Context(), paid("evt_01", 1)) // it panics
		}()
		if n := db.count(t, "select count(*) from notifyd_inbox") + db.count(t, "select count(*) from bookings"); n != 0 {
			t.Errorf("%d rows stayed", n)
		}
	})
}

// A slow handler whose caller has gone commits nothing.
func TestACancelledHandlerCommitsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		ctx, cancel := context.WithCancel(t.Context())
		inbox := db.inbox(t, func(_ context.Context, tx *sql.Tx, e client.Received) error {
			err := db.book(t.Context(), tx, e)
			cancel()
			return err
		})
		if ran, err := inbox.Receive(ctx, paid("evt_01", 1)); ran || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", ran, err)
		}
		if n := db.count(t, "select count(*) from notifyd_inbox") + db.count(t, "select count(*) from bookings"); n != 0 {
			t.Errorf("%d rows stayed", n)
		}
	})
}

// Out of order: the older event runs too, and knows.
func TestStaleEventsAreTold(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		got := map[string]bool{}
		inbox := db.inbox(t, func(_ context.Context, _ *sql.Tx, e client.Received) error {
			got[e.ID] = e.Stale
			return nil
		})
		other := paid("evt_other", 1)
		other.Order.OutTradeNo = "T1002"
		aside := client.Event{ID: "evt_none", Type: client.NotificationUnhandled}
		for _, e := range []client.Event{paid("evt_2", 2), paid("evt_1", 1), other, aside, paid("evt_4", 4), paid("evt_3", 3), paid("evt_5", 5)} {
			if ran, err := inbox.Receive(t.Context(), e); !ran || err != nil {
				t.Errorf("%s: %v, %v", e.ID, ran, err)
			}
		}
		want := map[string]bool{"evt_2": false, "evt_1": true, "evt_other": false, "evt_none": false, "evt_4": false, "evt_3": true, "evt_5": false}
		for id, stale := range want {
			if told, ran := got[id]; !ran || told != stale {
				t.Errorf("%s: ran %v, stale %v", id, ran, told)
			}
		}
	})
}

// Messages from a queue: the same thing to do comes under a new id each time.
func TestMessagesByFingerprint(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		inbox := db.inbox(t, nil)
		var runs atomic.Int64
		do := func(ctx context.Context, tx *sql.Tx) error {
			runs.Add(1)
			return db.book(ctx, tx, client.Received{Event: client.Event{ID: "queue"}})
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := inbox.Once(t.Context(), client.Fingerprint("order.paid", "T1001", "points"), do); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if ran, err := inbox.Once(t.Context(), client.Fingerprint("order.paid", "T1001", "coupon"), do); !ran || err != nil {
			t.Errorf("another action: %v, %v", ran, err)
		}
		if runs.Load() != 2 || db.count(t, "select count(*) from bookings") != 2 {
			t.Errorf("it ran %d times", runs.Load())
		}
		if _, err := inbox.Once(t.Context(), "", do); err == nil {
			t.Error("an empty key was taken")
		}
		if _, err := inbox.Receive(t.Context(), paid("evt_01", 1)); err == nil {
			t.Error("an event was received without a handler")
		}
	})
}

func TestFingerprintsKeepPartsApart(t *testing.T) {
	seen := map[string]bool{}
	for _, parts := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "ab", "c"}, {"a", "b", "C"}, {"abc", "", ""}, {"", "", ""}} {
		print := client.Fingerprint(parts[0], parts[1], parts[2])
		if seen[print] || len(print) != 64 || print != client.Fingerprint(parts[0], parts[1], parts[2]) {
			t.Errorf("%q: %s", parts, print)
		}
		seen[print] = true
	}
}

func TestForget(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		now := sentAt
		var stale []bool
		inbox, err := client.NewInbox(db.DB, db.dialect, func(_ context.Context, _ *sql.Tx, e client.Received) error {
			stale = append(stale, e.Stale)
			return nil
		}, client.WithInboxClock(func() time.Time { return now }))
		if err != nil {
			t.Fatal(err)
		}
		for n, id := range []string{"evt_1", "evt_2", "evt_3"} {
			now = sentAt.Add(time.Duration(n) * time.Hour)
			if _, err := inbox.Receive(t.Context(), paid(id, int64(n+1))); err != nil {
				t.Fatal(err)
			}
		}
		for round, want := range []int64{1, 1, 0} {
			if n, err := inbox.Forget(t.Context(), sentAt.Add(2*time.Hour), 1); n != want || err != nil {
				t.Errorf("round %d: %d, %v", round, n, err)
			}
		}
		for _, e := range []client.Event{paid("evt_1", 1), paid("evt_3", 3)} {
			if _, err := inbox.Receive(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if len(stale) != 4 || !stale[3] {
			t.Errorf("an event that was forgotten comes again as %v", stale)
		}
	})
}

func TestNewInboxRefuses(t *testing.T) {
	if _, err := client.NewInbox(nil, client.SQLite, nil); err == nil {
		t.Error("no database was taken")
	}
	if _, err := client.NewInbox(openSQLite(t).DB, 0, nil); err == nil {
		t.Error("no dialect was taken")
	}
}

// Without the table, the error says so and nothing runs.
func TestMissingTable(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		if _, err := db.ExecContext(t.Context(), "drop table notifyd_inbox"); err != nil {
			t.Fatal(err)
		}
		inbox := db.inbox(t, func(context.Context, *sql.Tx, client.Received) error {
			t.Error("the handler ran")
			return nil
		})
		if _, err := inbox.Receive(t.Context(), paid("evt_01", 1)); err == nil {
			t.Error("no error")
		}
		if _, err := inbox.Forget(t.Context(), sentAt, 1); err == nil {
			t.Error("no error")
		}
	})
}
