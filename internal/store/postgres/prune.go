package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	agedDeliveries = `select ` + row.PruneColumns + ` from deliveries where (event_id, endpoint) > ($1, $2) order by event_id, endpoint limit $3`

	// Looked at again: one that is being sent once more stays.
	pruneDeliveries = `delete from deliveries d using unnest($1::text[], $2::text[]) k(event_id, endpoint)
where d.event_id = k.event_id and d.endpoint = k.endpoint and d.state = 'delivered' and d.updated_at < $3`

	pruneAttempts = `delete from attempts a using unnest($1::text[], $2::text[]) k(event_id, endpoint)
where a.event_id = k.event_id and a.endpoint = k.endpoint and (a.started_at < $3
    or not exists (select 1 from deliveries d where d.event_id = k.event_id and d.endpoint = k.endpoint))`
)

// PruneDeliveries removes what is past its retention time. See store.Upkeep.
func (s *Store) PruneDeliveries(ctx context.Context, before time.Time, after outbox.Key, limit int) (outbox.Pruned, error) {
	var aged row.Aged
	err := s.on(ctx, s.tellers, func(ctx context.Context, conn *pgxpool.Conn) error {
		return each(ctx, conn, aged.Step(before), agedDeliveries, after.EventID, after.Endpoint, limit)
	})
	pruned := outbox.Pruned{Last: aged.Last, More: aged.More(limit)}
	if err != nil || len(aged.Keys) == 0 {
		return pruned, err
	}
	same := func(k *outbox.Key) outbox.Key { return *k }
	err = s.on(ctx, s.tellers, func(ctx context.Context, conn *pgxpool.Conn) error {
		var batch pgx.Batch // one transaction: it is sent as one
		ids, endpoints := deliveryKeys(aged.Gone, same)
		batch.Queue(lockDeliveries, ids, endpoints)
		batch.Queue(pruneDeliveries, ids, endpoints, micros(before)).Exec(counted(&pruned.Deliveries))
		ids, endpoints = deliveryKeys(aged.Keys, same)
		batch.Queue(pruneAttempts, ids, endpoints, micros(before)).Exec(counted(&pruned.Attempts))
		return conn.SendBatch(ctx, &batch).Close()
	})
	if err != nil {
		return outbox.Pruned{}, err
	}
	return pruned, nil
}

// counted takes how many rows a statement changed.
func counted(n *int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*n = int(tag.RowsAffected())
		return nil
	}
}
