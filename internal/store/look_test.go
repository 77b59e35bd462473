package store_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
	"github.com/notifyd/notifyd/internal/store/row"
)

// Who only looks makes no file and changes no schema.
func TestLookingChangesNothing(t *testing.T) {
	look := func(url string) error {
		t.Helper()
		db, err := store.Open(url, store.Options{LookOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return db.Prepare(t.Context())
	}
	path := filepath.Join(t.TempDir(), "n.db")
	if err := look("sqlite:" + path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database that is not there: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("looking made %v, %v", entries, err)
	}
	for name, c := range map[string]struct{ url, driver, dsn string }{
		"sqlite":   {"sqlite:" + path, "sqlite", path},
		"postgres": {pgtest.Empty(t), "pgx", ""},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(c.url, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Prepare(t.Context()), db.Close()); err != nil {
				t.Fatal(err)
			}
			if err := look(c.url); err != nil {
				t.Errorf("a database of this program: %v", err)
			}
			if c.dsn == "" {
				c.dsn = c.url
			}
			older(t, c.driver, c.dsn)
			if err := look(c.url); !errors.Is(err, row.ErrSchemaOlder) {
				t.Errorf("a database that waits for a migration: %v", err)
			}
		})
	}
}

// older makes the database forget its last migration.
func older(t *testing.T, driver, dsn string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)`); err != nil {
		t.Fatal(err)
	}
}
