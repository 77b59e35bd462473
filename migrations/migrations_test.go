package migrations_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"testing"

	"github.com/notifyd/notifyd/migrations"
)

func TestBothDatabasesTakeTheSameSteps(t *testing.T) {
	sqlite, postgres := steps(t, migrations.SQLite, "sqlite"), steps(t, migrations.Postgres, "postgres")
	if !slices.Equal(sqlite, postgres) {
		t.Errorf("the migrations differ:\nsqlite   %v\npostgres %v", sqlite, postgres)
	}
}

func TestStepsAreNumberedWithoutGaps(t *testing.T) {
	form := regexp.MustCompile(`^(\d{5})_[a-z_]+\.sql$`)
	for i, name := range steps(t, migrations.SQLite, "sqlite") {
		match := form.FindStringSubmatch(name)
		if match == nil {
			t.Errorf("%s is not of the form 00001_what_it_makes.sql", name)
			continue
		}
		if want := fmt.Sprintf("%05d", i+1); match[1] != want {
			t.Errorf("%s: the number should be %s", name, want)
		}
	}
}

func steps(t *testing.T, files fs.FS, folder string) []string {
	t.Helper()
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}
