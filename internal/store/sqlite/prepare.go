package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/migrations"
)

// ErrSchemaNewer is row.ErrSchemaNewer.
var ErrSchemaNewer = row.ErrSchemaNewer

// driverName is the name under which the driver registers itself.
const driverName = "sqlite"

// leastVersion is the first SQLite release whose write-ahead log cannot be
// damaged by a checkpoint that runs while a reader begins.
const leastVersion = "3.51.3"

// Prepare makes the file, takes the lock beside it, opens the database, checks
// that it is as durable as an ack promises and migrates it. It may be called
// again. Errors: *HeldError, ErrSchemaNewer, order.ErrUnavailable, and plain
// ones that only a person can put right.
func (s *Store) Prepare(ctx context.Context) (err error) {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	if s.ready.Load() {
		return nil
	}
	defer func() {
		if err == nil {
			return
		}
		if !needsPerson(err) {
			err = translate(err)
		}
		err = errors.Join(err, s.letGo())
	}()
	if err := s.makeFile(); err != nil {
		return err
	}
	if s.lock, err = acquire(s.path, s.holder); err != nil {
		return err
	}
	db, err := sql.Open(driverName, writerDSN(s.path))
	if err != nil {
		return err
	}
	s.writer = newWriter(db)
	if err := check(ctx, db); err != nil {
		return err
	}
	if err := migrate(ctx, db); err != nil {
		return err
	}
	if s.reader, err = openReader(ctx, s.path, readers); err != nil {
		return err
	}
	if s.looker, err = openReader(ctx, s.path, lookers); err != nil {
		return err
	}
	s.ready.Store(true)
	return nil
}

// openReader opens size connections that cannot write.
func openReader(ctx context.Context, path string, size int) (*sql.DB, error) {
	db, err := sql.Open(driverName, readerDSN(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// makeFile makes the folder and the file with narrow modes, and follows links,
// so that one database has one name and one lock.
func (s *Store) makeFile() error {
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("the folder of the database cannot be made: %w", err)
	}
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		if err := file.Close(); err != nil {
			return err
		}
		// A file that only the folder's cache knows would be gone after a power cut.
		if err := errors.Join(syncFolder(folder), syncFolder(filepath.Dir(folder))); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("the database cannot be made: %w", err)
	}
	if s.path, err = filepath.EvalSymlinks(s.path); err != nil {
		return err
	}
	stat, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if !stat.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", s.path)
	}
	s.warnings = nil
	if mode := stat.Mode().Perm(); mode&0o077 != 0 {
		s.warnings = append(s.warnings, fmt.Sprintf("the database can be read by other users of this machine: %s has the mode %04o, 0600 is enough", s.path, mode))
	}
	return checkFileSystem(s.path)
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// check refuses a database that would lose what was acked.
func check(ctx context.Context, db *sql.DB) error {
	var version, journal, synchronous string
	for query, to := range map[string]*string{
		"select sqlite_version()": &version, "pragma journal_mode": &journal, "pragma synchronous": &synchronous,
	} {
		if err := db.QueryRowContext(ctx, query).Scan(to); err != nil {
			return err
		}
	}
	const full = "2"
	switch {
	case !isAtLeast(version, leastVersion):
		return fmt.Errorf("SQLite %s is too old: %s or later is needed", version, leastVersion)
	case journal != "wal":
		return fmt.Errorf("the database has journal mode %q, and it cannot be changed to WAL", journal)
	case synchronous != full:
		return fmt.Errorf("the database has synchronous %q, and it cannot be changed to FULL", synchronous)
	}
	return nil
}

func isAtLeast(version, least string) bool {
	return slices.Compare(numbers(version), numbers(least)) >= 0
}

func numbers(version string) []int {
	var all []int
	for _, part := range strings.Split(version, ".") {
		n, _ := strconv.Atoi(part) // what is no number counts as 0, the oldest
		all = append(all, n)
	}
	return all
}

// migrate brings the schema up. The lock beside the file keeps others away.
func migrate(ctx context.Context, db *sql.DB) error {
	steps, err := fs.Sub(migrations.SQLite, "sqlite")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, steps,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	stored, ours, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("the schema's version cannot be read: %w", err)
	}
	if err := row.CheckSchema(stored, ours); errors.Is(err, ErrSchemaNewer) {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("the schema cannot be brought from %d to %d: %w", stored, ours, err)
	}
	return nil
}
