package main

import (
	"net/url"
	"time"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/provider"
)

// overview is what check shows: no secret, and of URLs that may hold one in
// their path or query the host alone.
type overview struct {
	OK          bool               `json:"ok"`
	Config      string             `json:"config"`
	Errors      []config.Finding   `json:"errors"`
	Warnings    []config.Finding   `json:"warnings"`
	Listen      string             `json:"listen"`
	AdminListen string             `json:"admin_listen"`
	Store       string             `json:"store"`
	Merchants   []merchantOverview `json:"merchants"`
	Accounts    []accountOverview  `json:"accounts"`
}

type merchantOverview struct {
	Name      string             `json:"name"`
	APIKeys   []string           `json:"api_keys"` // ids
	Endpoints []endpointOverview `json:"endpoints"`
}

type endpointOverview struct {
	Name   string   `json:"name"`
	Host   string   `json:"host"`
	Events []string `json:"events"`
}

type accountOverview struct {
	Name      string        `json:"name"`
	Provider  string        `json:"provider"`
	Merchant  string        `json:"merchant"`
	NotifyURL string        `json:"notify_url"`
	Identity  string        `json:"identity"`
	Keys      []keyOverview `json:"keys"`
}

type keyOverview struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"`
	NotAfter *string `json:"not_after"` // RFC 3339; null: no end
}

func overviewOf(path string, c *config.Config, accounts map[string]account, r *config.Report) overview {
	o := overview{
		OK: r.OK(), Config: path, Errors: append([]config.Finding{}, r.Errors...), Warnings: append([]config.Finding{}, r.Warnings...),
		Merchants: []merchantOverview{}, Accounts: []accountOverview{},
	}
	if !r.OK() {
		return o // what is left of a wrong file could mislead
	}
	o.Listen, o.AdminListen, o.Store = c.Listen, c.Admin.Listen, c.StoreForPeople()
	for _, m := range c.Merchants {
		mo := merchantOverview{Name: m.Name, APIKeys: []string{}, Endpoints: []endpointOverview{}}
		for _, k := range m.APIKeys {
			mo.APIKeys = append(mo.APIKeys, k.ID)
		}
		for _, e := range m.Endpoints {
			mo.Endpoints = append(mo.Endpoints, endpointOverview{e.Name, hostOf(e.URL), append([]string{}, e.Events...)})
		}
		o.Merchants = append(o.Merchants, mo)
	}
	for _, a := range c.Accounts {
		p := accounts[a.Name].Provider
		o.Accounts = append(o.Accounts, accountOverview{a.Name, a.Provider, a.Merchant, c.NotifyURL(a.Name), p.Identity(), keysOf(p)})
	}
	return o
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func keysOf(p provider.Provider) []keyOverview {
	keys := []keyOverview{}
	for _, k := range p.Keys() {
		ko := keyOverview{ID: k.ID, Kind: k.Kind}
		if !k.NotAfter.IsZero() {
			end := k.NotAfter.In(beijing).Format(time.RFC3339)
			ko.NotAfter = &end
		}
		keys = append(keys, ko)
	}
	return keys
}

func (o overview) text() []byte {
	t := newTable()
	t.row("%s can be used", o.Config)
	t.row("")
	t.row("public listener\t%s", o.Listen)
	t.row("private listener\t%s", o.AdminListen)
	t.row("store\t%s", o.Store)
	for _, m := range o.Merchants {
		t.row("")
		t.row("merchant %s", m.Name)
		for _, id := range m.APIKeys {
			t.row("  API key\t%s", id)
		}
		for _, e := range m.Endpoints {
			t.row("  endpoint %s\t%s", e.Name, e.Host)
		}
	}
	for _, a := range o.Accounts {
		t.row("")
		t.row("account %s", a.Name)
		t.row("  provider\t%s, %s", a.Provider, a.Identity)
		t.row("  merchant\t%s", a.Merchant)
		t.row("  notify URL\tPOST %s", a.NotifyURL)
		for _, k := range a.Keys {
			t.row("  %s\t%s", k.Kind, k.text())
		}
	}
	return t.text()
}

func (k keyOverview) text() string {
	switch {
	case k.NotAfter != nil:
		return k.ID + ", until " + *k.NotAfter
	case k.ID == "":
		return "set" // a shared key has no name to show
	}
	return k.ID
}
