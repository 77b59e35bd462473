package sqlite

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// Sets of keys come as one JSON array. "cross join" keeps its order: each key
// is looked up in an index, never the table read for the keys.
const (
	findKnown = `select n.fact_key, ` + row.RefColumns + `
from json_each(?1) k
cross join notifications n on n.fact_key = unhex(k.value)`

	findProviders = `select n.provider, n.claim_scope, n.provider_id, n.numbers, ` + row.RefColumns + `
from json_each(?1) k
cross join notifications n on n.provider_id = k.value->>2 and n.claim_scope = k.value->>1 and n.provider = k.value->>0`

	findOrders = `select ` + row.OrderColumns + `
from json_each(?1) k
cross join orders o on o.out_trade_no = k.value->>1 and o.merchant = k.value->>0`

	findPaymentsOfOrders = `select ` + row.PaymentColumns + `
from json_each(?1) k
cross join payments p on p.out_trade_no = k.value->>1 and p.merchant = k.value->>0`

	findPayments = `select ` + row.PaymentColumns + `
from json_each(?1) k
cross join payments p on p.provider_txn_id = k.value->>1 and p.provider = k.value->>0`

	findRefundsOfOrders = `select ` + row.RefundColumns + `
from json_each(?1) k
cross join refunds r on r.out_trade_no = k.value->>1 and r.merchant = k.value->>0`

	findRefunds = `select ` + row.RefundColumns + `
from json_each(?1) k
cross join refunds r on r.ref = k.value->>1 and r.provider = k.value->>0`

	// Facts that wait for a wanted order or transaction, and those that wait for
	// a transaction which one of these names: deciding the one may let decide
	// the other.
	findWaiting = `with of_orders as materialized (
    select w.notification_id, w.idx, w.provider_txn_id, w.provider
    from json_each(?1) k
    cross join waiting w on w.out_trade_no = k.value->>1 and w.merchant = k.value->>0
    where not w.by_txn
), txns as materialized (
    select k.value->>1 as provider_txn_id, k.value->>0 as provider from json_each(?2) k
    union
    select provider_txn_id, provider from of_orders where provider_txn_id <> ''
), found as materialized (
    select notification_id, idx from of_orders
    union
    select w.notification_id, w.idx
    from txns t
    cross join waiting w on w.provider_txn_id = t.provider_txn_id and w.provider = t.provider
)
select ` + row.WaitingColumns + `
from found f
cross join waiting w on w.notification_id = f.notification_id and w.idx = f.idx
cross join notifications n on n.id = w.notification_id
order by w.received_at, w.notification_id, w.idx`
)

// eacher runs a query on a unit or on a moment.
type eacher func(scan func(*sql.Rows) error, query string, args ...any) error

// find reads what a unit of work wants to see. Parts that want nothing cost
// nothing.
func (each eacher) find(want *order.Want) (*order.Found, error) {
	found := row.NewFound(want)
	keys, txns := keySet(want.Orders), txnSet(want.Txns)
	err := firstError(
		func() error { return findAllKnown(each, want.FactKeys, found.Known) },
		func() error { return each.findProviders(want.ProviderKeys, found) },
		func() error { return each.findOrders(keys, found) },
		func() error { return findAllPayments(each, findPaymentsOfOrders, keys, found.Payments) },
		func() error { return findAllPayments(each, findPayments, txns, found.Payments) },
		func() error { return each.findRefunds(findRefundsOfOrders, keys, found) },
		func() error { return each.findRefunds(findRefunds, refundSet(want.Refunds), found) },
		func() error { return each.findWaiting(keys, txns, found) },
		func() error { return each.findStories(want.Stories, found) },
	)
	return found, err
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func findAllKnown(each eacher, keys []order.FactKey, into map[order.FactKey]order.Ref) error {
	set := make([]string, 0, len(keys))
	for _, k := range row.FactKeys(keys) {
		set = append(set, hex.EncodeToString(k[:]))
	}
	if len(set) == 0 {
		return nil
	}
	return each(func(rows *sql.Rows) error {
		key, ref, err := row.ScanKnown(rows)
		into[key] = ref
		return err
	}, findKnown, jsonText(set))
}

func findAllPayments(each eacher, query, set string, into map[order.TxnKey]order.Payment) error {
	if set == "" {
		return nil
	}
	return each(func(rows *sql.Rows) error {
		p, err := row.ScanPayment(rows)
		into[p.TxnKey] = p
		return err
	}, query, set)
}

func (each eacher) findProviders(keys []order.ProviderKey, found *order.Found) error {
	var set [][3]string
	for _, k := range row.ProviderKeys(keys) {
		set = append(set, [3]string{k.Provider, k.Scope, k.ProviderID})
	}
	if len(set) == 0 {
		return nil
	}
	return each(func(rows *sql.Rows) error {
		key, ref, err := row.ScanProvider(rows)
		found.Providers[key] = ref
		return err
	}, findProviders, jsonText(set))
}

func (each eacher) findOrders(set string, found *order.Found) error {
	if set == "" {
		return nil
	}
	scan := row.OrderScanner()
	return each(func(rows *sql.Rows) error {
		o, err := scan(rows)
		found.Orders[o.Key] = o
		return err
	}, findOrders, set)
}

func (each eacher) findRefunds(query, set string, found *order.Found) error {
	if set == "" {
		return nil
	}
	return each(func(rows *sql.Rows) error {
		r, err := row.ScanRefund(rows)
		found.Refunds[r.RefundKey] = r
		return err
	}, query, set)
}

func (each eacher) findWaiting(keys, txns string, found *order.Found) error {
	if keys == "" && txns == "" {
		return nil
	}
	return each(func(rows *sql.Rows) error {
		w, err := row.ScanWaiting(rows)
		found.Waiting = append(found.Waiting, w)
		return err
	}, findWaiting, orEmpty(keys), orEmpty(txns))
}

func orEmpty(set string) string {
	if set == "" {
		return "[]"
	}
	return set
}

// keySet is a set of orders as json_each reads it, "" when it is empty.
func keySet(keys []order.Key) string {
	var set [][2]string
	for _, k := range row.Keys(keys) {
		set = append(set, [2]string{k.Merchant, k.OutTradeNo})
	}
	return pairs(set)
}

func txnSet(txns []order.TxnKey) string {
	var set [][2]string
	for _, k := range row.Txns(txns) {
		set = append(set, [2]string{k.Provider, k.ProviderTxnID})
	}
	return pairs(set)
}

func refundSet(refunds []order.RefundKey) string {
	var set [][2]string
	for _, k := range row.Refunds(refunds) {
		set = append(set, [2]string{k.Provider, k.Ref})
	}
	return pairs(set)
}

func pairs(set [][2]string) string {
	if len(set) == 0 {
		return ""
	}
	return jsonText(set)
}

func jsonText(v any) string {
	b, _ := json.Marshal(v) // arrays of texts always marshal
	return string(b)
}
