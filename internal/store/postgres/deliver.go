package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store/row"
)

var insertDeliveries = `insert into deliveries (event_id, endpoint, merchant, out_trade_no, order_version, state, attempts, step, next_at,
    created_at, updated_at)
select n.event_id, n.endpoint, n.merchant, n.out_trade_no, n.order_version, 'pending', 0, 0, n.at, n.at, n.at
from ` + rowsOf("n", `event_id text, endpoint text, merchant text, out_trade_no text, order_version bigint, at bigint`)

const (
	// What another worker has in its hands is passed over, not waited for. That
	// times are greater than zero is what lets the index of what is due serve.
	dueDeliveries = `select ` + row.DeliveryColumns + `,
    (select p.next_at from deliveries p
     where p.out_trade_no = d.out_trade_no and p.merchant = d.merchant and p.endpoint = d.endpoint
       and p.state = 'pending' and p.order_version is not null and p.order_version < d.order_version
     order by p.order_version limit 1), ` + row.TellingColumns + `
from (select w.* from unnest($1::text[], $2::bigint[]) w(endpoint, n)
    where not exists (select 1 from endpoint_pauses z where z.endpoint = w.endpoint)) w
cross join lateral (
    select * from deliveries where endpoint = w.endpoint and state = 'pending' and next_at > 0 and next_at <= $3
    order by next_at limit w.n for update skip locked) d
join events e on e.id = d.event_id
order by d.next_at, d.event_id`

	leaseDeliveries = `update deliveries d set lease = $3, next_at = $4
from unnest($1::text[], $2::text[]) k(event_id, endpoint)
where d.event_id = k.event_id and d.endpoint = k.endpoint`

	// Looked at again: an earlier delivery that closed since was its blocker no
	// more, and nobody would call this one.
	deferDeliveries = `update deliveries d set lease = null, next_at = k.at
from unnest($1::text[], $2::text[], $3::bigint[]) k(event_id, endpoint, at)
where d.event_id = k.event_id and d.endpoint = k.endpoint and exists (select 1 from deliveries p
    where p.out_trade_no = d.out_trade_no and p.merchant = d.merchant and p.endpoint = d.endpoint
      and p.state = 'pending' and p.order_version is not null and p.order_version < d.order_version)`

	nextDelivery = `select min(d.next_at) from unnest($1::text[]) w(endpoint)
cross join lateral (
    select next_at from deliveries where endpoint = w.endpoint and state = 'pending' and next_at > 0 order by next_at limit 1) d
where not exists (select 1 from endpoint_pauses z where z.endpoint = w.endpoint)`

	lockDeliveries = `select 1 from unnest($1::text[], $2::text[]) k(event_id, endpoint)
join deliveries d on d.event_id = k.event_id and d.endpoint = k.endpoint
order by d.event_id, d.endpoint for update of d`

	// A lease that is lost moves nothing.
	finishDeliveries = `update deliveries d set state = r.state, attempts = d.attempts + r.made, step = r.step, next_at = r.next_at,
    lease = null, updated_at = $8
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
    r(event_id, endpoint, lease, state, made, step, next_at)
where d.event_id = r.event_id and d.endpoint = r.endpoint and d.lease = r.lease and d.state = 'pending'`

	insertAttempts = `insert into attempts (id, event_id, endpoint, number, started_at, duration_us, status_code, failure, response)
select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::bytea[])
on conflict do nothing`

	// The next of an order is called. No condition on its time: one that is just
	// being deferred must be waited for, and called after that.
	callNext = `update deliveries d set next_at = least(d.next_at, $4)
from (select k.*, (select min(p.order_version) from deliveries p
        where p.out_trade_no = k.out_trade_no and p.merchant = k.merchant and p.endpoint = k.endpoint
          and p.state = 'pending' and p.order_version is not null) as version
    from (select distinct * from unnest($1::text[], $2::text[], $3::text[])
        u(out_trade_no, merchant, endpoint)) k) n
where d.out_trade_no = n.out_trade_no and d.merchant = n.merchant and d.endpoint = n.endpoint and d.order_version = n.version
  and d.state = 'pending' and d.order_version is not null and d.lease is null`

	pauseEndpoint = `insert into endpoint_pauses (endpoint, reason, by_hand, paused_at) values ($1, $2, $3, $4) on conflict do nothing`
)

func queueDeliveryRows(batch *pgx.Batch, rows []outbox.Delivery) {
	if len(rows) == 0 {
		return
	}
	type d = outbox.Delivery
	batch.Queue(insertDeliveries,
		column(rows, func(r *d) string { return r.EventID }),
		column(rows, func(r *d) string { return r.Endpoint }),
		column(rows, func(r *d) string { return r.Merchant }),
		column(rows, func(r *d) string { return r.OutTradeNo }),
		column(rows, func(r *d) *int64 { return row.Null(r.OrderVersion) }),
		column(rows, func(r *d) *int64 { return row.Micros(r.CreatedAt) }))
}

