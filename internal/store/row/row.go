// Package row says how the domain's values stand in the columns of both
// databases: times as microseconds, results and waiting facts as JSON, texts
// that may be stored at all, and the order in which keys are locked and
// written. What is here is the same for both; the SQL is not here.
//
// It imports order, outbox and idempotency, whose values they are, and knows no
// driver.
package row

import (
	"errors"
	"fmt"
	"time"
)

// ErrSchemaNewer: the database was migrated by a newer program. Nothing was
// changed; run the newer program, or restore a backup from before the upgrade.
var ErrSchemaNewer = errors.New("the database's schema is newer than this program")

// ErrSchemaOlder: the database waits for a migration, and whoever asked only
// wanted to look.
var ErrSchemaOlder = errors.New("the database's schema is older than this program")

// CheckSchema says whether a database can be read as it lies. Errors:
// ErrSchemaNewer, ErrSchemaOlder.
func CheckSchema(stored, ours int64) error {
	switch {
	case stored > ours:
		return fmt.Errorf("%w: the database has schema %d, this program knows %d", ErrSchemaNewer, stored, ours)
	case stored < ours:
		return fmt.Errorf("%w: the database has schema %d, this program brings it to %d", ErrSchemaOlder, stored, ours)
	}
	return nil
}

// Scanner is a row of either driver.
type Scanner interface{ Scan(dest ...any) error }

// Micros is a time as it is stored: microseconds since 1970 in UTC, nil for the
// zero time.
func Micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

// Time reads what Micros wrote.
func Time(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return time.UnixMicro(*us).UTC()
}

// Null is a text or a number as it is stored where empty or zero means that
// there is none.
func Null[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Value reads what Null wrote.
func Value[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

// Bytes never is nil: in the columns of a request, null means that the
// retention time is over.
func Bytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
