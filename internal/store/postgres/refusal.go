package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/refusal"
	"github.com/notifyd/notifyd/internal/store/row"
)

// refusalLock is the advisory lock of whoever adds refusals, "ntfyrefu": with
// two instances at it, each would count without the other's.
const refusalLock int64 = 0x6e74667972656675

const (
	lockRefusals = `select pg_advisory_xact_lock($1)`

	insertRefusal = `insert into refusals (id, received_at, account, provider, code, detail, status, peer,
    body_bytes, body_sha256, cut, kept_bytes, size, request_line, header, body)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
on conflict (id) do nothing`

	// Each code's newest come first, then each code's second, and so on: a code
	// that floods fills what the others leave free, and no more. The sums are over
	// a row and all before it.
	trimRefusals = `delete from refusals where id in (select id from (
    select id, row_number() over w as place, sum(size) over w as bytes
    from (select id, size, row_number() over (partition by code order by id desc) as turn from refusals where account = $1) ranked
    window w as (order by turn, id desc rows unbounded preceding)) placed
where place > $2 or bytes > $3)`

	// The same over all accounts, whether anything comes to them or not. '' has
	// bounds of its own.
	trimAllRefusals = `delete from refusals where id in (select id from (
    select id, account, row_number() over w as place, sum(size) over w as bytes
    from (select id, account, size, row_number() over (partition by account, code order by id desc) as turn from refusals) ranked
    window w as (partition by account order by turn, id desc rows unbounded preceding)) placed
where place > case account when '' then $1::bigint else $2::bigint end or bytes > case account when '' then $3::bigint else $4::bigint end
order by id limit $5)`

	pruneRefusals = `delete from refusals where id in (select id from refusals where received_at < $1 order by id limit $2)`

	oneRefusal = `select ` + row.RefusalColumns + `, r.header, r.body from refusals r where r.id = $1`
)

// KeepRefusals writes refusals and removes what is beyond the bounds, in one
// round trip on a connection that nothing else uses. See refusal.Store.
func (s *Store) KeepRefusals(ctx context.Context, rows []refusal.Refusal, bounds refusal.Bounds) error {
	var batch pgx.Batch // one transaction: it is sent as one
	batch.Queue(lockRefusals, refusalLock)
	accounts := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		if err := row.CheckRefusal(r); err != nil {
			return err
		}
		accounts[r.Account] = true
		batch.Queue(insertRefusal, r.ID, micros(r.ReceivedAt), r.Account, r.Provider, r.Code, r.Detail, r.Status, r.Peer,
			r.BodyBytes, r.BodySHA256[:], r.Cut, len(r.Capture.Body), r.Size(),
			[]byte(r.Capture.RequestLine), row.Bytes(r.Capture.Header), row.Bytes(r.Capture.Body))
	}
	if len(rows) == 0 {
		return nil
	}
	for account := range accounts {
		bound := bounds.Of(account)
		batch.Queue(trimRefusals, account, bound.Count, bound.Bytes)
	}
	return s.on(ctx, s.keepers, func(ctx context.Context, conn *pgxpool.Conn) error { return conn.SendBatch(ctx, &batch).Close() })
}

// TrimRefusals removes what is beyond the bounds. See refusal.Store.
func (s *Store) TrimRefusals(ctx context.Context, bounds refusal.Bounds, limit int) (int, error) {
	return s.removeRefusals(ctx, trimAllRefusals, bounds.Unknown.Count, bounds.Account.Count, bounds.Unknown.Bytes, bounds.Account.Bytes, limit)
}

// PruneRefusals removes old refusals. See refusal.Store.
func (s *Store) PruneRefusals(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.removeRefusals(ctx, pruneRefusals, before.UnixMicro(), limit)
}

func (s *Store) removeRefusals(ctx context.Context, statement string, args ...any) (int, error) {
	var removed int64
	err := s.on(ctx, s.keepers, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, lockRefusals, refusalLock); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, statement, args...)
			removed = tag.RowsAffected()
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return int(removed), nil
}

// Refusals lists refusals, newest first; limits as for Orders.
func (s *Store) Refusals(ctx context.Context, f refusal.Filter) ([]refusal.Refusal, error) {
	query, args, ok := row.RefusalQuery(mark, &f)
	if !ok {
		return []refusal.Refusal{}, nil
	}
	return list(ctx, s, func(r row.Scanner) (refusal.Refusal, error) { return row.ScanRefusal(r) }, query, args...)
}

// Refusal is one refusal with its capture.
func (s *Store) Refusal(ctx context.Context, id string) (r refusal.Refusal, err error) {
	if !row.IsKey(id) {
		return r, order.ErrUnknown
	}
	var header, body []byte
	err = s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		r, err = row.ScanRefusal(conn.QueryRow(ctx, oneRefusal, id), &header, &body)
		return err
	})
	r.Capture.Header, r.Capture.Body = row.Bytes(header), row.Bytes(body)
	return r, err
}
