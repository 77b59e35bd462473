package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// Transact runs a unit of work in two round trips: one locks and reads, one
// writes and commits. A COMMIT whose answer did not come is never sent again:
// its fate is unknown, and the next copy of the message settles it. See
// order.Store.
func (s *Store) Transact(ctx context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	if err := row.CheckWant(&want); err != nil {
		return err
	}
	conn, err := s.acquire(ctx, s.committing(&want))
	if err != nil {
		return err
	}
	defer conn.Release() // one with an open transaction is closed, not kept: also when decide panics
	found, err := find(ctx, conn, &want)
	if err != nil {
		return s.end(conn, err)
	}
	known := make(map[order.TxnKey]bool, len(found.Payments))
	for k := range found.Payments { // decide may write into found
		known[k] = true
	}
	changes, err := decide(found)
	if err != nil || changes == nil || changes.Empty() {
		rollback(conn)
		return err
	}
	if err := row.CheckChanges(changes); err != nil {
		rollback(conn)
		return err
	}
	if ctx.Err() != nil {
		rollback(conn)
		return fmt.Errorf("%w: it was too late to commit: %w", order.ErrUnavailable, context.Cause(ctx))
	}
	sorted := row.Sorted(changes)
	if err := s.apply(ctx, conn, &sorted, known); err != nil {
		return s.end(conn, err)
	}
	return nil
}

// end ends a transaction that failed.
func (s *Store) end(conn *pgxpool.Conn, err error) error {
	err = s.settleError(conn.Conn(), err)
	rollback(conn)
	return err
}

// rollback ends a transaction without its writes. When that fails the
// connection is closed by its release, which ends it as well.
func rollback(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() {
		return
	}
	// The unit's own time may be over.
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback")
}
