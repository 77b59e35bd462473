package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	feedHead = `select f.last_seq, exists (select 1 from units where base is null) from feed f`

	giveSeq = `with waiting as materialized (
    select unit, events from units where base is null order by unit limit ?1
), standing as materialized (
    select unit, sum(events) over (order by unit) - events as before from waiting
)
update units set base = (select last_seq from feed) + standing.before
from standing where units.unit = standing.unit and standing.before < ?1`

	// The places that were just given: those after the last one.
	givenSeq = `select coalesce(sum(u.events), 0) from units u, feed f where u.base >= f.last_seq`

	moveHead = `update feed set last_seq = last_seq + ?1`

	// The end of the last unit that begins before a place.
	feedReach = `select u.base + u.events from units u where u.base < ?1 order by u.base desc limit 1`

	// The first unit may have begun before the place.
	eventsBetween = `select ` + row.FeedColumns + `
from units u cross join events e on e.unit = u.unit
where u.base >= (select base from units where base <= ?2 order by base desc limit 1) and u.base < ?3
  and u.base + e.ordinal > ?2 and substr(e.merchant, 1, instr(e.merchant || '/', '/') - 1) = ?1
order by u.base, e.ordinal limit ?4`
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
	err := s.write(ctx, func(u *unit) error {
		units, err := u.exec(giveSeq, limit)
		if err != nil {
			return err
		}
		if units == 0 {
			return errNothing
		}
		if err := u.each(func(rows *sql.Rows) error { return rows.Scan(&given) }, givenSeq); err != nil {
			return err
		}
		_, err = u.exec(moveHead, given)
		return err
	})
	if err != nil && !errors.Is(err, errNothing) {
		return 0, err
	}
	return int(given), nil
}

// EventsAfter reads a merchant's part of the feed, as far as it has got. See
// order.Feed.
func (s *Store) EventsAfter(ctx context.Context, merchant string, after int64, limit int) (events []order.Event, through int64, err error) {
	err = s.read(ctx, func(m *moment) error {
		if err := m.each(func(rows *sql.Rows) error { return rows.Scan(&through) }, feedReach, row.FeedEnd(after)); err != nil {
			return err
		}
		if through <= after || !row.IsKey(merchant) {
			return nil
		}
		return m.each(func(rows *sql.Rows) error {
			e, err := row.ScanTelling(rows)
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
