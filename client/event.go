package client

import "time"

// EventType says what an event tells.
type EventType string

// The event types.
const (
	OrderCreated          EventType = "order.created"
	OrderPending          EventType = "order.pending"
	OrderPaid             EventType = "order.paid"
	OrderShipped          EventType = "order.shipped"
	OrderCompleted        EventType = "order.completed"
	OrderCancelled        EventType = "order.cancelled"
	OrderClosed           EventType = "order.closed"
	OrderRefunded         EventType = "order.refunded" // each successful refund; full when RefundedFen equals PaidFen
	OrderRefundFailed     EventType = "order.refund_failed"
	OrderFinished         EventType = "order.finished"
	OrderConflict         EventType = "order.conflict" // something that needs a person; Reason says what
	NotificationUnhandled EventType = "notification.unhandled"
)

// Event is one transition, one conflict or one notification that moves no order.
// There is exactly one event with one id for each of them.
type Event struct {
	ID             string    `json:"id"`  // evt_…, the same in every delivery and in the feed
	Seq            int64     `json:"seq"` // its place in the feed; 0: not known yet when it was sent
	Type           EventType `json:"type"`
	CreatedAt      time.Time `json:"created_at"`
	Merchant       string    `json:"merchant"`
	OrderVersion   int64     `json:"order_version"`   // of the order after this event; 0: about no order that is kept
	Order          *Order    `json:"order"`           // as it was after this event, without its lists; nil: about none
	Payment        *Payment  `json:"payment"`         // the one that the event speaks of
	Refund         *Refund   `json:"refund"`          // the one that the event speaks of
	Reason         string    `json:"reason"`          // of a conflict
	NotificationID string    `json:"notification_id"` // "": a call of yours
}

// EventPage is a piece of the event feed.
type EventPage struct {
	Items     []Event `json:"items"`
	NextAfter int64   `json:"next_after"` // where to go on
}
