package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// resendBatch deliveries are made due in one transaction: few enough that acks
// do not wait for it.
const resendBatch = 500

// Resent says how many deliveries were made due, or would be.
type Resent struct {
	Count  int  `json:"count"`
	DryRun bool `json:"dry_run"`
}

// resendFilter is the body of POST /admin/v1/deliveries/redeliver. The tags make
// the document.
type resendFilter struct {
	State      outbox.State `json:"state,omitempty" enum:"exhausted,pending,delivered" doc:"exhausted when left out"`
	Endpoint   string       `json:"endpoint,omitempty" doc:"At one endpoint"`
	Merchant   string       `json:"merchant,omitempty" doc:"Of one merchant"`
	OutTradeNo string       `json:"out_trade_no,omitempty" doc:"Of one order"`
	Since      *time.Time   `json:"since,omitempty" doc:"Created from this time on"`
	Until      *time.Time   `json:"until,omitempty" doc:"Created before this time"`
	DryRun     bool         `json:"dry_run,omitempty" doc:"true: only count"`
}

var endpointParameter = parameter{name: "endpoint", about: "At one endpoint of the event's merchant, also when the event was not for it; left out: wherever it was for"}

// redeliverEvent makes one event due again.
func (a *private) redeliverEvent(c *call) error {
	if _, err := c.object(nil); err != nil {
		return err
	}
	event, err := a.event(c)
	if err != nil {
		return err
	}
	names, err := a.endpointsFor(c, &event)
	if err != nil {
		return err
	}
	n, err := a.deliveries.Desk.Resend(c.r.Context(), event.ID, names, a.now())
	if err != nil {
		return err
	}
	a.deliveries.Outbox.Wake()
	return c.ok(Resent{Count: n})
}

// endpointsFor are the endpoints at which a call wants an event again.
func (a *private) endpointsFor(c *call, event *order.Event) ([]string, error) {
	if name := c.query["endpoint"]; name != "" {
		e, _, known := a.deliveries.Outbox.Endpoint(name)
		if !known || e.Merchant != order.BaseMerchant(event.Key.Merchant) {
			return nil, newProblem(404, "endpoint_unknown", "merchant %s has no endpoint %s", order.BaseMerchant(event.Key.Merchant), claim(name))
		}
		return []string{name}, nil
	}
	list, err := a.deliveriesOf(c.r.Context(), event.ID)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, problemNoDeliveries
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Endpoint
	}
	return names, nil
}

// redeliver makes the deliveries of a filter due again, a batch at a time. What
// was done when it is cut short stays done.
func (a *private) redeliver(c *call) error {
	fields, err := c.object([]string{"state", "endpoint", "merchant", "out_trade_no", "since", "until", "dry_run"})
	if err != nil {
		return err
	}
	f, dryRun, err := readResend(fields)
	if err != nil {
		return err
	}
	if err := a.knownFilterMerchant(f.Merchant); err != nil {
		return err
	}
	n, err := a.resendAll(c.r.Context(), f, dryRun)
	if err != nil {
		return err
	}
	return c.ok(Resent{Count: n, DryRun: dryRun})
}

func (a *private) resendAll(ctx context.Context, f outbox.Filter, dryRun bool) (n int, err error) {
	f.Limit = resendBatch
	for {
		page, err := a.deliveries.Desk.ResendPage(ctx, f, a.now(), dryRun)
		if err != nil {
			return n, err
		}
		n += page.Count
		f.After = page.Last
		if !dryRun && page.Count > 0 {
			a.deliveries.Outbox.Wake()
		}
		if !page.More {
			return n, nil
		}
	}
}

func readResend(fields map[string]json.RawMessage) (f outbox.Filter, dryRun bool, err error) {
	texts := map[string]string{}
	for _, name := range []string{"state", "endpoint", "merchant", "out_trade_no", "since", "until"} {
		if texts[name], err = textField(fields, name); err != nil {
			return f, false, err
		}
		if !cleanText(texts[name]) {
			return f, false, badField(name, "must be a text without control characters of at most %d bytes", maxTextBytes)
		}
	}
	f = outbox.Filter{State: outbox.State(texts["state"]), Endpoint: texts["endpoint"], Merchant: texts["merchant"], OutTradeNo: texts["out_trade_no"]}
	switch f.State {
	case "":
		f.State = outbox.Exhausted
	case outbox.Exhausted, outbox.Pending, outbox.Delivered:
	default:
		return f, false, badField("state", "must be exhausted, pending or delivered")
	}
	for name, into := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if texts[name] == "" {
			continue
		}
		if *into, err = time.Parse(time.RFC3339Nano, texts[name]); err != nil {
			return f, false, badField(name, "must be a time like 2026-01-02T15:04:05+08:00")
		}
	}
	if f.State == outbox.Delivered && f.Since.IsZero() && f.OutTradeNo == "" {
		return f, false, badField("state", "with delivered, name since or out_trade_no as well: everything ever delivered is rarely meant")
	}
	if raw, given := fields["dry_run"]; given && json.Unmarshal(raw, &dryRun) != nil {
		return f, false, badField("dry_run", "must be true or false")
	}
	return f, dryRun, nil
}
