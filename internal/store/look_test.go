package store_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// lookedAt is a database and what would show that looking left a trace.
type lookedAt struct {
	url, driver, dsn string
	trace            func(t *testing.T) string
}

// everyDatabase is one of each kind: of SQLite with an empty file, of PostgreSQL
// with no table.
func everyDatabase(t *testing.T) map[string]lookedAt {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	url := pgtest.Empty(t)
	return map[string]lookedAt{
		"sqlite":   {"sqlite:" + path, "sqlite", path, func(t *testing.T) string { return filesIn(t, filepath.Dir(path)) }},
		"postgres": {url, "pgx", url, func(t *testing.T) string { return relationsOf(t, url) }},
	}
}

// filesIn are the files of a folder, to the byte.
func filesIn(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %d %x\n", e.Name(), len(content), sha256.Sum256(content))
	}
	return all.String()
}

// relationsOf are the tables of a database and what was ever written to them.
func relationsOf(t *testing.T, url string) (all string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const written = `select coalesce(string_agg(c.relname || ' ' || c.relfilenode || ' ' || pg_relation_size(c.oid), ',' order by c.relname), '')
from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public'`
	if err := db.QueryRowContext(t.Context(), written).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// findBeside looks as somebody who has nothing to do with the database otherwise.
func (l *lookedAt) findBeside(t *testing.T) error {
	t.Helper()
	db, err := store.Open(l.url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key := order.Key{Merchant: "default", OutTradeNo: "T1"}
	_, err = db.FindBeside(t.Context(), order.Want{FactKeys: []order.FactKey{{1}}, Orders: []order.Key{key}, Stories: []order.Key{key}})
	return err
}

// Who only looks leaves no trace: no file, no lock, no table, whatever state the
// database is in; and says what state that is.
func TestLookingChangesNothing(t *testing.T) {
	folder := t.TempDir()
	nothing := lookedAt{url: "sqlite:" + filepath.Join(folder, "n.db")}
	if err := nothing.findBeside(t); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database that is not there: %v", err)
	}
	if left := filesIn(t, folder); left != "" {
		t.Errorf("looking made %s", left)
	}
	for name, l := range everyDatabase(t) {
		t.Run(name, func(t *testing.T) {
			l.looks(t, "that was never migrated", store.ErrSchemaOlder)
			db, err := store.Open(l.url, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Prepare(t.Context()), db.Close()); err != nil {
				t.Fatal(err)
			}
			if path, is := strings.CutPrefix(l.url, "sqlite:"); is {
				if err := os.Remove(path + ".lock"); err != nil { // a backup has none
					t.Fatal(err)
				}
			}
			l.looks(t, "of this program", nil)
			l.exec(t, `delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)`)
			l.looks(t, "that waits for a migration", store.ErrSchemaOlder)
			l.exec(t, `insert into goose_db_version (version_id, is_applied) values (99999, true)`)
			l.looks(t, "of a newer program", store.ErrSchemaNewer)
		})
	}
}

func (l *lookedAt) looks(t *testing.T, what string, want error) {
	t.Helper()
	before := l.trace(t)
	if err := l.findBeside(t); !errors.Is(err, want) {
		t.Errorf("a database %s: %v, want %v", what, err, want)
	}
	l.checkUp(t)
	if after := l.trace(t); after != before {
		t.Errorf("looking at a database %s changed\n%s to\n%s", what, before, after)
	}
}

// checkUp looks at all the rest. What it finds is nothing to this test.
func (l *lookedAt) checkUp(t *testing.T) {
	t.Helper()
	db, err := store.Open(l.url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Examine(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := db.Integrity(t.Context()); err != nil {
		t.Error(err)
	}
	_, _ = db.Arrivals(t.Context(), store.ArrivalFilter{Newest: 1}) // an error where there is no table
}

func (l *lookedAt) exec(t *testing.T, statement string) {
	t.Helper()
	db, err := sql.Open(l.driver, l.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
