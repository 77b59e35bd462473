package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// Sets of keys come as arrays. Each statement sees what was committed before it
// began, so that all of them see what the holders of the locks before us did.
const (
	begin = `begin isolation level read committed`

	takeLocks = `select count(pg_advisory_xact_lock(k)) from unnest($1::bigint[]) k`

	findKnown = `select n.fact_key, ` + row.RefColumns + `
from unnest($1::bytea[]) k(fact_key)
join notifications n on n.fact_key = k.fact_key`

	findProviders = `select n.provider, n.claim_scope, n.provider_id, n.numbers, ` + row.RefColumns + `
from unnest($1::text[], $2::text[], $3::text[]) k(provider_id, scope, provider)
join notifications n on n.provider_id = k.provider_id and n.claim_scope = k.scope and n.provider = k.provider`

	seeOrders = `select ` + row.OrderColumns + `
from unnest($1::text[], $2::text[]) with ordinality k(out_trade_no, merchant, n)
join orders o on o.out_trade_no = k.out_trade_no and o.merchant = k.merchant
order by k.n`

	// The row locks hold against whatever does not take the advisory ones.
	findOrders = seeOrders + `
for update of o`

	findPayments = `select ` + row.PaymentColumns + `
from unnest($1::text[], $2::text[]) k(provider_txn_id, provider)
join payments p on p.provider_txn_id = k.provider_txn_id and p.provider = k.provider`

	findPaymentsOfOrders = `select ` + row.PaymentColumns + `
from unnest($1::text[], $2::text[]) k(out_trade_no, merchant)
join payments p on p.out_trade_no = k.out_trade_no and p.merchant = k.merchant`

	findRefunds = `select ` + row.RefundColumns + `
from unnest($1::text[], $2::text[]) k(ref, provider)
join refunds r on r.ref = k.ref and r.provider = k.provider`

	findRefundsOfOrders = `select ` + row.RefundColumns + `
from unnest($1::text[], $2::text[]) k(out_trade_no, merchant)
join refunds r on r.out_trade_no = k.out_trade_no and r.merchant = k.merchant`

	// Facts that wait for a wanted order or transaction, and those that wait for
	// a transaction which one of these names: deciding the one may let decide
	// the other.
	findWaiting = `with of_orders as materialized (
    select w.notification_id, w.idx, w.provider_txn_id, w.provider
    from unnest($1::text[], $2::text[]) k(out_trade_no, merchant)
    join waiting w on w.out_trade_no = k.out_trade_no and w.merchant = k.merchant
    where not w.by_txn
), txns as materialized (
    select provider_txn_id, provider from unnest($3::text[], $4::text[]) k(provider_txn_id, provider)
    union
    select provider_txn_id, provider from of_orders where provider_txn_id <> ''
), found as materialized (
    select notification_id, idx from of_orders
    union
    select w.notification_id, w.idx
    from txns t
    join waiting w on w.provider_txn_id = t.provider_txn_id and w.provider = t.provider
)
select ` + row.WaitingColumns + `
from found f
join waiting w on w.notification_id = f.notification_id and w.idx = f.idx
join notifications n on n.id = w.notification_id
order by w.received_at, w.notification_id, w.idx`
)

// find begins a transaction, takes the locks and reads, in one round trip.
// Parts that want nothing cost nothing.
func find(ctx context.Context, conn *pgxpool.Conn, want *order.Want) (*order.Found, error) {
	var batch pgx.Batch
	batch.Queue(begin)
	if locks := lockOf(want); len(locks) > 0 {
		batch.Queue(takeLocks, locks)
	}
	finding := queueAll(&batch, want, findOrders)
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, err
	}
	return finding.found(), nil
}

// finding is what a batch fills.
type finding struct {
	*order.Found
	stories map[order.Key]*order.Story
}

func (f finding) found() *order.Found {
	f.Stories = told(f.stories)
	return f.Found
}

