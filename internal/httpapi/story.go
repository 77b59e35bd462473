package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/provider"
)

const (
	// maxStoryEvents is how many of an order's events a story tells, the newest.
	// Orders have a handful; one that is hammered with conflicts has more.
	maxStoryEvents = 200
	// maxStoryDeliveries bounds what is read of their deliveries.
	maxStoryDeliveries = 1000
	// maxStoryResponseBytes is how much of an endpoint's answer a story holds:
	// there may be thousands of them. The event by itself has all that is kept.
	maxStoryResponseBytes = 512
)

// OrderStory is an order with everything that happened to it.
type OrderStory struct {
	order.StoryView
	// Notifications take the place of the plain ones: these say what each of
	// their facts did.
	Notifications []order.NotificationView `json:"notifications"`
	Events        []EventStory             `json:"events"`     // oldest first
	EventsCut     bool                     `json:"events_cut"` // there are older ones
	Next          NextSteps                `json:"next"`
}

// NextSteps is what can happen to an order from now on.
type NextSteps struct {
	MerchantMay []order.Kind   `json:"merchant_may"` // commands that would change it
	WaitsFor    []WaitCode     `json:"waits_for"`
	Deliveries  []NextDelivery `json:"deliveries"` // what is not delivered
}

// WaitCode says what an order waits for.
type WaitCode string

// The codes.
const (
	WaitPayment  WaitCode = "payment"  // nobody has paid it
	WaitMatch    WaitCode = "match"    // a notification waits for its order or its payment
	WaitShipment WaitCode = "shipment" // the merchant has not shipped it
	WaitReceipt  WaitCode = "receipt"  // the merchant has not completed it
	WaitReturn   WaitCode = "return"   // a payment that is not the order's has to be given back
	WaitRefund   WaitCode = "refund"   // a refund failed: its money did not arrive
)

// NextDelivery is a delivery that has not arrived.
type NextDelivery struct {
	EventID  string          `json:"event_id"`
	Type     order.EventType `json:"type"`
	Endpoint string          `json:"endpoint"`
	State    outbox.State    `json:"state"`
	Attempts int             `json:"attempts"` // made so far
	Sending  bool            `json:"sending"`
	NextAt   order.Moment    `json:"next_at"` // null: nobody will send it by itself
	Behind   *string         `json:"behind"`  // the earlier event of the order that has to arrive first
	Paused   *string         `json:"paused"`  // why its endpoint is sent nothing
}

func (a *private) getOrderStory(c *call) error {
	key, err := a.orderKey(c)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	story, err := a.reader.Story(ctx, key)
	if errors.Is(err, order.ErrUnknown) {
		return a.unknownOrder(ctx, key)
	}
	if err != nil {
		return err
	}
	told := OrderStory{StoryView: story.View(), Notifications: make([]order.NotificationView, 0, len(story.Notifications))}
	for i := range story.Notifications {
		told.Notifications = append(told.Notifications, story.Notifications[i].View())
	}
	if told.Events, told.EventsCut, err = a.storyEvents(ctx, key); err != nil {
		return err
	}
	pauses, err := a.deliveries.Desk.Pauses(ctx)
	if err != nil {
		return err
	}
	told.Next = nextSteps(&story, told.Events, pauses)
	return c.ok(told)
}

// storyEvents are the order's events with their deliveries and attempts, oldest
// first.
func (a *private) storyEvents(ctx context.Context, key order.Key) (told []EventStory, cut bool, err error) {
	events, err := a.deliveries.Events.Events(ctx, order.EventFilter{Merchant: key.Merchant, OutTradeNo: key.OutTradeNo, Limit: maxStoryEvents + 1})
	if err != nil {
		return nil, false, err
	}
	if cut = len(events) > maxStoryEvents; cut {
		events = events[:maxStoryEvents]
	}
	slices.Reverse(events)
	list, err := a.deliveries.Desk.Deliveries(ctx, outbox.Filter{Merchant: key.Merchant, OutTradeNo: key.OutTradeNo, Limit: maxStoryDeliveries})
	if err != nil {
		return nil, false, err
	}
	slices.Reverse(list) // by event and endpoint now
	told = make([]EventStory, 0, len(events))
	for i := range events {
		of := slices.DeleteFunc(slices.Clone(list), func(d outbox.Delivery) bool { return d.EventID != events[i].ID })
		event, err := a.eventStory(ctx, &events[i], of)
		if err != nil {
			return nil, false, err
		}
		for j := range event.Deliveries {
			for k := range event.Deliveries[j].AttemptLog {
				response := &event.Deliveries[j].AttemptLog[k].Response
				*response = strings.ToValidUTF8(provider.Clip(*response, maxStoryResponseBytes), "")
			}
		}
		told = append(told, event)
	}
	return told, cut, nil
}

