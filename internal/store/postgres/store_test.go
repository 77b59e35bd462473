package postgres_test

import (
	"testing"

	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
	"github.com/notifyd/notifyd/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB { return open(t, pgtest.Database(t)) })
}

// open opens and prepares a database.
func open(t *testing.T, url string) store.DB {
	t.Helper()
	db := name(t, url)
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// name opens a database without reaching for it.
func name(t *testing.T, url string) store.DB {
	t.Helper()
	db, err := store.Open(url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
