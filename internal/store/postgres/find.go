package postgres

import (
	"cmp"
	"context"
	"slices"
	"sort"

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

	// Each look-up goes from its keys to their rows, whatever the planner believes
	// of the table: left to join, it reads the index of a table that it takes for
	// empty from end to end, until it plans anew, while the table grows. A list of
	// keys is the cheapest. Where a key's first column names rows of others too, the
	// keys are a table, and an offset keeps the planner from turning the join round.
	findKnown = `select n.fact_key, ` + row.RefColumns + ` from notifications n where n.fact_key = any($1::bytea[])`

	// What is hardly ever there, in one statement, because to begin one costs more
	// than to find nothing: facts that are known, ids that are taken, also another
	// provider's, and whether anything waits or any of the orders has refunds.
	findTraces = `select 'known', n.fact_key, ` + row.RefColumns + `, '', '', '', '' from notifications n where n.fact_key = any($1::bytea[])
union all
select 'taken', null, ` + row.RefColumns + `, n.numbers, n.provider, n.claim_scope, n.provider_id
from notifications n where n.provider_id = any($2::text[]) and n.claim_scope is not null
union all
select 'waits', null, '', '', '', '', '', '', ''
where exists (select from waiting w where w.out_trade_no = any($3::text[]) and not w.by_txn)
    or exists (select from waiting w where w.provider_txn_id = any($4::text[]))
union all
select 'refunded', null, '', '', '', '', '', '', ''
where exists (select from refunds r where r.out_trade_no = any($3::text[]))`

	// Who holds the advisory lock of an order is alone with it; should somebody
	// change it without, by hand, its update finds another rev and the unit is
	// decided again.
	//
	// The index by time holds the key as well, behind the time, and while the table
	// is empty it looks as good as the key's own. That one alone gives the order
	// that is asked for, which counts only where a number may be one of several.
	findOrders = `select o.* from unnest($1::text[], $2::text[]) k(out_trade_no, merchant)
cross join lateral (select ` + row.OrderColumns + ` from orders o
    where o.out_trade_no = any(array[k.out_trade_no]) and o.merchant = k.merchant order by o.out_trade_no offset 0) o`

	// Those of the orders and those of the transactions; one of both comes twice.
	// Another provider's transaction may have a wanted one's number.
	findPayments = `select p.* from unnest($1::text[], $2::text[]) k(out_trade_no, merchant)
cross join lateral (select ` + row.PaymentColumns + ` from payments p
    where p.out_trade_no = k.out_trade_no and p.merchant = k.merchant offset 0) p
union all
select ` + row.PaymentColumns + ` from payments p where p.provider_txn_id = any($3::text[])`

	findRefundsOfOrders = `select r.* from unnest($1::text[], $2::text[]) k(out_trade_no, merchant)
cross join lateral (select ` + row.RefundColumns + ` from refunds r
    where r.out_trade_no = k.out_trade_no and r.merchant = k.merchant offset 0) r`

	findRefunds = `select r.* from unnest($1::text[], $2::text[]) k(ref, provider)
cross join lateral (select ` + row.RefundColumns + ` from refunds r
    where r.ref = k.ref and r.provider = k.provider offset 0) r`

	// Facts that wait for a wanted order or transaction, and those that wait for
	// a transaction which one of these names: deciding the one may let decide
	// the other.
	findWaiting = `with of_orders as materialized (
    select w.* from unnest($1::text[], $2::text[]) k(out_trade_no, merchant)
    cross join lateral (select w.notification_id, w.idx, w.provider_txn_id, w.provider from waiting w
        where w.out_trade_no = k.out_trade_no and w.merchant = k.merchant and not w.by_txn offset 0) w
), txns as materialized (
    select provider_txn_id, provider from unnest($3::text[], $4::text[]) k(provider_txn_id, provider)
    union
    select provider_txn_id, provider from of_orders where provider_txn_id <> ''
), found as materialized (
    select notification_id, idx from of_orders
    union
    select w.notification_id, w.idx from txns t
    cross join lateral (select w.notification_id, w.idx from waiting w
        where w.provider_txn_id = t.provider_txn_id and w.provider = t.provider offset 0) w
)
select w.* from found f
cross join lateral (select ` + row.WaitingColumns + ` from waiting w join notifications n on n.id = w.notification_id
    where w.notification_id = f.notification_id and w.idx = f.idx offset 0) w
order by w.received_at, w.notification_id, w.idx`
)

// find begins a transaction, takes the locks and reads, in one round trip; in two
// when something waits, or when an order has refunds.
func find(ctx context.Context, conn *pgxpool.Conn, want *order.Want) (*order.Found, error) {
	var batch pgx.Batch
	batch.Queue(begin)
	if locks := lockOf(want); len(locks) > 0 {
		batch.Queue(takeLocks, locks)
	}
	reads := queueReads(&batch, want)
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, err
	}
	return reads.finish(ctx, conn.Conn())
}

// reads is what a batch fills for a unit of work.
type reads struct {
	found      *order.Found
	stories    map[order.Key]*order.Story
	keys, txns arrays
	waits      bool // something waits for these
	refunded   bool // one of the orders has refunds
}

