package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/notifyd/notifyd/internal/order"
)

const maxOrderNumberRunes = 64 // the longest that a provider takes

var (
	justMerchant = []parameter{merchantParameter}
	orderFilters = []parameter{merchantParameter,
		{name: "status", about: "Where the order stands", values: words(order.Statuses())},
		{name: "provider", about: "Of the accepted payment"},
		{name: "account", about: "Of the accepted payment"},
		sinceParameter, untilParameter, limitParameter, cursorParameter}

	merchantParameter = parameter{name: "merchant", about: "The merchant, or merchant/sub-merchant; may be left out when one is configured"}
	sinceParameter    = parameter{name: "since", about: "From this time on", format: "date-time"}
	untilParameter    = parameter{name: "until", about: "Before this time", format: "date-time"}
	limitParameter    = parameter{name: "limit", about: "1 to 200, 50 when left out"}
	cursorParameter   = parameter{name: "cursor", about: "next_cursor of the page before"}
)

func (a *private) listOrders(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after, err := c.cursor(listOfOrders)
	if err != nil {
		return err
	}
	f := order.OrderFilter{Merchant: c.query["merchant"], Status: order.Status(c.query["status"]), Provider: c.query["provider"],
		Account: c.query["account"], After: after.orderMark(), Limit: limit + 1}
	if f.Since, f.Until, err = c.span(); err != nil {
		return err
	}
	if f.Merchant != "" {
		if err := a.knownMerchant(f.Merchant); err != nil {
			return err
		}
	}
	rows, err := a.reader.Orders(c.r.Context(), f)
	if err != nil {
		return err
	}
	return c.ok(cut(rows, limit, (*order.Order).View, orderCursor))
}

func (a *private) getOrder(c *call) error {
	key, err := a.orderKey(c)
	if err != nil {
		return err
	}
	return a.showOrder(c, http.StatusOK, key)
}

// command runs a merchant's command and shows the order after it.
func command(kind order.Kind) func(*private, *call) error {
	return func(a *private, c *call) error {
		key, err := a.orderKey(c)
		if err != nil {
			return err
		}
		if _, err := c.object(nil); err != nil {
			return err
		}
		err = a.commands.Do(c.r.Context(), key, kind)
		if errors.Is(err, order.ErrUnknown) {
			return a.unknownOrder(c.r.Context(), key)
		}
		if err != nil {
			return err
		}
		return a.showOrder(c, http.StatusOK, key)
	}
}

func (a *private) showOrder(c *call, status int, key order.Key) error {
	story, err := a.reader.Story(c.r.Context(), key)
	if errors.Is(err, order.ErrUnknown) {
		return a.unknownOrder(c.r.Context(), key)
	}
	if err != nil {
		return err
	}
	writeJSON(c.w, status, jsonType, story.View())
	return nil
}

// unknownOrder says so, and which notifications wait for the order.
func (a *private) unknownOrder(ctx context.Context, key order.Key) error {
	waiting, err := a.reader.WaitingFor(ctx, key)
	if err != nil {
		return err
	}
	p := newProblem(http.StatusNotFound, "order_unknown", "merchant %s has no order %s", key.Merchant, key.OutTradeNo)
	if p.Waiting = append([]string{}, waiting...); len(waiting) > 0 {
		p.Detail += "; notifications wait for it"
	}
	return p
}

// orderKey is the order that a call names.
func (a *private) orderKey(c *call) (order.Key, error) {
	number, err := pathValue(c.r, "out_trade_no")
	if err != nil {
		return order.Key{}, err
	}
	merchant, err := a.merchant(c)
	return order.Key{Merchant: merchant, OutTradeNo: number}, err
}

// orderPath is where an order is shown.
func orderPath(key order.Key) string {
	return "/admin/v1/orders/" + url.PathEscape(key.OutTradeNo) + "?merchant=" + url.QueryEscape(key.Merchant)
}
