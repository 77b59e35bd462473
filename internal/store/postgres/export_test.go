package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
)

// The tests stand outside of the package, because what gives them a server
// imports it.

// Queries are those that look up sets of keys, with arguments for their plans.
func Queries() map[string][]any {
	texts, numbers, truths := []string{"x"}, []int64{1}, []bool{true}
	return map[string][]any{
		findKnown: {[][]byte{{1}}}, findTraces: {[][]byte{{1}}, texts, texts, texts}, findOrders: {texts, texts}, findPayments: {texts, texts, texts},
		findRefunds: {texts, texts}, findRefundsOfOrders: {texts, texts},
		findWaiting: {texts, texts, texts, texts}, storyPayments: {"x", "x"}, storyRefunds: {"x", "x"}, storyEvents: {"x", "x"},
		storyNotifications: {"x", "x"}, addCopies: {texts, []int64{1}}, deleteWaiting: {texts, []int64{1}}, nextRaw: {"x", 10}, pruneRaw: {texts},
		dueDeliveries: {texts, []int64{1}, int64(1)}, leaseDeliveries: {texts, texts, "x", int64(1)}, nextDelivery: {texts},
		deferDeliveries: {texts, texts, []int64{1}}, lockDeliveries: {texts, texts},
		finishDeliveries: {texts, texts, texts, texts, []int64{1}, []int64{1}, []int64{1}, int64(1)},
		callNext:         {texts, texts, texts, int64(1)}, listAttempts: {"x"}, oneEvent: {"x"}, resendEvent: {"x", texts, int64(1)},
		resendDeliveries: {texts, texts, int64(1)}, agedDeliveries: {"x", "x", 10}, pruneDeliveries: {texts, texts, int64(1)}, pruneAttempts: {texts, texts, int64(1)},
		takeKey: {"x", "x", []byte{1}, "x", int64(1)}, findRequest: {"x", "x"}, sealKey: {"x", "x", "x", 200, "x", []byte{1}},
		releaseKey: {"x", "x", "x"}, pruneKeys: {int64(1), 10},
		feedHead: {}, giveSeq: {10}, feedReach: {int64(1)}, eventsBetween: {"x", int64(1), int64(2), 10},
		resolveNotifications: {texts, texts, texts, texts, texts, texts},
		updateOrders: {texts, texts, numbers, numbers, texts, truths, numbers, texts, numbers, truths, texts, texts, texts,
			numbers, numbers, numbers, truths, truths, numbers, numbers},
		updatePayments: {texts, texts, texts, texts, numbers, texts, numbers, texts, numbers, texts, numbers, numbers},
	}
}

// LookUps are the questions of a unit of work.
func LookUps() []string {
	return []string{findKnown, findTraces, findOrders, findPayments, findRefunds, findRefundsOfOrders, findWaiting}
}

// LockOf are the advisory locks of a unit of work.
func LockOf(want *order.Want) []int64 { return lockOf(want) }

// PoolWait is how long an answer waits for connections that others have.
const PoolWait = poolWait

// ForPeople are the connections of those who wait for an answer.
func (s *Store) ForPeople() []*pgxpool.Pool { return []*pgxpool.Pool{s.writers, s.readers, s.keepers} }

// AllButNotices are the connections that are not kept for notifications.
func (s *Store) AllButNotices() []*pgxpool.Pool { return append(s.ForPeople(), s.tellers) }

// Hold takes every connection of pools.
func Hold(ctx context.Context, pools []*pgxpool.Pool) (release func(), err error) {
	var held []*pgxpool.Conn
	release = func() {
		for _, conn := range held {
			conn.Release()
		}
	}
	for _, pool := range pools {
		for range pool.Config().MaxConns {
			conn, err := pool.Acquire(ctx)
			if err != nil {
				release()
				return nil, err
			}
			held = append(held, conn)
		}
	}
	return release, nil
}

// EachConnection runs do on every connection of all pools, all held at once.
func (s *Store) EachConnection(ctx context.Context, do func(*pgx.Conn) error) error {
	for _, pool := range s.pools() {
		for range pool.Config().MaxConns {
			conn, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			if err := do(conn.Conn()); err != nil {
				return err
			}
		}
	}
	return nil
}

// OfNotices says whether a connection is one of those that commit notifications.
func (s *Store) OfNotices(conn *pgx.Conn) bool {
	return conn.Config().RuntimeParams["lock_timeout"] == s.notices.Config().ConnConfig.RuntimeParams["lock_timeout"]
}

// Writer takes a connection of those that write. Its plans are old or new.
func (s *Store) Writer(ctx context.Context, old bool) (*pgxpool.Conn, error) {
	if old {
		conn, err := s.notices.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		delete(conn.Conn().PgConn().CustomData(), planned)
		conn.Release()
	}
	return s.notices.Acquire(ctx)
}

// WriteOwnArrays lets a connection write our slices as those of a store do.
func WriteOwnArrays(types *pgtype.Map) { writeOwnArrays(types) }

// Queued are the statements that would write a unit of work which found nothing.
func (s *Store) Queued(c *order.Changes) *pgx.Batch {
	var batch pgx.Batch
	s.queueChanges(&batch, c, nil)
	return &batch
}
