package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// Each statement writes its rows in the order of the arrays and counts them: a
// row that was not written is a race that was lost, and wrote ends the
// transaction before its commit.
var (
	// A row that is new is inserted and nothing else: should it be there after
	// all, its key is the race that was lost. Looking for conflicts row by row
	// costs as much as writing them.
	insertOrders = `insert into orders (out_trade_no, merchant, rev, version, status, registered, expected_fen, currency, expires_at,
    amount_verified, provider, account, provider_txn_id, paid_fen, refunded_fen, paid_at, late, finished, created_at, updated_at)
select * from ` + orderRows

	updateOrders = `with w as (update orders o set
    rev = n.rev, version = n.version, status = n.status, registered = n.registered, expected_fen = n.expected_fen, currency = n.currency,
    expires_at = n.expires_at, amount_verified = n.amount_verified, provider = n.provider, account = n.account,
    provider_txn_id = n.provider_txn_id, paid_fen = n.paid_fen, refunded_fen = n.refunded_fen, paid_at = n.paid_at, late = n.late,
    finished = n.finished, created_at = n.created_at, updated_at = n.updated_at
from ` + orderRows + `
where o.out_trade_no = n.out_trade_no and o.merchant = n.merchant and o.rev = n.rev - 1
returning 1) select wrote(count(*), cardinality($1::text[])) from w`

	orderRows = rowsOf("n", `out_trade_no text, merchant text, rev bigint, version bigint, status text, registered boolean, expected_fen bigint,
    currency text, expires_at bigint, amount_verified boolean, provider text, account text, provider_txn_id text, paid_fen bigint,
    refunded_fen bigint, paid_at bigint, late boolean, finished boolean, created_at bigint, updated_at bigint`)

	insertPayments = `insert into payments (provider_txn_id, provider, out_trade_no, merchant, position, account, amount_fen, currency,
    refunded_fen, role, paid_at, created_at)
select * from ` + paymentRows

	// A payment belongs to one order for good.
	updatePayments = `with w as (update payments p set
    position = n.position, account = n.account, amount_fen = n.amount_fen, currency = n.currency,
    refunded_fen = n.refunded_fen, role = n.role, paid_at = n.paid_at, created_at = n.created_at
from ` + paymentRows + `
where p.provider_txn_id = n.provider_txn_id and p.provider = n.provider and p.out_trade_no = n.out_trade_no and p.merchant = n.merchant
returning 1) select wrote(count(*), cardinality($1::text[])) from w`

	paymentRows = rowsOf("n", `provider_txn_id text, provider text, out_trade_no text, merchant text, position bigint, account text,
    amount_fen bigint, currency text, refunded_fen bigint, role text, paid_at bigint, created_at bigint`)

	putRefunds = `with w as (insert into refunds as r (ref, provider, provider_txn_id, out_trade_no, merchant, out_refund_no, provider_refund_id,
    amount_fen, total_fen, status, refunded_at, created_at)
select * from ` + rowsOf("n", `ref text, provider text, provider_txn_id text, out_trade_no text, merchant text, out_refund_no text,
    provider_refund_id text, amount_fen bigint, total_fen bigint, status text, refunded_at bigint, created_at bigint`) + `
on conflict (ref, provider) do update set
    provider_txn_id = excluded.provider_txn_id, out_refund_no = excluded.out_refund_no, provider_refund_id = excluded.provider_refund_id,
    amount_fen = excluded.amount_fen, total_fen = excluded.total_fen, status = excluded.status, refunded_at = excluded.refunded_at,
    created_at = excluded.created_at
where r.out_trade_no = excluded.out_trade_no and r.merchant = excluded.merchant
returning 1) select wrote(count(*), cardinality($1::text[])) from w`

	insertNotifications = `insert into notifications (id, received_at, provider, account, merchant, out_trade_no, kind, outcome, reason,
    results, fact_key, provider_id, claim_scope, numbers, copies, request_line, header, body, content)
select * from ` + rowsOf("n", `id text, received_at bigint, provider text, account text, merchant text, out_trade_no text, kind text,
    outcome text, reason text, results text, fact_key bytea, provider_id text, claim_scope text, numbers text, copies bigint,
    request_line bytea, header bytea, body bytea, content bytea`)

	insertNotificationOrders = `insert into notification_orders (out_trade_no, merchant, notification_id)
select * from ` + rowsOf("n", `out_trade_no text, merchant text, notification_id text`)

	// An update of several rows locks them in an order of its own.
	lockNotifications = `select 1 from notifications where id = any($1::text[]) order by id for update`

	resolveNotifications = `with w as (update notifications n set merchant = r.merchant, out_trade_no = r.out_trade_no, outcome = r.outcome,
    reason = r.reason, results = r.results
from ` + rowsOf("r", `id text, merchant text, out_trade_no text, outcome text, reason text, results text`) + `
where n.id = r.id
returning 1) select wrote(count(*), cardinality($1::text[])) from w`

	deleteNotificationOrders = `delete from notification_orders where notification_id = any($1::text[])`

	insertWaiting = `insert into waiting (notification_id, idx, out_trade_no, merchant, provider_txn_id, provider, by_txn, received_at, fact)
select * from ` + rowsOf("n", `notification_id text, idx bigint, out_trade_no text, merchant text, provider_txn_id text, provider text,
    by_txn boolean, received_at bigint, fact text`)

	deleteWaiting = `with w as (delete from waiting w using ` + rowsOf("d", `notification_id text, idx bigint`) + `
where w.notification_id = d.notification_id and w.idx = d.idx
returning 1) select wrote(count(*), cardinality($1::text[])) from w`

	// The unit takes its number here, after its locks: a later unit of the same
	// order, which waits for them, has a greater one. See order.Feed.
	insertEvents = `with u as (insert into units (events) values (cardinality($1::text[])) returning unit)
insert into events (unit, id, type, out_trade_no, merchant, order_version, from_status, to_status, kind, reason,
    notification_id, created_at, snapshot, ordinal)
select u.unit, n.* from u cross join ` + rowsOf("n", `id text, type text, out_trade_no text, merchant text, order_version bigint,
    from_status text, to_status text, kind text, reason text, notification_id text, created_at bigint, snapshot text, ordinal bigint`)
)

