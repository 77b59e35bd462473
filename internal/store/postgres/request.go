package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// takeTries bounds how often a key is asked for again that was released between
// two statements. Each of them means that a request ran and failed meanwhile.
const takeTries = 8

const (
	// A key that is held or answered is seen first: asking again writes nothing
	// and waits for nobody. What comes into being meanwhile meets the unique key.
	takeKey = `insert into idempotency as i (key, merchant, fingerprint, status, token, locked_until, created_at)
select $1::text, $2::text, $3::bytea, 'processing', $4::text, now_us() + $5::bigint, now_us()
where not exists (select 1 from idempotency x where x.key = $1 and x.merchant = $2 and (x.status = 'done' or x.locked_until > now_us()))
on conflict (key, merchant) do update set
    fingerprint = excluded.fingerprint, token = excluded.token, locked_until = excluded.locked_until, created_at = excluded.created_at
where i.status = 'processing' and i.locked_until <= now_us()`

	findRequest = `select ` + row.RequestColumns + ` from idempotency i where i.key = $1 and i.merchant = $2`

	finishKey = `update idempotency i set status = 'done', status_code = $4, content_type = $5, body = $6
where i.key = $1 and i.merchant = $2 and i.token = $3 and i.status = 'processing' and i.locked_until > now_us()`

	// The row that this update holds until the commit cannot be taken over, nor
	// can time run out between it and the commit.
	sealKey = `with w as (` + finishKey + ` returning 1) select sealed(count(*)) from w`

	releaseKey = `delete from idempotency i where i.key = $1 and i.merchant = $2 and i.token = $3 and i.status = 'processing'`

	// Instances that prune at the same time take different rows.
	pruneKeys = `delete from idempotency where ctid = any (array(
    select ctid from idempotency where created_at < (select now_us() - $1::bigint) order by created_at limit $2 for update skip locked))`
)

// TakeKey locks a key or says who has it, in one round trip. See
// idempotency.Store.
func (s *Store) TakeKey(ctx context.Context, c idempotency.Claim) (idempotency.Record, error) {
	var record idempotency.Record
	if err := row.CheckLock(&c.Lock); err != nil {
		return record, err
	}
	for range takeTries {
		found := false
		err := s.on(ctx, s.writers, func(ctx context.Context, conn *pgxpool.Conn) error {
			var batch pgx.Batch // one transaction: it is sent as one
			batch.Queue(takeKey, c.Key, c.Merchant, c.Fingerprint[:], c.Token, c.For.Microseconds())
			batch.Queue(findRequest, c.Key, c.Merchant).Query(scanAll(func(r row.Scanner) (err error) {
				found = true
				record, err = row.ScanRequest(r, c.Token)
				return err
			}))
			return conn.SendBatch(ctx, &batch).Close()
		})
		if err != nil || found {
			return record, err
		}
	}
	return record, fmt.Errorf("%w: an idempotency key was released %d times while it was asked for", order.ErrUnavailable, takeTries)
}

// FinishKey stores an answer. See idempotency.Store.
func (s *Store) FinishKey(ctx context.Context, l idempotency.Lock, a idempotency.Answer) error {
	if err := row.CheckLock(&l); err != nil {
		return err
	}
	return s.on(ctx, s.writers, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, finishKey, finishArguments(&l, &a)...)
		if err == nil && tag.RowsAffected() == 0 {
			return idempotency.ErrLost
		}
		return err
	})
}

func finishArguments(l *idempotency.Lock, a *idempotency.Answer) []any {
	return []any{l.Key, l.Merchant, l.Token, a.Status, a.ContentType, row.Bytes(a.Body)}
}

// queueSeal stores the answer of a unit of work as its last statement.
func queueSeal(batch *pgx.Batch, seal *order.Seal) {
	if seal == nil {
		return
	}
	l, a := row.SealLock(seal), row.SealAnswer(seal)
	batch.Queue(sealKey, finishArguments(&l, &a)...)
}

// ReleaseKey gives up a lock. See idempotency.Store.
func (s *Store) ReleaseKey(ctx context.Context, l idempotency.Lock) error {
	if err := row.CheckLock(&l); err != nil {
		return err
	}
	return s.on(ctx, s.writers, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, releaseKey, l.Key, l.Merchant, l.Token)
		return err
	})
}

// PruneKeys removes old keys, a few at a time. See idempotency.Store.
func (s *Store) PruneKeys(ctx context.Context, age time.Duration, limit int) (int, error) {
	var pruned int64
	err := s.on(ctx, s.tellers, func(ctx context.Context, conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, pruneKeys, age.Microseconds(), limit)
		pruned = tag.RowsAffected()
		return err
	})
	return int(pruned), err
}
