package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	feedHead = `select f.last_seq, exists (select 1 from events where seq is null) from feed f where f.one = 1`

	// The row is the lock: whoever holds it sees, in its next statement, all
	// that the holder before it committed.
	lockFeed = `select 1 from feed where one = 1 for update skip locked`

	// Ids say roughly which event is older, and nothing about one order's: those
	// go by their version. An event therefore stands where the highest id of its
	// order up to its version stands; all of the order that wait are looked at,
	// so that the limit does not cut a later one from an earlier one.
	giveSeq = `with oldest as materialized (
    select id, out_trade_no, merchant, order_version from events where seq is null order by id limit $1::bigint
), waiting as materialized (
    select id, id own, out_trade_no, merchant, 0::bigint order_version from oldest where order_version is null
    union
    select e.id, '', e.out_trade_no, e.merchant, e.order_version
    from oldest o
    join events e on e.out_trade_no = o.out_trade_no and e.merchant = o.merchant and e.order_version is not null
    where o.order_version is not null and e.seq is null
), standing as materialized (
    select id, order_version, max(id) over (partition by own, out_trade_no, merchant order by order_version) place from waiting
), numbered as materialized (
    select id, row_number() over (order by place, order_version) n from standing
), given as (
    update events e set seq = f.last_seq + x.n
    from numbered x cross join feed f
    where f.one = 1 and e.id = x.id and x.n <= $1::bigint
    returning 1
), moved as (
    update feed set last_seq = last_seq + (select count(*) from given) where one = 1
)
select count(*) from given`

	// events_of_feed has the expression, so that no merchant reads past the
	// events of the others.
	eventsAfter = `select ` + row.FeedColumns + `
from events e
where split_part(e.merchant, '/', 1) = $1 and e.seq > $2::bigint
order by e.seq limit $3`
)

// Head is the last place of the feed. See order.Feed.
func (s *Store) Head(ctx context.Context) (last int64, waiting bool, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, feedHead).Scan(&last, &waiting)
	})
	return last, waiting, err
}

// Sequence gives places in the feed, unless another instance is about it. See
// order.Feed.
func (s *Store) Sequence(ctx context.Context, limit int) (int, error) {
	var given int
	err := s.on(ctx, s.writers, func(conn *pgxpool.Conn) error {
		var locked bool
		var ask pgx.Batch
		ask.Queue(begin)
		ask.Queue(lockFeed).Query(scanAll(func(r row.Scanner) error {
			var one int
			locked = true
			return r.Scan(&one)
		}))
		if err := conn.SendBatch(ctx, &ask).Close(); err != nil || !locked {
			rollback(conn)
			return err
		}
		var give pgx.Batch
		give.Queue(giveSeq, limit).QueryRow(func(r pgx.Row) error { return r.Scan(&given) })
		queueCommit(&give)
		err := conn.SendBatch(ctx, &give).Close()
		if err != nil {
			rollback(conn)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return given, nil
}

// EventsAfter reads a merchant's part of the feed. See order.Feed.
func (s *Store) EventsAfter(ctx context.Context, merchant string, after int64, limit int) ([]order.Event, error) {
	var events []order.Event
	if !row.IsKey(merchant) {
		return events, nil
	}
	err := s.read(ctx, func(conn *pgxpool.Conn) error {
		return each(ctx, conn, func(r row.Scanner) error {
			e, err := row.ScanFeedEvent(r)
			events = append(events, e)
			return err
		}, eventsAfter, merchant, after, limit)
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}
