package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

func prepared(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "notifyd.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func wantSettings(t *testing.T, what string, conn rower, queryOnly string) {
	t.Helper()
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "2000", "foreign_keys": "1", "query_only": queryOnly,
		"journal_size_limit": "67108864",
	} {
		var got string
		if err := conn.QueryRowContext(t.Context(), "pragma "+name).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %s is %s, want %s", what, name, got, want)
		}
	}
}

func TestEveryConnectionHasTheSettings(t *testing.T) {
	s := prepared(t)
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSettings(t, "the writer", s.writer.conn, "0")
	s.writer.drop()
	if err := s.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSettings(t, "the writer after a fault", s.writer.conn, "0")

	// Held all at once, so that each is another connection.
	for range readers {
		conn, err := s.reader.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		wantSettings(t, "a reader", conn, "1")
		if _, err := conn.ExecContext(t.Context(), "update beat set beats = 0"); err == nil {
			t.Error("a reader can write")
		}
	}
}

// Whoever reads long lists, notifications are looked up and committed.
func TestNotificationsHaveConnectionsOfTheirOwn(t *testing.T) {
	s := prepared(t)
	for range readers {
		conn, err := s.reader.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := s.Known(ctx, []order.FactKey{{1}}); err != nil {
		t.Errorf("Known: %v", err)
	}
	if _, err := s.Payments(ctx, []order.TxnKey{{Provider: "p", ProviderTxnID: "t"}}); err != nil {
		t.Errorf("Payments: %v", err)
	}
	if err := s.put(ctx, aRow(1)); err != nil {
		t.Errorf("Transact: %v", err)
	}
	// It is their number that bounds the others.
	short, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if _, err := s.Notification(short, "ntf_1"); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("one reader too many: %v, want ErrUnavailable", err)
	}
}

func TestTablesAreStrict(t *testing.T) {
	s := prepared(t)
	rows, err := s.reader.Query("select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%' and name not like 'goose_%'")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	err = scanAll(rows, func(rows *sql.Rows) error {
		var name string
		var strict bool
		count++
		if err := rows.Scan(&name, &strict); err != nil {
			return err
		}
		if !strict {
			t.Errorf("the table %s is not strict", name)
		}
		return nil
	})
	if err != nil || count == 0 {
		t.Errorf("%d tables: %v", count, err)
	}
}

// Each key of a set is looked up; no table is read for the keys. The sets
// themselves, k and those of findWaiting, are read from end to end.
func TestSetsAreLookedUpByIndex(t *testing.T) {
	s := prepared(t)
	sets := []string{"k", "t", "f", "of_orders"}
	for query, arguments := range map[string]int{
		findKnown: 1, findProviders: 1, findOrders: 1, findPayments: 1, findPaymentsOfOrders: 1, findRefunds: 1, findRefundsOfOrders: 1,
		findWaiting: 2, storyPayments: 2, storyRefunds: 2, storyEvents: 2, storyNotifications: 2, waitingFor: 3, updateOrder: 20, addCopies: 2,
		resolveNotification: 6, deleteNotificationOrders: 1, deleteWaiting: 2, pruneRaw: 1, feedReach: 1, eventsBetween: 4, dueDeliveries: 3, oneEvent: 1,
		finishDelivery: 8, callNext: 4, nextDelivery: 1, agedDeliveries: 3, pruneDelivery: 3, pruneAttempts: 3,
	} {
		rows, err := s.reader.Query("explain query plan "+query, make([]any, arguments)...)
		if err != nil {
			t.Fatal(err)
		}
		err = scanAll(rows, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			words := strings.Fields(detail)
			if words[0] == "SCAN" && words[1] != "CONSTANT" && !slices.Contains(sets, words[1]) {
				t.Errorf("%s in\n%s", detail, query)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnsafeSettingsAreRefused(t *testing.T) {
	for want, pragmas := range map[string][]string{
		"journal mode": {"journal_mode(DELETE)", "synchronous(FULL)"}, "synchronous": {"journal_mode(WAL)", "synchronous(NORMAL)"},
	} {
		settings := url.Values{"_pragma": pragmas}
		db, err := sql.Open(driverName, "file:"+filepath.Join(t.TempDir(), "x.db")+"?"+settings.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if err := check(t.Context(), db); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want a refusal that names the %s", pragmas, err, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestVersionsCompareAsNumbers(t *testing.T) {
	for version, want := range map[string]bool{
		"3.51.3": true, "3.51.10": true, "3.52.0": true, "4.0": true, "3.51.2": false, "3.51": false, "3.9.9": false, "2.99.99": false, "": false,
	} {
		if got := isAtLeast(version, leastVersion); got != want {
			t.Errorf("isAtLeast(%q) = %v", version, got)
		}
	}
}

func aRow(body int) *order.Changes {
	return &order.Changes{Notifications: []order.Row{{ID: "ntf_1", ReceivedAt: time.Unix(1, 0), Copies: 1, Capture: order.Capture{Body: make([]byte, body)}}}}
}

func (s *Store) put(ctx context.Context, c *order.Changes) error {
	return s.Transact(ctx, order.Want{}, func(*order.Found) (*order.Changes, error) { return c, nil })
}

func TestFullDiskIsUnavailable(t *testing.T) {
	s := prepared(t)
	err := s.write(t.Context(), func(u *unit) error {
		return u.each(func(*sql.Rows) error { return nil }, "pragma max_page_count = 1") // as many as there are
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.put(t.Context(), aRow(1<<20)); !errors.Is(err, order.ErrUnavailable) {
		t.Fatalf("on a full disk: %v, want ErrUnavailable", err)
	}
	s.writer.drop() // the limit was the connection's
	if err := s.put(t.Context(), aRow(1<<20)); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

func TestLockedDatabaseIsUnavailable(t *testing.T) {
	s := prepared(t)
	err := s.write(t.Context(), func(u *unit) error {
		return u.each(func(*sql.Rows) error { return nil }, "pragma busy_timeout = 1")
	})
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open(driverName, s.path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.put(t.Context(), aRow(1)); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("while another program writes: %v, want ErrUnavailable", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.put(t.Context(), aRow(1)); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestBusyWriterIsUnavailable(t *testing.T) {
	s := prepared(t)
	err := s.write(t.Context(), func(*unit) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := s.put(ctx, aRow(1))
		if !errors.Is(err, order.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("behind a unit that takes long: %v, want ErrUnavailable", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
