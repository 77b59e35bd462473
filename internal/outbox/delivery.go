// Package outbox tells the merchant: it claims deliveries, signs and posts them,
// and says what follows from each answer. It owns the schedule, the pace at
// which an endpoint is asked, the signature, and the one dialer through which
// calls leave the house.
//
// It imports the standard library only. Of events it knows no more than their
// ids and bodies; events and deliveries meet in the store, whose verbs stand
// here.
package outbox

import "time"

// State is where a delivery stands.
type State string

// The states.
const (
	Pending   State = "pending"   // to be sent, or being sent
	Delivered State = "delivered" // answered with 2xx
	Exhausted State = "exhausted" // given up after the last attempt of the schedule; can be sent again by hand
)

// States lists every state a delivery can have.
func States() []State { return []State{Pending, Delivered, Exhausted} }

// Key names a delivery: one event at one endpoint.
type Key struct{ EventID, Endpoint string }

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	Key
	Merchant     string // the event's, with the sub-merchant
	OutTradeNo   string
	OrderVersion int64 // place among the order's events; 0: about no stored order, so nothing waits for it
	State        State
	Attempts     int       // how many have ended, since ever
	Step         int       // how many have failed since the delivery was last asked for: its place in the schedule
	NextAt       time.Time // when it may be claimed; while it is being sent: when its lease ends
	Lease        string    // who is sending it; "" when nobody is
	CreatedAt    time.Time
	UpdatedAt    time.Time

	Body []byte // of the event; filled by Claim
}

// Attempt is one POST that has ended.
type Attempt struct {
	ID         string // att_…
	Key        Key
	Number     int // counts the delivery's attempts from 1
	StartedAt  time.Time
	Duration   time.Duration
	StatusCode int    // 0 when there was no answer
	Failure    string // a class like "timeout" when there was no answer, otherwise ""
	Response   []byte // the first bytes of the answer's body, MaxResponseBytes at most
}

// Result is what an attempt did to its delivery. Without an Attempt the delivery
// was given back as it was: nothing was sent, or nobody knows.
type Result struct {
	Delivery Delivery // as claimed
	Attempt  *Attempt
	State    State
	Step     int
	NextAt   time.Time // when State is Pending
}

// Pause keeps an endpoint from being sent anything, on all instances, until it
// is resumed by hand.
type Pause struct {
	Endpoint string
	Reason   string // for people
	ByHand   bool   // false: the endpoint answered 410
	At       time.Time
}

// Backlog is what waits at an endpoint.
type Backlog struct {
	Endpoint  string
	Pending   int64
	OldestAt  time.Time // when the oldest pending delivery was created
	Exhausted int64
}
