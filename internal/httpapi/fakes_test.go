package httpapi

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// commands notes what it is told and answers as set.
type commands struct {
	created       bool
	err           error
	mu            sync.Mutex
	registrations []order.Registration
	done          []string
}

func (c *commands) Register(_ context.Context, r order.Registration) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registrations = append(c.registrations, r)
	return c.created, c.err
}

func (c *commands) Do(_ context.Context, key order.Key, command order.Kind) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, string(command)+" "+key.Merchant+" "+key.OutTradeNo)
	return c.err
}

// reader holds rows and filters and pages them as a store does.
type reader struct {
	err           error
	stories       map[order.Key]order.Story
	waiting       map[order.Key][]string
	orders        []order.Order // newest first
	rows          []order.Row   // newest first
	captures      map[string]order.Capture
	orderFilter   order.OrderFilter // the last one asked
	rowFilter     order.NotificationFilter
	keysAskedFor  []order.Key
	capturedSince time.Time
}

func (r *reader) Story(_ context.Context, key order.Key) (order.Story, error) {
	r.keysAskedFor = append(r.keysAskedFor, key)
	if r.err != nil {
		return order.Story{}, r.err
	}
	s, ok := r.stories[key]
	if !ok {
		return s, order.ErrUnknown
	}
	return s, nil
}

func (r *reader) WaitingFor(_ context.Context, key order.Key) ([]string, error) {
	return r.waiting[key], r.err
}

func (r *reader) Orders(_ context.Context, f order.OrderFilter) ([]order.Order, error) {
	r.orderFilter = f
	from := 0
	if f.After.Key.OutTradeNo != "" {
		from = 1 + slices.IndexFunc(r.orders, func(o order.Order) bool {
			return o.Key == f.After.Key && o.CreatedAt.Equal(f.After.CreatedAt)
		})
	}
	return r.orders[from:min(from+f.Limit, len(r.orders))], r.err
}

func (r *reader) Notification(_ context.Context, id string) (order.Row, error) {
	for _, row := range r.rows {
		if row.ID == id {
			return row, r.err
		}
	}
	return order.Row{}, order.ErrUnknown
}

func (r *reader) Notifications(_ context.Context, f order.NotificationFilter) ([]order.Row, error) {
	r.rowFilter = f
	from := 0
	if f.AfterID != "" {
		from = 1 + slices.IndexFunc(r.rows, func(row order.Row) bool { return row.ID == f.AfterID })
	}
	return r.rows[from:min(from+f.Limit, len(r.rows))], r.err
}

func (r *reader) Capture(_ context.Context, id string) (order.Capture, time.Time, error) {
	c, ok := r.captures[id]
	if !ok {
		return c, time.Time{}, order.ErrUnknown
	}
	return c, r.capturedSince, r.err
}

// noDeliveries is a process without endpoints and events.
type noDeliveries struct {
	outbox.Desk
	Outbox
	order.EventReader
}

func (noDeliveries) Endpoints() []outbox.Endpoint { return nil }
func (noDeliveries) Endpoint(string) (outbox.Endpoint, outbox.Standing, bool) {
	return outbox.Endpoint{}, outbox.Standing{}, false
}
func (noDeliveries) Wake() {}
func (noDeliveries) Events(context.Context, order.EventFilter) ([]order.Event, error) {
	return nil, nil
}
func (noDeliveries) Event(context.Context, string) (order.Event, error) {
	return order.Event{}, order.ErrUnknown
}
func (noDeliveries) Deliveries(context.Context, outbox.Filter) ([]outbox.Delivery, error) {
	return nil, nil
}
func (noDeliveries) Pauses(context.Context) ([]outbox.Pause, error)     { return nil, nil }
func (noDeliveries) Backlogs(context.Context) ([]outbox.Backlog, error) { return nil, nil }
func (noDeliveries) ResendPage(context.Context, outbox.Filter, time.Time, bool) (outbox.ResentPage, error) {
	return outbox.ResentPage{}, nil
}
