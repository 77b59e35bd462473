package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
)

const (
	rawType     = "application/octet-stream"
	captureType = "message/http"
)

var notificationFilters = []parameter{verdictParameter, codeParameter, merchantParameter,
	{name: "out_trade_no", about: "Any of whose facts names this order number"},
	{name: "provider", about: "Who sent it"},
	{name: "account", about: "Where it was sent"},
	{name: "outcome", about: "What it did", values: words(order.Outcomes())},
	{name: "kind", about: "What it is about", values: words(order.Kinds())},
	sinceParameter, untilParameter, limitParameter, cursorParameter}

func (a *private) listNotifications(c *call) error {
	if err := c.checkVerdict(); err != nil {
		return err
	}
	if c.query["verdict"] == refused {
		return a.listRefusals(c)
	}
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
	if refusal.IsID(id) {
		return a.getRefusal(c, id)
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
	kept, err := a.kept(c)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", rawType)
	_, _ = c.w.Write(kept.Body) // the peer may be gone: nothing to do about it
	return nil
}

func (a *private) getCapture(c *call) error {
	kept, err := a.kept(c)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", captureType)
	c.w.Header().Set("Content-Disposition", `attachment; filename="`+kept.id+`.http"`)
	c.w.WriteHeader(http.StatusOK)
	_ = provider.WriteCapture(c.w, kept.Capture, kept.at, kept.marks...) // the peer may be gone: nothing to do about it
	return nil
}

// keptRequest is the request of a notification, or one that was refused.
type keptRequest struct {
	id string
	order.Capture
	at    time.Time
	marks []provider.Mark // what a capture of it says besides
}

// kept reads a request, as long as it is kept.
func (a *private) kept(c *call) (k keptRequest, err error) {
	if k.id, err = pathValue(c.r, "id"); err != nil {
		return k, err
	}
	if refusal.IsID(k.id) {
		k.Capture, k.at, k.marks, err = a.keptRefusal(c, k.id)
		return k, err
	}
	k.Capture, k.at, err = a.reader.Capture(c.r.Context(), k.id)
	switch {
	case errors.Is(err, order.ErrUnknown):
		err = problemNoSuchID
	case err == nil && k.Body == nil:
		err = problemRawGone
	}
	return k, err
}
