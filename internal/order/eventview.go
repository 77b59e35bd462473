package order

import (
	"encoding/json"
	"strings"
	"time"
)

// EventView is an event as the merchant sees it, in deliveries and in the feed.
type EventView struct {
	ID             string          `json:"id"`
	Seq            *int64          `json:"seq"` // null until the event has its place in the feed
	Type           EventType       `json:"type"`
	CreatedAt      Moment          `json:"created_at"`
	Merchant       string          `json:"merchant"`
	OrderVersion   *int64          `json:"order_version"` // null: about no stored order
	Order          json.RawMessage `json:"order"`
	Payment        json.RawMessage `json:"payment"`
	Refund         json.RawMessage `json:"refund"`
	Reason         Reason          `json:"reason"`
	NotificationID *string         `json:"notification_id"` // null: a merchant's command
}

// View shows the event with its snapshot.
func (e *Event) View() EventView {
	v := EventView{
		ID: e.ID, Seq: orNull(e.Seq), Type: e.Type, CreatedAt: Moment(e.CreatedAt), Merchant: e.Key.Merchant,
		OrderVersion: orNull(e.OrderVersion), Reason: e.Reason, NotificationID: orNull(e.NotificationID),
	}
	var s struct{ Order, Payment, Refund json.RawMessage }
	// An event whose snapshot cannot be read tells that it happened.
	if json.Unmarshal(e.Snapshot, &s) == nil {
		v.Order, v.Payment, v.Refund = s.Order, s.Payment, s.Refund
	}
	return v
}

// JSON is the body of the event: what every delivery of it carries and what
// stands in the feed. It is the same text every time but for seq, which is null
// until the event has its place.
func (e *Event) JSON() []byte {
	b, _ := json.Marshal(e.View()) // texts, numbers and JSON that was read always marshal
	return b
}

// EventFilter selects events; zero fields select all. Since is inclusive, Until
// exclusive, both by CreatedAt.
type EventFilter struct {
	Merchant     string
	OutTradeNo   string
	Type         EventType
	Since, Until time.Time
	Endpoint     string // with a delivery there
	Delivery     string // with a delivery in this state, there or anywhere
	AfterID      string // the last one of the page before
	Limit        int
}

// EventTypes lists every type an event can have.
func EventTypes() []EventType {
	return []EventType{EventCreated, EventPending, EventPaid, EventShipped, EventCompleted, EventCancelled, EventClosed,
		EventRefunded, EventRefundFailed, EventFinished, EventConflict, EventUnhandled}
}

// BaseMerchant is the configured merchant behind a merchant's name: a
// sub-merchant uses its endpoints and keys.
func BaseMerchant(merchant string) string {
	base, _, _ := strings.Cut(merchant, "/")
	return base
}
