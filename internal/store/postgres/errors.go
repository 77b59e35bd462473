package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

var errNotPrepared = fmt.Errorf("%w: the database has not been reached yet", order.ErrUnavailable)

// Codes of errors; source: PostgreSQL, Appendix A. NR001 and NR002 are raised by
// our own functions wrote and sealed.
const (
	codeUnique       = "23505"
	codeSerialize    = "40001"
	codeDeadlock     = "40P01"
	codeRaceLost     = "NR001"
	codeSealBroken   = "NR002"
	codeReadOnly     = "25006"
	codeShutdown     = "57P01"
	codeCrash        = "57P02"
	codeIdleTooLong  = "25P03"
	codeLockNotInDue = "55P03"

	codeIndexCorrupted = "XX002"
	codeNoRight        = "42501"
)

// away are the classes of codes after which trying later may help: connection,
// resources (disk full, too many connections), operator (shutdown, timeout),
// system, internal.
var away = map[string]bool{"08": true, "53": true, "57": true, "58": true, "XX": true}

func unavailable(err error) error { return fmt.Errorf("%w: %w", order.ErrUnavailable, err) }

// lost says that the server went away under a connection, in contrast to a unit
// whose own time ran out.
func lost(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == codeShutdown || pg.Code == codeCrash
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// settleError is what an error that came from conn means. When the server went
// away, every idle connection went with it: they are all given up at once, so
// that a restart costs the units that were under way, and not one more for each
// connection.
func (s *Store) settleError(conn *pgx.Conn, err error) error {
	if lost(err) {
		for _, pool := range s.pools() {
			pool.Reset()
		}
	}
	return settleError(conn, err)
}

// settleError translates an error that came from conn, and closes the
// connection where it must not be used again.
func settleError(conn *pgx.Conn, err error) error {
	if err == nil {
		return nil
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == codeReadOnly {
		// The server has become a standby: the next connection finds the primary.
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}
	known := translate(err)
	if known == err && pg == nil && conn.IsClosed() {
		return unavailable(err) // it broke, whatever the error says
	}
	return known
}

// translate turns the driver's errors into the store's, by code.
func translate(err error) error {
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, order.ErrUnavailable), errors.Is(err, order.ErrRace), errors.Is(err, order.ErrUnknown),
		errors.Is(err, idempotency.ErrLost):
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return order.ErrUnknown
	case errors.As(err, &connect), // before the codes: a server that starts or refuses is away
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		pgconn.Timeout(err), pgconn.SafeToRetry(err):
		return unavailable(err)
	case !errors.As(err, &pg):
		return err
	}
	switch pg.Code {
	case codeRaceLost, codeUnique, codeSerialize, codeDeadlock:
		return fmt.Errorf("%w: %w", order.ErrRace, err)
	case codeSealBroken:
		return fmt.Errorf("%w: %w", order.ErrSealBroken, err)
	case codeLockNotInDue:
		return fmt.Errorf("%w: %w", order.ErrLocked, err)
	case codeReadOnly, codeIdleTooLong:
		return unavailable(err)
	}
	if len(pg.Code) == 5 && away[pg.Code[:2]] {
		return unavailable(err)
	}
	return err
}

func hasCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}
