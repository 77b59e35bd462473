package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	agedDeliveries = `select ` + row.PruneColumns + ` from deliveries where (event_id, endpoint) > (?1, ?2) order by event_id, endpoint limit ?3`

	// Looked at again: one that is being sent once more stays.
	pruneDelivery = `delete from deliveries where event_id = ?1 and endpoint = ?2 and state = 'delivered' and updated_at < ?3`

	pruneAttempts = `delete from attempts where event_id = ?1 and endpoint = ?2 and (started_at < ?3
    or not exists (select 1 from deliveries d where d.event_id = ?1 and d.endpoint = ?2))`
)

// PruneDeliveries removes what is past its retention time. It looks before it
// takes the writer's turn. See store.Upkeep.
func (s *Store) PruneDeliveries(ctx context.Context, before time.Time, after outbox.Key, limit int) (outbox.Pruned, error) {
	var aged row.Aged
	err := s.read(ctx, func(m *moment) error {
		step := aged.Step(before)
		return m.each(func(rows *sql.Rows) error { return step(rows) }, agedDeliveries, after.EventID, after.Endpoint, limit)
	})
	pruned := outbox.Pruned{Last: aged.Last, More: aged.More(limit)}
	if err != nil || len(aged.Keys) == 0 {
		return pruned, err
	}
	err = s.write(ctx, func(u *unit) error {
		remove := func(statement string, count *int) func(*outbox.Key) error {
			return func(k *outbox.Key) error {
				n, err := u.exec(statement, k.EventID, k.Endpoint, micros(before))
				*count += int(n)
				return err
			}
		}
		return firstError(
			func() error { return all(aged.Gone, remove(pruneDelivery, &pruned.Deliveries)) },
			func() error { return all(aged.Keys, remove(pruneAttempts, &pruned.Attempts)) },
		)
	})
	if err != nil {
		return outbox.Pruned{}, err
	}
	return pruned, nil
}
