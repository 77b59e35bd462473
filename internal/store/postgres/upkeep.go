package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	addCopies = `update notifications n set copies = n.copies + c.copies
from unnest($1::text[], $2::bigint[]) c(id, copies)
where n.id = c.id`

	beat = `update beat set beats = beats + 1`

	// The row is the lock: one instance prunes at a time.
	lockPruning = `select upto from pruning where one = 1 for update skip locked`

	nextRaw = `select id, received_at from notifications where id > $1 order by id limit $2`

	pruneRaw = `update notifications set request_line = '', header = null, body = null where id = any($1::text[])`

	movePruning = `update pruning set upto = $1 where one = 1`
)

// Known reads which fact keys are recorded.
func (s *Store) Known(ctx context.Context, keys []order.FactKey) (map[order.FactKey]order.Ref, error) {
	known := map[order.FactKey]order.Ref{}
	err := s.on(ctx, s.lookers, func(ctx context.Context, conn *pgxpool.Conn) error {
		var batch pgx.Batch
		queueKnown(&batch, keys, known)
		return conn.SendBatch(ctx, &batch).Close()
	})
	return known, err
}

// Payments reads which transactions are kept.
func (s *Store) Payments(ctx context.Context, txns []order.TxnKey) (map[order.TxnKey]order.Payment, error) {
	payments := map[order.TxnKey]order.Payment{}
	if err := row.CheckWant(&order.Want{Txns: txns}); err != nil {
		return payments, err
	}
	err := s.on(ctx, s.lookers, func(ctx context.Context, conn *pgxpool.Conn) error {
		var batch pgx.Batch
		queuePayments(&batch, arrays{}, txnArrays(txns), payments)
		return conn.SendBatch(ctx, &batch).Close()
	})
	return payments, err
}

// AddCopies adds to the copy counts of notifications; ids that are not there
// are passed over.
func (s *Store) AddCopies(ctx context.Context, copies map[string]int64) error {
	if len(copies) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(copies))
	counts := make([]int64, len(ids))
	for i, id := range ids {
		counts[i] = copies[id]
	}
	return s.on(ctx, s.tellers, func(ctx context.Context, conn *pgxpool.Conn) error {
		var batch pgx.Batch // one transaction: it is sent as one
		batch.Queue(lockNotifications, ids)
		batch.Queue(addCopies, ids, counts)
		return conn.SendBatch(ctx, &batch).Close()
	})
}

// Beat writes one row durably: while it does, notifications can be taken.
func (s *Store) Beat(ctx context.Context) error {
	return s.on(ctx, s.notices, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, beat)
		return err
	})
}

// PruneRaw removes the requests of up to limit notifications that were received
// before a time, in the order in which they were recorded, and says of how many.
// What they said stays. See store.Upkeep.
func (s *Store) PruneRaw(ctx context.Context, before time.Time, limit int) (pruned int, err error) {
	err = s.inTransaction(ctx, s.tellers, func(ctx context.Context, tx pgx.Tx) error {
		var upto string
		if err := tx.QueryRow(ctx, lockPruning).Scan(&upto); errors.Is(err, pgx.ErrNoRows) {
			return nil // another instance is about it
		} else if err != nil {
			return err
		}
		var walk row.Walk
		rows, err := tx.Query(ctx, nextRaw, upto, limit)
		if err != nil {
			return err
		}
		if err := scanAll(walk.Step(before))(rows); err != nil || len(walk.IDs) == 0 {
			return err
		}
		var batch pgx.Batch
		batch.Queue(lockNotifications, walk.IDs)
		batch.Queue(pruneRaw, walk.IDs)
		batch.Queue(movePruning, walk.IDs[len(walk.IDs)-1])
		pruned = len(walk.IDs)
		return tx.SendBatch(ctx, &batch).Close()
	})
	if err != nil {
		return 0, err
	}
	return pruned, nil
}
