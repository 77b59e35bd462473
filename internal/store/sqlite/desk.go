package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	resumeEndpoint = `delete from endpoint_pauses where endpoint = ?1`
	listPauses     = `select endpoint, reason, by_hand, paused_at from endpoint_pauses order by endpoint`
	listAttempts   = `select ` + row.AttemptColumns + ` from attempts a where a.event_id = ?1 order by a.id`
	oneEvent       = `select ` + row.TellingColumns + ` from events e where e.id = ?1`

	resendEvent = `insert into deliveries as d (event_id, endpoint, merchant, out_trade_no, order_version, state, attempts, step, next_at,
    created_at, updated_at)
select e.id, ?2, e.merchant, e.out_trade_no, e.order_version, 'pending', 0, 0, ?3, ?3, ?3
from events e where e.id = ?1
on conflict (event_id, endpoint) do update set state = 'pending', step = 0, next_at = excluded.next_at, lease = null, updated_at = excluded.updated_at
where d.lease is null or d.next_at <= excluded.next_at`

	resendDelivery = `update deliveries set state = 'pending', step = 0, next_at = ?3, lease = null, updated_at = ?3
where event_id = ?1 and endpoint = ?2`

	backlogs = `select endpoint, sum(pending), min(oldest), sum(exhausted) from (
    select endpoint, count(*) as pending, min(created_at) as oldest, 0 as exhausted from deliveries where state = 'pending' and next_at > 0 group by endpoint
    union all
    select endpoint, 0, null, count(*) from deliveries where state = 'exhausted' group by endpoint) b
group by endpoint order by endpoint`
)

// Resume ends a pause and says whether there was one.
func (s *Store) Resume(ctx context.Context, endpoint string) (bool, error) {
	var n int64
	err := s.write(ctx, func(u *unit) (err error) {
		n, err = u.exec(resumeEndpoint, endpoint)
		return err
	})
	return n > 0 && err == nil, err
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
	return list(ctx, s, row.ScanAttempt, listAttempts, eventID)
}

// Backlogs counts what is not delivered, for each endpoint with such.
func (s *Store) Backlogs(ctx context.Context) ([]outbox.Backlog, error) {
	return list(ctx, s, row.ScanBacklog, backlogs)
}

// Resend makes an event due at endpoints. See outbox.Desk.
func (s *Store) Resend(ctx context.Context, eventID string, endpoints []string, now time.Time) (int, error) {
	var resent int64
	err := s.write(ctx, func(u *unit) error {
		for _, endpoint := range endpoints {
			n, err := u.exec(resendEvent, eventID, endpoint, micros(now))
			if err != nil {
				return err
			}
			resent += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int(resent), nil
}

// ResendPage makes the deliveries of a filter due. See outbox.Desk.
func (s *Store) ResendPage(ctx context.Context, f outbox.Filter, now time.Time, dryRun bool) (page outbox.ResentPage, err error) {
	query, args, ok := row.ResendQuery(mark, &f, micros(now))
	if !ok {
		return page, nil
	}
	err = s.write(ctx, func(u *unit) error {
		var keys []outbox.Key
		if err := u.each(func(rows *sql.Rows) error {
			var k outbox.Key
			err := rows.Scan(&k.EventID, &k.Endpoint)
			keys = append(keys, k)
			return err
		}, query, args...); err != nil {
			return err
		}
		page = row.PageOf(keys, f.Limit)
		if dryRun || len(keys) == 0 {
			return errNothing
		}
		return all(keys, func(k *outbox.Key) error {
			_, err := u.exec(resendDelivery, k.EventID, k.Endpoint, micros(now))
			return err
		})
	})
	if err != nil && !errors.Is(err, errNothing) {
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
func (s *Store) Event(ctx context.Context, id string) (order.Event, error) {
	var e order.Event
	err := s.read(ctx, func(m *moment) (err error) {
		e, err = row.ScanTelling(m.tx.QueryRowContext(ctx, oneEvent, id))
		return err
	})
	return e, err
}

// list reads all rows of a query; never nil.
func list[T any](ctx context.Context, s *Store, scan func(row.Scanner) (T, error), query string, args ...any) ([]T, error) {
	all := []T{}
	err := s.read(ctx, func(m *moment) error {
		return m.each(func(rows *sql.Rows) error {
			v, err := scan(rows)
			all = append(all, v)
			return err
		}, query, args...)
	})
	return all, err
}
