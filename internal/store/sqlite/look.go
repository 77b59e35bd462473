package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lookedAt is the file, opened for reading alone.
type lookedAt struct {
	*sql.DB
	path     string
	asItLies bool // without looking for a log
}

// look opens the file for reading alone, beside whoever writes it. Work may be
// called more than once, and the last call counts.
//
// Readers of a write-ahead log share memory through a file beside the database.
// With nothing in the log the database is whole by itself, and is read without
// making that file, as long as nobody begins to write meanwhile. Where the file
// cannot be made, on a full or read-only disk, nobody can be writing either.
func (s *Store) look(ctx context.Context, work func(lookedAt) error) error {
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return err
	}
	// The driver would say "unable to open" to whatever is wrong.
	if err := unix.Access(path, unix.R_OK); err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if still, err := lookAsItLies(path, work); still {
		return err
	}
	db, err := sql.Open(driverName, lookDSN(path))
	if err != nil {
		return err
	}
	var pages int64 // the first read is what needs the shared memory
	err = db.QueryRowContext(ctx, "pragma page_count").Scan(&pages)
	if err != nil {
		err = errors.Join(err, db.Close())
		if ctx.Err() == nil && !damaged(err) {
			if still, again := lookAsItLies(path, work); still {
				return again
			}
		}
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(work(lookedAt{db, path, false}), db.Close())
}

// lookAsItLies reads the file by itself; still: nobody wrote meanwhile, so that
// what work saw and said holds.
func lookAsItLies(path string, work func(lookedAt) error) (still bool, err error) {
	before, err := os.Stat(path)
	if err != nil || !logIsEmpty(path) {
		return false, err
	}
	db, err := sql.Open(driverName, lookDSN(path, "immutable"))
	if err != nil {
		return false, err
	}
	db.SetMaxOpenConns(1)
	err = errors.Join(work(lookedAt{db, path, true}), db.Close())
	after, statErr := os.Stat(path)
	return statErr == nil && logIsEmpty(path) && os.SameFile(before, after) &&
		before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()), err
}

func logIsEmpty(path string) bool {
	stat, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && stat.Size() == 0
}

// lookDSN sets nothing in the file.
func lookDSN(path string, flags ...string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	values := url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS), "query_only(1)"}}
	for _, f := range flags {
		values.Set(f, "1")
	}
	u.RawQuery = values.Encode()
	return u.String()
}

// Where a file says how it is journalled: its read and write version.
// Source: SQLite, Database File Format, 1.3.3.
const (
	versionsAt = 18
	versionWAL = 2
)

// journal is the mode of the file's journal. Of a file that is read as it lies,
// SQLite says "delete" whatever it is.
func (db *lookedAt) journal(ctx context.Context) (mode string, err error) {
	if !db.asItLies {
		err = db.QueryRowContext(ctx, "pragma journal_mode").Scan(&mode)
		return mode, err
	}
	file, err := os.Open(db.path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	var versions [2]byte
	if _, err := file.ReadAt(versions[:], versionsAt); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if versions == [2]byte{versionWAL, versionWAL} {
		return "wal", nil
	}
	return "delete", nil
}
