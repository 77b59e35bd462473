package peer

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The four statements. The driver prepares each once per connection.
const (
	keepNotification = `insert into notifications (provider, dedup_key, out_trade_no, header, body, received_at)
values ($1, $2, $3, $4, $5, $6) on conflict (provider, dedup_key) do nothing returning id`

	lockOrder = `select out_trade_no, amount_fen, status, provider_txn_id, refunded_fen, paid_at from orders where out_trade_no = $1 for update`

	moveOrder = `update orders set status = $2, provider_txn_id = $3, refunded_fen = $4, paid_at = $5, updated_at = $6 where out_trade_no = $1`

	tellEvent = `insert into events (type, out_trade_no, notification_id, payload, created_at) values ($1, $2, $3, $4, $5)`
)

// pgxLedger keeps notifications by pgx alone.
type pgxLedger struct{ pool *pgxpool.Pool }

func openPgx(ctx context.Context, url string) (*pgxLedger, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = ConnLimit
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &pgxLedger{pool}, pool.Ping(ctx)
}

func (l *pgxLedger) close() { l.pool.Close() }

// errCopy ends the transaction of a notification that is kept already.
var errCopy = errors.New("kept already")

func (l *pgxLedger) record(ctx context.Context, in inbound) error {
	err := pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, keepNotification, in.Provider, in.Key, in.OutTradeNo, in.Header, in.Body, in.ReceivedAt).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return errCopy
		}
		if err != nil {
			return err
		}
		var o order
		err = tx.QueryRow(ctx, lockOrder, in.OutTradeNo).
			Scan(&o.OutTradeNo, &o.AmountFen, &o.Status, &o.ProviderTxnID, &o.RefundedFen, &o.PaidAt)
		known := !errors.Is(err, pgx.ErrNoRows)
		if err != nil && known {
			return err
		}
		now := time.Now()
		d, err := decide(o, known, in.fact, now)
		if err != nil {
			return err
		}
		if d.changed {
			n := d.order
			if _, err := tx.Exec(ctx, moveOrder, n.OutTradeNo, n.Status, n.ProviderTxnID, n.RefundedFen, n.PaidAt, now); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, tellEvent, d.event, in.OutTradeNo, id, d.payload, now)
		return err
	})
	if errors.Is(err, errCopy) {
		return nil
	}
	return err
}
