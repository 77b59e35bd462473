package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	resumeEndpoint = `delete from endpoint_pauses where endpoint = $1`
	listPauses     = `select endpoint, reason, by_hand, paused_at from endpoint_pauses order by endpoint`
	listAttempts   = `select ` + row.AttemptColumns + ` from attempts a where a.event_id = $1 order by a.id`
	oneEvent       = `select ` + row.TellingColumns + ` from events e where e.id = $1`

	resendEvent = `insert into deliveries as d (event_id, endpoint, merchant, out_trade_no, order_version, state, attempts, step, next_at,
    created_at, updated_at)
select e.id, n.endpoint, e.merchant, e.out_trade_no, e.order_version, 'pending', 0, 0, $3, $3, $3
from events e cross join unnest($2::text[]) n(endpoint) where e.id = $1 order by n.endpoint
on conflict (event_id, endpoint) do update set state = 'pending', step = 0, next_at = excluded.next_at, lease = null, updated_at = excluded.updated_at
where d.lease is null or d.next_at <= excluded.next_at`

	resendDeliveries = `update deliveries d set state = 'pending', step = 0, next_at = $3, lease = null, updated_at = $3
from unnest($1::text[], $2::text[]) k(event_id, endpoint)
where d.event_id = k.event_id and d.endpoint = k.endpoint`

	backlogs = `select endpoint, sum(pending), min(oldest), sum(exhausted) from (
    select endpoint, count(*) as pending, min(created_at) as oldest, 0 as exhausted from deliveries where state = 'pending' and next_at > 0 group by endpoint
    union all
    select endpoint, 0, null, count(*) from deliveries where state = 'exhausted' group by endpoint) b
group by endpoint order by endpoint`
)

// Resume ends a pause and says whether there was one.
func (s *Store) Resume(ctx context.Context, endpoint string) (resumed bool, err error) {
	if !row.IsKey(endpoint) {
		return false, nil
	}
	err = s.on(ctx, s.writers, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, resumeEndpoint, endpoint)
		resumed = tag.RowsAffected() > 0
		return err
	})
	return resumed, err
}

// Pauses lists the endpoints that are paused.
func (s *Store) Pauses(ctx context.Context) ([]outbox.Pause, error) {
	return list(ctx, s, row.ScanPause, listPauses)
}

// Deliveries lists by filter, newest event first; limits as for Orders.
func (s *Store) Deliveries(ctx context.Context, f outbox.Filter) ([]outbox.Delivery, error) {
	query, args, ok := row.DeliveryQuery(mark, &f)
	if !ok {
		return []outbox.Delivery{}, nil
	}
	return list(ctx, s, row.ScanDelivery, query, args...)
}

// Attempts lists those of an event, in order of their ids.
func (s *Store) Attempts(ctx context.Context, eventID string) ([]outbox.Attempt, error) {
	if !row.IsKey(eventID) {
		return []outbox.Attempt{}, nil
	}
	return list(ctx, s, row.ScanAttempt, listAttempts, eventID)
}

// Backlogs counts what is not delivered, for each endpoint with such.
func (s *Store) Backlogs(ctx context.Context) ([]outbox.Backlog, error) {
	return list(ctx, s, row.ScanBacklog, backlogs)
}

// Resend makes an event due at endpoints. See outbox.Desk.
func (s *Store) Resend(ctx context.Context, eventID string, endpoints []string, now time.Time) (int, error) {
	if !row.IsKey(append(endpoints, eventID)...) {
		return 0, nil
	}
	var resent int64
	err := s.on(ctx, s.writers, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, resendEvent, eventID, endpoints, micros(now))
		resent = tag.RowsAffected()
		return err
	})
	return int(resent), err
}

// ResendPage makes the deliveries of a filter due. See outbox.Desk.
func (s *Store) ResendPage(ctx context.Context, f outbox.Filter, now time.Time, dryRun bool) (outbox.ResentPage, error) {
	var page outbox.ResentPage
	query, args, ok := row.ResendQuery(mark, &f, micros(now))
	if !ok {
		return page, nil
	}
	err := s.inTransaction(ctx, s.writers, func(ctx context.Context, tx pgx.Tx) error {
		if !dryRun {
			query += "\nfor update" // in key order, as everybody locks them
		}
		var keys []outbox.Key
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		if err := scanAll(func(r row.Scanner) error {
			var k outbox.Key
			err := r.Scan(&k.EventID, &k.Endpoint)
			keys = append(keys, k)
			return err
		})(rows); err != nil {
			return err
		}
		page = row.PageOf(keys, f.Limit)
		if dryRun || len(keys) == 0 {
			return nil
		}
		ids, endpoints := deliveryKeys(keys, func(k *outbox.Key) outbox.Key { return *k })
		_, err = tx.Exec(ctx, resendDeliveries, ids, endpoints, micros(now))
		return err
	})
	if err != nil {
		return outbox.ResentPage{}, err
	}
	return page, nil
}

// Events lists events, newest first; limits as for Orders.
func (s *Store) Events(ctx context.Context, f order.EventFilter) ([]order.Event, error) {
	query, args, ok := row.EventQuery(mark, &f)
	if !ok {
		return []order.Event{}, nil
	}
	return list(ctx, s, row.ScanTelling, query, args...)
}

// Event is one event with its place and snapshot.
func (s *Store) Event(ctx context.Context, id string) (e order.Event, err error) {
	if !row.IsKey(id) {
		return e, order.ErrUnknown
	}
	err = s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		e, err = row.ScanTelling(conn.QueryRow(ctx, oneEvent, id))
		return err
	})
	return e, err
}

// list reads all rows of a query; never nil.
func list[T any](ctx context.Context, s *Store, scan func(row.Scanner) (T, error), query string, args ...any) ([]T, error) {
	all := []T{}
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return each(ctx, conn, func(r row.Scanner) error {
			v, err := scan(r)
			all = append(all, v)
			return err
		}, query, args...)
	})
	return all, err
}
