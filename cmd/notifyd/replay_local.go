package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/sqlite"
)

// local plays captures in this process, against the configured store.
type local struct {
	*app
	conf     *config.Config
	accounts map[string]account
	at       time.Time // of captures that do not say when they came; may be zero
	db       store.DB
	recorder *order.Recorder
}

func (r *replay) newLocal() (*local, error) {
	l := &local{app: r.app}
	if r.at != "" {
		at, err := time.Parse(time.RFC3339Nano, r.at)
		if err != nil {
			return nil, exitWith(exitUsage, "--at %q is not a time like 2026-01-02T15:04:05+08:00", r.at)
		}
		l.at = at.UTC().Truncate(time.Microsecond)
	}
	conf, accounts, report := r.loadConfig(r.config)
	r.printFindings(report)
	if !report.OK() {
		return nil, unusable(r.config, report)
	}
	l.conf, l.accounts = conf, accounts
	return l, nil
}

// check finds the account of a capture, and when it came.
func (l *local) check(c captured) error {
	if _, known := l.accounts[c.Account()]; !known {
		return fmt.Errorf("%s: %s", c.path, config.Unknown("account", c.Account(), slices.Sorted(maps.Keys(l.accounts))))
	}
	if c.At.IsZero() && l.at.IsZero() {
		return fmt.Errorf("%s does not say when it was received (X-Captured-At): give it with --at", c.path)
	}
	return nil
}

// open prepares the store and starts the recorder. Rows are stamped with the
// time of now, for they are written now and the feed of events goes by that;
// what a notification says, and when it came, is its own.
func (l *local) open(ctx context.Context) (err error) {
	if l.db, err = store.Open(l.conf.Store.Reveal(), store.Options{Holder: "notifyd replay"}); err != nil {
		return exitWith(exitConfig, "%w", err)
	}
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := l.db.Prepare(limited); err != nil {
		closed := l.db.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return exitWith(exitUnreachable, "the store %s cannot be used: %w%s", l.db.Describe(), errors.Join(err, closed), l.hint(err))
	}
	for _, w := range l.db.Warnings() {
		fmt.Fprintln(l.err, "warning:", w)
	}
	l.recorder = order.NewRecorder(order.RecorderOptions{
		Store: l.db, NewID: newID, RequireRegistration: l.conf.Orders.RequireRegistration,
		Now: func() time.Time { return l.now().UTC().Truncate(time.Microsecond) },
	})
	return nil
}

// hint says what to do about a store that another process holds.
func (l *local) hint(err error) string {
	var held *sqlite.HeldError
	if !errors.As(err, &held) {
		return ""
	}
	url := "URL"
	if host, port, err := net.SplitHostPort(l.conf.Listen); err == nil && port != "0" {
		if host == "" || host == "0.0.0.0" || host == "::" {
			host = "127.0.0.1"
		}
		url = "http://" + net.JoinHostPort(host, port)
	}
	return "\nIf that is a running server, send the captures to it: --to " + url
}

// play takes a capture as the public listener would have at its time.
func (l *local) play(ctx context.Context, c captured) (played, error) {
	a := l.accounts[c.Account()]
	req := provider.Request{Header: c.Header, Body: c.Body, ReceivedAt: c.At.Truncate(time.Microsecond)}
	if c.At.IsZero() {
		req.ReceivedAt = l.at
	}
	result := played{File: c.path, Account: a.Name, ReceivedAt: order.Moment(req.ReceivedAt)}
	// What has begun is finished: an interrupt must not leave its fate open.
	ctx = context.WithoutCancel(ctx)
	r := c.request()
	if err := httpapi.Admit(r); err != nil {
		return result.refuse(err), nil
	}
	take := httpapi.NewTaker(l.recorder, newID)
	id, receipt, err := take.Take(ctx, httpapi.Account{Name: a.Name, Provider: a.Account.Provider, Adapter: a.Provider}, r, req)
	if err != nil {
		return result.refuse(err), nil
	}
	return result, l.tell(ctx, &result, id, receipt)
}

// tell fills in what became of an accepted notification: each of its orders, as
// it stands now.
func (l *local) tell(ctx context.Context, result *played, id string, receipt order.Receipt) error {
	facts := receipt.Results
	if receipt.Repeat {
		row, err := l.db.Notification(ctx, id)
		if err != nil {
			return l.lost(err)
		}
		facts = row.Results
	}
	result.accept(id, receipt)
	seen := map[order.Key]bool{}
	for _, f := range facts {
		key := order.Key{Merchant: f.Merchant, OutTradeNo: f.OutTradeNo}
		if f.OutTradeNo == "" || seen[key] {
			continue
		}
		seen[key] = true
		now := playedOrder{Merchant: f.Merchant, OutTradeNo: f.OutTradeNo}
		switch story, err := l.db.Story(ctx, key); {
		case err == nil:
			now.Status = &story.Status
		case !errors.Is(err, order.ErrUnknown):
			return l.lost(err)
		}
		result.Orders = append(result.Orders, now)
	}
	return nil
}

func (l *local) lost(err error) error {
	return exitWith(exitUnreachable, "the store %s cannot be read: %w", l.db.Describe(), err)
}

func (l *local) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return errors.Join(l.recorder.Close(ctx), l.db.Close())
}
