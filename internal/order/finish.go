package order

import (
	"cmp"
	"slices"
	"strings"
)

// finish turns what the unit decided into what the store writes.
func (u *unit) finish() *Changes {
	c := &Changes{}
	for _, st := range u.fresh {
		st.conclude(st.row)
		if st.row.Outcome == Unhandled {
			u.tell(Event{Type: EventUnhandled, Key: Key{st.row.Merchant, st.row.OutTradeNo}, Kind: st.kind, Reason: st.row.Reason},
				st.id, snapshot(nil, nil, nil))
		}
		c.Notifications = append(c.Notifications, *st.row)
	}
	for _, w := range u.waiting {
		if !w.stored && !w.over {
			c.Wait = append(c.Wait, w.Waiting)
		}
	}
	for _, st := range u.states {
		if st.row == nil && st.changed {
			var r Row
			st.conclude(&r)
			c.Resolutions = append(c.Resolutions, Resolution{st.id, r.Merchant, r.OutTradeNo, r.Outcome, r.Reason, r.Results})
		}
	}
	for _, h := range u.orders {
		u.collect(c, h)
	}
	c.Done, c.Events = u.done, u.events
	// Both databases write in key order, so that instances cannot deadlock.
	slices.SortFunc(c.Orders, func(a, b Order) int { return compareKeys(a.Key, b.Key) })
	slices.SortFunc(c.Payments, func(a, b Payment) int {
		return cmp.Or(strings.Compare(a.ProviderTxnID, b.ProviderTxnID), strings.Compare(a.Provider, b.Provider))
	})
	slices.SortFunc(c.Refunds, func(a, b Refund) int {
		return cmp.Or(strings.Compare(a.Ref, b.Ref), strings.Compare(a.Provider, b.Provider))
	})
	slices.SortFunc(c.Notifications, func(a, b Row) int { return slices.Compare(a.FactKey[:], b.FactKey[:]) })
	slices.SortFunc(c.Resolutions, func(a, b Resolution) int { return strings.Compare(a.NotificationID, b.NotificationID) })
	return c
}

func (u *unit) collect(c *Changes, h *held) {
	if !h.changed {
		return
	}
	h.now.Order.Rev = h.rev + 1
	c.Orders = append(c.Orders, h.now.Order)
	for _, p := range h.now.Payments {
		if h.payments[p.TxnKey] {
			if p.CreatedAt.IsZero() {
				p.CreatedAt = u.now
			}
			c.Payments = append(c.Payments, p)
		}
	}
	for _, r := range h.now.Refunds {
		if h.refunds[r.RefundKey] {
			if r.CreatedAt.IsZero() {
				r.CreatedAt = u.now
			}
			c.Refunds = append(c.Refunds, r)
		}
	}
}

// conclude fills a row's outcome from its facts: the worst of them.
func (st *state) conclude(r *Row) {
	r.Results = st.results
	r.Merchant, r.OutTradeNo = st.results[0].Merchant, st.results[0].OutTradeNo
	for _, o := range Outcomes() {
		if i := slices.IndexFunc(st.results, func(f FactResult) bool { return f.Outcome == o }); i >= 0 {
			r.Outcome, r.Reason = o, st.results[i].Reason
			return
		}
	}
}

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.OutTradeNo, b.OutTradeNo), strings.Compare(a.Merchant, b.Merchant))
}

// story is the order as it will be when the changes are committed.
func (u *unit) story(key Key, c *Changes) Story {
	now := u.aggregate(key)
	s := Story{Order: now.Order, Payments: now.Payments, Refunds: now.Refunds}
	before := u.found.Stories[key]
	s.Events = slices.Clone(before.Events)
	for _, e := range c.Events {
		if e.Key == key && e.OrderVersion > 0 {
			s.Events = append(s.Events, e)
		}
	}
	s.Notifications = slices.Clone(before.Notifications)
	for _, r := range c.Resolutions {
		for i := range s.Notifications {
			if n := &s.Notifications[i]; n.ID == r.NotificationID {
				n.Outcome, n.Reason, n.Results = r.Outcome, r.Reason, r.Results
			}
		}
	}
	return s
}
