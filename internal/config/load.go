package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// maxFileBytes bounds the configuration file: a thousand accounts fit.
const maxFileBytes = 1 << 20

// Load reads the configuration file and everything it names but the files of
// accounts, which their providers read. env looks up an environment variable.
//
// The report is never nil. The Config is nil when the file could not be read as
// YAML; with other errors it holds what could be understood, so that accounts
// can be checked as well, and must not be used for more.
func Load(path string, env func(string) (string, bool)) (*Config, *Report) {
	report := &Report{}
	text, dir, err := readFile(path)
	if err != nil {
		report.Fail(Finding{File: path, Text: "cannot be read: " + cause(err)})
		return nil, report
	}
	r := reader{file: path, is: "a configuration file", env: env, report: report, anchors: map[string]*node{}}
	root := r.read(text)
	if root == nil {
		return nil, report
	}
	c := &Config{file: path, dir: dir, root: root}
	d := decoder{file: path, dir: dir, report: report, home: home}
	d.defaults(reflect.ValueOf(c).Elem())
	d.mapping(root, reflect.ValueOf(c).Elem(), "")
	c.complete(report)
	report.Sort()
	return c, report
}

func readFile(path string) (text []byte, dir string, err error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	text, err = readAtMost(f, maxFileBytes)
	return text, filepath.Dir(full), err
}

const sqliteScheme = "sqlite:"

// completeStore checks the form of the store's URL and makes the path of a
// SQLite database absolute. Whether it can be opened is not asked.
func (c *Config) completeStore(report *Report) {
	raw := c.Store.Reveal()
	if rest, ok := strings.CutPrefix(raw, sqliteScheme); ok {
		path := strings.TrimPrefix(rest, "//")
		switch {
		case path == "" || strings.HasSuffix(path, "/"):
			report.Fail(c.Finding("store", "after sqlite: the path of a file must follow, for instance sqlite:./data/notifyd.db"))
		case strings.Contains(path, ":memory:"):
			report.Fail(c.Finding("store", "a database in memory forgets what was acknowledged: name a file"))
		case strings.ContainsAny(path, "?#"):
			report.Fail(c.Finding("store", "a SQLite path takes no parameters: what they would set is fixed"))
		default:
			c.Store = Secret(sqliteScheme + absolute(c.dir, path))
		}
		return
	}
	if problem := checkPostgres(raw); problem != "" {
		report.Fail(c.Finding("store", problem))
	}
}

func checkPostgres(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "is not a URL: a / ? # @ or % within the password is written as %2F %3F %23 %40 or %25"
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return "must begin with sqlite: or postgres://"
	case u.Opaque != "" || u.Host == "" && u.Query().Get("host") == "":
		return "must be postgres://user:password@host:5432/database"
	}
	return ""
}

// complete does what takes more than one option to do.
func (c *Config) complete(report *Report) {
	c.completeStore(report)
	if c.Listen == c.Admin.Listen && !strings.HasSuffix(c.Listen, ":0") {
		report.Fail(c.Finding("listen", "admin.listen is the same address: the private listener needs its own"))
	}
	c.adviseAdmin(report)
	if len(c.Merchants) == 0 {
		c.Merchants = []Merchant{{Name: DefaultMerchant}}
	}
	c.completeRefused(report)
	c.completeMerchants(report)
	c.completeAccounts(report)
	if c.Admin.Token == "" && report.OK() {
		report.Warn(c.Finding("admin.token", "not set: the admin API answers 401 to everybody"))
	}
}

// Bounds of what is kept of refused requests.
const (
	mostRefused = 10_000
	// mostRefusedBytes is the largest notification.
	mostRefusedBytes = 1 << 20
	// refusedRoom is what a refused request takes besides its body, at most.
	refusedRoom = 64 << 10
)

func (c *Config) completeRefused(report *Report) {
	r := &c.Refused
	switch {
	case r.Keep > mostRefused:
		report.Fail(c.Finding("refused.keep", fmt.Sprintf("at most %d: they are for people to look at", mostRefused)))
	case r.MessageBytes > mostRefusedBytes:
		report.Fail(c.Finding("refused.message_bytes", fmt.Sprintf("at most %d: no larger body is read", mostRefusedBytes)))
	case r.AccountBytes < int64(r.MessageBytes)+refusedRoom:
		report.Fail(c.Finding("refused.account_bytes", fmt.Sprintf("must be message_bytes and %d more, at least: one message with its header has to fit", refusedRoom)))
	}
}

func (c *Config) completeMerchants(report *Report) {
	merchants, endpoints, ids := c.unique(report), c.unique(report), c.unique(report)
	secrets := map[Secret]string{}
	for i, m := range c.Merchants {
		path := at("merchants", i)
		merchants("merchant", m.Name, path+".name")
		for j, k := range m.APIKeys {
			here := at(path+".api_keys", j)
			ids("API key", k.ID, here+".id")
			if k.Secret == "" {
				continue
			}
			if other, ok := secrets[k.Secret]; ok {
				report.Fail(c.Finding(here+".secret", fmt.Sprintf("the API keys %q and %q have the same secret: each needs its own", other, k.ID)))
			}
			secrets[k.Secret] = k.ID
			if len(k.Secret) < wiseSecretBytes {
				report.Warn(c.Finding(here+".secret", "shorter than 16 characters, it can be guessed from one request; better: openssl rand -hex 32"))
			}
		}
		for j, e := range m.Endpoints {
			here := at(path+".endpoints", j)
			endpoints("endpoint", e.Name, here+".name")
			c.adviseEndpoint(e, here, report)
		}
	}
}

const (
	wiseSecretBytes  = 16 // HMAC keys below 128 bits can be searched off line
	wiseSigningBytes = 24 // the least that Standard Webhooks recommends
)

// unique makes a test that no name of its kind comes twice.
func (c *Config) unique(report *Report) func(what, name, path string) {
	first := map[string]int{}
	return func(what, name, path string) {
		if name == "" {
			return // reported as missing
		}
		line := c.Finding(path, "").Line
		if other, ok := first[name]; ok {
			report.Fail(c.Finding(path, fmt.Sprintf("there is another %s %q, in line %d", what, name, other)))
			return
		}
		first[name] = line
	}
}

func (c *Config) completeAccounts(report *Report) {
	names := c.unique(report)
	var known []string
	for _, m := range c.Merchants {
		if !slices.Contains(known, m.Name) {
			known = append(known, m.Name)
		}
	}
	for i := range c.Accounts {
		a, path := &c.Accounts[i], at("accounts", i)
		if a.rest.node == nil {
			continue // not a mapping: reported
		}
		names("account", a.Name, path+".name")
		if a.Merchant == "" && len(known) > 1 {
			report.Fail(c.Finding(path+".merchant", "is missing: with several merchants each account names its own: "+strings.Join(known, ", ")))
		} else if a.Merchant == "" {
			a.Merchant = known[0]
		} else if _, ok := c.Merchant(a.Merchant); !ok {
			report.Fail(c.Finding(path+".merchant", Unknown("merchant", a.Merchant, known)))
		}
	}
	c.Accounts = slices.DeleteFunc(c.Accounts, func(a Account) bool { return a.rest.node == nil })
	if len(c.Accounts) == 0 && report.OK() {
		report.Warn(c.Finding("accounts", "there are none: no notification can be received"))
	}
}
