package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/notifyd/notifyd/bench/cluster"
	"github.com/notifyd/notifyd/bench/figure"
	"github.com/notifyd/notifyd/bench/fill"
	"github.com/notifyd/notifyd/bench/message"
	"github.com/notifyd/notifyd/migrations"
)

// settled compares a database that holds millions of settled orders with one
// that holds none, on the server on which the set is kept. The set is used where
// it lies: each round brings orders of its own, and the end removes them.
func (b *bench) settled() ([]measurement, func() error, error) {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil { // the server's own user must pass
		return nil, nil, err
	}
	kept, err := cluster.Start(b.ctx, filepath.Join(b.Cache, "pg"))
	if err != nil {
		return nil, nil, err
	}
	set, orders, err := b.settledSet(kept)
	if err != nil {
		return nil, kept.Stop, err
	}
	b.book.Notes = append(b.book.Notes, fmt.Sprintf("settled orders: %d", orders))
	if orders < settledWhole {
		b.say("the whole set of %d is not there: %d settled orders are used (make bench-full makes and keeps it)", settledWhole, orders)
	}
	const empty = "empty_set"
	full := func(round int) (figure.Measured, error) { return b.amongSettled(kept, set, round) }
	none := func(round int) (figure.Measured, error) {
		if err := fill.Ours(b.ctx, kept, empty); err != nil {
			return figure.Measured{}, err
		}
		m, err := b.amongSettled(kept, empty, round)
		return m, errors.Join(err, kept.Drop(b.ctx, empty))
	}
	end := func() error {
		return errors.Join(fill.Forget(b.ctx, kept, set), kept.Settle(b.ctx), kept.Stop())
	}
	return []measurement{{"settled, notifyd, 64", full}, {"empty, notifyd, 64", none}}, end, nil
}

// amongSettled measures unique payments of the round's own orders.
func (b *bench) amongSettled(kept *cluster.Cluster, database string, round int) (m figure.Measured, err error) {
	per := b.Messages / 2
	from, to := (round-1)*per, round*per
	if err := b.expect(kept.URL(database), from, to); err != nil {
		return m, err
	}
	return b.perform(trial{system: notifyd, on: kept, inPlace: database, conns: 64, status: "paid",
		pool: func() (*pool, error) { return b.pool(message.V3Paid, from, to) }})
}

// settledSet is the largest set that is there, or makes one: the whole in a full
// run, a smaller one otherwise. Its name holds what the schema says, so that a
// set of another schema is not taken for it.
func (b *bench) settledSet(kept *cluster.Cluster) (name string, orders int, err error) {
	named := func(n int) string { return fmt.Sprintf("settled_%d_%s", n, schema()) }
	if whole, err := kept.Has(b.ctx, named(settledWhole)); err != nil || whole {
		return named(settledWhole), settledWhole, err
	}
	orders = b.Settled
	if b.Full {
		orders = settledWhole
	}
	name = named(orders)
	if has, err := kept.Has(b.ctx, name); err != nil || has {
		return name, orders, err
	}
	if err := kept.DropOthers(b.ctx, "settled_%"); err != nil {
		return name, orders, err
	}
	b.say("making %d settled orders in %s, kept for the next run", orders, b.Cache)
	registrations, units, err := b.decided(message.V3Paid, 1)
	if err != nil {
		return name, orders, err
	}
	return name, orders, fill.Settled(b.ctx, fill.Set{Cluster: kept, Database: name, Pattern: [2][]fill.Unit{registrations, units}, Orders: orders},
		func(text string) { b.say("settled: %s", text) })
}

// schema is a short name of what the migrations say.
func schema() string {
	h := sha256.New()
	names, _ := fs.Glob(migrations.Postgres, "postgres/*.sql") // the pattern is well-formed
	for _, name := range names {
		text, _ := migrations.Postgres.ReadFile(name) // it is part of this program
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
