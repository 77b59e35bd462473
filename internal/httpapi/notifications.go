package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

const (
	rawType     = "application/octet-stream"
	captureType = "message/http"
)

var notificationFilters = []parameter{merchantParameter,
	{name: "out_trade_no", about: "Any of whose facts names this order number"},
	{name: "provider", about: "Who sent it"},
	{name: "account", about: "Where it was sent"},
	{name: "outcome", about: "What it did", values: words(order.Outcomes())},
	{name: "kind", about: "What it is about", values: words(order.Kinds())},
	sinceParameter, untilParameter, limitParameter, cursorParameter}

func (a *private) listNotifications(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after, err := c.cursor(listOfNotifications)
	if err != nil {
		return err
	}
	f := order.NotificationFilter{Merchant: c.query["merchant"], OutTradeNo: c.query["out_trade_no"],
		Provider: c.query["provider"], Account: c.query["account"], Outcome: order.Outcome(c.query["outcome"]),
		Kind: order.Kind(c.query["kind"]), AfterID: after.ID, Limit: limit + 1}
	if f.Since, f.Until, err = c.span(); err != nil {
		return err
	}
	if f.Merchant != "" {
		if err := a.knownMerchant(f.Merchant); err != nil {
			return err
		}
	}
	rows, err := a.reader.Notifications(c.r.Context(), f)
	if err != nil {
		return err
	}
	return c.ok(cut(rows, limit, (*order.Row).View, func(r *order.Row) cursor {
		return cursor{List: listOfNotifications, ID: r.ID}
	}))
}

func (a *private) getNotification(c *call) error {
	id, err := pathValue(c.r, "id")
	if err != nil {
		return err
	}
	row, err := a.reader.Notification(c.r.Context(), id)
	if errors.Is(err, order.ErrUnknown) {
		return problemNoSuchID
	}
	if err != nil {
		return err
	}
	return c.ok(row.View())
}

func (a *private) getRaw(c *call) error {
	_, kept, _, err := a.kept(c)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", rawType)
	_, _ = c.w.Write(kept.Body) // the peer may be gone: nothing to do about it
	return nil
}

func (a *private) getCapture(c *call) error {
	id, kept, at, err := a.kept(c)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", captureType)
	c.w.Header().Set("Content-Disposition", `attachment; filename="`+id+`.http"`)
	c.w.WriteHeader(http.StatusOK)
	_ = provider.WriteCapture(c.w, kept, at) // the peer may be gone: nothing to do about it
	return nil
}

// kept reads the request of a notification, as long as it is kept.
func (a *private) kept(c *call) (string, order.Capture, time.Time, error) {
	id, err := pathValue(c.r, "id")
	if err != nil {
		return "", order.Capture{}, time.Time{}, err
	}
	capture, at, err := a.reader.Capture(c.r.Context(), id)
	switch {
	case errors.Is(err, order.ErrUnknown):
		err = problemNoSuchID
	case err == nil && capture.Body == nil:
		err = problemRawGone
	}
	return id, capture, at, err
}