// eventStory tells of an event and its deliveries.
func (a *private) eventStory(ctx context.Context, event *order.Event, list []outbox.Delivery) (EventStory, error) {
	story := EventStory{EventView: event.View(), Deliveries: make([]DeliveryStory, 0, len(list))}
	var attempts []outbox.Attempt
	if slices.ContainsFunc(list, func(d outbox.Delivery) bool { return d.Attempts > 0 }) {
		var err error
		if attempts, err = a.deliveries.Desk.Attempts(ctx, event.ID); err != nil {
			return EventStory{}, err
		}
	}
	for i := range list {
		d := DeliveryStory{DeliveryView: viewOfDelivery(&list[i]), AttemptLog: []AttemptView{}}
		for j := range attempts {
			if attempts[j].Key == list[i].Key {
				d.AttemptLog = append(d.AttemptLog, viewOfAttempt(&attempts[j]))
			}
		}
		story.Deliveries = append(story.Deliveries, d)
	}
	return story, nil
}

// nextSteps is what follows from where everything stands.
func nextSteps(s *order.Story, events []EventStory, pauses []outbox.Pause) NextSteps {
	next := NextSteps{MerchantMay: append([]order.Kind{}, order.MayDo(s.Status)...), WaitsFor: []WaitCode{}, Deliveries: []NextDelivery{}}
	switch s.Status {
	case order.Created, order.Pending:
		next.WaitsFor = append(next.WaitsFor, WaitPayment)
	case order.Paid:
		next.WaitsFor = append(next.WaitsFor, WaitShipment)
	case order.Shipped:
		next.WaitsFor = append(next.WaitsFor, WaitReceipt)
	}
	if slices.ContainsFunc(s.Notifications, func(r order.Row) bool { return r.Outcome == order.Unmatched }) {
		next.WaitsFor = append(next.WaitsFor, WaitMatch)
	}
	if slices.ContainsFunc(s.Payments, func(p order.Payment) bool { return p.Role != order.Accepted && p.RefundedFen < p.AmountFen }) {
		next.WaitsFor = append(next.WaitsFor, WaitReturn)
	}
	if slices.ContainsFunc(s.Refunds, func(r order.Refund) bool { return r.Status == order.RefundAbnormal }) {
		next.WaitsFor = append(next.WaitsFor, WaitRefund)
	}
	next.Deliveries = append(next.Deliveries, openDeliveries(events, pauses)...)
	return next
}

// openDeliveries are those that have not arrived, oldest event first.
func openDeliveries(events []EventStory, pauses []outbox.Pause) (open []NextDelivery) {
	first := map[string]*string{} // by endpoint: the event that has to arrive first
	for i := range events {
		e := &events[i]
		for j := range e.Deliveries {
			d := &e.Deliveries[j].DeliveryView
			if d.State == outbox.Delivered {
				continue
			}
			n := NextDelivery{EventID: e.ID, Type: e.Type, Endpoint: d.Endpoint, State: d.State, Attempts: d.Attempts, Sending: d.Sending, NextAt: d.NextAt}
			for k := range pauses {
				if pauses[k].Endpoint == d.Endpoint {
					n.Paused = &pauses[k].Reason
				}
			}
			if d.State == outbox.Pending && d.OrderVersion != nil {
				if n.Behind = first[d.Endpoint]; n.Behind == nil {
					first[d.Endpoint] = &e.ID
				}
			}
			open = append(open, n)
		}
	}
	return open
}
