package fill

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/bench/cluster"
)

// clone says how a row of the pattern becomes the row of the order with the
// number g; p is the pattern's row.
type clone struct{ table, fields string }

// clones are all tables. The numbers of the copies begin with S, so that no
// message names them, and their requests are gone, as after the retention time.
var clones = []clone{
	{"orders", `'out_trade_no', 'S' || lpad(g::text, 15, '0'), 'provider_txn_id', 'S' || lpad(g::text, 27, '0'),
 'created_at', p.created_at - g, 'updated_at', p.updated_at - g`},
	{"payments", `'out_trade_no', 'S' || lpad(g::text, 15, '0'), 'provider_txn_id', 'S' || lpad(g::text, 27, '0')`},
	{"notifications", `'id', 'ntf_0' || lpad(g::text, 25, '0'), 'out_trade_no', 'S' || lpad(g::text, 15, '0'),
 'fact_key', '\x' || encode(('S' || lpad(g::text, 15, '0'))::bytea, 'hex') || md5(g::text), 'provider_id', 'EV-S' || lpad(g::text, 31, '0'),
 'received_at', p.received_at - g, 'header', null, 'body', null, 'content', null`},
	{"events", `'id', 'evt_0' || lpad((2 * g + p.order_version)::text, 25, '0'), 'out_trade_no', 'S' || lpad(g::text, 15, '0'),
 'notification_id', case when p.notification_id is null then null else 'ntf_0' || lpad(g::text, 25, '0') end,
 'unit', -g, 'ordinal', p.order_version, 'snapshot', replace(p.snapshot, p.out_trade_no, 'S' || lpad(g::text, 15, '0'))`},
}

// Set is what Settled makes.
type Set struct {
	Cluster  *cluster.Cluster
	Database string
	Pattern  [2][]Unit // one order, really registered and really paid
	Orders   int
}

// Settled makes a database with so many settled orders, all of them copies of
// the pattern. tell is told what is done.
func Settled(ctx context.Context, s Set, tell func(string)) error {
	building := s.Database + "_building"
	if err := Ours(ctx, s.Cluster, building, s.Pattern[:]...); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.Cluster.URL(building))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	// A set that is cut short by a crash is made again: nothing waits for disk.
	if _, err := conn.Exec(ctx, "set synchronous_commit = off"); err != nil {
		return err
	}
	const step = 250_000
	for _, c := range clones {
		for from := 1; from <= s.Orders; from += step {
			to := min(from+step-1, s.Orders)
			tell(fmt.Sprintf("%s: %d of %d", c.table, to, s.Orders))
			if _, err := conn.Exec(ctx, c.statement(from, to)); err != nil {
				return fmt.Errorf("settled %s: %w", c.table, err)
			}
		}
	}
	if err := Forget(ctx, s.Cluster, building); err != nil { // the pattern itself
		return err
	}
	tell("places in the feed")
	for _, statement := range []string{
		"delete from units", // of the pattern
		// Numbers from below leave those that are to come alone.
		fmt.Sprintf(`insert into units (unit, events, base) overriding system value
select -g, 2, 2 * (g - 1) from generate_series(1, %d) g`, s.Orders),
		"update feed set last_seq = (select coalesce(max(base + events), 0) from units)", "vacuum analyze",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := conn.Close(ctx); err != nil {
		return err
	}
	return s.Cluster.Do(ctx, "postgres", "alter database "+building+" rename to "+s.Database, "checkpoint")
}

// statement inserts the copies from…to. Columns that nobody names are as in the
// pattern, also those that do not exist yet.
func (c clone) statement(from, to int) string {
	return fmt.Sprintf(`insert into %[1]s select r.* from %[1]s p, generate_series(%[3]d, %[4]d) g,
lateral jsonb_populate_record(p, jsonb_build_object(%[2]s)) r
where p.out_trade_no like 'T%%'`, c.table, c.fields, from, to)
}

// Forget removes the orders that messages brought, so that the next run finds
// the settled ones alone.
func Forget(ctx context.Context, c *cluster.Cluster, database string) error {
	var statements []string
	for i := len(clones) - 1; i >= 0; i-- { // what refers to others goes first
		statements = append(statements, "delete from "+clones[i].table+" where out_trade_no like 'T%'")
	}
	return c.Do(ctx, database, append(statements, "vacuum")...)
}