// apply writes sorted changes and commits, in one round trip. known says which
// payments the unit found.
func (s *Store) apply(ctx context.Context, conn *pgxpool.Conn, c *order.Changes, known map[order.TxnKey]bool) error {
	var batch pgx.Batch
	s.queueChanges(&batch, c, known)
	queueCommit(&batch)
	// A warning of an earlier statement says nothing about this commit.
	delete(conn.Conn().PgConn().CustomData(), unreplicated)
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		return err
	}
	return replicated(conn.Conn().PgConn())
}

// queueChanges queues the writes of a unit of work, a statement for each kind. One
// statement of several kinds was measured, and costs the database no less.
func (s *Store) queueChanges(batch *pgx.Batch, c *order.Changes, known map[order.TxnKey]bool) {
	fresh, changed := split(c.Orders, func(o *order.Order) bool { return o.Rev == 1 })
	queueOrderRows(batch, insertOrders, fresh)
	queueOrderRows(batch, updateOrders, changed)
	first, again := split(c.Payments, func(p *order.Payment) bool { return !known[p.TxnKey] })
	queuePaymentRows(batch, insertPayments, first)
	queuePaymentRows(batch, updatePayments, again)
	queueRefundRows(batch, c.Refunds)
	queueNotificationRows(batch, c.Notifications)
	queueResolutions(batch, c.Resolutions)
	queueWaitingRows(batch, c.Wait)
	queueDone(batch, c.Done)
	queueEventRows(batch, c.Events)
	queueDeliveryRows(batch, s.subscriptions.Deliveries(c.Events))
	queueFurtherOrders(batch, c)
	queueSeal(batch, c.Seal) // last: the lock must hold when all else is written
}

var errNotCommitted = errors.New("the server rolled back instead of committing")

func queueCommit(batch *pgx.Batch) {
	batch.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
		// A failed transaction answers a commit with a rollback and no error.
		if tag.String() != "COMMIT" {
			return fmt.Errorf("%w: %w", order.ErrUnavailable, errNotCommitted)
		}
		return nil
	})
}

// replicated is an error when the server committed but gave up to wait for the
// standby that it must wait for: the commit may not survive a failover, so that
// nothing may be acked on it.
func replicated(conn *pgconn.PgConn) error {
	if conn.CustomData()[unreplicated] == nil {
		return nil
	}
	return fmt.Errorf("%w: the commit did not reach the standby", order.ErrUnavailable)
}

// split parts rows in two, each in the order that it had.
func split[T any](rows []T, is func(*T) bool) (yes, no []T) {
	for i := range rows {
		if is(&rows[i]) {
			yes = append(yes, rows[i])
		} else {
			no = append(no, rows[i])
		}
	}
	return yes, no
}

// column gathers one column of many rows.
func column[T, V any](rows []T, value func(*T) V) []V {
	all := make([]V, len(rows))
	for i := range rows {
		all[i] = value(&rows[i])
	}
	return all
}

