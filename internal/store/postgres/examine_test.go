package postgres_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestExamineMigratesNothing(t *testing.T) {
	url := pgtest.Empty(t)
	db := unprepared(t, url)
	for range 2 { // the second would see what the first made
		e, err := db.Examine(t.Context())
		if err != nil || e.Schema != 0 || e.Newest == 0 || e.Now.IsZero() {
			t.Errorf("an empty database: %+v, %v", e, err)
		}
	}
}

func TestExamineNamesUnsafeSettings(t *testing.T) {
	c := pgtest.Start(t, "fsync=off", "full_page_writes=off", "synchronous_commit=off")
	e, err := unprepared(t, c.URL("postgres")).Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var grave, risky []string
	for _, s := range e.Settings {
		if s.Grave {
			grave = append(grave, s.Name)
		}
		if s.Risk != "" {
			risky = append(risky, s.Name)
			if !strings.Contains(s.Fix, s.Name) {
				t.Errorf("%s is mended by %q", s.Name, s.Fix)
			}
		}
	}
	if !slices.Equal(grave, []string{"fsync", "full_page_writes"}) || !slices.Equal(risky, []string{"fsync", "full_page_writes", "synchronous_commit"}) {
		t.Errorf("grave %v, risky %v", grave, risky)
	}
}

func TestExamineSeesWhatCannotBeWritten(t *testing.T) {
	url := pgtest.Database(t)
	db := unprepared(t, url)
	if e, err := db.Examine(t.Context()); err != nil || e.ReadOnly != "" {
		t.Fatalf("%+v, %v", e, err)
	}
	name := url[strings.LastIndexByte(url, '/')+1:]
	name, _, _ = strings.Cut(name, "?")
	execute(t, url, "alter database "+name+" set default_transaction_read_only = on")
	if e, err := db.Examine(t.Context()); err != nil || !strings.Contains(e.ReadOnly, "default_transaction_read_only") {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestIntegrityFindsBrokenIndexes(t *testing.T) {
	url := pgtest.Database(t)
	execute(t, url, "update pg_index set indisvalid = false where indexrelid = 'notifications_by_outcome'::regclass")
	faults, err := unprepared(t, url).Integrity(t.Context())
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0], "notifications_by_outcome") {
		t.Errorf("%q, %v", faults, err)
	}
}
