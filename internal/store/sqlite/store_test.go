package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB { return open(t, filepath.Join(t.TempDir(), "notifyd.db")) })
}

// open opens and prepares the database at path.
func open(t *testing.T, path string) store.DB {
	t.Helper()
	db, err := store.Open("sqlite:"+path, store.Options{Holder: "the test " + t.Name()})
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
