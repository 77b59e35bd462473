package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/client/simulator/play"
	"github.com/notifyd/notifyd/internal/config"
)

// simulateRun is one run of the command.
type simulateRun struct {
	*app
	reach
	keys    string
	to      []string
	example bool
}

func simulateRunCommand(a *app) *cobra.Command {
	r := &simulateRun{app: a}
	c := &cobra.Command{
		Use:   "run PLAN.yaml",
		Short: "Play a whole provider by a plan, and hold the server to its acks",
		Long: `run plays a payment provider against a running server: many orders, several
senders at once, answers that get lost or come too late, repeats by the
provider's own schedule on a clock that can skip its waits, probes, disorder,
refunds, all protocols of the configured accounts. The plan says how much of
each; --example prints one with every key.

It keeps a ledger of the acks and compares it with the admin API at the end:

  lost     acked, and the order is not in the state that it must be in
  doubled  paid or refunded more than once
  wrong    another amount or status than was told, or a probe was acked
  unacked  told to the end of the provider's schedule and never acked

Exit code 0 says that there are none; with 1 stdout lists the orders. Messages
are signed with the throw-away keys of a simulated provider, so the accounts have
to be configured with those. Orders stay in the server's store: use one of its
own.`,
		Example: `  notifyd simulate run --example > plan.yaml
  notifyd simulate run plan.yaml --config notifyd.yaml
  notifyd simulate run plan.yaml --to http://127.0.0.1:8080 --to http://127.0.0.1:8090`,
		Annotations: asksServer(),
		Args: func(c *cobra.Command, args []string) error {
			if r.example {
				return flagsOnly(c, args)
			}
			return one("plan (a YAML file; --example prints one)")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if r.example {
				return a.print([]byte(play.Example()))
			}
			return r.run(c.Context(), args[0])
		},
	}
	r.flags(c)
	c.Flag("json").Usage = "print the report as JSON"
	c.Flags().StringVar(&r.keys, "keys", "", "`folder` with the keys of the simulated provider (default simulator, beside the configuration file)")
	c.Flags().StringArrayVar(&r.to, "to", nil, "`URL` of the public listener (default: the one in the configuration); several are told in turns")
	c.Flags().BoolVar(&r.example, "example", false, "print a plan with every key and comments, and end")
	return c
}

func (r *simulateRun) run(ctx context.Context, path string) error {
	plan, document, err := readPlan(r.app, path)
	if err != nil {
		return err
	}
	conf, accounts, found := r.loadConfig(r.config)
	if !found.OK() {
		r.printFindings(found)
		return unusable(r.config, found)
	}
	plan.Accounts = namesOf(plan.Accounts, conf)
	report := &config.Report{}
	for i, name := range plan.Accounts {
		if _, ok := accounts[name]; !ok {
			report.Fail(document.Finding(fmt.Sprintf("accounts[%d]", i), config.Unknown("account", name, namesOf(nil, conf))))
		}
	}
	if !report.OK() {
		return badPlan(r.app, path, report)
	}
	stage, err := r.stage(ctx, plan, conf, accounts)
	if err != nil {
		return err
	}
	return r.play(ctx, plan, stage)
}

// readPlan reads a plan and checks it; the document finds places in it.
func readPlan(a *app, path string) (play.Plan, *config.Document, error) {
	plan := play.DefaultPlan()
	document, report := config.Read(path, "a plan", &plan, a.env)
	if document != nil && report.OK() {
		for _, p := range plan.Check() {
			report.Fail(document.Finding(p.Path, p.Text))
		}
	}
	if !report.OK() {
		return plan, nil, badPlan(a, path, report)
	}
	return plan, document, nil
}

// badPlan ends a run whose plan has errors.
func badPlan(a *app, path string, report *config.Report) error {
	a.printFindings(report)
	return exitWith(exitUsage, "the plan %s cannot be played: %s. See --example", path, count(len(report.Errors), "error"))
}

// namesOf are the accounts that a plan names, otherwise all.
func namesOf(chosen []string, conf *config.Config) []string {
	if len(chosen) > 0 {
		return chosen
	}
	for _, a := range conf.Accounts {
		chosen = append(chosen, a.Name)
	}
	return chosen
}

func (r *simulateRun) play(ctx context.Context, plan play.Plan, stage play.Stage) error {
	bar := newRunBar(r.app)
	stage.Progress = bar.show
	report, err := play.Run(ctx, plan, stage)
	bar.end()
	if report == nil {
		return err
	}
	if printed := r.tell(report); printed != nil {
		return printed
	}
	var deaf *play.DeafError
	switch {
	case errors.As(err, &deaf) && deaf.Unreachable:
		return exitWith(exitUnreachable, "%w. Is notifyd serve running, and is this its public listener (listen, --to)?", err)
	case err != nil:
		return err
	case report.Clean():
		return nil
	case report.LimitReached && len(report.Offenders) == 0:
		return exitWith(exitFailed, "the plan's limit of %s ended the run: %d of %s were settled", plan.Limit, report.Settled, count(plan.Orders, "order"))
	}
	return exitWith(exitFailed, "the server did not keep what it acked: %s", faultsText(report))
}

// runName names a run in its order numbers: later runs on the same server must
// not meet its orders.
func (r *simulateRun) runName() string { return strconv.FormatInt(r.now().UnixMilli(), 36) }

// begin is when a run begins: what was paid was paid a moment ago.
func (r *simulateRun) begin() time.Time { return r.now().Add(-time.Minute) }
