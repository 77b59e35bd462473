package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/store"
)

// account is a configured account with its provider, keys loaded.
type account struct {
	config.Account
	Provider provider.Provider
}

// loadConfig reads the configuration and builds its accounts, by name. With
// errors in the report neither must be used; the Config is nil when the file
// could not be read at all.
func (a *app) loadConfig(path string) (*config.Config, map[string]account, *config.Report) {
	c, report := config.Load(path, a.env)
	if c == nil {
		return nil, nil, report
	}
	checkStore(c, report)
	checkEvents(c, report)
	accounts := loadAccounts(c, providers(), report)
	report.Sort()
	return c, accounts, report
}

// loadAccounts builds the provider of every account and reports every fault.
func loadAccounts(c *config.Config, known map[string]builder, report *config.Report) map[string]account {
	accounts := map[string]account{}
	first := map[[2]string]string{}
	for _, a := range c.Accounts {
		b, ok := known[a.Provider]
		if !ok {
			if a.Provider != "" { // reported as missing
				report.Fail(a.Finding("provider", config.Unknown("provider", a.Provider, slices.Sorted(maps.Keys(known)))))
			}
			continue
		}
		p, err := b.build(a.Decode, provider.Env{Account: a.Name, Merchant: a.Merchant, ReadFile: c.ReadFile})
		if err != nil {
			reportAccount(a, err, report)
			continue
		}
		accounts[a.Name] = account{Account: a, Provider: p}
		identity := [2]string{a.Provider, p.Identity()}
		if other, taken := first[identity]; taken {
			report.Fail(a.Finding("", fmt.Sprintf("%s stands in two accounts, %q and %q: keep one", p.Identity(), other, a.Name)))
			continue
		}
		first[identity] = a.Name
	}
	return accounts
}

// reportAccount gives an adapter's problems their places in the file. What
// could not be read was reported, and is no news where the adapter misses it.
func reportAccount(a config.Account, err error, report *config.Report) {
	var unread config.Findings
	var problems provider.Problems
	if errors.As(err, &unread) {
		for _, f := range unread {
			report.Fail(f)
		}
	}
	if !errors.As(err, &problems) {
		if len(unread) == 0 {
			report.Fail(a.Finding("", err.Error()))
		}
		return
	}
	for _, p := range problems {
		found := a.Finding(p.Field, p.Text)
		if len(unread) == 0 || p.Field != "" && !slices.ContainsFunc(unread, func(f config.Finding) bool { return explains(f, found, a) }) {
			report.Fail(found)
		}
	}
}

// explains says whether a value that could not be read is why the adapter found
// fault: it is the same option, a part of it or what it is a part of.
func explains(unread, found config.Finding, a config.Account) bool {
	one, other := strings.TrimSuffix(unread.Path, "_file"), strings.TrimSuffix(found.Path, "_file")
	return one != a.Finding("", "").Path && (within(one, other) || within(other, one))
}

func within(path, part string) bool {
	rest, ok := strings.CutPrefix(part, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// checkStore finds what is wrong with the store's URL by the database's own
// reading of it, which knows its parameters. It connects to nothing.
func checkStore(c *config.Config, report *config.Report) {
	if slices.ContainsFunc(report.Errors, func(f config.Finding) bool { return within("store", f.Path) || within("store_file", f.Path) }) {
		return
	}
	db, err := store.Open(c.Store.Reveal(), store.Options{})
	if err != nil {
		report.Fail(c.Finding("store", err.Error()))
		return
	}
	_ = db.Close() // nothing was opened
}

// allEvents in an endpoint's list stands for every type.
const allEvents = "*"

func eventTypes() (names []string) {
	for _, t := range order.EventTypes() {
		names = append(names, string(t))
	}
	return names
}

// checkEvents refuses event types that never come: an endpoint would wait for
// them in vain.
func checkEvents(c *config.Config, report *config.Report) {
	known := append(eventTypes(), allEvents)
	for i, m := range c.Merchants {
		for j, e := range m.Endpoints {
			for k, name := range e.Events {
				if !slices.Contains(known, name) {
					path := fmt.Sprintf("merchants[%d].endpoints[%d].events[%d]", i, j, k)
					report.Fail(c.Finding(path, config.Unknown("event type", name, known)))
				}
			}
		}
	}
}
