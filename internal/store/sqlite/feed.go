package sqlite

import (
	"context"
	"database/sql"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	feedHead = `select f.last_seq, exists (select 1 from events where seq is null) from feed f`

	// Ids say roughly which event is older, and nothing about one order's: those
	// go by their version. An event therefore stands where the highest id of its
	// order up to its version stands; all of the order that wait are looked at,
	// so that the limit does not cut a later one from an earlier one.
	giveSeq = `with oldest as materialized (
    select id, out_trade_no, merchant, order_version from events where seq is null order by id limit ?1
), waiting as materialized (
    select id, id own, out_trade_no, merchant, 0 order_version from oldest where order_version is null
    union
    select e.id, '', e.out_trade_no, e.merchant, e.order_version
    from oldest o
    cross join events e on e.out_trade_no = o.out_trade_no and e.merchant = o.merchant and e.order_version is not null
    where o.order_version is not null and e.seq is null
), standing as materialized (
    select id, order_version, max(id) over (partition by own, out_trade_no, merchant order by order_version) place from waiting
), numbered as materialized (
    select id, row_number() over (order by place, order_version) n from standing
)
update events set seq = (select last_seq from feed) + numbered.n
from numbered where events.id = numbered.id and numbered.n <= ?1`

	moveHead = `update feed set last_seq = last_seq + ?1`

	// events_of_feed has the expression, so that no merchant reads past the
	// events of the others.
	eventsAfter = `select ` + row.FeedColumns + `
from events e
where substr(e.merchant, 1, instr(e.merchant || '/', '/') - 1) = ?1 and e.seq > ?2
order by e.seq limit ?3`
)

// Head is the last place of the feed. See order.Feed.
func (s *Store) Head(ctx context.Context) (last int64, waiting bool, err error) {
	err = s.read(ctx, func(m *moment) error {
		return m.tx.QueryRowContext(ctx, feedHead).Scan(&last, &waiting)
	})
	return last, waiting, err
}

// Sequence gives places in the feed; the one writer is the one sequencer. See
// order.Feed.
func (s *Store) Sequence(ctx context.Context, limit int) (int, error) {
	var given int64
	err := s.write(ctx, func(u *unit) (err error) {
		if given, err = u.exec(giveSeq, limit); err != nil {
			return err
		}
		_, err = u.exec(moveHead, given)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(given), nil
}

// EventsAfter reads a merchant's part of the feed. See order.Feed.
func (s *Store) EventsAfter(ctx context.Context, merchant string, after int64, limit int) ([]order.Event, error) {
	var events []order.Event
	if !row.IsKey(merchant) {
		return events, nil
	}
	err := s.read(ctx, func(m *moment) error {
		return m.each(func(rows *sql.Rows) error {
			e, err := row.ScanFeedEvent(rows)
			events = append(events, e)
			return err
		}, eventsAfter, merchant, after, limit)
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}
