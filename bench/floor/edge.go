// Package floor is what bounds notifyd on a machine: the edge without a database
// (E), the database without an edge (D), and reads by key without either (R).
// Client, server and database share the processors, so that their costs per
// notification add up: the ceiling of the whole is 1/(1/E + 1/D), and for
// repeats 1/(1/E + 1/R).
//
// It imports account, cluster and fill, and of notifyd the edge and the store.
package floor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/bench/fill"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
)

const stopTimeout = 5 * time.Second

// ServeEdge is notifyd's own server with its own adapters, which verifies and
// acks and commits nothing. ready is told the public address.
func ServeEdge(ctx context.Context, ready func(string)) error {
	adapters, err := account.Adapters()
	if err != nil {
		return err
	}
	opt := httpapi.Options{
		PublicListen: "127.0.0.1:0", PrivateListen: "127.0.0.1:0", Merchants: []string{account.Merchant},
		Recorder: nobody{}, Commands: nobody{}, Heart: nobody{}, Metrics: httpapi.NewMetrics("bench"),
		Now: fill.Now, NewID: fill.NewID, Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		Version: "bench", ShutdownTimeout: stopTimeout,
	}
	for name, adapter := range adapters {
		opt.Accounts = append(opt.Accounts, httpapi.Account{Name: name, Provider: name, Adapter: adapter})
	}
	server, err := httpapi.New(opt)
	if err != nil {
		return err
	}
	if err := server.Listen(ctx); err != nil {
		return err
	}
	public, _ := server.Addrs()
	ready(public.String())
	return server.Run(ctx)
}

// nobody keeps nothing.
type nobody struct{}

// Record says at once that it was done.
func (nobody) Record(_ context.Context, n order.Notification) (order.Receipt, error) {
	return order.Receipt{NotificationID: n.ID, Outcome: order.Applied}, nil
}

// Beat always is well.
func (nobody) Beat(context.Context) error { return nil }

var errNothingKept = errors.New("nothing is kept here")

// Register and Do are for the private listener, which nobody asks.
func (nobody) Register(context.Context, order.Registration) (bool, error) {
	return false, errNothingKept
}

// Do is like Register.
func (nobody) Do(context.Context, order.Key, order.Kind) error { return errNothingKept }
