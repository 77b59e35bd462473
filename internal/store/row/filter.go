package row

import (
	"strconv"
	"strings"

	"github.com/notifyd/notifyd/internal/order"
)

// Limits of a page, for callers that name none and for those that name too much.
const (
	DefaultPage = 50
	MaxPage     = 1000
)

// filter gathers conditions. mark is the driver's sign before an argument's
// number.
type filter struct {
	mark  byte
	where []string
	args  []any
}

// and adds a condition; each # in it stands for the next of the arguments.
func (f *filter) and(condition string, args ...any) {
	var b strings.Builder
	for _, r := range condition {
		if r != '#' {
			b.WriteRune(r)
			continue
		}
		f.args = append(f.args, args[0])
		args = args[1:]
		b.WriteByte(f.mark)
		b.WriteString(strconv.Itoa(len(f.args)))
	}
	f.where = append(f.where, b.String())
}

func (f *filter) query(selection, orderBy string, limit int) (string, []any) {
	if len(f.where) > 0 {
		selection += "\nwhere " + strings.Join(f.where, "\n  and ")
	}
	return selection + "\norder by " + orderBy + "\nlimit " + strconv.Itoa(page(limit)), f.args
}

func page(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}

// OrderQuery is the query for a page of orders, newest first, with its
// arguments; mark is the driver's sign before an argument's number ('$' or '?').
// ok is false when no order can match.
func OrderQuery(mark byte, o *order.OrderFilter) (query string, args []any, ok bool) {
	if !IsKey(o.Merchant, string(o.Status), o.Provider, o.Account, o.After.Key.Merchant, o.After.Key.OutTradeNo) {
		return "", nil, false
	}
	f := filter{mark: mark}
	for _, column := range []struct{ name, value string }{
		{"o.merchant", o.Merchant}, {"o.status", string(o.Status)}, {"o.provider", o.Provider}, {"o.account", o.Account},
	} {
		if column.value != "" {
			f.and(column.name+" = #", column.value)
		}
	}
	if !o.Since.IsZero() {
		f.and("o.created_at >= #", *Micros(o.Since))
	}
	if !o.Until.IsZero() {
		f.and("o.created_at < #", *Micros(o.Until))
	}
	if o.After.Key.OutTradeNo != "" {
		f.and("(o.created_at, o.out_trade_no, o.merchant) < (#, #, #)",
			Value(Micros(o.After.CreatedAt)), o.After.Key.OutTradeNo, o.After.Key.Merchant)
	}
	query, args = f.query("select "+OrderColumns+"\nfrom orders o",
		"o.created_at desc, o.out_trade_no desc, o.merchant desc", o.Limit)
	return query, args, true
}

// NotificationQuery does for notifications what OrderQuery does for orders.
func NotificationQuery(mark byte, n *order.NotificationFilter) (query string, args []any, ok bool) {
	if !IsKey(n.Merchant, n.OutTradeNo, n.Provider, n.Account, string(n.Outcome), string(n.Kind), n.AfterID) {
		return "", nil, false
	}
	f := filter{mark: mark}
	switch {
	case n.OutTradeNo != "" && n.Merchant != "":
		f.and(`n.id in (select id from notifications where out_trade_no = # and out_trade_no <> '' and merchant = #
    union all select notification_id from notification_orders where out_trade_no = # and merchant = #)`,
			n.OutTradeNo, n.Merchant, n.OutTradeNo, n.Merchant)
	case n.OutTradeNo != "":
		f.and(`n.id in (select id from notifications where out_trade_no = # and out_trade_no <> ''
    union all select notification_id from notification_orders where out_trade_no = #)`, n.OutTradeNo, n.OutTradeNo)
	case n.Merchant != "":
		f.and(`(n.merchant = # or exists (select 1 from notification_orders m where m.notification_id = n.id and m.merchant = #))`,
			n.Merchant, n.Merchant)
	}
	if n.Provider != "" {
		f.and("n.provider = #", n.Provider)
	}
	if n.Account != "" {
		f.and("n.account = #", n.Account)
	}
	if n.Outcome != "" {
		f.and("n.outcome = #", string(n.Outcome))
		if n.Outcome != order.Applied {
			f.and("n.outcome <> 'applied'") // says the planner that the index of these will do
		}
	}
	if n.Kind != "" {
		f.and("n.kind = #", string(n.Kind))
	}
	if !n.Since.IsZero() {
		f.and("n.received_at >= #", *Micros(n.Since))
	}
	if !n.Until.IsZero() {
		f.and("n.received_at < #", *Micros(n.Until))
	}
	if n.AfterID != "" {
		f.and("n.id < #", n.AfterID)
	}
	query, args = f.query("select "+NotificationColumns+"\nfrom notifications n", "n.id desc", n.Limit)
	return query, args, true
}
