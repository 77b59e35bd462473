package floor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/notifyd/notifyd/bench/fill"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/postgres"
)

// errTimeIsOver ends the work of one goroutine without a fault.
var errTimeIsOver = errors.New("the time is over")

// each hands pieces of work to so many goroutines and says how long all took.
func each(goroutines, pieces int, work func(piece int) error) (time.Duration, error) {
	var next atomic.Int64
	var running sync.WaitGroup
	errs := make([]error, goroutines)
	start := time.Now()
	for g := range goroutines {
		running.Go(func() {
			for {
				piece := int(next.Add(1) - 1)
				if piece >= pieces || errs[g] != nil {
					return
				}
				if errs[g] = work(piece); errors.Is(errs[g], errTimeIsOver) {
					errs[g] = nil
					return
				}
			}
		})
	}
	running.Wait()
	return time.Since(start), errors.Join(errs...)
}

// Database measures D: the units of a run, size of them to a transaction, with
// the run's own statements, written by as many committers as notifyd has. lookups
// adds the read for known notifications that goes before each unit. The result
// is units per second.
func Database(ctx context.Context, url string, units []fill.Unit, size int, lookups bool) (float64, error) {
	db, err := open(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	batches := fill.Merge(units, size)
	took, err := each(db.Committers(), len(batches), func(i int) error {
		if lookups {
			if _, err := db.Known(ctx, batches[i].Want.FactKeys); err != nil {
				return err
			}
		}
		return fill.Replay(ctx, db, batches[i])
	})
	return float64(len(units)) / took.Seconds(), err
}

// readers is how many reads for repeats notifyd runs at once.
const readers = 2

// Reads measures R: keys of recorded notifications, size of them to a read, for
// so long. The result is keys per second.
func Reads(ctx context.Context, url string, keys []order.FactKey, size int, length time.Duration) (float64, error) {
	db, err := open(ctx, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	size = min(size, len(keys))
	var found atomic.Int64
	end := time.Now().Add(length)
	const enough = 1 << 30 // time ends it
	took, err := each(readers, enough, func(i int) error {
		if time.Now().After(end) {
			return errTimeIsOver
		}
		from := i * size % (len(keys) - size + 1)
		known, err := db.Known(ctx, keys[from:from+size])
		found.Add(int64(len(known)))
		return err
	})
	return float64(found.Load()) / took.Seconds(), err
}

func open(ctx context.Context, url string) (*postgres.Store, error) {
	db, err := postgres.Open(url, postgres.Options{})
	if err != nil {
		return nil, err
	}
	if err := db.Prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
