package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// backlogEvery is how often what waits at the endpoints is counted, which reads
// all of it.
const backlogEvery = 15 * time.Second

// subscriptions says at which endpoints an event of a merchant is delivered.
// Acks wait for it, so all is looked up beforehand.
func subscriptions(c *config.Config) func(merchant string, t order.EventType) []string {
	names := map[order.Key][]string{} // merchant and, in place of an order, type
	for _, m := range c.Merchants {
		for _, e := range m.Endpoints {
			for _, t := range subscribedTo(e) {
				key := order.Key{Merchant: m.Name, OutTradeNo: string(t)}
				names[key] = append(names[key], e.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return func(merchant string, t order.EventType) []string {
		return names[order.Key{Merchant: order.BaseMerchant(merchant), OutTradeNo: string(t)}]
	}
}

// subscribedTo are the types that an endpoint wants, each once.
func subscribedTo(e config.Endpoint) (types []order.EventType) {
	wanted := map[string]bool{}
	for _, name := range e.Events {
		wanted[name] = true
	}
	for _, t := range order.EventTypes() {
		if wanted[allEvents] || wanted[string(t)] {
			types = append(types, t)
		}
	}
	return types
}

// newOutbox makes the part that delivers.
func (d *daemon) newOutbox(metrics *httpapi.Metrics) error {
	var endpoints []outbox.Endpoint
	var names []string
	for _, m := range d.conf.Merchants {
		for _, e := range m.Endpoints {
			endpoint := outbox.Endpoint{Name: e.Name, Merchant: m.Name, URL: e.URL, Events: e.Events, AllowPrivate: e.AllowPrivate}
			for _, s := range e.Secrets {
				key, err := config.SigningKey(s)
				if err != nil {
					return exitWith(exitConfig, "a secret of endpoint %s %w", e.Name, err)
				}
				endpoint.Keys = append(endpoint.Keys, key)
			}
			endpoints, names = append(endpoints, endpoint), append(names, e.Name)
		}
	}
	d.deliveryMetrics = metrics.Deliveries(d.log, names)
	opt := outbox.Options{
		Store: d.db, Endpoints: endpoints, Now: d.clock, NewID: newID, Random: rand.Float64, UserAgent: "notifyd/" + thisBuild().Version,
		Sequenced: true, Attempted: d.deliveryMetrics.Attempted, Paused: d.deliveryMetrics.Paused,
		Failed:    func(err error) { d.log.Warn("deliveries wait for the store", "error", err.Error()) },
		StopGrace: d.conf.ShutdownTimeout / recorderShare,
	}
	hurry(&opt)
	d.outbox = outbox.New(opt)
	return nil
}

// deliver runs the outbox, from the moment on when the store can be used, and
// wakes it when events have got their places in the feed.
func (d *daemon) deliver(ctx context.Context) {
	select {
	case <-d.prepared:
	case <-ctx.Done():
		return
	}
	d.tasks.Go(func() {
		for moved := d.sequencer.Moved(); ; {
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
			moved = d.sequencer.Moved() // before the wake: what moves meanwhile is not missed
			d.outbox.Wake()
		}
	})
	d.outbox.Run(ctx)
}

// countBacklogs shows what waits at the endpoints.
func (d *daemon) countBacklogs(ctx context.Context) {
	backlogs, err := d.db.Backlogs(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Warn("what waits at the endpoints was not counted", "error", err.Error())
		}
		return
	}
	d.deliveryMetrics.Backlogs(backlogs, d.clock())
}
