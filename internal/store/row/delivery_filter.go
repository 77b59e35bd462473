package row

import (
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// DeliveryQuery is the query for a page of deliveries, newest event first; see
// OrderQuery.
func DeliveryQuery(mark byte, o *outbox.Filter) (query string, args []any, ok bool) {
	f, ok := deliveryFilter(mark, o)
	if !ok {
		return "", nil, false
	}
	if o.After != (outbox.Key{}) {
		f.and("(d.event_id, d.endpoint) < (#, #)", o.After.EventID, o.After.Endpoint)
	}
	query, args = f.query("select "+DeliveryColumns+"\nfrom deliveries d", "d.event_id desc, d.endpoint desc", o.Limit)
	return query, args, true
}

// ResendQuery is the query for the keys of a page of deliveries, oldest event
// first, without those that are being sent at now.
func ResendQuery(mark byte, o *outbox.Filter, now int64) (query string, args []any, ok bool) {
	f, ok := deliveryFilter(mark, o)
	if !ok {
		return "", nil, false
	}
	f.and("(d.lease is null or d.next_at <= #)", now)
	if o.After != (outbox.Key{}) {
		f.and("(d.event_id, d.endpoint) > (#, #)", o.After.EventID, o.After.Endpoint)
	}
	query, args = f.query("select d.event_id, d.endpoint\nfrom deliveries d", "d.event_id, d.endpoint", o.Limit)
	return query, args, true
}

func deliveryFilter(mark byte, o *outbox.Filter) (f filter, ok bool) {
	f.mark = mark
	if !IsKey(o.EventID, o.Endpoint, o.Merchant, o.OutTradeNo, o.After.EventID, o.After.Endpoint) {
		return f, false
	}
	for _, column := range []struct{ name, value string }{
		{"d.event_id", o.EventID}, {"d.endpoint", o.Endpoint}, {"d.merchant", o.Merchant}, {"d.out_trade_no", o.OutTradeNo},
	} {
		if column.value != "" {
			f.and(column.name+" = #", column.value)
		}
	}
	if o.State != "" {
		if !slices.Contains(outbox.States(), o.State) {
			return f, false
		}
		f.and(stateIs(o.State))
	}
	if !o.Since.IsZero() {
		f.and("d.created_at >= #", *Micros(o.Since))
	}
	if !o.Until.IsZero() {
		f.and("d.created_at < #", *Micros(o.Until))
	}
	return f, true
}

// stateIs is written out, a word of the schema, so that both planners see which
// index will do. That of what is due says that times are greater than zero.
func stateIs(s outbox.State) string {
	if s == outbox.Pending {
		return "d.state = 'pending' and d.next_at > 0"
	}
	return "d.state = '" + string(s) + "'"
}

// EventQuery is the query for a page of events, newest first; see OrderQuery.
func EventQuery(mark byte, e *order.EventFilter) (query string, args []any, ok bool) {
	state := outbox.State(e.Delivery)
	if !IsKey(e.Merchant, e.OutTradeNo, string(e.Type), e.Endpoint, e.AfterID) || state != "" && !slices.Contains(outbox.States(), state) {
		return "", nil, false
	}
	f := filter{mark: mark}
	f.delivery(state, e.Endpoint)
	if e.OutTradeNo != "" {
		// Those about no stored order are found by their notification.
		f.and(`e.id in (select id from events where out_trade_no = # and order_version is not null
    union all select x.id from events x where x.order_version is null and x.out_trade_no = # and x.notification_id in (
        select id from notifications where out_trade_no = # and out_trade_no <> ''
        union all select notification_id from notification_orders where out_trade_no = #))`,
			e.OutTradeNo, e.OutTradeNo, e.OutTradeNo, e.OutTradeNo)
	}
	if e.Merchant != "" {
		f.and("e.merchant = #", e.Merchant)
	}
	if e.Type != "" {
		f.and("e.type = #", string(e.Type))
	}
	if !e.Since.IsZero() {
		f.and("e.created_at >= #", *Micros(e.Since))
	}
	if !e.Until.IsZero() {
		f.and("e.created_at < #", *Micros(e.Until))
	}
	if e.AfterID != "" {
		f.and("e.id < #", e.AfterID)
	}
	query, args = f.query("select "+TellingColumns+"\nfrom events e", "e.id desc", e.Limit)
	return query, args, true
}

// delivery selects events e by a delivery of theirs. What is not delivered is
// little and has an index, so it is looked at first; what is delivered is nearly
// everything, so each event is looked at.
func (f *filter) delivery(state outbox.State, endpoint string) {
	var rules []string
	var args []any
	if state != "" {
		rules = append(rules, stateIs(state))
	}
	if endpoint != "" {
		rules, args = append(rules, "d.endpoint = #"), []any{endpoint}
	}
	switch state {
	case outbox.Pending, outbox.Exhausted:
		f.and("e.id in (select d.event_id from deliveries d where "+strings.Join(rules, " and ")+")", args...)
	default:
		if len(rules) > 0 {
			f.and("exists (select 1 from deliveries d where d.event_id = e.id and "+strings.Join(rules, " and ")+")", args...)
		}
	}
}
