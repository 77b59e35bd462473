package run

import (
	"errors"
	"fmt"

	"github.com/notifyd/notifyd/bench/figure"
	"github.com/notifyd/notifyd/bench/fill"
	"github.com/notifyd/notifyd/bench/floor"
	"github.com/notifyd/notifyd/bench/message"
	"github.com/notifyd/notifyd/internal/store/postgres"
)

// replayed is how many units the floors write: some seconds' worth.
const replayed = 30_000

// floorsOfWrites are D, D with the reads that go before, and COPY of what D
// wrote, at the mean batch that the named measurement had in the same round.
func (b *bench) floorsOfWrites(conns int, of string) ([]measurement, error) {
	messages := min(replayed, b.Messages)
	_, units, err := b.decided(message.V3Paid, messages)
	if err != nil {
		return nil, err
	}
	if _, err := b.expecting("ours_expecting_floor", messages); err != nil {
		return nil, err
	}
	if _, err := b.expecting("ours_empty", 0); err != nil {
		return nil, err
	}
	var written []floor.Table
	replay := func(lookups bool) func(int) (figure.Measured, error) {
		return func(round int) (m figure.Measured, err error) {
			err = b.fresh("ours_expecting_floor", func(url string) (err error) {
				m.Batch = float64(b.batchIn(round, of))
				if m.PerSecond, err = floor.Database(b.ctx, url, units, int(m.Batch), lookups); err == nil && written == nil {
					written, err = floor.Dump(b.ctx, url)
				}
				return err
			})
			return m, err
		}
	}
	copies := func(round int) (m figure.Measured, err error) {
		err = b.fresh("ours_empty", func(url string) (err error) {
			m.Batch = float64(b.batchIn(round, of))
			m.PerSecond, err = floor.Copy(b.ctx, url, written, int(m.Batch), postgres.DefaultCommitters)
			return err
		})
		return m, err
	}
	return []measurement{
		{fmt.Sprintf("D, %d", conns), replay(false)},
		{fmt.Sprintf("D with lookups, %d", conns), replay(true)},
		{fmt.Sprintf("COPY, %d", conns), copies},
	}, nil
}

// batchIn is the mean batch of a measurement in a round.
func (b *bench) batchIn(round int, name string) int {
	return max(1, int(b.book.Of(name)[round].Batch+0.5))
}

// floorOfReads is R at the mean number of repeats to a read that the named
// measurement had in the same round.
func (b *bench) floorOfReads(name, of string) (measurement, error) {
	database, err := b.paid(message.V3Paid)
	if err != nil {
		return measurement{}, err
	}
	_, units, err := b.decided(message.V3Paid, b.repeatable())
	if err != nil {
		return measurement{}, err
	}
	keys := fill.FactKeys(units)
	return measurement{name, func(round int) (m figure.Measured, err error) {
		size := max(1, int(b.book.Of(of)[round].Lookup+0.5))
		m.Lookup = float64(size)
		m.PerSecond, err = floor.Reads(b.ctx, b.cluster.URL(database), keys, size, b.Measure)
		return m, err
	}}, nil
}

// fresh gives work a copy of a database and drops it.
func (b *bench) fresh(template string, work func(url string) error) error {
	const name = "trial"
	if err := b.cluster.Create(b.ctx, name, template); err != nil {
		return err
	}
	err := b.cluster.Settle(b.ctx)
	if err == nil {
		err = work(b.cluster.URL(name))
	}
	return errors.Join(err, b.cluster.Drop(b.ctx, name))
}
