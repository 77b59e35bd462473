package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

func TestOpenByScheme(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	for url, want := range map[string]string{
		"sqlite:./data/n.db":                        "sqlite:" + filepath.Join(folder, "data/n.db"),
		"sqlite:n.db":                               "sqlite:" + filepath.Join(folder, "n.db"),
		"sqlite:/var/n.db":                          "sqlite:/var/n.db",
		"sqlite:///var/n.db":                        "sqlite:/var/n.db",
		"postgres://shop:secret@db.internal:5433/n": "postgres://shop@db.internal:5433/n",
		"postgresql://shop:secret@db.internal/n?sslmode=disable": "postgres://shop@db.internal:5432/n",
	} {
		db, err := store.Open(url, store.Options{})
		if err != nil {
			t.Errorf("Open(%q): %v", url, err)
			continue
		}
		if got := db.Describe(); got != want {
			t.Errorf("Open(%q) describes itself as %q, want %q", url, got, want)
		}
		if err := db.Beat(t.Context()); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: Beat before Prepare: %v, want ErrUnavailable", url, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestURLsThatCannotBe(t *testing.T) {
	for _, url := range []string{
		"", "n.db", "./n.db", "sqlite", "sqlite:", "sqlite://", "sqlite:n.db?_pragma=synchronous(OFF)", "SQLITE:n.db", "mysql://shop:secret@db/n",
		"postgres://shop:secret@db:port/n", "postgres://shop:secret@db/n?sslmode=perhaps", "postgres://shop:sec%ret@db/n",
	} {
		db, err := store.Open(url, store.Options{})
		if err == nil {
			t.Errorf("Open(%q) succeeds", url)
			_ = db.Close()
			continue
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec%ret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
