package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/client/simulator/play"
	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/wechat"
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
		u, err := url.Parse(to)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return exitWith(exitUsage, "--to is not the URL of a server, like http://127.0.0.1:8080")
		}
	}
	if len(r.to) > 0 {
		return nil
	}
	if strings.HasSuffix(conf.Listen, ":0") {
		return exitWith(exitUsage, "listen is %s, which does not say where the server is: use --to URL, see its line \"notifyd ready\"", conf.Listen)
	}
	at, err := listenURL(conf.Listen)
	stage.To = []string{at}
	return err
}

// cast finds who can tell something to the accounts of the plan.
func (r *simulateRun) cast(stage *play.Stage, plan play.Plan, conf *config.Config, accounts map[string]account) error {
	dir := r.keys
	if dir == "" {
		dir = filepath.Join(filepath.Dir(r.config), "simulator")
	}
	keys, err := simulator.LoadKeys(dir)
	if err != nil {
		return exitWith(exitConfig, "%w", err)
	}
	for _, name := range plan.Accounts {
		a := accounts[name]
		facts, err := accountFacts(a, conf)
		if err != nil {
			return exitWith(exitConfig, "the account %s cannot be simulated: %w", name, err)
		}
		for _, p := range simulator.Protocols() {
			if !plan.Wants(p) || (p == simulator.Alipay) != (a.Account.Provider == "alipay") {
				continue
			}
			s, err := simulator.New(p, facts, keys)
			if err != nil {
				continue // the account has no key for it: it takes no such message
			}
			t := play.NewTeller(s, a.Merchant)
			if err := believes(a.Provider, t, r.now()); err != nil {
				fmt.Fprintf(r.err, "notifyd: %s is left out for the account %s: it does not accept the keys in %s (%v)\n", p, name, dir, err)
				continue
			}
			stage.Tellers = append(stage.Tellers, t)
		}
	}
	if len(stage.Tellers) == 0 {
		return exitWith(exitConfig, "%w: configure an account with the public keys in %s", play.ErrNobodyTells, dir)
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

// accountFacts is what the simulator has to know of a configured account.
func accountFacts(a account, conf *config.Config) (simulator.Account, error) {
	facts := simulator.Account{Name: a.Name}
	var err error
	switch a.Account.Provider {
	case "wechat":
		var o wechat.Options
		err = a.Decode(&o)
		facts.MchID, facts.SubMchIDs, facts.V2SignTypes = o.MchID, o.SubMchIDs, o.V2SignTypes
		facts.AppID = slices.Concat(o.AppIDs, []string{""})[0]
		var v2, v3 error
		facts.APIv2Key, v2 = secretOf(o.APIv2Key, o.APIv2KeyFile, conf)
		facts.APIv3Key, v3 = secretOf(o.APIv3Key, o.APIv3KeyFile, conf)
		err = errors.Join(err, v2, v3)
	case "alipay":
		var o alipay.Options
		err = a.Decode(&o)
		facts.AlipayAppID, facts.SellerID, facts.AuthAppIDs, facts.SignTypes = o.AppID, o.SellerID, o.AuthAppIDs, o.SignTypes
	}
	return facts, err
}

func secretOf(text provider.Secret, file string, conf *config.Config) (simulator.Secret, error) {
	if file == "" {
		return simulator.Secret(text.Reveal()), nil
	}
	read, err := conf.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s is not there", file)
	}
	return simulator.Secret(bytes.TrimRight(read, "\r\n")), err
}
