package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	takeKey = `insert into idempotency as i (key, merchant, fingerprint, status, token, locked_until, created_at)
values (?1, ?2, ?3, 'processing', ?4, ?6 + ?5, ?6)
on conflict (key, merchant) do update set
    fingerprint = excluded.fingerprint, token = excluded.token, locked_until = excluded.locked_until, created_at = excluded.created_at
where i.status = 'processing' and i.locked_until <= ?6`

	findRequest = `select ` + row.RequestColumns + ` from idempotency i where i.key = ?1 and i.merchant = ?2`

	finishKey = `update idempotency set status = 'done', status_code = ?4, content_type = ?5, body = ?6
where key = ?1 and merchant = ?2 and token = ?3 and status = 'processing' and locked_until > ?7`

	releaseKey = `delete from idempotency where key = ?1 and merchant = ?2 and token = ?3 and status = 'processing'`

	pruneKeys = `delete from idempotency
where rowid in (select rowid from idempotency where created_at < ?1 order by created_at limit ?2)`
)

// now is the database's clock: that of the one process whose database it is.
func now() int64 { return time.Now().UnixMicro() }

// TakeKey locks a key or says who has it. See idempotency.Store.
func (s *Store) TakeKey(ctx context.Context, c idempotency.Claim) (record idempotency.Record, err error) {
	if err := row.CheckLock(&c.Lock); err != nil {
		return record, err
	}
	err = s.write(ctx, func(u *unit) error {
		if _, err := u.exec(takeKey, c.Key, c.Merchant, c.Fingerprint[:], c.Token, c.For.Microseconds(), now()); err != nil {
			return err
		}
		return u.each(func(rows *sql.Rows) (err error) {
			record, err = row.ScanRequest(rows, c.Token)
			return err
		}, findRequest, c.Key, c.Merchant)
	})
	return record, err
}

// FinishKey stores an answer. See idempotency.Store.
func (s *Store) FinishKey(ctx context.Context, l idempotency.Lock, a idempotency.Answer) error {
	if err := row.CheckLock(&l); err != nil {
		return err
	}
	return s.write(ctx, func(u *unit) error { return u.finish(&l, &a) })
}

func (u *unit) finish(l *idempotency.Lock, a *idempotency.Answer) error {
	n, err := u.exec(finishKey, l.Key, l.Merchant, l.Token, a.Status, a.ContentType, row.Bytes(a.Body), now())
	if err == nil && n == 0 {
		return idempotency.ErrLost
	}
	return err
}

// seal stores the answer of a unit of work as its last statement. Nobody else
// can write between it and the commit.
func (u *unit) seal(seal *order.Seal) error {
	if seal == nil {
		return nil
	}
	l, a := row.SealLock(seal), row.SealAnswer(seal)
	err := u.finish(&l, &a)
	if errors.Is(err, idempotency.ErrLost) {
		return order.ErrSealBroken
	}
	return err
}

// ReleaseKey gives up a lock. See idempotency.Store.
func (s *Store) ReleaseKey(ctx context.Context, l idempotency.Lock) error {
	if err := row.CheckLock(&l); err != nil {
		return err
	}
	return s.write(ctx, func(u *unit) error {
		_, err := u.exec(releaseKey, l.Key, l.Merchant, l.Token)
		return err
	})
}

// PruneKeys removes old keys, a few at a time. See idempotency.Store.
func (s *Store) PruneKeys(ctx context.Context, age time.Duration, limit int) (int, error) {
	var pruned int64
	err := s.write(ctx, func(u *unit) (err error) {
		pruned, err = u.exec(pruneKeys, now()-age.Microseconds(), limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(pruned), nil
}
