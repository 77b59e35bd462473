// Package order is the domain: what an order is, what a notification says about
// it, and what follows. It owns the statuses, the facts, the transition table,
// the verbs a store must offer and the Recorder that commits notifications in
// groups.
//
// It imports the standard library only, and of that nothing that talks to a
// network or a database. The clock and the ids come in as functions.
package order

import "time"

// Key names an order. Merchant is the configured merchant's name; in partner
// mode the sub-merchant's number follows after a slash ("default/1900000109"),
// because sub-merchants may use the same order numbers.
type Key struct{ Merchant, OutTradeNo string }

// TxnKey names a payment at its provider: WeChat Pay's transaction_id, Alipay's
// trade_no. The account's configured name is no part of it, because names change.
type TxnKey struct{ Provider, ProviderTxnID string }

// RefundKey names a refund at its provider. Ref is WeChat Pay's refund_id; for
// Alipay, which sends no refund id but a running total, it is "trade_no/total".
type RefundKey struct{ Provider, Ref string }

// Status is where an order stands.
type Status string

// The statuses. A partly refunded order is a paid, shipped or completed one
// with 0 < RefundedFen < PaidFen.
const (
	None      Status = "" // no order yet: the "from" of an order's first event
	Created   Status = "created"
	Pending   Status = "pending"
	Paid      Status = "paid"
	Shipped   Status = "shipped"
	Completed Status = "completed"
	Cancelled Status = "cancelled"
	Closed    Status = "closed"
	Refunded  Status = "refunded"
)

// Statuses lists every status an order can have.
func Statuses() []Status {
	return []Status{Created, Pending, Paid, Shipped, Completed, Cancelled, Closed, Refunded}
}

// Order is one row: the order's own numbers and a mirror of its accepted
// payment. Amounts are in fen, times in UTC to the microsecond; a zero time or
// an empty text means unknown.
type Order struct {
	Key
	Rev            int64 // compare-and-set counter of the row, grows by one with each write; 0: not stored yet. Never shown
	Version        int64 // how many events the order has had, conflicts included
	Status         Status
	Registered     bool   // the merchant said what to expect
	ExpectedFen    int64  // only when Registered
	Currency       string // the expected one when Registered, otherwise the accepted payment's; "" until known
	ExpiresAt      time.Time
	AmountVerified bool // the accepted payment is what was expected

	// Of the accepted payment; empty while there is none.
	Provider, Account, ProviderTxnID string
	PaidFen, RefundedFen             int64
	PaidAt                           time.Time
	Late, Finished                   bool

	CreatedAt, UpdatedAt time.Time
}

// HasAccepted says whether the order has its accepted payment.
func (o *Order) HasAccepted() bool { return o.ProviderTxnID != "" }

// Role is what a kept payment means to its order.
type Role string

// The roles.
const (
	Accepted   Role = "accepted"   // the one that paid the order
	Surplus    Role = "surplus"    // a further payment: money to give back
	Mismatched Role = "mismatched" // not the expected amount or currency
)

// Payment is money that arrived, in whatever role.
type Payment struct {
	TxnKey
	Order       Key
	Position    int // 0 is the accepted payment, the others count from 1: unique per order, so the database allows one accepted payment at most
	Account     string
	AmountFen   int64
	Currency    string // "" when only a refund implied the payment and did not say
	RefundedFen int64
	Role        Role
	PaidAt      time.Time
	CreatedAt   time.Time
}

// RefundStatus is how a refund ended.
type RefundStatus string

// The refund statuses. Success is final.
const (
	RefundSuccess  RefundStatus = "success"
	RefundClosed   RefundStatus = "closed"
	RefundAbnormal RefundStatus = "abnormal"
)

// Refund is one refund of one payment.
type Refund struct {
	RefundKey
	ProviderTxnID    string
	Order            Key
	OutRefundNo      string
	ProviderRefundID string // "" for Alipay
	AmountFen        int64  // of this refund; for a running total the difference to the next lower one
	TotalFen         int64  // Alipay's running total; 0 where the provider does not speak in totals
	Status           RefundStatus
	RefundedAt       time.Time
	CreatedAt        time.Time
}

// EventType names what the merchant is told.
type EventType string

// The event types.
const (
	EventCreated      EventType = "order.created"
	EventPending      EventType = "order.pending"
	EventPaid         EventType = "order.paid"
	EventShipped      EventType = "order.shipped"
	EventCompleted    EventType = "order.completed"
	EventCancelled    EventType = "order.cancelled"
	EventClosed       EventType = "order.closed"
	EventRefunded     EventType = "order.refunded"
	EventRefundFailed EventType = "order.refund_failed"
	EventFinished     EventType = "order.finished"
	EventConflict     EventType = "order.conflict"
	EventUnhandled    EventType = "notification.unhandled"
)

// Event is one transition, one conflict or one unhandled notification: the
// record of what happened and what the merchant is told, in one row.
type Event struct {
	ID             string // evt_…
	Seq            int64  // its place in the feed; 0 until it has one
	Type           EventType
	Key            Key    // OutTradeNo "" when the message named no order
	OrderVersion   int64  // the order's version after this event; 0: the event is about no stored order
	From, To       Status // equal when the status stayed
	Kind           Kind
	Reason         Reason
	NotificationID string // "" for a merchant's command
	CreatedAt      time.Time
	Snapshot       []byte // JSON {"order":…,"payment":…,"refund":…} as they were after this event; see view.go
}