// queueAll queues the questions of a unit of work; orders is the one for orders.
func queueAll(batch *pgx.Batch, want *order.Want, ordersBy string) finding {
	found := row.NewFound()
	queueKnown(batch, want.FactKeys, found.Known)
	queueProviders(batch, want.ProviderKeys, found)
	keys, txns := keyArrays(want.Orders), txnArrays(want.Txns)
	queueOrders(batch, ordersBy, keys, found)
	queuePayments(batch, findPaymentsOfOrders, keys, found.Payments)
	queuePayments(batch, findPayments, txns, found.Payments)
	queueRefunds(batch, findRefundsOfOrders, keys, found)
	queueRefunds(batch, findRefunds, refundArrays(want.Refunds), found)
	queueWaiting(batch, keys, txns, found)
	return finding{found, queueStories(batch, want.Stories)}
}

// arrays is a set of keys as unnest reads it: the selective column first.
type arrays struct{ first, second []string }

func (a arrays) empty() bool { return len(a.first) == 0 }

func keyArrays(keys []order.Key) (a arrays) {
	for _, k := range row.Keys(keys) {
		a.first, a.second = append(a.first, k.OutTradeNo), append(a.second, k.Merchant)
	}
	return a
}

func txnArrays(txns []order.TxnKey) (a arrays) {
	for _, k := range row.Txns(txns) {
		a.first, a.second = append(a.first, k.ProviderTxnID), append(a.second, k.Provider)
	}
	return a
}

func refundArrays(refunds []order.RefundKey) (a arrays) {
	for _, k := range row.Refunds(refunds) {
		a.first, a.second = append(a.first, k.Ref), append(a.second, k.Provider)
	}
	return a
}

func queueKnown(batch *pgx.Batch, keys []order.FactKey, into map[order.FactKey]order.Ref) {
	if len(keys) == 0 {
		return
	}
	sorted := row.FactKeys(keys)
	set := make([][]byte, len(sorted))
	for i := range sorted {
		set[i] = sorted[i][:]
	}
	batch.Queue(findKnown, set).Query(scanAll(func(s row.Scanner) error {
		key, ref, err := row.ScanKnown(s)
		into[key] = ref
		return err
	}))
}

func queueProviders(batch *pgx.Batch, keys []order.ProviderKey, found *order.Found) {
	var ids, scopes, providers []string
	for _, k := range row.ProviderKeys(keys) {
		ids, scopes, providers = append(ids, k.ProviderID), append(scopes, k.Scope), append(providers, k.Provider)
	}
	if len(ids) == 0 {
		return
	}
	batch.Queue(findProviders, ids, scopes, providers).Query(scanAll(func(s row.Scanner) error {
		key, ref, err := row.ScanProvider(s)
		found.Providers[key] = ref
		return err
	}))
}

func queueOrders(batch *pgx.Batch, query string, keys arrays, found *order.Found) {
	if keys.empty() {
		return
	}
	batch.Queue(query, keys.first, keys.second).Query(scanAll(func(s row.Scanner) error {
		o, err := row.ScanOrder(s)
		found.Orders[o.Key] = o
		return err
	}))
}

func queuePayments(batch *pgx.Batch, query string, set arrays, into map[order.TxnKey]order.Payment) {
	if set.empty() {
		return
	}
	batch.Queue(query, set.first, set.second).Query(scanAll(func(s row.Scanner) error {
		p, err := row.ScanPayment(s)
		into[p.TxnKey] = p
		return err
	}))
}

func queueRefunds(batch *pgx.Batch, query string, set arrays, found *order.Found) {
	if set.empty() {
		return
	}
	batch.Queue(query, set.first, set.second).Query(scanAll(func(s row.Scanner) error {
		r, err := row.ScanRefund(s)
		found.Refunds[r.RefundKey] = r
		return err
	}))
}

func queueWaiting(batch *pgx.Batch, keys, txns arrays, found *order.Found) {
	if keys.empty() && txns.empty() {
		return
	}
	batch.Queue(findWaiting, keys.first, keys.second, txns.first, txns.second).Query(scanAll(func(s row.Scanner) error {
		w, err := row.ScanWaiting(s)
		found.Waiting = append(found.Waiting, w)
		return err
	}))
}
