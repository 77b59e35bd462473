package httpapi

import (
	"net/url"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

const (
	// maxEndpoints is how many deliveries an event can have: more endpoints than
	// a merchant ever has.
	maxEndpoints = 1000
	// maxReasonBytes bounds what people say when they pause an endpoint.
	maxReasonBytes = 200
	// eventTest is the type of the event that tries an endpoint. It is about
	// nothing, is in no list, and receivers pass over types that they do not know.
	eventTest order.EventType = "endpoint.test"
)

// EndpointView is an endpoint: what is configured, what waits, and how this
// instance finds it.
type EndpointView struct {
	Name         string       `json:"name"`
	Merchant     string       `json:"merchant"`
	Host         string       `json:"host"` // the path may hold a secret
	Events       []string     `json:"events"`
	AllowPrivate bool         `json:"allow_private"`
	Paused       *PauseView   `json:"paused"`
	Pending      int64        `json:"pending"`
	OldestAt     order.Moment `json:"oldest_at"` // of what is pending
	Exhausted    int64        `json:"exhausted"`
	InFlight     int          `json:"in_flight"`
	Failures     int          `json:"failures"`   // in a row
	HeldUntil    order.Moment `json:"held_until"` // it failed or asked for time: no attempt before
}

type PauseView struct {
	Reason string       `json:"reason"`
	ByHand bool         `json:"by_hand"`
	At     order.Moment `json:"at"`
}

// pauseReason is the body of a pause.
type pauseReason struct {
	Reason string `json:"reason,omitempty" maxLength:"200" doc:"For people"`
}

func (a *private) listEndpoints(c *call) error {
	views, err := a.endpointViews(c, a.deliveries.Outbox.Endpoints())
	if err != nil {
		return err
	}
	return c.ok(page[EndpointView]{Items: views})
}

func (a *private) endpointViews(c *call, endpoints []outbox.Endpoint) ([]EndpointView, error) {
	pauses, err := a.deliveries.Desk.Pauses(c.r.Context())
	if err != nil {
		return nil, err
	}
	backlogs, err := a.deliveries.Desk.Backlogs(c.r.Context())
	if err != nil {
		return nil, err
	}
	views := make([]EndpointView, 0, len(endpoints))
	for _, e := range endpoints {
		_, standing, _ := a.deliveries.Outbox.Endpoint(e.Name)
		v := EndpointView{Name: e.Name, Merchant: e.Merchant, Host: hostOf(e.URL), Events: append([]string{}, e.Events...), AllowPrivate: e.AllowPrivate,
			InFlight: standing.InFlight, Failures: standing.Failures, HeldUntil: order.Moment(standing.HeldUntil)}
		for _, p := range pauses {
			if p.Endpoint == e.Name {
				v.Paused = &PauseView{p.Reason, p.ByHand, order.Moment(p.At)}
			}
		}
		for _, b := range backlogs {
			if b.Endpoint == e.Name {
				v.Pending, v.OldestAt, v.Exhausted = b.Pending, order.Moment(b.OldestAt), b.Exhausted
			}
		}
		views = append(views, v)
	}
	return views, nil
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// endpoint is the endpoint that a call names.
func (a *private) endpoint(c *call) (outbox.Endpoint, error) {
	name, err := pathValue(c.r, "name")
	if err != nil {
		return outbox.Endpoint{}, err
	}
	e, _, known := a.deliveries.Outbox.Endpoint(name)
	if !known {
		return e, newProblem(404, "endpoint_unknown", "no endpoint %s is configured", claim(name))
	}
	return e, nil
}

func (a *private) showEndpoint(c *call, e outbox.Endpoint) error {
	views, err := a.endpointViews(c, []outbox.Endpoint{e})
	if err != nil {
		return err
	}
	return c.ok(views[0])
}

func (a *private) pauseEndpoint(c *call) error {
	e, err := a.endpoint(c)
	if err != nil {
		return err
	}
	fields, err := c.object([]string{"reason"})
	if err != nil {
		return err
	}
	reason, err := textField(fields, "reason")
	if err != nil {
		return err
	}
	if !cleanText(reason) || len(reason) > maxReasonBytes {
		return badField("reason", "must be a text without control characters of at most %d bytes", maxReasonBytes)
	}
	if reason == "" {
		reason = "paused by hand"
	}
	if err := a.deliveries.Pause(c.r.Context(), outbox.Pause{Endpoint: e.Name, Reason: reason, ByHand: true, At: a.now()}); err != nil {
		return err
	}
	return a.showEndpoint(c, e)
}

func (a *private) resumeEndpoint(c *call) error {
	e, err := a.endpoint(c)
	if err != nil {
		return err
	}
	if _, err := c.object(nil); err != nil {
		return err
	}
	if _, err := a.deliveries.Desk.Resume(c.r.Context(), e.Name); err != nil {
		return err
	}
	a.deliveries.Outbox.Forgive(e.Name)
	return a.showEndpoint(c, e)
}

// testEndpoint posts an event about nothing, signed like any other, paused or not.
func (a *private) testEndpoint(c *call) error {
	e, err := a.endpoint(c)
	if err != nil {
		return err
	}
	if _, err := c.object(nil); err != nil {
		return err
	}
	event := order.Event{ID: a.newID("evt_"), Type: eventTest, Key: order.Key{Merchant: e.Merchant}, CreatedAt: a.now()}
	attempt, _ := a.deliveries.Outbox.Try(c.r.Context(), e.Name, event.ID, event.JSON())
	return c.ok(viewOfAttempt(&attempt))
}
