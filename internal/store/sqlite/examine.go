package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/migrations"
)

const (
	hasSchema  = `select count(*) from sqlite_schema where name = 'goose_db_version'`
	schemaIs   = `select coalesce(max(version_id), 0) from goose_db_version where is_applied`
	databaseIs = `select page_count * page_size from pragma_page_count, pragma_page_size`

	// quickCheck reads every page and leaves out only whether each index agrees
	// with its table, which would take several times as long.
	quickCheck   = `pragma quick_check(10)`
	foreignCheck = `select "table", count(*) from pragma_foreign_key_check group by 1 order by 1`

	// Both go along the primary key and pass by the rows of other accounts: an
	// index for this alone would cost every notification an entry.
	spanArrivals = `select n.id, n.received_at from json_each(?2) span cross join notifications n where n.id in
    (select id from notifications where account = ?1 and id > span.value ->> 0 and id <= span.value ->> 1 order by id limit ?3)
order by span.key, n.id`
	newestArrivals = `select id, received_at from notifications where account = ?1 and id > ?2 order by id desc limit ?3`
)

// Examine looks at the database from outside: also before Prepare, and while
// another process holds the file. It writes nothing and takes no lock that a
// writer waits for. See store.Checkup.
func (s *Store) Examine(ctx context.Context) (row.Examination, error) {
	e := row.Examination{Newest: migrations.Newest()}
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return e, err
	}
	disk, err := s.disk(path)
	if err != nil {
		return e, err
	}
	if disk != nil {
		disk.LeastFree = s.least
		e.Settings = append(e.Settings, inMemory(disk))
	}
	e.Disk, e.ReadOnly = disk, cannotWrite(path, disk)
	e.Settings = append(e.Settings, onFileSystem(path))
	settings := e.Settings
	err = s.look(ctx, func(db lookedAt) error {
		journal, err := db.journal(ctx)
		if err != nil {
			return err
		}
		e.Settings = append(slices.Clone(settings), journalIs(journal))
		if err := db.QueryRowContext(ctx, databaseIs).Scan(&e.Bytes); err != nil {
			return err
		}
		var migrated int
		if err := db.QueryRowContext(ctx, hasSchema).Scan(&migrated); err != nil || migrated == 0 {
			return err
		}
		return db.QueryRowContext(ctx, schemaIs).Scan(&e.Schema)
	})
	return e, err
}

// journalIs judges the journal, which is the file's own; synchronous is each
// connection's, and ours are all opened with FULL: see dsn.
func journalIs(mode string) row.Setting {
	setting := row.Setting{Name: "journal_mode", Value: mode}
	if mode != "wal" {
		setting.Risk = "another program has taken the write-ahead log away: a crash may damage what was acked"
		setting.Fix = "stop what else opens this file, and start notifyd serve again: it sets the mode back"
		setting.Grave = true
	}
	return setting
}

func onFileSystem(path string) row.Setting {
	setting := row.Setting{Name: "file system", Value: "local"}
	if err := checkFileSystem(path); err != nil {
		setting.Value, setting.Risk, setting.Grave = "network", err.Error(), true
		setting.Fix = "move the database to a local disk, or set store to a PostgreSQL"
	}
	return setting
}

func inMemory(d *row.Disk) row.Setting {
	setting := row.Setting{Name: "disk", Value: "lasting"}
	if d.InMemory {
		setting.Value, setting.Risk = "memory", d.Path+" lies in memory: a power cut takes what was acked"
		setting.Fix = "move the database to a disk"
	}
	return setting
}

// cannotWrite says why the database could not be written. What a process that
// runs as somebody else may do, only it can say.
func cannotWrite(path string, d *row.Disk) string {
	if d != nil && d.ReadOnly {
		return "the file system of " + path + " is mounted read-only"
	}
	for _, name := range []string{path, filepath.Dir(path)} {
		if err := unix.Access(name, unix.W_OK); err != nil {
			return fmt.Sprintf("%s cannot be written: %v", name, err)
		}
	}
	return ""
}

// Integrity reads the whole database and says what is damaged, one sentence
// each. See store.Checkup.
func (s *Store) Integrity(ctx context.Context) (faults []string, err error) {
	err = s.look(ctx, func(db lookedAt) error {
		faults = nil
		rows, err := db.QueryContext(ctx, quickCheck)
		if err != nil {
			return err
		}
		err = scanAll(rows, func(r *sql.Rows) error {
			var text string
			err := r.Scan(&text)
			if text != "ok" {
				faults = append(faults, text)
			}
			return err
		})
		if err != nil || len(faults) > 0 {
			return err
		}
		if rows, err = db.QueryContext(ctx, foreignCheck); err != nil {
			return err
		}
		return scanAll(rows, func(r *sql.Rows) error {
			var table string
			var n int
			err := r.Scan(&table, &n)
			faults = append(faults, fmt.Sprintf("%d rows of %s point to rows that are not there", n, table))
			return err
		})
	})
	if damaged(err) {
		return append(faults, err.Error()), nil
	}
	return faults, translate(err)
}

// Arrivals says when notifications came. See store.Checkup.
func (s *Store) Arrivals(ctx context.Context, f row.ArrivalFilter) ([]row.Arrival, error) {
	all := []row.Arrival{}
	lower, upper := f.Spans()
	pairs := make([][2]string, len(lower))
	for i := range lower {
		pairs[i] = [2]string{lower[i], upper[i]}
	}
	spans, err := json.Marshal(pairs)
	if err != nil {
		return nil, err
	}
	err = s.look(ctx, func(db lookedAt) error {
		all = all[:0]
		read := func(query string, args ...any) error {
			rows, err := db.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			return scanAll(rows, func(r *sql.Rows) error {
				a, err := row.ScanArrival(r)
				all = append(all, a)
				return err
			})
		}
		if err := read(spanArrivals, f.Account, string(spans), f.PerSpan); err != nil {
			return err
		}
		return read(newestArrivals, f.Account, f.First(), f.Newest)
	})
	return all, translate(err)
}

// damaged says that the file is no sound database, which is an answer.
func damaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & primary
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
