package main

import (
	"context"
	"errors"
	"time"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

const (
	// sequenceEvery is how soon events of other instances get their places, and
	// places that other instances gave are noticed.
	sequenceEvery = 200 * time.Millisecond
	// sequenceRest is the least time between two rounds of an instance: a place
	// costs a commit that notifications would share otherwise.
	sequenceRest = 50 * time.Millisecond
)

// merchantAPI wires the merchant API to the store.
func (d *daemon) merchantAPI(commands *order.Commands) (httpapi.MerchantAPI, error) {
	var keys []idempotency.Key
	for _, m := range d.conf.Merchants {
		for _, k := range m.APIKeys {
			keys = append(keys, idempotency.Key{ID: k.ID, Secret: idempotency.Secret(k.Secret.Reveal()), Merchant: m.Name})
		}
	}
	verifier, err := idempotency.NewVerifier(keys)
	if err != nil {
		return httpapi.MerchantAPI{}, exitWith(exitConfig, "%w", err)
	}
	return httpapi.MerchantAPI{
		Verifier: verifier,
		Once: &idempotency.Once{Store: d.db, Failed: func(err error) {
			d.log.Warn("an idempotency key stays locked until its time is over", "error", err.Error())
		}},
		Sealing: func(s order.Sealer) httpapi.Commands { return commands.Sealing(s) },
		Feed:    d.db,
		Moved:   d.sequencer.Moved,
	}, nil
}

func (d *daemon) newSequencer() *order.Sequencer {
	return order.NewSequencer(order.SequencerOptions{
		Feed: d.db,
		Rest: func(ctx context.Context) { pause(ctx, sequenceRest) },
		Failed: func(err error) {
			if !errors.Is(err, order.ErrUnavailable) { // which readiness reports, once
				d.log.Warn("events have no place in the feed yet", "error", err.Error())
			}
		},
	})
}

// sequence gives committed events their places in the feed, from the moment on
// when the store can be used.
func (d *daemon) sequence(ctx context.Context) {
	select {
	case <-d.prepared:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(sequenceEvery)
	defer tick.Stop()
	d.sequencer.Run(ctx, tick.C)
}
