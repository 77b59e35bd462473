package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

var errNotPrepared = fmt.Errorf("%w: the database is not open yet", order.ErrUnavailable)

// HeldError: another process has the database open. SQLite belongs to one.
type HeldError struct {
	Path   string // of the lock file
	PID    int    // 0 when the holder has not written it yet
	Holder string // what the holder says about itself; may be empty
}

func (e *HeldError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	if e.Holder != "" {
		who += " (" + e.Holder + ")"
	}
	return fmt.Sprintf("the database is held by %s; one SQLite database belongs to one process (lock file %s)", who, e.Path)
}

// primary is the part of a code that says what happened; the rest says where.
const primary = 0xff

// translate turns the driver's errors into the store's, by code.
func translate(err error) error {
	switch {
	case err == nil, errors.Is(err, order.ErrUnavailable), errors.Is(err, order.ErrRace), errors.Is(err, order.ErrUnknown),
		errors.Is(err, order.ErrSealBroken), errors.Is(err, idempotency.ErrLost):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return order.ErrUnknown
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return fmt.Errorf("%w: %w", order.ErrRace, err)
	}
	switch e.Code() & primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	return err
}

// needsPerson says that no waiting helps a database that is not open yet: the
// file is not one, is damaged, or is not ours to write.
func needsPerson(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & primary {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return true
	}
	return false
}
