package store_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
	"github.com/notifyd/notifyd/migrations"
)

// before00009 is a database of each kind as it was before fact keys had a place,
// and how its driver is told of it.
type before00009 struct {
	name, driver, dsn, url string
	dialect                goose.Dialect
	steps                  fs.FS
	placeholder            string
}

func databasesBefore00009(t *testing.T) []before00009 {
	t.Helper()
	sqlite, err := fs.Sub(migrations.SQLite, "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	postgres, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		t.Fatal(err)
	}
	path, url := filepath.Join(t.TempDir(), "old.db"), pgtest.Empty(t)
	return []before00009{
		{"sqlite", "sqlite", "file:" + path + "?_pragma=foreign_keys(1)", "sqlite:" + path, goose.DialectSQLite3, sqlite, "?%d"},
		{"postgres", "pgx", url, url, goose.DialectPostgres, postgres, "$%d"},
	}
}

// everyKind are notifications of every kind that the migration tells apart.
func everyKind() []order.Notification {
	paid := notification(fact("订单-2026-01-01-000001", "42A", order.KindPaid, 1000))
	paid.ProviderID = "EV-A"
	combined := notification(fact("T1", "42B", order.KindPaid, 1000), fact("T2", "42C", order.KindPaid, 1000))
	waits := notification(refund("T3", "42D", "50D", 300))
	waits.Facts[0].ByTxn = true
	message := notification(fact("T4", "", order.KindContract, 0))
	message.Distinct, message.Content = []byte("ENTRUST.ADD"), []byte(`{"a":1}`)
	nobody := notification(fact("", "", order.KindOther, 0))
	nobody.Distinct, nobody.Content = []byte("what"), []byte("what")
	nobody.Facts[0].Conflict = order.ReasonAmbiguousText
	unreadable := notification(fact("T5", "42E", order.KindPaid, 0))
	unreadable.Distinct, unreadable.Content = []byte("total is x"), []byte(`{"total":"x"}`)
	unreadable.Facts[0].Conflict = order.ReasonUnreadableField
	nameless := notification(refund("T1", "42B", "", 300)) // what the table cannot read is no conflict as a whole
	return []order.Notification{paid, combined, waits, message, nobody, unreadable, nameless}
}

// Rows that were there before fact keys had a place get the keys that the program
// gives their messages now, and nothing else of them changes.
func TestFactKeysOfOldRows(t *testing.T) {
	for _, old := range databasesBefore00009(t) {
		t.Run(old.name, func(t *testing.T) {
			fresh := lookedAt{driver: old.driver, dsn: pgtest.Database(t)}
			now := fresh.dsn
			if old.driver == "sqlite" {
				fresh.dsn = filepath.Join(t.TempDir(), "now.db")
				now = "sqlite:" + fresh.dsn
			}
			all := everyKind()
			record(t, prepared(t, now), all, false)

			was := old.migrate(t)
			want := map[string][]string{}
			for _, table := range []string{"notifications", "notification_orders", "waiting"} {
				want[table] = old.copyRows(t, opened(t, fresh.driver, fresh.dsn), was, table)
			}
			if len(want["notifications"]) != len(all) || len(want["notification_orders"]) == 0 || len(want["waiting"]) == 0 {
				t.Fatalf("the test shows nothing: %v", want)
			}
			indexes := old.indexes(t, was)
			db := prepared(t, old.url)
			for table, rows := range want {
				if diff := cmp.Diff(rows, dump(t, was, table)); diff != "" {
					t.Errorf("%s (-as the program writes it +migrated):\n%s", table, diff)
				}
			}
			if diff := cmp.Diff(indexes, old.indexes(t, was)); diff != "" {
				t.Errorf("the indexes changed:\n%s", diff)
			}
			old.refuses(t, was, `insert into waiting select 'ntf_nowhere', 0, '', '', '', '', by_txn, 0, '' from waiting`, "foreign key")
			old.refuses(t, was, `insert into notification_orders values ('T1', 'default', 'ntf_nowhere')`, "foreign key")
			old.refuses(t, was, `delete from notifications where kind = 'refund'`, "foreign key")
			old.refuses(t, was, `update notifications set fact_key = substr(fact_key, 17)`, "check")
			record(t, db, all, true)
		})
	}
}

// record records notifications and wants them all new, or all repeats.
func record(t *testing.T, db store.DB, all []order.Notification, repeats bool) {
	t.Helper()
	r := recorder(t, options(db))
	for i, n := range all {
		n.ID = newID("ntf_")
		if receipt, err := r.Record(t.Context(), n); err != nil || receipt.Repeat != repeats {
			t.Errorf("notification %d: %+v, %v", i, receipt, err)
		}
	}
}

// migrate makes the tables as they were.
func (b *before00009) migrate(t *testing.T) *sql.DB {
	t.Helper()
	db := opened(t, b.driver, b.dsn)
	provider, err := goose.NewProvider(b.dialect, db, b.steps, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	return db
}

func opened(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// copyRows copies a table's rows, with the fact keys that they had before, and
// returns them as they were to be copied.
func (b *before00009) copyRows(t *testing.T, from, to *sql.DB, table string) []string {
	t.Helper()
	each(t, from, table, func(columns []string, row []any) {
		places := make([]string, len(row))
		for i := range row {
			places[i] = fmt.Sprintf(b.placeholder, i+1)
			if key, is := row[i].([]byte); is && columns[i] == "fact_key" {
				row[i] = key[16:]
			}
		}
		insert := "insert into " + table + " (" + strings.Join(columns, ", ") + ") values (" + strings.Join(places, ", ") + ")"
		if _, err := to.ExecContext(t.Context(), insert, row...); err != nil {
			t.Fatal(err)
		}
	})
	return dump(t, from, table)
}

// dump is a table's rows as texts, by the first column.
func dump(t *testing.T, db *sql.DB, table string) (rows []string) {
	t.Helper()
	each(t, db, table, func(_ []string, row []any) {
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(text))
	})
	return rows
}

func each(t *testing.T, db *sql.DB, table string, do func(columns []string, row []any)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "select * from "+table+" order by 1, 2")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		do(columns, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// indexes are all indexes, those of keys included.
func (b *before00009) indexes(t *testing.T, db *sql.DB) (all string) {
	t.Helper()
	query := `select string_agg(indexdef, e'\n' order by indexname) from pg_indexes where schemaname = 'public'`
	if b.driver == "sqlite" {
		query = `select group_concat(name || ' on ' || tbl_name || coalesce(' ' || sql, ''), char(10) order by name) from sqlite_schema where type = 'index'`
	}
	if err := db.QueryRowContext(t.Context(), query).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (b *before00009) refuses(t *testing.T, db *sql.DB, statement, why string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), why) {
		t.Errorf("%s: %v, want it refused for its %s", statement, err, why)
	}
}
