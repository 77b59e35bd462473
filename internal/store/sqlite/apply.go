package sqlite

import (
	"fmt"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	insertOrder = `insert into orders (out_trade_no, merchant, rev, version, status, registered, expected_fen, currency, expires_at,
    amount_verified, provider, account, provider_txn_id, paid_fen, refunded_fen, paid_at, late, finished, created_at, updated_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
on conflict do nothing`

	updateOrder = `update orders set rev = ?3, version = ?4, status = ?5, registered = ?6, expected_fen = ?7, currency = ?8, expires_at = ?9,
    amount_verified = ?10, provider = ?11, account = ?12, provider_txn_id = ?13, paid_fen = ?14, refunded_fen = ?15, paid_at = ?16,
    late = ?17, finished = ?18, created_at = ?19, updated_at = ?20
where out_trade_no = ?1 and merchant = ?2 and rev = ?3 - 1`

	// A payment belongs to one order for good.
	putPayment = `insert into payments as p (provider_txn_id, provider, out_trade_no, merchant, position, account, amount_fen, currency,
    refunded_fen, role, paid_at, created_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
on conflict (provider_txn_id, provider) do update set
    position = excluded.position, account = excluded.account, amount_fen = excluded.amount_fen, currency = excluded.currency,
    refunded_fen = excluded.refunded_fen, role = excluded.role, paid_at = excluded.paid_at, created_at = excluded.created_at
where p.out_trade_no = excluded.out_trade_no and p.merchant = excluded.merchant`

	putRefund = `insert into refunds as r (ref, provider, provider_txn_id, out_trade_no, merchant, out_refund_no, provider_refund_id,
    amount_fen, total_fen, status, refunded_at, created_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
on conflict (ref, provider) do update set
    provider_txn_id = excluded.provider_txn_id, out_refund_no = excluded.out_refund_no, provider_refund_id = excluded.provider_refund_id,
    amount_fen = excluded.amount_fen, total_fen = excluded.total_fen, status = excluded.status, refunded_at = excluded.refunded_at,
    created_at = excluded.created_at
where r.out_trade_no = excluded.out_trade_no and r.merchant = excluded.merchant`

	insertNotification = `insert into notifications (id, received_at, provider, account, merchant, out_trade_no, kind, outcome, reason, results,
    fact_key, provider_id, claim_scope, numbers, copies, request_line, header, body, content)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
on conflict do nothing`

	insertNotificationOrder = `insert into notification_orders (out_trade_no, merchant, notification_id) values (?1, ?2, ?3)`

	resolveNotification = `update notifications set merchant = ?2, out_trade_no = ?3, outcome = ?4, reason = ?5, results = ?6 where id = ?1`

	deleteNotificationOrders = `delete from notification_orders where notification_id = ?1`

	insertWaiting = `insert into waiting (notification_id, idx, out_trade_no, merchant, provider_txn_id, provider, by_txn, received_at, fact)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
on conflict do nothing`

	deleteWaiting = `delete from waiting where notification_id = ?1 and idx = ?2`

	insertUnit = `insert into units (events) values (?1)`

	// The unit is the one that was just numbered.
	insertEvent = `insert into events (id, type, out_trade_no, merchant, order_version, from_status, to_status, kind, reason,
    notification_id, created_at, snapshot, unit, ordinal)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, (select max(unit) from units), ?13)
on conflict do nothing`
)

// apply writes sorted changes.
func (u *unit) apply(c *order.Changes) error {
	return firstError(
		func() error { return all(c.Orders, u.putOrder) },
		func() error { return all(c.Payments, u.putPayment) },
		func() error { return all(c.Refunds, u.putRefund) },
		func() error { return all(c.Notifications, u.insertNotification) },
		func() error { return all(c.Resolutions, u.resolve) },
		func() error { return all(c.Wait, u.insertWaiting) },
		func() error { return all(c.Done, u.deleteWaiting) },
		func() error { return u.insertEvents(c.Events) },
		func() error { return u.seal(c.Seal) }, // last: the lock must hold when all else is written
	)
}

