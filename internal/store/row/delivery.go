package row

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// Subscriptions names the endpoints at which an event of a merchant is to be
// delivered. Nil: there are no endpoints.
type Subscriptions func(merchant string, t order.EventType) []string

// Deliveries are those of new events, in key order. None costs nothing.
func (s Subscriptions) Deliveries(events []order.Event) []outbox.Delivery {
	if s == nil {
		return nil
	}
	var all []outbox.Delivery
	for i := range events {
		e := &events[i]
		for _, name := range s(e.Key.Merchant, e.Type) {
			all = append(all, outbox.Delivery{
				Key: outbox.Key{EventID: e.ID, Endpoint: name}, Merchant: e.Key.Merchant, OutTradeNo: e.Key.OutTradeNo,
				OrderVersion: e.OrderVersion, State: outbox.Pending, NextAt: e.CreatedAt, CreatedAt: e.CreatedAt, UpdatedAt: e.CreatedAt})
		}
	}
	slices.SortFunc(all, func(a, b outbox.Delivery) int { return CompareDeliveries(a.Key, b.Key) })
	return all
}

// CompareDeliveries is the order in which deliveries are locked and written.
func CompareDeliveries(a, b outbox.Key) int {
	return cmp.Or(strings.Compare(a.EventID, b.EventID), strings.Compare(a.Endpoint, b.Endpoint))
}

// Columns of deliveries and what goes with them.
const (
	DeliveryColumns = `d.event_id, d.endpoint, d.merchant, d.out_trade_no, d.order_version, d.state, d.attempts, d.step, d.next_at,
d.lease, d.created_at, d.updated_at`

	AttemptColumns = `a.id, a.event_id, a.endpoint, a.number, a.started_at, a.duration_us, a.status_code, a.failure, a.response`

	// TellingColumns are those of an event with all that its body tells; its
	// place is null until its unit of work has one.
	TellingColumns = EventColumns + `, (select u.base + e.ordinal from units u where u.unit = e.unit), e.snapshot`
)

// delivery reads DeliveryColumns along with what follows them.
type delivery struct {
	outbox.Delivery
	version, next, created, updated *int64
	lease                           *string
}

func (d *delivery) columns() []any {
	return []any{&d.EventID, &d.Endpoint, &d.Merchant, &d.OutTradeNo, &d.version, &d.State, &d.Attempts, &d.Step, &d.next,
		&d.lease, &d.created, &d.updated}
}

func (d *delivery) done() outbox.Delivery {
	d.OrderVersion, d.NextAt, d.Lease = Value(d.version), Time(d.next), Value(d.lease)
	d.CreatedAt, d.UpdatedAt = Time(d.created), Time(d.updated)
	return d.Delivery
}

// ScanDelivery reads DeliveryColumns.
func ScanDelivery(s Scanner) (outbox.Delivery, error) {
	var d delivery
	err := s.Scan(d.columns()...)
	return d.done(), err
}

// ScanCandidate reads DeliveryColumns, the time of the blocking delivery, and
// TellingColumns.
func ScanCandidate(s Scanner) (c outbox.Candidate, err error) {
	var d delivery
	var e telling
	var blocker *int64
	if err = s.Scan(slices.Concat(d.columns(), []any{&blocker}, e.columns())...); err != nil {
		return c, err
	}
	event := e.done()
	c = outbox.Candidate{Delivery: d.done(), Sequenced: event.Seq > 0, Blocker: Time(blocker)}
	c.Body = event.JSON()
	return c, nil
}

// telling reads TellingColumns.
type telling struct {
	order.Event
	version, created, seq *int64
	notification          *string
	snapshot              string
}

func (e *telling) columns() []any {
	return []any{&e.ID, &e.Type, &e.Key.OutTradeNo, &e.Key.Merchant, &e.version, &e.From, &e.To, &e.Kind, &e.Reason,
		&e.notification, &e.created, &e.seq, &e.snapshot}
}

func (e *telling) done() order.Event {
	e.OrderVersion, e.NotificationID, e.CreatedAt = Value(e.version), Value(e.notification), Time(e.created)
	e.Seq, e.Snapshot = Value(e.seq), []byte(e.snapshot)
	return e.Event
}

// ScanTelling reads TellingColumns.
func ScanTelling(s Scanner) (order.Event, error) {
	var e telling
	err := s.Scan(e.columns()...)
	return e.done(), err
}

// ScanAttempt reads AttemptColumns.
func ScanAttempt(s Scanner) (a outbox.Attempt, err error) {
	var started *int64
	var took int64
	err = s.Scan(&a.ID, &a.Key.EventID, &a.Key.Endpoint, &a.Number, &started, &took, &a.StatusCode, &a.Failure, &a.Response)
	a.StartedAt, a.Duration = Time(started), time.Duration(took)*time.Microsecond
	return a, err
}

// ScanPause reads endpoint, reason, by_hand and paused_at.
func ScanPause(s Scanner) (p outbox.Pause, err error) {
	var at *int64
	err = s.Scan(&p.Endpoint, &p.Reason, &p.ByHand, &at)
	p.At = Time(at)
	return p, err
}

// ScanBacklog reads endpoint, how many are pending, since when, and how many are
// exhausted.
func ScanBacklog(s Scanner) (b outbox.Backlog, err error) {
	var oldest *int64
	err = s.Scan(&b.Endpoint, &b.Pending, &oldest, &b.Exhausted)
	b.OldestAt = Time(oldest)
	return b, err
}

// SortedResults are results in key order.
func SortedResults(results []outbox.Result) []outbox.Result {
	sorted := slices.Clone(results)
	slices.SortFunc(sorted, func(a, b outbox.Result) int { return CompareDeliveries(a.Delivery.Key, b.Delivery.Key) })
	return sorted
}

// PageOf is the page that a step through a filter with this limit made of keys.
func PageOf(keys []outbox.Key, limit int) outbox.ResentPage {
	p := outbox.ResentPage{Count: len(keys), More: len(keys) == page(limit)}
	if len(keys) > 0 {
		p.Last = keys[len(keys)-1]
	}
	return p
}
