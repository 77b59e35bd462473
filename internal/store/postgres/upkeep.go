package postgres

import (
	"context"
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

	// Instances that prune at the same time take different rows.
	pruneRaw = `update notifications set request_line = '', header = null, body = null
where id in (select id from notifications where body is not null and received_at < $1 order by received_at limit $2 for update skip locked)`
)

// Known reads which fact keys are recorded.
func (s *Store) Known(ctx context.Context, keys []order.FactKey) (map[order.FactKey]order.Ref, error) {
	known := map[order.FactKey]order.Ref{}
	err := s.on(ctx, s.lookers, func(conn *pgxpool.Conn) error {
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
	err := s.on(ctx, s.lookers, func(conn *pgxpool.Conn) error {
		var batch pgx.Batch
		queuePayments(&batch, findPayments, txnArrays(txns), payments)
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
	return s.on(ctx, s.writers, func(conn *pgxpool.Conn) error {
		var batch pgx.Batch // one transaction: it is sent as one
		batch.Queue(lockNotifications, ids)
		batch.Queue(addCopies, ids, counts)
		return conn.SendBatch(ctx, &batch).Close()
	})
}

// Beat writes one row durably: while it does, notifications can be taken.
func (s *Store) Beat(ctx context.Context) error {
	return s.on(ctx, s.notices, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, beat)
		return err
	})
}

// PruneRaw removes the requests of up to limit notifications that were received
// before a time, the oldest first, and says of how many. What they said stays.
func (s *Store) PruneRaw(ctx context.Context, before time.Time, limit int) (int, error) {
	var pruned int64
	err := s.on(ctx, s.writers, func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, pruneRaw, row.Value(row.Micros(before)), limit)
		pruned = tag.RowsAffected()
		return err
	})
	return int(pruned), err
}
