package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// Deliveries is what people see of events on their way to the merchants, and
// what they may do to them.
type Deliveries struct {
	Events order.EventReader
	Desk   outbox.Desk
	Pause  func(context.Context, outbox.Pause) error
	Outbox Outbox
}

// Outbox is the part of this process that delivers.
type Outbox interface {
	// Endpoints are the configured ones.
	Endpoints() []outbox.Endpoint
	Endpoint(name string) (outbox.Endpoint, outbox.Standing, bool)
	// Forgive forgets that an endpoint failed; Wake says that there is something
	// to deliver.
	Forgive(name string)
	Wake()
	// Try posts once, outside of the schedule.
	Try(ctx context.Context, name, eventID string, body []byte) (outbox.Attempt, bool)
}

// DeliveryView is one event at one endpoint.
type DeliveryView struct {
	EventID      string       `json:"event_id"`
	Endpoint     string       `json:"endpoint"`
	Merchant     string       `json:"merchant"`
	OutTradeNo   *string      `json:"out_trade_no"`
	OrderVersion *int64       `json:"order_version"`
	State        outbox.State `json:"state"`
	Attempts     int          `json:"attempts"`
	Sending      bool         `json:"sending"` // somebody is sending it, or died while doing so
	NextAt       order.Moment `json:"next_at"` // of the next attempt; null when there is none to come
	CreatedAt    order.Moment `json:"created_at"`
	UpdatedAt    order.Moment `json:"updated_at"`
}

// AttemptView is one POST.
type AttemptView struct {
	ID         string       `json:"id"`
	Endpoint   string       `json:"endpoint"`
	Number     int          `json:"number"`
	StartedAt  order.Moment `json:"started_at"`
	DurationMS int64        `json:"duration_ms"`
	Status     *int         `json:"status"`   // null: there was no answer
	Failure    *string      `json:"failure"`  // why there was none
	Response   string       `json:"response"` // the first 16 KiB of the answer's body
}

// DeliveryStory is a delivery with its attempts.
type DeliveryStory struct {
	DeliveryView
	AttemptLog []AttemptView `json:"attempt_log"`
}

// EventStory is an event with its deliveries.
type EventStory struct {
	order.EventView
	Deliveries []DeliveryStory `json:"deliveries"`
}

func viewOfDelivery(d *outbox.Delivery) DeliveryView {
	v := DeliveryView{EventID: d.EventID, Endpoint: d.Endpoint, Merchant: d.Merchant, State: d.State, Attempts: d.Attempts,
		Sending: d.Lease != "", CreatedAt: order.Moment(d.CreatedAt), UpdatedAt: order.Moment(d.UpdatedAt)}
	if d.OutTradeNo != "" {
		v.OutTradeNo = &d.OutTradeNo
	}
	if d.OrderVersion > 0 {
		v.OrderVersion = &d.OrderVersion
	}
	if d.State == outbox.Pending {
		v.NextAt = order.Moment(d.NextAt)
	}
	return v
}

func viewOfAttempt(a *outbox.Attempt) AttemptView {
	v := AttemptView{ID: a.ID, Endpoint: a.Key.Endpoint, Number: a.Number, StartedAt: order.Moment(a.StartedAt),
		DurationMS: a.Duration.Milliseconds(), Response: strings.ToValidUTF8(string(a.Response), "\uFFFD")}
	if a.StatusCode > 0 {
		v.Status = &a.StatusCode
	}
	if a.Failure != "" {
		v.Failure = &a.Failure
	}
	return v
}

var (
	eventFilters = []parameter{merchantParameter,
		{name: "out_trade_no", about: "Of the order that the event is about"},
		{name: "type", about: "What happened", values: words(order.EventTypes())},
		{name: "endpoint", about: "With a delivery at one endpoint"},
		{name: "state", about: "With a delivery in this state; with endpoint: there", values: words(outbox.States())},
		sinceParameter, untilParameter, limitParameter, cursorParameter}
	deliveryFilters = []parameter{merchantParameter,
		{name: "event_id", about: "Of one event"},
		{name: "endpoint", about: "At one endpoint"},
		{name: "state", about: "Where the delivery stands", values: words(outbox.States())},
		{name: "out_trade_no", about: "Of the order that the event is about"},
		sinceParameter, untilParameter, limitParameter, cursorParameter}
)

func (a *private) listAllEvents(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after, err := c.cursor(listOfEvents)
	if err != nil {
		return err
	}
	f := order.EventFilter{Merchant: c.query["merchant"], OutTradeNo: c.query["out_trade_no"],
		Type: order.EventType(c.query["type"]), Endpoint: c.query["endpoint"], Delivery: c.query["state"], AfterID: after.ID, Limit: limit + 1}
	if f.Since, f.Until, err = c.span(); err != nil {
		return err
	}
	if err := a.knownFilterMerchant(f.Merchant); err != nil {
		return err
	}
	events, err := a.deliveries.Events.Events(c.r.Context(), f)
	if err != nil {
		return err
	}
	return c.ok(cut(events, limit, (*order.Event).View, func(e *order.Event) cursor {
		return cursor{List: listOfEvents, ID: e.ID}
	}))
}

// knownFilterMerchant checks a filter: none is as good as a known one.
func (a *private) knownFilterMerchant(merchant string) error {
	if merchant == "" {
		return nil
	}
	return a.knownMerchant(merchant)
}

func (a *private) listDeliveries(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after, err := c.cursor(listOfDeliveries)
	if err != nil {
		return err
	}
	f := outbox.Filter{EventID: c.query["event_id"], Endpoint: c.query["endpoint"], State: outbox.State(c.query["state"]),
		Merchant: c.query["merchant"], OutTradeNo: c.query["out_trade_no"],
		After: outbox.Key{EventID: after.ID, Endpoint: after.Endpoint}, Limit: limit + 1}
	if f.Since, f.Until, err = c.span(); err != nil {
		return err
	}
	if err := a.knownFilterMerchant(f.Merchant); err != nil {
		return err
	}
	list, err := a.deliveries.Desk.Deliveries(c.r.Context(), f)
	if err != nil {
		return err
	}
	return c.ok(cut(list, limit, viewOfDelivery, func(d *outbox.Delivery) cursor {
		return cursor{List: listOfDeliveries, ID: d.EventID, Endpoint: d.Endpoint}
	}))
}

func (a *private) getEvent(c *call) error {
	event, err := a.event(c)
	if err != nil {
		return err
	}
	list, err := a.deliveriesOf(c.r.Context(), event.ID)
	if err != nil {
		return err
	}
	story, err := a.eventStory(c.r.Context(), &event, list)
	if err != nil {
		return err
	}
	return c.ok(story)
}

// event is the event that a call names.
func (a *private) event(c *call) (order.Event, error) {
	id, err := pathValue(c.r, "id")
	if err != nil {
		return order.Event{}, err
	}
	event, err := a.deliveries.Events.Event(c.r.Context(), id)
	if errors.Is(err, order.ErrUnknown) {
		err = problemNoSuchEvent
	}
	return event, err
}

// deliveriesOf are all deliveries of an event, by endpoint: as many as its
// merchant has had endpoints.
func (a *private) deliveriesOf(ctx context.Context, eventID string) ([]outbox.Delivery, error) {
	list, err := a.deliveries.Desk.Deliveries(ctx, outbox.Filter{EventID: eventID, Limit: maxEndpoints})
	slices.Reverse(list)
	return list, err
}
