package row

import "github.com/notifyd/notifyd/internal/order"

// NewFound is a Found with nothing in it, and with room for the orders that are
// wanted: those are the rows that nearly every unit of work finds.
func NewFound(want *order.Want) *order.Found {
	return &order.Found{
		Known:     map[order.FactKey]order.Ref{},
		Providers: map[order.ProviderKey]order.Ref{},
		Orders:    make(map[order.Key]order.Order, len(want.Orders)),
		Payments:  map[order.TxnKey]order.Payment{},
		Refunds:   map[order.RefundKey]order.Refund{},
	}
}

// Scope is what stands in the column claim_scope: nil when the row does not own
// its provider id. The rest of the claim is the row's own columns.
func Scope(n *order.Row) *string {
	if n.Claim == (order.ProviderKey{}) {
		return nil
	}
	return &n.Claim.Scope
}