func all[T any](rows []T, put func(*T) error) error {
	for i := range rows {
		if err := put(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// one runs a statement that has to write one row. When it wrote none, somebody
// else was first.
func (u *unit) one(what, query string, args ...any) error {
	n, err := u.exec(query, args...)
	if err == nil && n != 1 {
		return fmt.Errorf("%w: %s", order.ErrRace, what)
	}
	return err
}

func (u *unit) putOrder(o *order.Order) error {
	query := updateOrder
	if o.Rev == 1 {
		query = insertOrder
	}
	return u.one("an order has another revision", query,
		o.OutTradeNo, o.Merchant, o.Rev, o.Version, string(o.Status), o.Registered, o.ExpectedFen, o.Currency, row.Micros(o.ExpiresAt),
		o.AmountVerified, o.Provider, o.Account, o.ProviderTxnID, o.PaidFen, o.RefundedFen, row.Micros(o.PaidAt), o.Late, o.Finished,
		row.Micros(o.CreatedAt), row.Micros(o.UpdatedAt))
}

func (u *unit) putPayment(p *order.Payment) error {
	return u.one("a transaction is held by another order", putPayment,
		p.ProviderTxnID, p.Provider, p.Order.OutTradeNo, p.Order.Merchant, p.Position, p.Account, p.AmountFen, p.Currency,
		p.RefundedFen, string(p.Role), row.Micros(p.PaidAt), row.Micros(p.CreatedAt))
}

func (u *unit) putRefund(r *order.Refund) error {
	return u.one("a refund is held by another order", putRefund,
		r.Ref, r.Provider, r.ProviderTxnID, r.Order.OutTradeNo, r.Order.Merchant, r.OutRefundNo, r.ProviderRefundID,
		r.AmountFen, r.TotalFen, string(r.Status), row.Micros(r.RefundedAt), row.Micros(r.CreatedAt))
}

func (u *unit) insertNotification(n *order.Row) error {
	err := u.one("a notification is recorded already", insertNotification,
		n.ID, row.Micros(n.ReceivedAt), n.Provider, n.Account, n.Merchant, n.OutTradeNo, string(n.Kind), string(n.Outcome), string(n.Reason),
		row.Results(n), n.FactKey[:], n.ProviderID, row.Scope(n), n.Numbers, n.Copies,
		[]byte(n.Capture.RequestLine), row.Bytes(n.Capture.Header), row.Bytes(n.Capture.Body), n.Content)
	if err != nil {
		return err
	}
	return u.insertFurtherOrders(n.ID, order.Key{Merchant: n.Merchant, OutTradeNo: n.OutTradeNo}, n.Results)
}

func (u *unit) insertFurtherOrders(id string, first order.Key, results []order.FactResult) error {
	for _, k := range row.FurtherOrders(first, results) {
		if _, err := u.exec(insertNotificationOrder, k.OutTradeNo, k.Merchant, id); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) resolve(r *order.Resolution) error {
	err := u.one("a notification to resolve is not there", resolveNotification,
		r.NotificationID, r.Merchant, r.OutTradeNo, string(r.Outcome), string(r.Reason), row.ResolvedResults(r))
	if err != nil {
		return err
	}
	if _, err := u.exec(deleteNotificationOrders, r.NotificationID); err != nil {
		return err
	}
	return u.insertFurtherOrders(r.NotificationID, order.Key{Merchant: r.Merchant, OutTradeNo: r.OutTradeNo}, r.Results)
}

func (u *unit) insertWaiting(w *order.Waiting) error {
	f := &w.Fact
	return u.one("a fact is waiting already", insertWaiting,
		w.NotificationID, w.Index, f.OutTradeNo, f.Merchant, f.ProviderTxnID, f.Provider, f.ByTxn, row.Micros(w.ReceivedAt), row.Fact(f))
}

func (u *unit) deleteWaiting(k *order.WaitingKey) error {
	return u.one("a fact is not waiting any more", deleteWaiting, k.NotificationID, k.Index)
}

func (u *unit) insertEvents(events []order.Event) error {
	if len(events) == 0 {
		return nil
	}
	if _, err := u.exec(insertUnit, len(events)); err != nil {
		return err
	}
	for i, ordinal := range row.Ordinals(events) {
		if err := u.insertEvent(&events[i], ordinal); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) insertEvent(e *order.Event, ordinal int64) error {
	return u.one("an event was written already", insertEvent,
		e.ID, string(e.Type), e.Key.OutTradeNo, e.Key.Merchant, row.Null(e.OrderVersion), string(e.From), string(e.To),
		string(e.Kind), string(e.Reason), row.Null(e.NotificationID), row.Micros(e.CreatedAt), string(e.Snapshot), ordinal)
}
