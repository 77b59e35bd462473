package order

import (
	"cmp"
	"encoding/json"
	"time"
)

// The shapes in which orders are shown: at the admin endpoint, in events and on
// the command line, all from here. Unknown values are null and present, lists
// are never null.

// beijing is how times are shown. China has had one offset since 1991.
var beijing = time.FixedZone("+08:00", 8*60*60)

// Moment is a time as it is shown: RFC 3339 in +08:00, null when zero.
type Moment time.Time

// MarshalJSON writes the time to the microsecond at most.
func (m Moment) MarshalJSON() ([]byte, error) {
	return m.append(make([]byte, 0, len(time.RFC3339Nano)+2)), nil
}

func (m Moment) append(b []byte) []byte {
	t := time.Time(m)
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.In(beijing).AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Moment) UnmarshalJSON(b []byte) error {
	var t *time.Time
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	*m = Moment{}
	if t != nil {
		*m = Moment(t.UTC())
	}
	return nil
}

// View is an order without its lists.
type View struct {
	Merchant       string  `json:"merchant"`
	OutTradeNo     string  `json:"out_trade_no"`
	Status         Status  `json:"status"`
	Version        int64   `json:"version"`
	AmountFen      *int64  `json:"amount_fen"`
	ExpectedFen    *int64  `json:"expected_fen"`
	AmountVerified bool    `json:"amount_verified"`
	Currency       *string `json:"currency"`
	PaidFen        int64   `json:"paid_fen"`
	RefundedFen    int64   `json:"refunded_fen"`
	Provider       *string `json:"provider"`
	Account        *string `json:"account"`
	ProviderTxnID  *string `json:"provider_txn_id"`
	Late           bool    `json:"late"`
	Finished       bool    `json:"finished"`
	PaidAt         Moment  `json:"paid_at"`
	CreatedAt      Moment  `json:"created_at"`
	UpdatedAt      Moment  `json:"updated_at"`
}

// PaymentView is one payment.
type PaymentView struct {
	Provider      string `json:"provider"`
	Account       string `json:"account"`
	ProviderTxnID string `json:"provider_txn_id"`
	AmountFen     int64  `json:"amount_fen"`
	RefundedFen   int64  `json:"refunded_fen"`
	Role          Role   `json:"role"`
	PaidAt        Moment `json:"paid_at"`
}

// RefundView is one refund.
type RefundView struct {
	Provider         string       `json:"provider"`
	ProviderTxnID    string       `json:"provider_txn_id"`
	OutRefundNo      *string      `json:"out_refund_no"`
	ProviderRefundID *string      `json:"provider_refund_id"`
	AmountFen        int64        `json:"amount_fen"`
	TotalFen         *int64       `json:"total_fen"`
	Status           RefundStatus `json:"status"`
	RefundedAt       Moment       `json:"refunded_at"`
}

// TransitionView is one event in an order's history.
type TransitionView struct {
	Version        int64   `json:"version"`
	From           Status  `json:"from"`
	To             Status  `json:"to"`
	Kind           Kind    `json:"kind"`
	Reason         Reason  `json:"reason"`
	At             Moment  `json:"at"`
	NotificationID *string `json:"notification_id"`
}

// NotificationLine is a notification in an order's list.
type NotificationLine struct {
	ID         string  `json:"id"`
	Outcome    Outcome `json:"outcome"`
	Reason     Reason  `json:"reason"`
	Kind       Kind    `json:"kind"`
	Copies     int64   `json:"copies"`
	ReceivedAt Moment  `json:"received_at"`
}

// StoryView is an order with all its lists.
type StoryView struct {
	View
	Payments      []PaymentView      `json:"payments"`
	Refunds       []RefundView       `json:"refunds"`
	Transitions   []TransitionView   `json:"transitions"`
	Notifications []NotificationLine `json:"notifications"`
}

// FactView is what one fact did, with null where a message gave no order number.
type FactView struct {
	Merchant   string  `json:"merchant"`
	OutTradeNo *string `json:"out_trade_no"`
	Kind       Kind    `json:"kind"`
	Outcome    Outcome `json:"outcome"`
	Reason     Reason  `json:"reason"`
	AmountFen  *int64  `json:"amount_fen"` // what a fact in conflict says; null where no amount is in dispute
}

