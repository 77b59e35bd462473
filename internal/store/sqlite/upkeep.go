package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	addCopies = `update notifications set copies = copies + ?2 where id = ?1`

	beat = `update beat set beats = beats + 1`

	nextRaw = `select id, received_at from notifications where id > (select upto from pruning) order by id limit ?1`

	pruneRaw = `update notifications set request_line = x'', header = null, body = null where id = ?1`

	movePruning = `update pruning set upto = ?1`
)

// Known reads which fact keys are recorded.
func (s *Store) Known(ctx context.Context, keys []order.FactKey) (map[order.FactKey]order.Ref, error) {
	known := map[order.FactKey]order.Ref{}
	err := s.lookUp(ctx, func(m *moment) error { return findAllKnown(m.each, keys, known) })
	return known, err
}

// Payments reads which transactions are kept.
func (s *Store) Payments(ctx context.Context, txns []order.TxnKey) (map[order.TxnKey]order.Payment, error) {
	payments := map[order.TxnKey]order.Payment{}
	if err := row.CheckWant(&order.Want{Txns: txns}); err != nil {
		return payments, err
	}
	err := s.lookUp(ctx, func(m *moment) error { return findAllPayments(m.each, findPayments, txnSet(txns), payments) })
	return payments, err
}

// AddCopies adds to the copy counts of notifications; ids that are not there
// are passed over.
func (s *Store) AddCopies(ctx context.Context, copies map[string]int64) error {
	if len(copies) == 0 {
		return nil
	}
	return s.write(ctx, func(u *unit) error {
		for _, id := range slices.Sorted(maps.Keys(copies)) {
			if _, err := u.exec(addCopies, id, copies[id]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Beat writes one row durably: while it does, notifications can be taken. Its own
// page finds room on a full disk where nothing else does, so room is asked for.
func (s *Store) Beat(ctx context.Context) error {
	if !s.ready.Load() {
		return errNotPrepared
	}
	if err := checkRoom(s.path, s.least); err != nil {
		return err
	}
	return s.write(ctx, func(u *unit) error {
		_, err := u.exec(beat)
		return err
	})
}

// PruneRaw removes the requests of up to limit notifications that were received
// before a time, in the order in which they were recorded, and says of how many.
// What they said stays. See store.Upkeep.
func (s *Store) PruneRaw(ctx context.Context, before time.Time, limit int) (int, error) {
	var walk row.Walk
	err := s.write(ctx, func(u *unit) error {
		step := walk.Step(before)
		if err := u.each(func(rows *sql.Rows) error { return step(rows) }, nextRaw, limit); err != nil {
			return err
		}
		if len(walk.IDs) == 0 {
			return errNothing
		}
		for _, id := range walk.IDs {
			if _, err := u.exec(pruneRaw, id); err != nil {
				return err
			}
		}
		_, err := u.exec(movePruning, walk.IDs[len(walk.IDs)-1])
		return err
	})
	if err != nil && !errors.Is(err, errNothing) {
		return 0, err
	}
	return len(walk.IDs), nil
}
