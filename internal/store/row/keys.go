package row

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/notifyd/notifyd/internal/order"
)

// Keys sorts keys and drops repeats and those that name nothing. Every unit of
// work locks and writes in this order, so that none waits for another in a ring.
func Keys(keys []order.Key) []order.Key {
	return tidy(keys, func(k order.Key) bool { return k.OutTradeNo == "" }, compareKeys)
}

// Txns does for transactions what Keys does for orders.
func Txns(txns []order.TxnKey) []order.TxnKey {
	return tidy(txns, func(k order.TxnKey) bool { return k.ProviderTxnID == "" }, compareTxns)
}

// Refunds does for refunds what Keys does for orders.
func Refunds(refunds []order.RefundKey) []order.RefundKey {
	return tidy(refunds, func(k order.RefundKey) bool { return k.Ref == "" }, compareRefunds)
}

// ProviderKeys does for the providers' own ids what Keys does for orders.
func ProviderKeys(keys []order.ProviderKey) []order.ProviderKey {
	return tidy(keys, func(k order.ProviderKey) bool { return k.ProviderID == "" }, func(a, b order.ProviderKey) int {
		return cmp.Or(cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Provider, b.Provider))
	})
}

// FactKeys does for fact keys what Keys does for orders.
func FactKeys(keys []order.FactKey) []order.FactKey {
	return tidy(keys, func(order.FactKey) bool { return false }, compareFactKeys)
}

func tidy[T comparable](s []T, nothing func(T) bool, compare func(a, b T) int) []T {
	s = slices.DeleteFunc(slices.Clone(s), nothing)
	slices.SortFunc(s, compare)
	return slices.Compact(s)
}

func compareKeys(a, b order.Key) int {
	return cmp.Or(cmp.Compare(a.OutTradeNo, b.OutTradeNo), cmp.Compare(a.Merchant, b.Merchant))
}

func compareTxns(a, b order.TxnKey) int {
	return cmp.Or(cmp.Compare(a.ProviderTxnID, b.ProviderTxnID), cmp.Compare(a.Provider, b.Provider))
}

func compareRefunds(a, b order.RefundKey) int {
	return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Provider, b.Provider))
}

func compareFactKeys(a, b order.FactKey) int { return bytes.Compare(a[:], b[:]) }

// Sorted is a copy of the changes in the order in which they are written. The
// caller's slices stay as they are.
func Sorted(c *order.Changes) order.Changes {
	return order.Changes{
		Orders:   sorted(c.Orders, func(a, b order.Order) int { return compareKeys(a.Key, b.Key) }),
		Payments: sorted(c.Payments, func(a, b order.Payment) int { return compareTxns(a.TxnKey, b.TxnKey) }),
		Refunds:  sorted(c.Refunds, func(a, b order.Refund) int { return compareRefunds(a.RefundKey, b.RefundKey) }),
		// By fact key and not by id: two instances that record copies of the same
		// messages give them different ids and meet at the fact keys.
		Notifications: sorted(c.Notifications, func(a, b order.Row) int { return compareFactKeys(a.FactKey, b.FactKey) }),
		Resolutions: sorted(c.Resolutions, func(a, b order.Resolution) int {
			return cmp.Compare(a.NotificationID, b.NotificationID)
		}),
		Wait: sorted(c.Wait, func(a, b order.Waiting) int {
			return cmp.Or(cmp.Compare(a.NotificationID, b.NotificationID), cmp.Compare(a.Index, b.Index))
		}),
		Done: sorted(c.Done, func(a, b order.WaitingKey) int {
			return cmp.Or(cmp.Compare(a.NotificationID, b.NotificationID), cmp.Compare(a.Index, b.Index))
		}),
		Events: sorted(c.Events, func(a, b order.Event) int { return cmp.Compare(a.ID, b.ID) }),
		Seal:   c.Seal,
	}
}

func sorted[T any](s []T, compare func(a, b T) int) []T {
	s = slices.Clone(s)
	slices.SortStableFunc(s, compare)
	return s
}