// NotificationView is a notification by itself.
type NotificationView struct {
	NotificationLine
	Provider               string     `json:"provider"`
	Account                string     `json:"account"`
	Merchant               string     `json:"merchant"`
	OutTradeNo             *string    `json:"out_trade_no"`
	ProviderNotificationID *string    `json:"provider_notification_id"`
	Facts                  []FactView `json:"facts"`
	// Content is what an unhandled notification said: JSON as it is, other text
	// as a JSON string, null when there is none.
	Content json.RawMessage `json:"content"`
}

func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// DefaultCurrency is what a message or a registration means that names none.
const DefaultCurrency = "CNY"

// View shows the order without its lists.
func (o *Order) View() View {
	amount, expected, currency := o.amounts()
	return View{
		Merchant: o.Merchant, OutTradeNo: o.OutTradeNo, Status: o.Status, Version: o.Version,
		AmountFen: amount, ExpectedFen: expected, AmountVerified: o.AmountVerified, Currency: orNull(currency), PaidFen: o.PaidFen, RefundedFen: o.RefundedFen,
		Provider: orNull(o.Provider), Account: orNull(o.Account), ProviderTxnID: orNull(o.ProviderTxnID),
		Late: o.Late, Finished: o.Finished,
		PaidAt: Moment(o.PaidAt), CreatedAt: Moment(o.CreatedAt), UpdatedAt: Moment(o.UpdatedAt),
	}
}

// amounts are what the order is about and what was expected, nil and "" where
// nobody said so yet.
func (o *Order) amounts() (amount, expected *int64, currency string) {
	switch {
	case o.Registered:
		amount, expected = &o.ExpectedFen, &o.ExpectedFen
	case o.HasAccepted():
		amount = &o.PaidFen
	default:
		return nil, nil, ""
	}
	return amount, expected, cmp.Or(o.Currency, DefaultCurrency)
}

// View shows the payment.
func (p *Payment) View() PaymentView {
	return PaymentView{p.Provider, p.Account, p.ProviderTxnID, p.AmountFen, p.RefundedFen, p.Role, Moment(p.PaidAt)}
}

// View shows the refund.
func (r *Refund) View() RefundView {
	return RefundView{r.Provider, r.ProviderTxnID, orNull(r.OutRefundNo), orNull(r.ProviderRefundID),
		r.AmountFen, orNull(r.TotalFen), r.Status, Moment(r.RefundedAt)}
}

// View shows the order with its lists.
func (s *Story) View() StoryView {
	v := StoryView{
		View:          s.Order.View(),
		Payments:      make([]PaymentView, 0, len(s.Payments)),
		Refunds:       make([]RefundView, 0, len(s.Refunds)),
		Transitions:   make([]TransitionView, 0, len(s.Events)),
		Notifications: make([]NotificationLine, 0, len(s.Notifications)),
	}
	for i := range s.Payments {
		v.Payments = append(v.Payments, s.Payments[i].View())
	}
	for i := range s.Refunds {
		v.Refunds = append(v.Refunds, s.Refunds[i].View())
	}
	for i := range s.Events {
		e := &s.Events[i]
		v.Transitions = append(v.Transitions, TransitionView{e.OrderVersion, e.From, e.To, e.Kind, e.Reason,
			Moment(e.CreatedAt), orNull(e.NotificationID)})
	}
	for i := range s.Notifications {
		v.Notifications = append(v.Notifications, s.Notifications[i].line())
	}
	return v
}

func (r *Row) line() NotificationLine {
	return NotificationLine{r.ID, r.Outcome, r.Reason, r.Kind, r.Copies, Moment(r.ReceivedAt)}
}

// View shows the notification.
func (r *Row) View() NotificationView {
	v := NotificationView{
		NotificationLine: r.line(), Provider: r.Provider, Account: r.Account, Merchant: r.Merchant,
		OutTradeNo: orNull(r.OutTradeNo), ProviderNotificationID: orNull(r.ProviderID),
		Facts: make([]FactView, 0, len(r.Results)),
	}
	for _, f := range r.Results {
		v.Facts = append(v.Facts, FactView{f.Merchant, orNull(f.OutTradeNo), f.Kind, f.Outcome, f.Reason, orNull(f.AmountFen)})
	}
	switch {
	case len(r.Content) == 0:
	case json.Valid(r.Content):
		v.Content = r.Content
	default:
		v.Content, _ = json.Marshal(string(r.Content)) // a string always marshals
	}
	return v
}
