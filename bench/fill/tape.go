// Package fill makes what a measurement starts from: databases with the expected
// orders, with settled ones, and the very changes that notifyd writes for a set
// of messages, so that they can be written again without notifyd's edge.
//
// It imports account, cluster, message, and of notifyd the domain and the stores.
package fill

import (
	"context"
	"maps"
	"slices"

	"github.com/notifyd/notifyd/internal/order"
)

// Unit is a unit of work: what it asked to see and what it wrote.
type Unit struct {
	Want    order.Want
	Changes order.Changes
}

// tape is a store in memory that notes every unit of work. It knows what one
// process wrote to it, which is all that is needed to decide fresh orders; races
// and waiting facts do not come up.
type tape struct {
	units    []Unit
	known    map[order.FactKey]order.Ref
	orders   map[order.Key]order.Order
	payments map[order.TxnKey]order.Payment
	refunds  map[order.RefundKey]order.Refund
}

func newTape() *tape {
	return &tape{known: map[order.FactKey]order.Ref{}, orders: map[order.Key]order.Order{},
		payments: map[order.TxnKey]order.Payment{}, refunds: map[order.RefundKey]order.Refund{}}
}

var _ order.Store = (*tape)(nil)

// Transact decides on what the tape knows and notes the unit.
func (t *tape) Transact(_ context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	changes, err := decide(t.find(want))
	if err != nil || changes == nil || changes.Empty() {
		return err
	}
	t.units = append(t.units, Unit{want, *changes})
	for _, o := range changes.Orders {
		t.orders[o.Key] = o
	}
	for _, p := range changes.Payments {
		t.payments[p.TxnKey] = p
	}
	for _, r := range changes.Refunds {
		t.refunds[r.RefundKey] = r
	}
	for _, n := range changes.Notifications {
		t.known[n.FactKey] = order.Ref{NotificationID: n.ID, Outcome: n.Outcome, Reason: n.Reason}
	}
	return nil
}

func (t *tape) find(want order.Want) *order.Found {
	found := &order.Found{Known: map[order.FactKey]order.Ref{}, Providers: map[order.ProviderKey]order.Ref{},
		Orders: map[order.Key]order.Order{}, Payments: map[order.TxnKey]order.Payment{}, Refunds: map[order.RefundKey]order.Refund{}}
	pick(found.Known, t.known, want.FactKeys)
	pick(found.Orders, t.orders, want.Orders)
	pick(found.Payments, t.payments, want.Txns)
	pick(found.Refunds, t.refunds, want.Refunds)
	// A wanted order brings its accepted payment; these orders have no other.
	for _, o := range found.Orders {
		if o.HasAccepted() {
			txn := order.TxnKey{Provider: o.Provider, ProviderTxnID: o.ProviderTxnID}
			found.Payments[txn] = t.payments[txn]
		}
	}
	return found
}

func pick[K comparable, V any](into, from map[K]V, keys []K) {
	for _, k := range keys {
		if v, found := from[k]; found {
			into[k] = v
		}
	}
}

// Known reads which fact keys are recorded.
func (t *tape) Known(_ context.Context, keys []order.FactKey) (map[order.FactKey]order.Ref, error) {
	known := map[order.FactKey]order.Ref{}
	pick(known, t.known, keys)
	return known, nil
}

// Payments reads which transactions are kept.
func (t *tape) Payments(_ context.Context, txns []order.TxnKey) (map[order.TxnKey]order.Payment, error) {
	kept := map[order.TxnKey]order.Payment{}
	pick(kept, t.payments, txns)
	return kept, nil
}

// AddCopies forgets the counts.
func (t *tape) AddCopies(context.Context, map[string]int64) error { return nil }

// Merge makes of many units fewer, of size units each: what a group commit does
// with notifications of different orders.
func Merge(units []Unit, size int) []Unit {
	var merged []Unit
	for piece := range slices.Chunk(units, size) {
		var m Unit
		for i := range piece {
			m.add(&piece[i])
		}
		merged = append(merged, m)
	}
	return merged
}

func (m *Unit) add(u *Unit) {
	m.Want.FactKeys = append(m.Want.FactKeys, u.Want.FactKeys...)
	m.Want.ProviderKeys = append(m.Want.ProviderKeys, u.Want.ProviderKeys...)
	m.Want.Orders = append(m.Want.Orders, u.Want.Orders...)
	m.Want.Txns = append(m.Want.Txns, u.Want.Txns...)
	m.Want.Refunds = append(m.Want.Refunds, u.Want.Refunds...)
	c := &u.Changes
	m.Changes.Orders = append(m.Changes.Orders, c.Orders...)
	m.Changes.Payments = append(m.Changes.Payments, c.Payments...)
	m.Changes.Refunds = append(m.Changes.Refunds, c.Refunds...)
	m.Changes.Notifications = append(m.Changes.Notifications, c.Notifications...)
	m.Changes.Resolutions = append(m.Changes.Resolutions, c.Resolutions...)
	m.Changes.Wait = append(m.Changes.Wait, c.Wait...)
	m.Changes.Done = append(m.Changes.Done, c.Done...)
	m.Changes.Events = append(m.Changes.Events, c.Events...)
}

// FactKeys are those of all units.
func FactKeys(units []Unit) []order.FactKey {
	keys := map[order.FactKey]bool{}
	for _, u := range units {
		for _, n := range u.Changes.Notifications {
			keys[n.FactKey] = true
		}
	}
	return slices.Collect(maps.Keys(keys))
}
