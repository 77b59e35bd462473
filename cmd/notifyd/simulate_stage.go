package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/client/simulator/play"
	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/provider"
)

// stage is what the plan is played on: the accounts of the configuration that
// accept the simulator's keys, and a server that answers.
func (r *simulateRun) stage(ctx context.Context, plan play.Plan, conf *config.Config, accounts map[string]account) (play.Stage, error) {
	stage := play.Stage{To: r.to, Run: r.runName(), Start: r.begin()}
	if conf.Orders.RequireRegistration {
		return stage, exitWith(exitConfig, "orders.require_registration is on: nobody registers the orders of a plan, so all would wait. Play against a server without it")
	}
	if err := r.cast(&stage, plan, conf, accounts); err != nil {
		return stage, err
	}
	if err := r.aim(&stage, conf); err != nil {
		return stage, err
	}
	admin, err := r.client(r.app)
	if err != nil {
		return stage, err
	}
	if err := admin.askFor(ctx, &struct{}{}, adminPath("orders"), url.Values{"limit": {"1"}}); err != nil {
		return stage, err
	}
	stage.Desk = admin.desk
	return stage, nil
}

// desk reads an order for the ledger.
func (c *adminClient) desk(ctx context.Context, merchant, outTradeNo string) (*client.Order, error) {
	var o client.Order
	err := c.askFor(ctx, &o, adminPath("orders", outTradeNo), url.Values{"merchant": {merchant}})
	var p *httpapi.Problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound {
		return nil, nil
	}
	return &o, err
}

// aim finds the public listeners.
func (r *simulateRun) aim(stage *play.Stage, conf *config.Config) error {
	for _, to := range r.to {
		if _, err := simulator.NewSender(to); err != nil {
			return exitWith(exitUsage, "--to: %w", err)
		}
	}
	if len(r.to) > 0 {
		return nil
	}
	at, err := listenURL(conf.Listen)
	if err != nil {
		return exitWith(exitUsage, "listen is %s, which does not say where the server is: use --to URL, see its line \"notifyd ready\"", conf.Listen)
	}
	stage.To = []string{at}
	return nil
}

// cast finds who can tell something to the accounts of the plan.
func (r *simulateRun) cast(stage *play.Stage, plan play.Plan, conf *config.Config, accounts map[string]account) error {
	keys, err := loadKeyring(r.config, r.keys)
	if err != nil {
		return err
	}
	for _, name := range plan.Accounts {
		all, err := keys.simulators(conf, name, "")
		if err != nil {
			return err
		}
		for _, s := range all {
			if !plan.Wants(s.Protocol()) {
				continue
			}
			t := play.NewTeller(s, accounts[name].Merchant)
			if err := believes(accounts[name].Provider, t, r.now()); err != nil {
				fmt.Fprintf(r.err, "notifyd: %s is left out for the account %s: it does not accept the keys in %s (%v)\n", s.Protocol(), name, keys.dir, err)
				continue
			}
			stage.Tellers = append(stage.Tellers, t)
		}
	}
	if len(stage.Tellers) == 0 {
		return exitWith(exitConfig, "%w: configure an account with the public keys in %s", play.ErrNobodyTells, keys.dir)
	}
	return nil
}

// believes says whether the account takes what the teller signs. It asks the
// account's own adapter, so that nothing is sent that could not be accepted.
func believes(p provider.Provider, t play.Teller, now time.Time) error {
	n := play.Notice{Kind: play.Paid, OutTradeNo: "PROOF0", AmountFen: 1, PaidAt: now}
	m, err := t.Message(n, now)
	if err != nil {
		return err
	}
	_, err = p.Parse(provider.Request{Header: m.Header, Body: m.Body, ReceivedAt: now})
	return err
}
