package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// errNothing ends a transaction that has nothing to write.
var errNothing = errors.New("nothing to write")

// Transact runs a unit of work on the one connection that writes. The context
// bounds the wait for the turn, and nothing is written when it has ended before
// the commit; a disk that hangs is waited for. See order.Store.
func (s *Store) Transact(ctx context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	if err := row.CheckWant(&want); err != nil {
		return err
	}
	var refused error
	err := s.write(ctx, func(u *unit) error {
		found, err := eacher(u.each).find(&want)
		if err != nil {
			return err
		}
		changes, err := decide(found)
		if err != nil {
			refused = err
			return errNothing
		}
		if changes == nil || changes.Empty() {
			return errNothing
		}
		if err := row.CheckChanges(changes); err != nil {
			return err
		}
		sorted := row.Sorted(changes)
		if err := u.apply(&sorted); err != nil {
			return err
		}
		return u.insertDeliveries(s.subscriptions.Deliveries(sorted.Events))
	})
	if errors.Is(err, errNothing) {
		return refused
	}
	return err
}

// write waits for the turn and runs work in a transaction, which is committed
// when work returns nil.
func (s *Store) write(ctx context.Context, work func(*unit) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: the writer is busy: %w", order.ErrUnavailable, context.Cause(ctx))
	}
	defer func() { <-s.turn }()
	if !s.ready.Load() {
		return errNotPrepared
	}
	u, err := s.writer.begin(ctx)
	if err != nil {
		return translate(err)
	}
	over := false
	defer func() {
		if !over { // also when work panics
			u.rollback()
		}
	}()
	if err := work(u); err != nil {
		return translate(err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: it was too late to commit: %w", order.ErrUnavailable, context.Cause(ctx))
	}
	over = true
	return translate(u.commit())
}
