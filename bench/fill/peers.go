package fill

import (
	"context"
	"fmt"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/bench/cluster"
	"github.com/notifyd/notifyd/bench/peer"
)

// Peers makes a database of the peers' tables that expects the orders from…to-1.
func Peers(ctx context.Context, c *cluster.Cluster, database string, from, to int) error {
	if err := c.Create(ctx, database, ""); err != nil {
		return err
	}
	return c.Do(ctx, database, peer.Schema, fmt.Sprintf(`insert into orders (out_trade_no, amount_fen, status, updated_at)
select %s, %s, 'created', now() from generate_series(%d, %d) n`, account.OrderNoSQL("n"), account.AmountSQL("n"), from, to-1),
		"vacuum analyze")
}

// Ours makes a database of notifyd's tables and writes units to it, one step
// after another: a step may change what the one before it wrote.
func Ours(ctx context.Context, c *cluster.Cluster, database string, steps ...[]Unit) error {
	if err := c.Create(ctx, database, ""); err != nil {
		return err
	}
	for _, units := range append(steps, nil) { // without a step the tables are made all the same
		if err := Write(ctx, c.URL(database), units); err != nil {
			return err
		}
	}
	return c.Do(ctx, database, "vacuum analyze")
}
