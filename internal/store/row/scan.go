package row

import "github.com/notifyd/notifyd/internal/order"

// The columns that the Scan functions read, in their order. The table's alias
// is its first letter.
const (
	OrderColumns = `o.out_trade_no, o.merchant, o.rev, o.version, o.status, o.registered, o.expected_fen, o.currency, o.expires_at,
o.amount_verified, o.provider, o.account, o.provider_txn_id, o.paid_fen, o.refunded_fen, o.paid_at, o.late, o.finished,
o.created_at, o.updated_at`

	PaymentColumns = `p.provider_txn_id, p.provider, p.out_trade_no, p.merchant, p.position, p.account, p.amount_fen, p.currency,
p.refunded_fen, p.role, p.paid_at, p.created_at`

	RefundColumns = `r.ref, r.provider, r.provider_txn_id, r.out_trade_no, r.merchant, r.out_refund_no, r.provider_refund_id,
r.amount_fen, r.total_fen, r.status, r.refunded_at, r.created_at`

	NotificationColumns = `n.id, n.received_at, n.provider, n.account, n.merchant, n.out_trade_no, n.kind, n.outcome, n.reason, n.results,
n.fact_key, n.provider_id, n.claim_scope, n.numbers, n.copies`

	RefColumns = `n.id, n.outcome, n.reason`

	WaitingColumns = `w.notification_id, w.idx, w.received_at, w.fact,
n.merchant, n.out_trade_no, n.kind, n.outcome, n.reason, n.results`

	EventColumns = `e.id, e.type, e.out_trade_no, e.merchant, e.order_version, e.from_status, e.to_status, e.kind, e.reason,
e.notification_id, e.created_at`

	// FeedColumns are the TellingColumns of an event whose unit is at hand.
	FeedColumns = EventColumns + `, u.base + e.ordinal, e.snapshot`
)

// OrderScanner reads OrderColumns, one row after another through the same
// places: every unit of work reads a list of orders. It serves one query.
func OrderScanner() func(Scanner) (order.Order, error) {
	var o order.Order
	var expires, paid *int64
	var created, updated int64
	columns := []any{&o.OutTradeNo, &o.Merchant, &o.Rev, &o.Version, &o.Status, &o.Registered, &o.ExpectedFen, &o.Currency, &expires,
		&o.AmountVerified, &o.Provider, &o.Account, &o.ProviderTxnID, &o.PaidFen, &o.RefundedFen, &paid, &o.Late, &o.Finished,
		&created, &updated}
	return func(s Scanner) (order.Order, error) {
		if err := s.Scan(columns...); err != nil {
			return order.Order{}, err
		}
		o.ExpiresAt, o.PaidAt, o.CreatedAt, o.UpdatedAt = Time(expires), Time(paid), Time(&created), Time(&updated)
		return o, nil
	}
}

// ScanOrder reads OrderColumns.
func ScanOrder(s Scanner) (order.Order, error) { return OrderScanner()(s) }

// ScanPayment reads PaymentColumns.
func ScanPayment(s Scanner) (p order.Payment, err error) {
	var paid, created *int64
	err = s.Scan(&p.ProviderTxnID, &p.Provider, &p.Order.OutTradeNo, &p.Order.Merchant, &p.Position, &p.Account, &p.AmountFen, &p.Currency,
		&p.RefundedFen, &p.Role, &paid, &created)
	p.PaidAt, p.CreatedAt = Time(paid), Time(created)
	return p, err
}

// ScanRefund reads RefundColumns.
func ScanRefund(s Scanner) (r order.Refund, err error) {
	var refunded, created *int64
	err = s.Scan(&r.Ref, &r.Provider, &r.ProviderTxnID, &r.Order.OutTradeNo, &r.Order.Merchant, &r.OutRefundNo, &r.ProviderRefundID,
		&r.AmountFen, &r.TotalFen, &r.Status, &refunded, &created)
	r.RefundedAt, r.CreatedAt = Time(refunded), Time(created)
	return r, err
}

// ScanNotification reads NotificationColumns, and into more what follows them.
func ScanNotification(s Scanner, more ...any) (n order.Row, err error) {
	var received *int64
	var results, scope *string
	var key []byte
	err = s.Scan(append([]any{&n.ID, &received, &n.Provider, &n.Account, &n.Merchant, &n.OutTradeNo, &n.Kind, &n.Outcome, &n.Reason, &results,
		&key, &n.ProviderID, &scope, &n.Numbers, &n.Copies}, more...)...)
	if err != nil {
		return n, err
	}
	n.ReceivedAt = Time(received)
	copy(n.FactKey[:], key)
	if scope != nil {
		n.Claim = order.ProviderKey{Provider: n.Provider, Scope: *scope, ProviderID: n.ProviderID}
	}
	n.Results, err = readResults(results, order.FactResult{
		Merchant: n.Merchant, OutTradeNo: n.OutTradeNo, Kind: n.Kind, Outcome: n.Outcome, Reason: n.Reason})
	return n, err
}

// ScanKnown reads the fact key and RefColumns.
func ScanKnown(s Scanner) (key order.FactKey, ref order.Ref, err error) {
	var b []byte
	err = s.Scan(&b, &ref.NotificationID, &ref.Outcome, &ref.Reason)
	copy(key[:], b)
	return key, ref, err
}

// ScanProvider reads provider, claim_scope, provider_id, numbers and RefColumns.
func ScanProvider(s Scanner) (key order.ProviderKey, ref order.Ref, err error) {
	err = s.Scan(&key.Provider, &key.Scope, &key.ProviderID, &ref.Numbers, &ref.NotificationID, &ref.Outcome, &ref.Reason)
	return key, ref, err
}

// ScanWaiting reads WaitingColumns.
func ScanWaiting(s Scanner) (w order.Waiting, err error) {
	var received *int64
	var fact string
	var results *string
	var plain order.FactResult
	err = s.Scan(&w.NotificationID, &w.Index, &received, &fact,
		&plain.Merchant, &plain.OutTradeNo, &plain.Kind, &plain.Outcome, &plain.Reason, &results)
	if err != nil {
		return w, err
	}
	w.ReceivedAt = Time(received)
	if w.Fact, err = readFact(fact); err != nil {
		return w, err
	}
	w.Results, err = readResults(results, plain)
	return w, err
}

// ScanEvent reads EventColumns.
func ScanEvent(s Scanner) (e order.Event, err error) {
	var version, created *int64
	var notification *string
	err = s.Scan(&e.ID, &e.Type, &e.Key.OutTradeNo, &e.Key.Merchant, &version, &e.From, &e.To, &e.Kind, &e.Reason,
		&notification, &created)
	e.OrderVersion, e.NotificationID, e.CreatedAt = Value(version), Value(notification), Time(created)
	return e, err
}
