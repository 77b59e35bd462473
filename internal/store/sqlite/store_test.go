package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/sqlite"
	"github.com/notifyd/notifyd/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB {
		path := filepath.Join(t.TempDir(), "notifyd.db")
		t.Cleanup(func() { // after the store is closed
			if got := integrity(t, path); got != "ok" {
				t.Errorf("integrity_check: %s", got)
			}
		})
		return open(t, path)
	})
}

// open opens and prepares the database at path.
func open(t *testing.T, path string) store.DB {
	t.Helper()
	db, err := store.Open("sqlite:"+path, store.Options{Holder: "the test", Subscriptions: storetest.Subscriptions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// raw opens the file with the driver alone, as another program would.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func integrity(t *testing.T, path string) (answer string) {
	t.Helper()
	db := raw(t, path)
	defer func() { _ = db.Close() }()
	if err := db.QueryRow("pragma integrity_check").Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestSecondHandleIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notifyd.db")
	first := open(t, path)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		second, err := store.Open("sqlite:"+name, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var held *sqlite.HeldError
		if err := second.Prepare(t.Context()); !errors.As(err, &held) {
			t.Errorf("Prepare of %s: %v, want a HeldError", name, err)
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := first.Beat(t.Context()); err != nil {
		t.Errorf("the holder was disturbed: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, link)
}

func TestHeldErrorSaysWho(t *testing.T) {
	for want, held := range map[string]*sqlite.HeldError{
		"process 42 (notifyd serve)":     {PID: 42, Holder: "notifyd serve", Path: "x.lock"},
		"process 42;":                    {PID: 42, Path: "x.lock"},
		"held by another process; one S": {Path: "x.lock"},
	} {
		if !strings.Contains(held.Error(), want) {
			t.Errorf("%q does not say %q", held.Error(), want)
		}
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notifyd.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, path).Exec("insert into goose_db_version (version_id, is_applied) values (99999, 1)"); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open("sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first refusal leaves nothing locked
		if err := db.Prepare(t.Context()); !errors.Is(err, store.ErrSchemaNewer) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("Prepare: %v, want ErrSchemaNewer", err)
		}
	}
}

// Waiting does not turn a file into a database: a person has to look.
func TestFileThatIsNoDatabaseIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notifyd.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database at all ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open("sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first refusal leaves nothing locked
		if err := db.Prepare(t.Context()); err == nil || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("Prepare: %v, want an error other than ErrUnavailable", err)
		}
	}
}

func TestUnpreparedAndClosedAreUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notifyd.db")
	db, err := store.Open("sqlite:"+path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if err := db.Beat(t.Context()); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("Beat %s: %v, want ErrUnavailable", when, err)
		}
		if _, err := db.Known(t.Context(), nil); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("Known %s: %v, want ErrUnavailable", when, err)
		}
	}
	check("before Prepare")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("Open made the file")
	}
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	check("after Close")
}

func TestFilesAreForTheOwnerAlone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a b#%&", "données")
	path := filepath.Join(folder, "notifyd.db")
	db := open(t, path)
	if err := db.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{folder: 0o700, path: 0o600, path + "-wal": 0o600, path + ".lock": 0o600} {
		stat, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := stat.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %04o, want %04o", name, got, want)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if w := open(t, path).Warnings(); len(w) != 1 || !strings.Contains(w[0], "0644") {
		t.Errorf("warnings of a readable database: %q", w)
	}
}

func TestPathsThatCannotBe(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("this is no database, it is a text of some length"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(folder, "damaged")
	if err := os.WriteFile(damaged, append([]byte("SQLite format 3\x00"), make([]byte, 4096)...), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a folder": folder, "below a file": filepath.Join(file, "notifyd.db"), "no database": file, "a damaged database": damaged,
	} {
		db, err := store.Open("sqlite:"+path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// Unavailable would mean that waiting helps.
		if err := db.Prepare(t.Context()); err == nil || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: Prepare says %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkTransact(b *testing.B) {
	db, err := store.Open("sqlite:"+filepath.Join(b.TempDir(), "notifyd.db"), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	storetest.Benchmark(b, db)
}
