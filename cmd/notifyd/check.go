package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/spf13/cobra"
)

// defaultConfig is where a configuration is looked for when --config is absent.
const defaultConfig = "./notifyd.yaml"

func checkCommand(a *app) *cobra.Command {
	var path string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and its key files, without starting anything",
		Long: `check reads the configuration, its secrets and its key files, and lists every
error and warning with its line on stderr. It connects to nothing. Exit code 0
when the configuration can be used, 3 when not.`,
		Example: `  notifyd check
  notifyd check --config /etc/notifyd/notifyd.yaml
  notifyd check --json | jq .accounts`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage, exitConfig),
		RunE: func(*cobra.Command, []string) error {
			conf, accounts, report := a.loadConfig(path)
			if conf != nil {
				adviseKeys(accounts, conf, report, a.now())
				adviseNumbers(accounts, conf, report)
			}
			a.printFindings(report)
			if asJSON {
				if err := a.printJSON(overviewOf(path, conf, accounts, report)); err != nil {
					return err
				}
			}
			switch {
			case !report.OK():
				return unusable(path, report)
			case asJSON:
				return nil
			}
			return a.print(overviewOf(path, conf, accounts, report).text())
		},
	}
	c.Flags().StringVar(&path, "config", defaultConfig, "configuration `file`")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// unusable ends a run whose configuration has errors; they were listed.
func unusable(path string, report *config.Report) error {
	hint := ""
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		hint = ". Name the configuration file with --config"
	}
	return exitWith(exitConfig, "%s cannot be used: %s%s", path, count(len(report.Errors), "error"), hint)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printFindings lists warnings and errors on stderr, each on its own line.
func (a *app) printFindings(r *config.Report) {
	errorMark, warningMark := "error:", "warning:"
	if a.colour(a.err) {
		errorMark, warningMark = inColour(red, errorMark), inColour(yellow, warningMark)
	}
	for _, f := range r.Warnings {
		fmt.Fprintln(a.err, warningMark, f)
	}
	for _, f := range r.Errors {
		fmt.Fprintln(a.err, errorMark, f)
	}
}

// keyEndsSoon is how long before its end a key is worth a warning: providers
// offer the next one about a month ahead.
const keyEndsSoon = 30 * 24 * time.Hour

// adviseKeys warns about keys that ended or will soon.
func adviseKeys(accounts map[string]account, c *config.Config, report *config.Report, now time.Time) {
	for _, a := range c.Accounts {
		built, ok := accounts[a.Name]
		if !ok {
			continue
		}
		for _, k := range built.Provider.Keys() {
			if k.NotAfter.IsZero() || k.NotAfter.Sub(now) > keyEndsSoon {
				continue
			}
			verb := "ends"
			if k.NotAfter.Before(now) {
				verb = "ended"
			}
			report.Warn(a.Finding("", fmt.Sprintf("%s %s %s on %s", k.Kind, k.ID, verb, k.NotAfter.In(beijing).Format(time.DateOnly))))
		}
	}
	report.Sort()
}

// adviseNumbers warns about account numbers that no provider gives.
func adviseNumbers(accounts map[string]account, c *config.Config, report *config.Report) {
	for _, a := range c.Accounts {
		doubtful, ok := accounts[a.Name].Provider.(provider.Doubtful)
		if !ok {
			continue
		}
		for _, p := range doubtful.Doubts() {
			report.Warn(a.Finding(p.Field, p.Text))
		}
	}
	report.Sort()
}
