package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/notifyd/notifyd/bench/figure"
	"github.com/notifyd/notifyd/bench/target"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// derive fills what the counters say of notifyd's run. Repeats make no commit,
// whether they are looked up first or found by a unit of work that then has
// nothing to write: what they cost is reads.
func derive(m *figure.Measured, repeats bool, batches target.Batches, syncs, transactions int64) {
	switch {
	case repeats && transactions > 0:
		m.Lookup = float64(m.Load.AcceptedAll) / float64(transactions)
	case batches.Commits > 0:
		m.Batch = batches.Notifications / batches.Commits
		m.SyncsPerCommit = float64(syncs) / batches.Commits
	}
}

// verify makes sure that the figure is one of durable notifications: nothing
// failed, and each accepted one left its order as it should be. Otherwise the
// measurement has a fault and is not used.
func (b *bench) verify(t trial, folder, database string, m *figure.Measured) error {
	switch {
	case m.Load.Failed > 0:
		m.Fault = fmt.Sprintf("%d requests failed: %s", m.Load.Failed, m.Load.FirstFault)
	case m.Load.Accepted == 0:
		m.Fault = "nothing was accepted"
	}
	if t.status == "" || m.Fault != "" {
		return nil
	}
	var durable int64
	var err error
	if t.system == notifydSQLite {
		durable, err = countInFile(b.ctx, filepath.Join(folder, "notifyd.db"), order.Status(t.status))
	} else {
		durable, err = t.on.Count(b.ctx, database, "select count(*) from orders where out_trade_no like 'T%' and status = '"+t.status+"'")
	}
	if durable < m.Load.AcceptedAll {
		m.Fault = fmt.Sprintf("%d notifications were accepted, but %d orders are %s", m.Load.AcceptedAll, durable, t.status)
	}
	return err
}

func countInFile(ctx context.Context, file string, status order.Status) (int64, error) {
	db, err := store.Open("sqlite:"+file, store.Options{Holder: "the benchmark"})
	if err != nil {
		return 0, err
	}
	if err := db.Prepare(ctx); err != nil {
		return 0, errors.Join(err, db.Close())
	}
	found := int64(0)
	filter := order.OrderFilter{Status: status, Limit: page}
	for {
		orders, err := db.Orders(ctx, filter)
		if err != nil {
			return 0, errors.Join(err, db.Close())
		}
		found += int64(len(orders))
		if len(orders) < page {
			return found, db.Close()
		}
		last := orders[len(orders)-1]
		filter.After = order.OrderMark{CreatedAt: last.CreatedAt, Key: last.Key}
	}
}

// page is the most orders that a store lists at a time.
const page = 1000