func queueOrderRows(batch *pgx.Batch, statement string, rows []order.Order) {
	if len(rows) == 0 {
		return
	}
	type o = order.Order
	batch.Queue(statement,
		column(rows, func(r *o) string { return r.OutTradeNo }),
		column(rows, func(r *o) string { return r.Merchant }),
		column(rows, func(r *o) int64 { return r.Rev }),
		column(rows, func(r *o) int64 { return r.Version }),
		column(rows, func(r *o) string { return string(r.Status) }),
		column(rows, func(r *o) bool { return r.Registered }),
		column(rows, func(r *o) int64 { return r.ExpectedFen }),
		column(rows, func(r *o) string { return r.Currency }),
		column(rows, func(r *o) *int64 { return row.Micros(r.ExpiresAt) }),
		column(rows, func(r *o) bool { return r.AmountVerified }),
		column(rows, func(r *o) string { return r.Provider }),
		column(rows, func(r *o) string { return r.Account }),
		column(rows, func(r *o) string { return r.ProviderTxnID }),
		column(rows, func(r *o) int64 { return r.PaidFen }),
		column(rows, func(r *o) int64 { return r.RefundedFen }),
		column(rows, func(r *o) *int64 { return row.Micros(r.PaidAt) }),
		column(rows, func(r *o) bool { return r.Late }),
		column(rows, func(r *o) bool { return r.Finished }),
		column(rows, func(r *o) *int64 { return row.Micros(r.CreatedAt) }),
		column(rows, func(r *o) *int64 { return row.Micros(r.UpdatedAt) }))
}

func queuePaymentRows(batch *pgx.Batch, statement string, rows []order.Payment) {
	if len(rows) == 0 {
		return
	}
	type p = order.Payment
	batch.Queue(statement,
		column(rows, func(r *p) string { return r.ProviderTxnID }),
		column(rows, func(r *p) string { return r.Provider }),
		column(rows, func(r *p) string { return r.Order.OutTradeNo }),
		column(rows, func(r *p) string { return r.Order.Merchant }),
		column(rows, func(r *p) int64 { return int64(r.Position) }),
		column(rows, func(r *p) string { return r.Account }),
		column(rows, func(r *p) int64 { return r.AmountFen }),
		column(rows, func(r *p) string { return r.Currency }),
		column(rows, func(r *p) int64 { return r.RefundedFen }),
		column(rows, func(r *p) string { return string(r.Role) }),
		column(rows, func(r *p) *int64 { return row.Micros(r.PaidAt) }),
		column(rows, func(r *p) *int64 { return row.Micros(r.CreatedAt) }))
}

func queueRefundRows(batch *pgx.Batch, rows []order.Refund) {
	if len(rows) == 0 {
		return
	}
	type f = order.Refund
	batch.Queue(putRefunds,
		column(rows, func(r *f) string { return r.Ref }),
		column(rows, func(r *f) string { return r.Provider }),
		column(rows, func(r *f) string { return r.ProviderTxnID }),
		column(rows, func(r *f) string { return r.Order.OutTradeNo }),
		column(rows, func(r *f) string { return r.Order.Merchant }),
		column(rows, func(r *f) string { return r.OutRefundNo }),
		column(rows, func(r *f) string { return r.ProviderRefundID }),
		column(rows, func(r *f) int64 { return r.AmountFen }),
		column(rows, func(r *f) int64 { return r.TotalFen }),
		column(rows, func(r *f) string { return string(r.Status) }),
		column(rows, func(r *f) *int64 { return row.Micros(r.RefundedAt) }),
		column(rows, func(r *f) *int64 { return row.Micros(r.CreatedAt) }))
}

func queueNotificationRows(batch *pgx.Batch, rows []order.Row) {
	if len(rows) == 0 {
		return
	}
	type n = order.Row
	batch.Queue(insertNotifications,
		column(rows, func(r *n) string { return r.ID }),
		column(rows, func(r *n) *int64 { return row.Micros(r.ReceivedAt) }),
		column(rows, func(r *n) string { return r.Provider }),
		column(rows, func(r *n) string { return r.Account }),
		column(rows, func(r *n) string { return r.Merchant }),
		column(rows, func(r *n) string { return r.OutTradeNo }),
		column(rows, func(r *n) string { return string(r.Kind) }),
		column(rows, func(r *n) string { return string(r.Outcome) }),
		column(rows, func(r *n) string { return string(r.Reason) }),
		column(rows, row.Results),
		column(rows, func(r *n) []byte { return r.FactKey[:] }),
		column(rows, func(r *n) string { return r.ProviderID }),
		column(rows, row.Scope),
		column(rows, func(r *n) string { return r.Numbers }),
		column(rows, func(r *n) int64 { return r.Copies }),
		column(rows, func(r *n) []byte { return []byte(r.Capture.RequestLine) }),
		column(rows, func(r *n) []byte { return row.Bytes(r.Capture.Header) }),
		column(rows, func(r *n) []byte { return row.Bytes(r.Capture.Body) }),
		column(rows, func(r *n) []byte { return r.Content }))
}

