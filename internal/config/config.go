// Package config owns the configuration file: every option once, with its
// default, unit, secret flag and check; reading it strictly; and saying what is
// wrong with it by line and column.
//
// It imports the standard library and one YAML library. It knows no provider:
// what an account says beyond name, provider and merchant is kept as it is and
// decoded by whoever does know (Account.Decode).
package config

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Config is what the file says, with defaults filled in, environment variables
// and secret files read, and paths made absolute.
//
// The tags are the table of options: yaml is the key, default the value when it
// is left out, check one of the named checks, need marks what has no default,
// doc is the line in docs/configuration.md.
type Config struct {
	Listen    string `yaml:"listen" default:":8080" check:"listen" doc:"Address of the public listener, to which the providers post."`
	PublicURL string `yaml:"public_url" check:"public_url" doc:"Where the public listener is reached from outside, for instance https://pay.example.com: for the notify URLs that are printed and for diagnosis."`
	Admin     Admin  `yaml:"admin"`
	// Store is an absolute URL after Load: sqlite:/… or postgres://….
	Store           Secret        `yaml:"store" default:"sqlite:./data/notifyd.db" doc:"Database: sqlite:PATH or postgres://user:password@host:5432/db?sslmode=…"`
	Orders          Orders        `yaml:"orders"`
	DrainDelay      time.Duration `yaml:"drain_delay" default:"0s" doc:"How long to serve on after a stop signal, not ready, so that a load balancer can turn away."`
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" default:"15s" check:"positive" doc:"How long requests in flight may take to end after that."`
	Retention       Retention     `yaml:"retention"`
	Refused         Refused       `yaml:"refused"`
	Merchants       []Merchant    `yaml:"merchants" doc:"Who owns orders. Without it there is one merchant, default."`
	Accounts        []Account     `yaml:"accounts" doc:"Accounts at payment providers, each with its own notify URL."`

	file, dir string
	root      *node
}

// Admin is the private listener.
type Admin struct {
	Listen string `yaml:"listen" default:"127.0.0.1:8081" check:"listen" doc:"Address of the private listener: admin API, merchant API, metrics, readiness."`
	Token  Secret `yaml:"token" doc:"Bearer token of the admin API. Without one the admin API answers 401."`
}

// Orders says how orders come to be.
type Orders struct {
	RequireRegistration bool `yaml:"require_registration" default:"false" doc:"true: a notification for an order that nobody registered waits until it is registered."`
}

// Retention says how long things are kept.
type Retention struct {
	Raw        time.Duration `yaml:"raw" default:"4320h" check:"positive" doc:"How long the raw bytes of notifications are kept. Orders, facts and their keys stay."`
	Refused    time.Duration `yaml:"refused" default:"720h" check:"positive" doc:"How long refused requests are kept for diagnosis, at most."`
	Deliveries time.Duration `yaml:"deliveries" default:"2160h" check:"positive" doc:"How long deliveries that arrived, and all attempts with what was answered, are kept. Events stay, and so does what was not delivered."`
}

// Refused says how much is kept of what was refused, for diagnosis.
type Refused struct {
	Keep         int   `yaml:"keep" default:"200" check:"not_negative" doc:"How many refused requests of each account are kept for diagnosis; 0 keeps none."`
	MessageBytes int   `yaml:"message_bytes" default:"65536" check:"not_negative" doc:"How many bytes of each of their bodies; what is longer is cut."`
	AccountBytes int64 `yaml:"account_bytes" default:"4194304" check:"not_negative" doc:"How many bytes all of an account's take together."`
}

// Merchant owns orders, calls the merchant API and is told what happens.
type Merchant struct {
	Name      string     `yaml:"name" need:"yes" check:"name" doc:"Part of every order's identity."`
	APIKeys   []APIKey   `yaml:"api_keys" doc:"Keys of the merchant API; several during a rotation."`
	Endpoints []Endpoint `yaml:"endpoints" doc:"Where events are delivered."`
}

// APIKey signs requests to the merchant API.
type APIKey struct {
	ID     string `yaml:"id" need:"yes" check:"key_id" doc:"Sent as X-Api-Key."`
	Secret Secret `yaml:"secret" need:"yes" doc:"Signs requests; never sent."`
}

// Endpoint is where a merchant's events are delivered.
type Endpoint struct {
	Name         string   `yaml:"name" need:"yes" check:"name" doc:"Names the endpoint in commands and metrics."`
	URL          string   `yaml:"url" need:"yes" check:"endpoint_url" doc:"http or https."`
	Secrets      []Secret `yaml:"secrets" need:"yes" check:"whsec" doc:"whsec_ and base64; each signs every delivery, so that a rotation loses none."`
	Events       []string `yaml:"events" default:"*" doc:"Event types that are delivered; \"*\" is all."`
	AllowPrivate bool     `yaml:"allow_private" default:"false" doc:"true: the address may be private or loopback. Link-local, multicast and 0/8 are refused always."`
}

// Account is one account at a provider. Its own options are read by Decode.
type Account struct {
	Name     string `yaml:"name" need:"yes" check:"name" doc:"Last part of the notify URL: POST /notify/NAME."`
	Provider string `yaml:"provider" need:"yes" doc:"Which provider it is; its own options follow beside this one."`
	Merchant string `yaml:"merchant" doc:"Whose orders they are. May be left out when there is one merchant."`

	rest options
}

// DefaultMerchant is the merchant that exists when the file names none.
const DefaultMerchant = "default"

// Merchant finds a merchant by name.
func (c *Config) Merchant(name string) (Merchant, bool) {
	for _, m := range c.Merchants {
		if m.Name == name {
			return m, true
		}
	}
	return Merchant{}, false
}

// NotifyURL is where the provider of the account posts: a full URL when
// public_url is set, otherwise the path.
func (c *Config) NotifyURL(account string) string {
	return strings.TrimSuffix(c.PublicURL, "/") + "/notify/" + account
}

// StoreForPeople is the store's URL without password and parameters.
func (c *Config) StoreForPeople() string {
	raw := c.Store.Reveal()
	if strings.HasPrefix(raw, sqliteScheme) {
		return raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return mask
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	return shown.String()
}

// maxKeyFileBytes bounds the files that options name: keys and certificates are
// a few kilobytes, and a path to a device must not fill the memory.
const maxKeyFileBytes = 1 << 20

// ReadFile reads a file that an option names; a relative path starts at the
// folder of the configuration file. Errors name the path and never show content.
func (c *Config) ReadFile(path string) ([]byte, error) {
	f, err := os.Open(absolute(c.dir, path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, maxKeyFileBytes)
}

// Finding makes a finding about an option, for instance
// "merchants[0].endpoints[1].events[0]", placed where the file states it, or
// else where it would have to be; without a place when the file says nothing
// near it.
func (c *Config) Finding(path, text string) Finding {
	line, column := 0, 0
	if first := steps(path); len(first) > 0 {
		if _, ok := c.root.stated(first[0]); ok {
			line, column = c.root.place(path)
		}
	}
	return Finding{File: c.file, Line: line, Column: column, Path: path, Text: text}
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