// queueReads queues the questions of a unit of work. Parts that want nothing cost
// nothing.
func queueReads(batch *pgx.Batch, want *order.Want) *reads {
	r := &reads{found: row.NewFound(want), keys: keyArrays(want.Orders), txns: txnArrays(want.Txns)}
	r.queueTraces(batch, want)
	queueOrders(batch, r.keys, r.found)
	queuePayments(batch, r.keys, r.txns, r.found.Payments)
	queueRefunds(batch, findRefunds, refundArrays(want.Refunds), r.found)
	r.stories = queueStories(batch, want.Stories)
	return r
}

// finish takes what a batch brought and asks for what it showed to be there.
func (r *reads) finish(ctx context.Context, conn *pgx.Conn) (*order.Found, error) {
	r.found.Stories = told(r.stories)
	var batch pgx.Batch
	if r.refunded {
		queueRefunds(&batch, findRefundsOfOrders, r.keys, r.found)
	}
	if r.waits {
		queueWaiting(&batch, r.keys, r.txns, r.found)
	}
	if batch.Len() == 0 {
		return r.found, nil
	}
	return r.found, conn.SendBatch(ctx, &batch).Close()
}

// arrays is a sorted set of keys as unnest reads it: the selective column first.
type arrays struct{ first, second []string }

func (a arrays) empty() bool { return len(a.first) == 0 }

func (a arrays) has(first, second string) bool {
	_, found := sort.Find(len(a.first), func(i int) int {
		return cmp.Or(cmp.Compare(first, a.first[i]), cmp.Compare(second, a.second[i]))
	})
	return found
}

func keyArrays(keys []order.Key) arrays {
	sorted := row.Keys(keys)
	return arrays{
		column(sorted, func(k *order.Key) string { return k.OutTradeNo }),
		column(sorted, func(k *order.Key) string { return k.Merchant })}
}

func txnArrays(txns []order.TxnKey) arrays {
	sorted := row.Txns(txns)
	return arrays{
		column(sorted, func(k *order.TxnKey) string { return k.ProviderTxnID }),
		column(sorted, func(k *order.TxnKey) string { return k.Provider })}
}

func refundArrays(refunds []order.RefundKey) arrays {
	sorted := row.Refunds(refunds)
	return arrays{
		column(sorted, func(k *order.RefundKey) string { return k.Ref }),
		column(sorted, func(k *order.RefundKey) string { return k.Provider })}
}

func queueKnown(batch *pgx.Batch, keys []order.FactKey, into map[order.FactKey]order.Ref) {
	if len(keys) == 0 {
		return
	}
	batch.Queue(findKnown, factArray(keys)).Query(scanAll(func(s row.Scanner) error {
		key, ref, err := row.ScanKnown(s)
		into[key] = ref
		return err
	}))
}

func factArray(keys []order.FactKey) [][]byte {
	return column(row.FactKeys(keys), func(k *order.FactKey) []byte { return k[:] })
}

func (r *reads) queueTraces(batch *pgx.Batch, want *order.Want) {
	facts := factArray(want.FactKeys)
	ids := column(row.ProviderKeys(want.ProviderKeys), func(k *order.ProviderKey) string { return k.ProviderID })
	if len(facts) == 0 && len(ids) == 0 && r.keys.empty() && r.txns.empty() {
		return
	}
	batch.Queue(findTraces, facts, ids, r.keys.first, r.txns.first).Query(scanAll(func(s row.Scanner) error {
		var trace string
		var b []byte
		var fact order.FactKey
		var ref order.Ref
		var id order.ProviderKey
		if err := s.Scan(&trace, &b, &ref.NotificationID, &ref.Outcome, &ref.Reason,
			&ref.Numbers, &id.Provider, &id.Scope, &id.ProviderID); err != nil {
			return err
		}
		switch trace {
		case "known":
			copy(fact[:], b)
			r.found.Known[fact] = ref
		case "taken":
			if slices.Contains(want.ProviderKeys, id) {
				r.found.Providers[id] = ref
			}
		case "waits":
			r.waits = true
		case "refunded":
			r.refunded = true
		}
		return nil
	}))
}

func queueOrders(batch *pgx.Batch, keys arrays, found *order.Found) {
	if keys.empty() {
		return
	}
	scan := row.OrderScanner()
	batch.Queue(findOrders, keys.first, keys.second).Query(scanAll(func(s row.Scanner) error {
		o, err := scan(s)
		found.Orders[o.Key] = o
		return err
	}))
}

func queuePayments(batch *pgx.Batch, keys, txns arrays, into map[order.TxnKey]order.Payment) {
	if keys.empty() && txns.empty() {
		return
	}
	batch.Queue(findPayments, keys.first, keys.second, txns.first).Query(scanAll(func(s row.Scanner) error {
		p, err := row.ScanPayment(s)
		if keys.has(p.Order.OutTradeNo, p.Order.Merchant) || txns.has(p.ProviderTxnID, p.Provider) {
			into[p.TxnKey] = p
		}
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
	batch.Queue(findWaiting, keys.first, keys.second, txns.first, txns.second).Query(scanAll(func(s row.Scanner) error {
		w, err := row.ScanWaiting(s)
		found.Waiting = append(found.Waiting, w)
		return err
	}))
}
