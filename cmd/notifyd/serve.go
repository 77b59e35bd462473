package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
	"github.com/notifyd/notifyd/internal/store"
)

func serveCommand(a *app) *cobra.Command {
	var path, format string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Receive notifications",
		Long: `serve opens the public listener, to which the providers post, and the private
one, and says so on stderr when both are open. It ends on SIGTERM or SIGINT and
reads key files again on SIGHUP.`,
		Example: `  notifyd serve
  notifyd serve --config /etc/notifyd/notifyd.yaml`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage, exitConfig, exitUnreachable),
		RunE: func(c *cobra.Command, _ []string) error {
			log, written, err := newLog(a.err, format)
			if err != nil {
				return err
			}
			defer func() { _ = written.Close() }() // a reader that stands still cannot be told either
			conf, accounts, report := a.loadConfig(path)
			if conf != nil {
				adviseKeys(accounts, conf, report, a.now())
			}
			a.printFindings(report)
			if !report.OK() {
				return unusable(path, report)
			}
			return a.serve(c.Context(), conf, accounts, log)
		},
	}
	c.Flags().StringVar(&path, "config", defaultConfig, "configuration `file`")
	c.Flags().StringVar(&format, "log-format", "json", "json or text")
	return c
}

// Bounds of the order in which things start and stop.
const (
	// firstPrepare is how long the start waits for a store that is there: its
	// faults then end the program before anybody is told that it is ready. A
	// store that is away is waited for in the background.
	firstPrepare = 2 * time.Second
	// storeRetry is the pause between attempts to reach the store.
	storeRetry = time.Second
	// recorderShare of the shutdown time is kept for what the recorder holds
	// when the listeners are closed; most of the time it is empty then.
	recorderShare = 5
)

// daemon is one running serve.
type daemon struct {
	*app
	conf     *config.Config
	accounts map[string]account
	log      *slog.Logger
	db       store.DB
	recorder *order.Recorder
	keeper   *refusal.Keeper
	server   *httpapi.Server

	sequencer       *order.Sequencer
	outbox          *outbox.Outbox
	deliveryMetrics *httpapi.DeliveryMetrics

	prepared chan struct{} // closed when the store can be used
	tasks    sync.WaitGroup
}

// collectAt is the growth of the heap, in percent, after which garbage is
// collected. What lives is a few MiB, so that Go's own 100 would collect many
// times a second under load; at 400 the process stays under 100 MiB.
const collectAt = 400

// serve runs until ctx ends, in the order: store, listeners, ready; and back.
func (a *app) serve(ctx context.Context, conf *config.Config, accounts map[string]account, log *slog.Logger) error {
	if _, set := a.env("GOGC"); !set {
		defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	}
	db, err := store.Open(conf.Store.Reveal(), store.Options{Holder: "notifyd serve, public " + conf.Listen, Subscriptions: subscriptions(conf)})
	if err != nil {
		return exitWith(exitConfig, "%w", err)
	}
	d := &daemon{app: a, conf: conf, accounts: accounts, log: log, db: db, prepared: make(chan struct{})}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err = d.run(ctx, end)
	// A fault of the store ends everything else, and is then why.
	var exit *exitError
	if errors.As(context.Cause(ctx), &exit) {
		err = exit
	}
	end(nil)
	d.tasks.Wait()
	return errors.Join(err, d.db.Close())
}

