package order

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Errors that every store translates its driver's errors to, by code and never
// by text. Any other error means that the unit of work itself cannot be done.
var (
	// ErrUnavailable: the database cannot be asked, did not answer in time, is
	// full or busy, or the fate of a commit is unknown. Trying later may help.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrLocked, which is ErrUnavailable too: one of the rows that the unit needs
	// is held by somebody else for too long. Units without it may succeed.
	ErrLocked = fmt.Errorf("%w: a row is locked", ErrUnavailable)
	// ErrRace: somebody else wrote first (a unique key or a compare-and-set was
	// lost). Nothing was written; decide again on fresh reads.
	ErrRace = errors.New("the store was changed meanwhile")
	// ErrSealBroken: the lock under which an answer was to be stored is gone;
	// nothing was written. Somebody else may be doing the same request.
	ErrSealBroken = errors.New("the request's lock has expired")
	// ErrUnknown: there is no such row.
	ErrUnknown = errors.New("unknown")
)

// Want lists what a unit of work must lock and see. Slices may hold duplicates.
type Want struct {
	FactKeys     []FactKey
	ProviderKeys []ProviderKey
	Orders       []Key       // locked, whether they exist or not; their payments, refunds and waiting facts are found as well
	Txns         []TxnKey    // locked likewise; their payments and the facts that wait for them are found
	Refunds      []RefundKey // found wherever they are
	Stories      []Key       // events and notifications of orders, for an answer that shows them
}

// ProviderKey is the provider's own id of a notification within its account.
type ProviderKey struct{ Provider, Scope, ProviderID string }

// Found is what the store holds of a Want, read under its locks. A payment or
// refund that several parts of the Want name stands in it once.
type Found struct {
	Known     map[FactKey]Ref
	Providers map[ProviderKey]Ref
	Orders    map[Key]Order
	Payments  map[TxnKey]Payment
	Refunds   map[RefundKey]Refund
	Waiting   []Waiting     // in order of receipt (ReceivedAt, NotificationID, Index)
	Stories   map[Key]Story // Events and Notifications only, as Reader.Story has them, whether the order exists or not
}

// Ref points at a recorded notification.
type Ref struct {
	NotificationID string
	Outcome        Outcome
	Reason         Reason
	Numbers        string // see Row.Numbers; filled for Found.Providers
}

// FactResult is what one fact of a notification did.
type FactResult struct {
	Merchant   string  `json:"merchant"`
	OutTradeNo string  `json:"out_trade_no"`
	Kind       Kind    `json:"kind"`
	Outcome    Outcome `json:"outcome"`
	Reason     Reason  `json:"reason"`
	// AmountFen is what a fact in conflict says, where that is an amount: it moved
	// nothing, so that it stands nowhere else. 0 otherwise.
	AmountFen int64 `json:"amount_fen,omitempty"`
}

// resultOf is what became of a fact. An amount that could not be read, or not be
// trusted, is none.
func resultOf(f *Fact, d Decision) FactResult {
	r := FactResult{Merchant: f.Merchant, OutTradeNo: f.OutTradeNo, Kind: f.Kind, Outcome: d.Outcome, Reason: d.Reason}
	if d.Outcome == Conflict && d.Reason != ReasonUnreadableField && d.Reason != ReasonAmbiguousText {
		r.AmountFen = f.AmountFen
	}
	return r
}

// Row is a notification as it is recorded.
type Row struct {
	ID         string
	ReceivedAt time.Time
	Provider   string
	Account    string
	Merchant   string // of the first fact
	OutTradeNo string // of the first fact; "" when it names no order
	Kind       Kind
	Outcome    Outcome // the worst of Results
	Reason     Reason  // that one's
	Results    []FactResult

	FactKey    FactKey
	ProviderID string      // as sent; "" when there is none
	Claim      ProviderKey // the key the row owns; empty when another row owns it already or there is no id
	Numbers    string      // order, transaction, amount and refund numbers, to compare with a message that reuses the id
	Capture    Capture
	Content    []byte
	Copies     int64 // how often it came, this one included
}

// Waiting is a fact that cannot be decided yet: its order is not registered, or
// its payment is not known.
type Waiting struct {
	NotificationID string
	Index          int // of the fact in its notification
	Fact           Fact
	ReceivedAt     time.Time
	Results        []FactResult // of the whole notification as they stand; filled by reads only
}

// Resolution rewrites the results of a notification, one of whose facts had been waiting.
type Resolution struct {
	NotificationID       string
	Merchant, OutTradeNo string // of the first fact
	Outcome              Outcome
	Reason               Reason
	Results              []FactResult
}

// WaitingKey names a waiting fact.
type WaitingKey struct {
	NotificationID string
	Index          int
}

// Changes is all that one unit of work writes. The store writes it whole or not
// at all, every slice in key order.
type Changes struct {
	Orders        []Order   // Rev is the stored one plus one; 1 inserts. A row whose Rev is not met is ErrRace
	Payments      []Payment // new, or found by this unit and changed; a transaction held by another order is ErrRace
	Refunds       []Refund  // new or changed; one held by another order is ErrRace
	Notifications []Row     // new; one whose FactKey or Claim exists is ErrRace
	Resolutions   []Resolution
	Wait          []Waiting    // new
	Done          []WaitingKey // no longer waiting
	Events        []Event      // new
	Seal          *Seal        // nil: nobody asked under an idempotency key
}

