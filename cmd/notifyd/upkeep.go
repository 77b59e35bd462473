package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/outbox"
)

const (
	keysEvery  = 60 * time.Second // how often key files are looked at
	flushEvery = time.Second      // how often counts of repeats are written
	pruneEvery = 10 * time.Minute
	// pruneBatch rows are removed in one statement, or lose their raw bytes: few
	// enough that acks do not wait for it.
	pruneBatch = 500
	// sweepEvery is how often all deliveries that are past their retention time are
	// gone through: those that were never delivered stay, and are met each time.
	sweepEvery = time.Hour
	// prunePause lets notifications go first while there is much to remove.
	prunePause = 200 * time.Millisecond
)

// newLog makes the log. JSON is the default: one line for each request, which
// nothing in a request can break.
func newLog(w io.Writer, format string) (*slog.Logger, error) {
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, nil)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, nil)), nil
	}
	return nil, exitWith(exitUsage, "--log-format is json or text, not %q", format)
}

// watchKeys reads key files again when they have changed: every minute, and at
// once on SIGHUP.
func (d *daemon) watchKeys(ctx context.Context, hangups <-chan os.Signal) {
	tick := time.NewTicker(keysEvery)
	defer tick.Stop()
	for {
		select {
		case <-hangups:
			d.log.Info("SIGHUP: key files are read again")
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		d.reloadKeys()
	}
}

// reloadKeys takes all new keys or none: every account is first built anew from
// the files as they are, so that a broken file of one leaves all as they were.
func (d *daemon) reloadKeys() {
	report := &config.Report{}
	loadAccounts(d.conf, providers(), report)
	if !report.OK() {
		for _, f := range report.Errors {
			d.log.Error("key files cannot be used, the keys from before stay", "error", f.String())
		}
		return
	}
	for _, c := range d.conf.Accounts {
		changed, err := d.accounts[c.Name].Provider.Reload()
		switch {
		case err != nil:
			d.log.Error("key files cannot be used, the keys from before stay", "account", c.Name, "error", err.Error())
		case changed:
			var ids []string
			for _, k := range d.accounts[c.Name].Provider.Keys() {
				ids = append(ids, fmt.Sprintf("%s %s", k.Kind, k.ID))
			}
			d.log.Info("keys changed", "account", c.Name, "keys", ids)
		}
	}
}

// every works now and then, from the moment on when the store can be used.
func (d *daemon) every(ctx context.Context, interval time.Duration, work func(context.Context)) {
	select {
	case <-d.prepared:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		work(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *daemon) flushCopies(ctx context.Context) {
	// Counts that cannot be written now are kept and tried again.
	_ = d.recorder.FlushCopies(ctx)
}

// prune removes what is older than its retention time, or beyond what is kept.
func (d *daemon) prune(ctx context.Context) {
	before := d.clock().Add(-d.conf.Retention.Raw)
	d.remove(ctx, "raw bytes of notifications past their retention", func() (int, error) { return d.db.PruneRaw(ctx, before, pruneBatch) })
	d.remove(ctx, "idempotency keys past their retention", func() (int, error) { return d.db.PruneKeys(ctx, idempotency.Retention, pruneBatch) })
	refused := d.clock().Add(-d.conf.Retention.Refused)
	d.remove(ctx, "refused requests past their retention", func() (int, error) { return d.db.PruneRefusals(ctx, refused, pruneBatch) })
	d.remove(ctx, "refused requests beyond what is kept", func() (int, error) { return d.db.TrimRefusals(ctx, d.refusalBounds(), pruneBatch) })
}

// remove removes one batch after the other, until one is not full.
func (d *daemon) remove(ctx context.Context, what string, batch func() (int, error)) {
	for {
		n, err := batch()
		if err != nil && ctx.Err() == nil {
			d.log.Warn(what+" were not removed", "error", err.Error())
		}
		if n > 0 {
			d.log.Info(what+" were removed", "rows", n)
		}
		if err != nil || n < pruneBatch || !pause(ctx, prunePause) {
			return
		}
	}
}

// sweep removes deliveries and attempts that are older than their retention time.
func (d *daemon) sweep(ctx context.Context) {
	before := d.clock().Add(-d.conf.Retention.Deliveries)
	var after outbox.Key
	deliveries, attempts := 0, 0
	for {
		p, err := d.db.PruneDeliveries(ctx, before, after, pruneBatch)
		if err != nil && ctx.Err() == nil {
			d.log.Warn("deliveries past their retention were not removed", "error", err.Error())
		}
		deliveries, attempts, after = deliveries+p.Deliveries, attempts+p.Attempts, p.Last
		if err != nil || !p.More || !pause(ctx, prunePause) {
			break
		}
	}
	if attempts > 0 {
		d.log.Info("deliveries past their retention were removed", "deliveries", deliveries, "attempts", attempts)
	}
}