func (d *daemon) run(ctx context.Context, end context.CancelCauseFunc) error {
	first := make(chan struct{})
	d.tasks.Go(func() { d.prepare(ctx, first, end) })
	select {
	case <-first:
	case <-time.After(firstPrepare):
	}
	if ctx.Err() != nil {
		return nil // a signal, or serve has the store's fault
	}
	metrics := httpapi.NewMetrics(thisBuild().Version)
	d.sequencer = d.newSequencer()
	if err := d.newOutbox(metrics); err != nil {
		return err
	}
	d.recorder = d.newRecorder(metrics)
	metrics.Queue(d.recorder.QueueLength)
	d.keeper = d.newKeeper(metrics)
	if err := d.listen(ctx, metrics); err != nil {
		return errors.Join(err, d.recorder.Close(ctx), d.keeper.Close(ctx))
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // before anybody is told that we are here
	defer signal.Stop(hangups)
	public, private := d.server.Addrs()
	fmt.Fprintf(d.err, "notifyd ready public=%s private=%s\n", public, private)
	d.tasks.Go(func() { d.watchKeys(ctx, hangups) })
	d.tasks.Go(func() { d.every(ctx, flushEvery, d.flushCopies) })
	d.tasks.Go(func() { d.every(ctx, pruneEvery, d.prune) })
	d.tasks.Go(func() { d.every(ctx, sweepEvery, d.sweep) })
	d.tasks.Go(func() { d.sequence(ctx) })
	d.tasks.Go(func() { d.deliver(ctx) })
	d.tasks.Go(func() { d.every(ctx, backlogEvery, d.countBacklogs) })
	err := d.server.Run(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.conf.ShutdownTimeout/recorderShare)
	defer cancel()
	// Counts of repeats that cannot be written are lost: a statistic, no fault.
	if lost := d.recorder.Close(closing); lost != nil {
		d.log.Warn("the last counts of repeats were not written", "error", lost.Error())
	}
	if lost := d.keeper.Close(closing); lost != nil {
		d.log.Warn("the last refused requests were not kept", "error", lost.Error())
	}
	return err
}

// prepare makes the store usable, however long it is away, and closes first
// after the first attempt. A fault that only a person can put right ends the
// program.
func (d *daemon) prepare(ctx context.Context, first chan struct{}, end context.CancelCauseFunc) {
	attempted := sync.OnceFunc(func() { close(first) })
	defer attempted()
	for n := 0; ; n++ {
		err := d.db.Prepare(ctx)
		switch {
		case err == nil:
			for _, w := range d.db.Warnings() {
				d.log.Warn("the store is not as safe as it could be", "warning", w)
			}
			d.log.Info("the store is there", "store", d.db.Describe())
			close(d.prepared)
			return
		case ctx.Err() != nil:
			return
		case !errors.Is(err, order.ErrUnavailable):
			end(exitWith(exitUnreachable, "the store %s cannot be used: %w", d.db.Describe(), err))
			return
		case n == 0:
			d.log.Error("the store is away: notifications are answered 503 until it is there", "store", d.db.Describe(), "error", err.Error())
		}
		attempted()
		if !pause(ctx, storeRetry) {
			return
		}
	}
}

func (d *daemon) newRecorder(metrics *httpapi.Metrics) *order.Recorder {
	return order.NewRecorder(order.RecorderOptions{
		Store: d.db, Now: d.clock, NewID: newID, Committers: d.db.Committers(),
		RequireRegistration: d.conf.Orders.RequireRegistration,
		Batch:               metrics.Batch,
		Committed:           d.committed(metrics),
		Failed:              func(err error) { d.log.Warn("a unit of work failed", "error", err.Error()) },
	})
}

// committed is told of events after each commit.
func (d *daemon) committed(metrics *httpapi.Metrics) func([]order.Event) {
	return func(events []order.Event) {
		d.sequencer.Wake()
		metrics.Committed(d.log, events)
	}
}

// listen makes the server and opens its listeners.
func (d *daemon) listen(ctx context.Context, metrics *httpapi.Metrics) (err error) {
	commands := &order.Commands{Store: d.db, Now: d.clock, NewID: newID,
		RequireRegistration: d.conf.Orders.RequireRegistration, Committed: d.committed(metrics)}
	api, err := d.merchantAPI(commands)
	if err != nil {
		return err
	}
	opt := httpapi.Options{
		PublicListen: d.conf.Listen, PrivateListen: d.conf.Admin.Listen, Token: provider.Secret(d.conf.Admin.Token),
		Recorder: d.recorder, Reader: d.db, Refusals: d.db, Keeper: d.keeper, Heart: d.db, Metrics: metrics,
		Commands: commands, API: api,
		Deliveries: httpapi.Deliveries{Events: d.db, Desk: d.db, Pause: d.db.Pause, Outbox: d.outbox},
		Now:        d.clock, NewID: newID, Log: d.log, Version: thisBuild().Version,
		DrainDelay:      d.conf.DrainDelay,
		ShutdownTimeout: d.conf.ShutdownTimeout - d.conf.ShutdownTimeout/recorderShare,
	}
	for _, m := range d.conf.Merchants {
		opt.Merchants = append(opt.Merchants, m.Name)
	}
	for _, c := range d.conf.Accounts {
		opt.Accounts = append(opt.Accounts, httpapi.Account{Name: c.Name, Provider: c.Provider, Adapter: d.accounts[c.Name].Provider})
	}
	if d.server, err = httpapi.New(opt); err != nil {
		return err
	}
	return d.server.Listen(ctx)
}

// clock is the one clock of the program: UTC, to the microsecond, which is what
// is stored.
func (d *daemon) clock() time.Time { return d.now().UTC().Truncate(time.Microsecond) }

// newID makes an id that sorts by the time at which it was made.
func newID(prefix string) string {
	return prefix + ulid.MustNew(ulid.Now(), rand.Reader).String()
}

// pause waits, and says whether ctx still holds.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
