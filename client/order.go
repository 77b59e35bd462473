package client

import "time"

// Status is where an order stands.
type Status string

// The statuses. A partly refunded order is a paid, shipped or completed one with
// 0 < RefundedFen < PaidFen.
const (
	Created   Status = "created"
	Pending   Status = "pending"
	Paid      Status = "paid"
	Shipped   Status = "shipped"
	Completed Status = "completed"
	Cancelled Status = "cancelled"
	Closed    Status = "closed"
	Refunded  Status = "refunded"
)

// Order is an order as notifyd knows it. Its lists are there when one order was
// asked for or changed, and empty in events.
type Order struct {
	Merchant       string    `json:"merchant"` // in partner mode "default/1900000109"
	OutTradeNo     string    `json:"out_trade_no"`
	Status         Status    `json:"status"`
	Version        int64     `json:"version"`      // how many events the order has had
	AmountFen      int64     `json:"amount_fen"`   // what was registered, otherwise the first payment's
	ExpectedFen    int64     `json:"expected_fen"` // what was registered; 0: nobody registered the order
	AmountVerified bool      `json:"amount_verified"`
	Currency       string    `json:"currency"`
	PaidFen        int64     `json:"paid_fen"`
	RefundedFen    int64     `json:"refunded_fen"`
	Provider       string    `json:"provider"`
	Account        string    `json:"account"`
	ProviderTxnID  string    `json:"provider_txn_id"` // WeChat Pay's transaction_id, Alipay's trade_no
	Late           bool      `json:"late"`            // paid after it had expired or closed
	Finished       bool      `json:"finished"`        // the provider says that no refund is possible any more
	PaidAt         time.Time `json:"paid_at"`
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`

	Payments      []Payment      `json:"payments,omitempty"`
	Refunds       []Refund       `json:"refunds,omitempty"`
	Transitions   []Transition   `json:"transitions,omitempty"`
	Notifications []Notification `json:"notifications,omitempty"`
}

// Payment is money that arrived.
type Payment struct {
	Provider      string    `json:"provider"`
	Account       string    `json:"account"`
	ProviderTxnID string    `json:"provider_txn_id"`
	AmountFen     int64     `json:"amount_fen"`
	RefundedFen   int64     `json:"refunded_fen"`
	Role          string    `json:"role"` // accepted; surplus: to be given back; mismatched: not the expected amount
	PaidAt        time.Time `json:"paid_at"`
}

// Refund is one refund of one payment.
type Refund struct {
	Provider         string    `json:"provider"`
	ProviderTxnID    string    `json:"provider_txn_id"`
	OutRefundNo      string    `json:"out_refund_no"`
	ProviderRefundID string    `json:"provider_refund_id"` // "" for Alipay, which has none
	AmountFen        int64     `json:"amount_fen"`
	TotalFen         int64     `json:"total_fen"` // Alipay's running total
	Status           string    `json:"status"`    // success, closed, abnormal
	RefundedAt       time.Time `json:"refunded_at"`
	Role             string    `json:"role,omitempty"` // in events: of the payment that it refunds
}

// Transition is one event in an order's history.
type Transition struct {
	Version        int64     `json:"version"`
	From           Status    `json:"from"` // "": there was no order yet
	To             Status    `json:"to"`
	Kind           string    `json:"kind"`
	Reason         string    `json:"reason"`
	At             time.Time `json:"at"`
	NotificationID string    `json:"notification_id"` // "": a call of yours
}

// Notification is a message of a provider that spoke of the order.
type Notification struct {
	ID         string    `json:"id"`
	Outcome    string    `json:"outcome"`
	Reason     string    `json:"reason"`
	Kind       string    `json:"kind"`
	Copies     int64     `json:"copies"`
	ReceivedAt time.Time `json:"received_at"`
}
