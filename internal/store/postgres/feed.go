package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	feedHead = `select f.last_seq, exists (select 1 from units where base is null) from feed f where f.one = 1`

	// The row is the lock: whoever holds it sees, in its next statement, all
	// that the holder before it committed.
	lockFeed = `select 1 from feed where one = 1 for update skip locked`

	// A unit that is seen has all before it that could have events of the same
	// orders: it began to write after their commits, and its number is greater.
	giveSeq = `with waiting as materialized (
    select unit, events from units where base is null order by unit limit $1::bigint
), standing as materialized (
    select unit, sum(events) over (order by unit) - events as before from waiting
), given as (
    update units u set base = f.last_seq + s.before
    from standing s cross join feed f
    where f.one = 1 and u.unit = s.unit and s.before < $1::bigint
    returning u.events
), total as materialized (
    select coalesce(sum(events), 0)::bigint as events from given
), moved as (
    update feed set last_seq = last_seq + total.events from total where one = 1
)
select events from total`

	// The end of the last unit that begins before a place.
	feedReach = `select u.base + u.events from units u where u.base < $1::bigint order by u.base desc limit 1`

	// The first unit may have begun before the place.
	eventsBetween = `select ` + row.FeedColumns + `
from units u join events e on e.unit = u.unit
where u.base >= (select base from units where base <= $2::bigint order by base desc limit 1) and u.base < $3::bigint
  and u.base + e.ordinal > $2::bigint and split_part(e.merchant, '/', 1) = $1
order by u.base, e.ordinal limit $4`
)

// Head is the last place of the feed. See order.Feed.
func (s *Store) Head(ctx context.Context) (last int64, waiting bool, err error) {
	err = s.on(ctx, s.tellers, func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, feedHead).Scan(&last, &waiting)
	})
	return last, waiting, err
}

// Sequence gives places in the feed, unless another instance is about it. See
// order.Feed.
func (s *Store) Sequence(ctx context.Context, limit int) (int, error) {
	var given int
	err := s.on(ctx, s.tellers, func(ctx context.Context, conn *pgxpool.Conn) error {
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

// EventsAfter reads a merchant's part of the feed, as far as it has got: places
// are given in order, so that no smaller one appears between the two reads. See
// order.Feed.
func (s *Store) EventsAfter(ctx context.Context, merchant string, after int64, limit int) (events []order.Event, through int64, err error) {
	err = s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		if err := each(ctx, conn, func(r row.Scanner) error { return r.Scan(&through) }, feedReach, row.FeedEnd(after)); err != nil {
			return err
		}
		if through <= after || !row.IsKey(merchant) {
			return nil
		}
		return each(ctx, conn, func(r row.Scanner) error {
			e, err := row.ScanTelling(r)
			events = append(events, e)
			return err
		}, eventsBetween, merchant, after, through, limit)
	})
	if err != nil {
		return nil, 0, err
	}
	events, through = row.FeedPage(events, after, through, limit)
	return events, through, nil
}
