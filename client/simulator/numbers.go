package simulator

import (
	"encoding/json"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// OutTradeNos are the numbers of the orders that the notification is about, as
// it names them itself: several in a combined payment, none in what is about no
// order.
func (n Notification) OutTradeNos() []string { return n.draft.orders() }

// naming is what a JSON text says of orders, and each element of its list.
type naming struct {
	OutTradeNo json.RawMessage `json:"out_trade_no"`
	SubOrders  []naming        `json:"sub_orders"` // v3
	OrderList  []naming        `json:"order_list"` // v2
}

// namedIn reads a JSON text. One that somebody has bent out of shape names what
// is still to be found in it.
func namedIn(text []byte) []string {
	var n naming
	_ = json.Unmarshal(text, &n)
	return n.numbers()
}

func (n naming) numbers() []string {
	var found []string
	if len(n.OutTradeNo) > 0 && string(n.OutTradeNo) != "null" {
		var number string
		if json.Unmarshal(n.OutTradeNo, &number) != nil {
			number = string(n.OutTradeNo) // --set made something else of it
		}
		found = append(found, number)
	}
	for _, part := range append(n.SubOrders, n.OrderList...) {
		found = append(found, part.numbers()...)
	}
	return found
}

// namedBy reads a form, one of whose fields may list the parts of a combined
// payment.
func namedBy(f forge.Form) []string {
	if number := f.Get("out_trade_no"); number != "" {
		return []string{number}
	}
	return namedIn([]byte(f.Get("sub_order_list")))
}

func (d v3) orders() []string       { return namedIn(d.event.Content) }
func (d v2) orders() []string       { return namedBy(d.form) }
func (d v2Refund) orders() []string { return namedBy(d.inner) }
func (d form) orders() []string     { return namedBy(d.fields) }
