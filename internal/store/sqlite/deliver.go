package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	insertDelivery = `insert into deliveries (event_id, endpoint, merchant, out_trade_no, order_version, state, attempts, step, next_at,
    created_at, updated_at)
values (?1, ?2, ?3, ?4, ?5, 'pending', 0, 0, ?6, ?6, ?6)`

	dueDeliveries = `select ` + row.DeliveryColumns + `,
    (select p.next_at from deliveries p
     where p.out_trade_no = d.out_trade_no and p.merchant = d.merchant and p.endpoint = d.endpoint
       and p.state = 'pending' and p.order_version is not null and p.order_version < d.order_version
     order by p.order_version limit 1), ` + row.TellingColumns + `
from deliveries d cross join events e on e.id = d.event_id
where d.endpoint = ?1 and d.state = 'pending' and d.next_at > 0 and d.next_at <= ?2
  and not exists (select 1 from endpoint_pauses z where z.endpoint = ?1)
order by d.next_at, d.event_id limit ?3`

	leaseDelivery = `update deliveries set lease = ?3, next_at = ?4 where event_id = ?1 and endpoint = ?2`

	deferDelivery = `update deliveries set lease = null, next_at = ?3 where event_id = ?1 and endpoint = ?2`

	nextDelivery = `select min(next_at) from deliveries where endpoint = ?1 and state = 'pending' and next_at > 0
  and not exists (select 1 from endpoint_pauses z where z.endpoint = ?1)`

	// A lease that is lost moves nothing.
	finishDelivery = `update deliveries set state = ?4, attempts = attempts + ?5, step = ?6, next_at = ?7, lease = null, updated_at = ?8
where event_id = ?1 and endpoint = ?2 and lease = ?3 and state = 'pending'`

	insertAttempt = `insert into attempts (id, event_id, endpoint, number, started_at, duration_us, status_code, failure, response)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
on conflict do nothing`

	// The next of an order is called.
	callNext = `update deliveries set next_at = min(next_at, ?4)
where out_trade_no = ?1 and merchant = ?2 and endpoint = ?3 and state = 'pending' and order_version is not null and lease is null
  and order_version = (select min(p.order_version) from deliveries p
    where p.out_trade_no = ?1 and p.merchant = ?2 and p.endpoint = ?3 and p.state = 'pending' and p.order_version is not null)`

	pauseEndpoint = `insert into endpoint_pauses (endpoint, reason, by_hand, paused_at) values (?1, ?2, ?3, ?4) on conflict do nothing`
)

func (u *unit) insertDeliveries(rows []outbox.Delivery) error {
	return all(rows, func(d *outbox.Delivery) error {
		_, err := u.exec(insertDelivery, d.EventID, d.Endpoint, d.Merchant, d.OutTradeNo, row.Null(d.OrderVersion), micros(d.CreatedAt))
		return err
	})
}

// Claim leases due deliveries. It looks before it takes the writer's turn: while
// nothing is due, nothing is locked. See outbox.Store.
func (s *Store) Claim(ctx context.Context, c outbox.Claim) (outbox.Claimed, error) {
	var next time.Time
	err := s.read(ctx, func(m *moment) (err error) {
		next, err = nextOf(m.each, c.Want)
		return err
	})
	if err != nil || next.IsZero() || next.After(c.Now) {
		return outbox.Claimed{NextAt: next}, err
	}
	var claimed outbox.Claimed
	err = s.write(ctx, func(u *unit) error {
		var due []outbox.Candidate
		for _, w := range c.Want {
			err := u.each(func(rows *sql.Rows) error {
				d, err := row.ScanCandidate(rows)
				due = append(due, d)
				return err
			}, dueDeliveries, w.Endpoint, micros(c.Now), w.Limit+outbox.LookAhead)
			if err != nil {
				return err
			}
		}
		take, wait := outbox.Sift(&c, due)
		if len(take)+len(wait) == 0 {
			return errNothing
		}
		claimed.Deliveries = take
		return firstError(
			func() error { return all(take, u.lease) },
			func() error { return all(wait, u.postpone) },
			func() (err error) { claimed.NextAt, err = nextOf(u.each, c.Want); return err },
		)
	})
	switch {
	case errors.Is(err, errNothing):
		return outbox.Claimed{NextAt: next}, nil
	case err != nil:
		return outbox.Claimed{}, err
	}
	return claimed, nil
}

// nextOf is when the next delivery of the endpoints becomes due.
func nextOf(each func(func(*sql.Rows) error, string, ...any) error, want []outbox.Want) (next time.Time, err error) {
	for _, w := range want {
		err = errors.Join(err, each(func(rows *sql.Rows) error {
			var us *int64
			err := rows.Scan(&us)
			if at := row.Time(us); us != nil && (next.IsZero() || at.Before(next)) {
				next = at
			}
			return err
		}, nextDelivery, w.Endpoint))
	}
	return next, err
}

func (u *unit) lease(d *outbox.Delivery) error {
	_, err := u.exec(leaseDelivery, d.EventID, d.Endpoint, d.Lease, micros(d.NextAt))
	return err
}

func (u *unit) postpone(d *outbox.Deferral) error {
	_, err := u.exec(deferDelivery, d.EventID, d.Endpoint, micros(d.NextAt))
	return err
}

// Finish records attempts and moves their deliveries. See outbox.Store.
func (s *Store) Finish(ctx context.Context, now time.Time, results []outbox.Result) error {
	if len(results) == 0 {
		return nil
	}
	results = row.SortedResults(results)
	return s.write(ctx, func(u *unit) error {
		return firstError(
			func() error { return all(results, func(r *outbox.Result) error { return u.finishDelivery(r, now) }) },
			func() error { return all(results, func(r *outbox.Result) error { return u.callNext(r, now) }) },
		)
	})
}

func (u *unit) finishDelivery(r *outbox.Result, now time.Time) error {
	made := 0
	if a := r.Attempt; a != nil {
		made = 1
		if _, err := u.exec(insertAttempt, a.ID, a.Key.EventID, a.Key.Endpoint, a.Number, micros(a.StartedAt), a.Duration.Microseconds(),
			a.StatusCode, a.Failure, row.Bytes(a.Response)); err != nil {
			return err
		}
	}
	d := &r.Delivery
	_, err := u.exec(finishDelivery, d.EventID, d.Endpoint, d.Lease, string(r.State), made, r.Step, micros(r.NextAt), micros(now))
	return err
}

func (u *unit) callNext(r *outbox.Result, now time.Time) error {
	if r.State == outbox.Pending || r.Delivery.OrderVersion == 0 {
		return nil
	}
	_, err := u.exec(callNext, r.Delivery.OutTradeNo, r.Delivery.Merchant, r.Delivery.Endpoint, micros(now))
	return err
}

// Pause stops an endpoint. See outbox.Store.
func (s *Store) Pause(ctx context.Context, p outbox.Pause) error {
	return s.write(ctx, func(u *unit) error {
		_, err := u.exec(pauseEndpoint, p.Endpoint, p.Reason, p.ByHand, micros(p.At))
		return err
	})
}

func micros(t time.Time) int64 { return row.Value(row.Micros(t)) }