func queueResolutions(batch *pgx.Batch, rows []order.Resolution) {
	if len(rows) == 0 {
		return
	}
	type s = order.Resolution
	ids := column(rows, func(r *s) string { return r.NotificationID })
	batch.Queue(lockNotifications, ids)
	batch.Queue(resolveNotifications, ids,
		column(rows, func(r *s) string { return r.Merchant }),
		column(rows, func(r *s) string { return r.OutTradeNo }),
		column(rows, func(r *s) string { return string(r.Outcome) }),
		column(rows, func(r *s) string { return string(r.Reason) }),
		column(rows, row.ResolvedResults))
	batch.Queue(deleteNotificationOrders, ids)
}

// queueFurtherOrders writes the further orders of new and of resolved
// notifications.
func queueFurtherOrders(batch *pgx.Batch, c *order.Changes) {
	var numbers, merchants, ids []string
	add := func(id, merchant, outTradeNo string, results []order.FactResult) {
		for _, k := range row.FurtherOrders(order.Key{Merchant: merchant, OutTradeNo: outTradeNo}, results) {
			numbers, merchants, ids = append(numbers, k.OutTradeNo), append(merchants, k.Merchant), append(ids, id)
		}
	}
	for i := range c.Notifications {
		n := &c.Notifications[i]
		add(n.ID, n.Merchant, n.OutTradeNo, n.Results)
	}
	for i := range c.Resolutions {
		r := &c.Resolutions[i]
		add(r.NotificationID, r.Merchant, r.OutTradeNo, r.Results)
	}
	if len(ids) > 0 {
		batch.Queue(insertNotificationOrders, numbers, merchants, ids)
	}
}

func queueWaitingRows(batch *pgx.Batch, rows []order.Waiting) {
	if len(rows) == 0 {
		return
	}
	type w = order.Waiting
	batch.Queue(insertWaiting,
		column(rows, func(r *w) string { return r.NotificationID }),
		column(rows, func(r *w) int64 { return int64(r.Index) }),
		column(rows, func(r *w) string { return r.Fact.OutTradeNo }),
		column(rows, func(r *w) string { return r.Fact.Merchant }),
		column(rows, func(r *w) string { return r.Fact.ProviderTxnID }),
		column(rows, func(r *w) string { return r.Fact.Provider }),
		column(rows, func(r *w) bool { return r.Fact.ByTxn }),
		column(rows, func(r *w) *int64 { return row.Micros(r.ReceivedAt) }),
		column(rows, func(r *w) string { return row.Fact(&r.Fact) }))
}

func queueDone(batch *pgx.Batch, rows []order.WaitingKey) {
	if len(rows) == 0 {
		return
	}
	batch.Queue(deleteWaiting,
		column(rows, func(k *order.WaitingKey) string { return k.NotificationID }),
		column(rows, func(k *order.WaitingKey) int64 { return int64(k.Index) }))
}

func queueEventRows(batch *pgx.Batch, rows []order.Event) {
	if len(rows) == 0 {
		return
	}
	type e = order.Event
	batch.Queue(insertEvents,
		column(rows, func(r *e) string { return r.ID }),
		column(rows, func(r *e) string { return string(r.Type) }),
		column(rows, func(r *e) string { return r.Key.OutTradeNo }),
		column(rows, func(r *e) string { return r.Key.Merchant }),
		column(rows, func(r *e) *int64 { return row.Null(r.OrderVersion) }),
		column(rows, func(r *e) string { return string(r.From) }),
		column(rows, func(r *e) string { return string(r.To) }),
		column(rows, func(r *e) string { return string(r.Kind) }),
		column(rows, func(r *e) string { return string(r.Reason) }),
		column(rows, func(r *e) *string { return row.Null(r.NotificationID) }),
		column(rows, func(r *e) *int64 { return row.Micros(r.CreatedAt) }),
		column(rows, func(r *e) string { return string(r.Snapshot) }),
		row.Ordinals(rows))
}