// Seal is the answer to a merchant's request under an idempotency key. It is
// stored in the transaction of the request's effect, and only while the lock
// with this token holds by the database's clock: otherwise the whole unit is
// ErrSealBroken. An effect can therefore not be committed without its answer,
// nor by a process that is too slow.
type Seal struct {
	Merchant, Key, Token string
	Status               int // HTTP
	ContentType          string
	Body                 []byte
}

// Empty says whether there is nothing to write.
func (c *Changes) Empty() bool {
	return len(c.Orders) == 0 && len(c.Payments) == 0 && len(c.Refunds) == 0 && len(c.Notifications) == 0 &&
		len(c.Resolutions) == 0 && len(c.Wait) == 0 && len(c.Done) == 0 && len(c.Events) == 0 && c.Seal == nil
}

// Store is a database that runs units of work.
type Store interface {
	// Transact begins a transaction, locks and reads what want names, calls
	// decide with it, writes what decide returned and commits. Changes are
	// durable when it returns nil. An error of decide ends the transaction
	// without a write and is returned as it is. decide runs at most once.
	Transact(ctx context.Context, want Want, decide func(*Found) (*Changes, error)) error
	// Known reads, without locks, which fact keys are recorded.
	Known(ctx context.Context, keys []FactKey) (map[FactKey]Ref, error)
	// Payments reads, without locks, which transactions are kept.
	Payments(ctx context.Context, txns []TxnKey) (map[TxnKey]Payment, error)
	// AddCopies adds to the copy counts of notifications, by notification id.
	AddCopies(ctx context.Context, copies map[string]int64) error
}

// Story is all that is known of an order.
type Story struct {
	Order
	Payments      []Payment // accepted first
	Refunds       []Refund  // in order of their rows
	Events        []Event   // by OrderVersion, without Snapshot
	Notifications []Row     // in order of receipt, without Capture and Content; every notification one of whose facts names the order
}

// OrderFilter selects orders; zero fields select all. Since is inclusive, Until
// exclusive, both by CreatedAt.
type OrderFilter struct {
	Merchant          string
	Status            Status
	Provider, Account string
	Since, Until      time.Time
	After             OrderMark // the last one of the page before
	Limit             int
}

// OrderMark is a place in the list of orders, newest first.
type OrderMark struct {
	CreatedAt time.Time
	Key       Key
}

// NotificationFilter selects notifications; zero fields select all. Since is
// inclusive, Until exclusive, both by ReceivedAt.
type NotificationFilter struct {
	Merchant     string // an order's merchant: of any fact
	OutTradeNo   string // of any fact
	Provider     string
	Account      string
	Outcome      Outcome
	Kind         Kind
	Since, Until time.Time
	AfterID      string // the last one of the page before
	Limit        int
}

// Reader answers what is asked at the admin endpoint. Lists are newest first.
type Reader interface {
	// Story is ErrUnknown for an order that does not exist.
	Story(ctx context.Context, key Key) (Story, error)
	// WaitingFor lists the notifications with a fact that waits for the order,
	// and those that wait for a transaction and name this order number under
	// the same account's merchant.
	WaitingFor(ctx context.Context, key Key) ([]string, error)
	Orders(ctx context.Context, f OrderFilter) ([]Order, error)
	// Notification has no Capture but its Content. ErrUnknown when there is none.
	Notification(ctx context.Context, id string) (Row, error)
	Notifications(ctx context.Context, f NotificationFilter) ([]Row, error)
	// Capture is ErrUnknown when there is no notification of that id; its Body
	// is nil after the retention time.
	Capture(ctx context.Context, id string) (Capture, time.Time, error)
}

// Feed is the stream of events in one order. A place in it (seq) is given after
// the commit, by one sequencer at a time: whoever has seen a place will never
// see a smaller one appear.
type Feed interface {
	// Head is the last place that was given, and whether events wait for one.
	Head(ctx context.Context) (last int64, waiting bool, err error)
	// Sequence gives places to events that have none, and says to how many. The
	// events of a unit of work stand together, in the order of the units' writes
	// and those of an order by OrderVersion. It goes on, unit by unit, until it
	// gave limit places or more; fewer: none was left. Only one caller works at a
	// time, on all instances together; the others return 0 at once.
	Sequence(ctx context.Context, limit int) (int, error)
	// EventsAfter reads a merchant's events (its sub-merchants' as well) with a
	// place greater than after, in order, with Seq and Snapshot. It looks at a
	// bounded number of places, whose events may all be others': up to through
	// the merchant has no more than these. Through equals after when there was
	// nothing to look at.
	EventsAfter(ctx context.Context, merchant string, after int64, limit int) (events []Event, through int64, err error)
}

// EventReader shows events at the admin endpoint, newest first.
type EventReader interface {
	Events(ctx context.Context, f EventFilter) ([]Event, error)
	// Event is ErrUnknown when there is none of this id.
	Event(ctx context.Context, id string) (Event, error)
}