// Claim leases due deliveries. See outbox.Store.
func (s *Store) Claim(ctx context.Context, c outbox.Claim) (outbox.Claimed, error) {
	var claimed outbox.Claimed
	names := column(c.Want, func(w *outbox.Want) string { return w.Endpoint })
	limits := column(c.Want, func(w *outbox.Want) int64 { return int64(w.Limit + outbox.LookAhead) })
	err := s.inTransaction(ctx, s.tellers, func(ctx context.Context, tx pgx.Tx) error {
		var due []outbox.Candidate
		rows, err := tx.Query(ctx, dueDeliveries, names, limits, micros(c.Now))
		if err != nil {
			return err
		}
		if err := scanAll(func(r row.Scanner) error {
			d, err := row.ScanCandidate(r)
			due = append(due, d)
			return err
		})(rows); err != nil {
			return err
		}
		take, wait := outbox.Sift(&c, due)
		var batch pgx.Batch
		if len(take) > 0 {
			ids, endpoints := deliveryKeys(take, func(d *outbox.Delivery) outbox.Key { return d.Key })
			batch.Queue(leaseDeliveries, ids, endpoints, c.Lease, micros(c.Now.Add(c.For)))
		}
		if len(wait) > 0 {
			ids, endpoints := deliveryKeys(wait, func(d *outbox.Deferral) outbox.Key { return d.Key })
			batch.Queue(deferDeliveries, ids, endpoints,
				column(wait, func(d *outbox.Deferral) int64 { return micros(d.NextAt) }))
		}
		var next *int64
		batch.Queue(nextDelivery, names).QueryRow(func(r pgx.Row) error { return r.Scan(&next) })
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		claimed = outbox.Claimed{Deliveries: take, NextAt: row.Time(next)}
		return nil
	})
	if err != nil {
		return outbox.Claimed{}, err
	}
	return claimed, nil
}

// Finish records attempts and moves their deliveries. See outbox.Store.
func (s *Store) Finish(ctx context.Context, now time.Time, results []outbox.Result) error {
	if len(results) == 0 {
		return nil
	}
	results = row.SortedResults(results)
	type r = outbox.Result
	ids, endpoints := deliveryKeys(results, func(r *r) outbox.Key { return r.Delivery.Key })
	return s.on(ctx, s.tellers, func(ctx context.Context, conn *pgxpool.Conn) error {
		var batch pgx.Batch // one transaction: it is sent as one
		batch.Queue(lockDeliveries, ids, endpoints)
		batch.Queue(finishDeliveries, ids, endpoints,
			column(results, func(r *r) string { return r.Delivery.Lease }),
			column(results, func(r *r) string { return string(r.State) }),
			column(results, func(r *r) int64 {
				if r.Attempt == nil {
					return 0
				}
				return 1
			}),
			column(results, func(r *r) int64 { return int64(r.Step) }),
			column(results, func(r *r) int64 { return micros(r.NextAt) }),
			micros(now))
		queueAttempts(&batch, results)
		queueCalls(&batch, results, now)
		return conn.SendBatch(ctx, &batch).Close()
	})
}

func queueAttempts(batch *pgx.Batch, results []outbox.Result) {
	var rows []outbox.Attempt
	for i := range results {
		if results[i].Attempt != nil {
			rows = append(rows, *results[i].Attempt)
		}
	}
	if len(rows) == 0 {
		return
	}
	type a = outbox.Attempt
	ids, endpoints := deliveryKeys(rows, func(r *a) outbox.Key { return r.Key })
	batch.Queue(insertAttempts,
		column(rows, func(r *a) string { return r.ID }), ids, endpoints,
		column(rows, func(r *a) int64 { return int64(r.Number) }),
		column(rows, func(r *a) int64 { return micros(r.StartedAt) }),
		column(rows, func(r *a) int64 { return r.Duration.Microseconds() }),
		column(rows, func(r *a) int64 { return int64(r.StatusCode) }),
		column(rows, func(r *a) string { return r.Failure }),
		column(rows, func(r *a) []byte { return row.Bytes(r.Response) }))
}

// queueCalls calls the successors of what closed.
func queueCalls(batch *pgx.Batch, results []outbox.Result, now time.Time) {
	var closed []outbox.Delivery
	for i := range results {
		if d := results[i].Delivery; results[i].State != outbox.Pending && d.OrderVersion > 0 {
			closed = append(closed, d)
		}
	}
	if len(closed) == 0 {
		return
	}
	type d = outbox.Delivery
	batch.Queue(callNext,
		column(closed, func(r *d) string { return r.OutTradeNo }),
		column(closed, func(r *d) string { return r.Merchant }),
		column(closed, func(r *d) string { return r.Endpoint }),
		micros(now))
}

// Pause stops an endpoint. See outbox.Store.
func (s *Store) Pause(ctx context.Context, p outbox.Pause) error {
	pool := s.tellers
	if p.ByHand {
		pool = s.writers
	}
	return s.on(ctx, pool, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, pauseEndpoint, p.Endpoint, p.Reason, p.ByHand, micros(p.At))
		return err
	})
}

// inTransaction runs work in a transaction on a connection of a pool.
func (s *Store) inTransaction(ctx context.Context, pool *pgxpool.Pool, work func(context.Context, pgx.Tx) error) error {
	return s.on(ctx, pool, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return work(ctx, tx) })
	})
}

// deliveryKeys are the keys of rows as two columns.
func deliveryKeys[T any](rows []T, key func(*T) outbox.Key) (ids, endpoints []string) {
	return column(rows, func(r *T) string { return key(r).EventID }), column(rows, func(r *T) string { return key(r).Endpoint })
}

func micros(t time.Time) int64 { return row.Value(row.Micros(t)) }
