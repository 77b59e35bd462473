package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A key of 24 bytes that signs nothing but tests.
const whsec = "whsec_dGVzdC1rZXktb2YtdGhlLWNvbmZpZy0h"

// files writes files into a new folder; each name ends in @mode or gets 0600.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		mode := fs.FileMode(0o600)
		if before, after, ok := strings.Cut(name, "@"); ok {
			name = before
			mode = map[string]fs.FileMode{"0400": 0o400, "0640": 0o640, "0644": 0o644}[after]
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loadIn loads text as the configuration file of dir.
func loadIn(t *testing.T, dir, text string, env ...string) (*Config, *Report) {
	t.Helper()
	path := filepath.Join(dir, "n.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, func(name string) (string, bool) {
		for _, e := range env {
			if k, v, _ := strings.Cut(e, "="); k == name {
				return v, true
			}
		}
		return "", false
	})
}

func load(t *testing.T, text string, env ...string) (*Config, *Report) {
	t.Helper()
	return loadIn(t, t.TempDir(), text, env...)
}

// lines are the findings without the folder.
func lines(list Findings, dir string) []string {
	var all []string
	for _, f := range list {
		all = append(all, strings.ReplaceAll(f.String(), dir+"/", ""))
	}
	return all
}

func wantErrors(t *testing.T, text string, want ...string) {
	t.Helper()
	dir := t.TempDir()
	_, report := loadIn(t, dir, text)
	if diff := cmp.Diff(want, lines(report.Errors, dir)); diff != "" {
		t.Errorf("errors of\n%s\n(-want +got)\n%s", text, diff)
	}
}

func TestEmptyFileIsAllDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "admin:\nmerchants: ~\naccounts: []\n", "\ufefflisten: \":8080\"\n"} {
		dir := t.TempDir()
		c, report := loadIn(t, dir, text)
		if !report.OK() {
			t.Fatalf("%q: %v", text, report.Errors)
		}
		got := map[string]any{
			"listen": c.Listen, "public_url": c.PublicURL, "admin.listen": c.Admin.Listen, "admin.token": c.Admin.Token.Reveal(),
			"store": strings.ReplaceAll(c.Store.Reveal(), dir, "DIR"), "registration": c.Orders.RequireRegistration,
			"drain": c.DrainDelay, "shutdown": c.ShutdownTimeout, "raw": c.Retention.Raw, "deliveries": c.Retention.Deliveries,
			"merchants": len(c.Merchants), "merchant": c.Merchants[0].Name,
		}
		want := map[string]any{
			"listen": ":8080", "public_url": "", "admin.listen": "127.0.0.1:8081", "admin.token": "",
			"store": "sqlite:DIR/data/notifyd.db", "registration": false,
			"drain": time.Duration(0), "shutdown": 15 * time.Second, "raw": 180 * 24 * time.Hour, "deliveries": 90 * 24 * time.Hour,
			"merchants": 1, "merchant": "default",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
		if len(report.Warnings) != 2 {
			t.Errorf("want warnings for no token and no accounts, got %v", report.Warnings)
		}
	}
}

func TestEveryOptionIsRead(t *testing.T) {
	dir := files(t, map[string]string{"token": "file-token\n"})
	c, report := loadIn(t, dir, `
listen: "[::1]:9000"
public_url: https://pay.example.com/base/
admin: {listen: "localhost:0", token_file: token}
store: postgres://u:s3cret@db:5432,db2:5433/pay?sslmode=disable
orders: {require_registration: true}
drain_delay: 2s
shutdown_timeout: 1m
retention: {raw: 24h, deliveries: 48h}
merchants:
  - name: shop
    api_keys:
      - {id: k1, secret: sixteen-letters-a}
      - {id: k2, secret: sixteen-letters-b}
    endpoints:
      - name: hook
        url: https://shop.example/hook?x=1
        secrets: ["`+whsec+`"]
        events: [order.paid]
        allow_private: true
      - {name: all, url: "http://shop.example", secrets: ["`+whsec+`"]}
accounts:
  - {name: a1, provider: any}
`)
	if !report.OK() || len(report.Warnings) != 0 {
		t.Fatalf("errors %v, warnings %v", report.Errors, report.Warnings)
	}
	m := c.Merchants[0]
	got := []any{
		c.Listen, c.PublicURL, c.Admin.Listen, c.Admin.Token.Reveal(), c.Store.Reveal(), c.StoreForPeople(), c.Orders.RequireRegistration,
		c.DrainDelay, c.ShutdownTimeout, c.Retention.Raw, c.Retention.Deliveries, m.Name, m.APIKeys[1].ID, m.APIKeys[1].Secret.Reveal(),
		m.Endpoints[0].Events, m.Endpoints[0].AllowPrivate, m.Endpoints[1].Events, m.Endpoints[1].AllowPrivate, m.Endpoints[0].Secrets[0].Reveal(),
		c.Accounts[0].Merchant, c.NotifyURL("a1"),
	}
	want := []any{
		"[::1]:9000", "https://pay.example.com/base/", "localhost:0", "file-token", "postgres://u:s3cret@db:5432,db2:5433/pay?sslmode=disable", "postgres://u@db:5432,db2:5433/pay", true,
		2 * time.Second, time.Minute, 24 * time.Hour, 48 * time.Hour, "shop", "k2", "sixteen-letters-b",
		[]string{"order.paid"}, true, []string{"*"}, false, whsec,
		"shop", "https://pay.example.com/base/notify/a1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	c, report := Load(filepath.Join(dir, "absent.yaml"), os.LookupEnv)
	want := []string{"absent.yaml: cannot be read: no such file or directory"}
	if diff := cmp.Diff(want, lines(report.Errors, dir)); c != nil || diff != "" {
		t.Errorf("config %v (-want +got)\n%s", c, diff)
	}
	big := files(t, map[string]string{"big.yaml": strings.Repeat("# long\n", maxFileBytes/7+1)})
	if _, report := Load(filepath.Join(big, "big.yaml"), os.LookupEnv); report.OK() || !strings.Contains(report.Errors[0].Text, "larger than 1048576 bytes") {
		t.Errorf("a large file: %v", report.Errors)
	}
}

func TestStrictKeys(t *testing.T) {
	wantErrors(t, "lisen: \":1\"\nadmin:\n  tokn: x\n  colour: red\ntoken: abc\n1: x\n",
		`n.yaml:1:1: unknown option "lisen": did you mean "listen"?`,
		`n.yaml:3:3: admin: unknown option "tokn": did you mean "token"?`,
		`n.yaml:4:3: admin: unknown option "colour": known here are listen, token, token_file`,
		`n.yaml:5:1: unknown option "token" here: it belongs to admin.token`,
		`n.yaml:6:1: the name of an option must be a plain word`)
	wantErrors(t, "merchants:\n  - name: a\n    endpoint: []\n    api-keys: []\n",
		`n.yaml:3:5: merchants[0]: unknown option "endpoint": did you mean "endpoints"?`,
		`n.yaml:4:5: merchants[0]: unknown option "api-keys": did you mean "api_keys"?`)
}

func TestDoubledKeys(t *testing.T) {
	wantErrors(t, "listen: \":1\"\nlisten: \":2\"\nadmin: {token: a, token: b}\n",
		"n.yaml:2:1: listen: given twice, first in line 1",
		"n.yaml:3:19: admin.token: given twice, first in line 3")
}

func TestShapes(t *testing.T) {
	wantErrors(t, "admin: 5\nmerchants: {name: a}\naccounts:\n  - text\n  -\nlisten: [a]\norders: []\n",
		"n.yaml:1:8: admin: must be a mapping of options, not one value",
		"n.yaml:2:12: merchants: must be a list: put [ ] around it or a dash before each entry, not a mapping",
		"n.yaml:4:5: accounts[0]: must be a mapping of options, not one value",
		"n.yaml:5:4: accounts[1]: is empty",
		"n.yaml:6:9: listen: must be one value, not a list",
		"n.yaml:7:9: orders: must be a mapping of options, not a list")
	wantErrors(t, "- a\n", `n.yaml:1:1: a configuration file is a mapping of options, with lines like NAME: VALUE`)
	wantErrors(t, "listen: \":1\"\n---\nlisten: \":2\"\n", "n.yaml:3:1: a second YAML document starts here: a configuration file is one document")
}

func TestSyntax(t *testing.T) {
	wantErrors(t, "listen: \":1\"\nadmin:\n\ttoken: hush\n", `n.yaml:3:1: this is not YAML: a tab: indent with blanks`)
	wantErrors(t, "accounts:\n  - name: a\n   mchid: \"1\"\n", `n.yaml:3:4: this is not YAML: this does not belong here: look at the indentation, and for what is missing in the line before`)
	wantErrors(t, "accounts:\n  - name: a\n    provider:wechat\n    mchid: \"1\"\n", `n.yaml:3:5: this is not YAML: NAME: VALUE is due here, with a blank after the colon`)
	wantErrors(t, "listen: \":1\nadmin: hush\n", `n.yaml:1:9: this is not YAML: could not find end character of double-quoted text`)
	wantErrors(t, "listen: \":1\"\nadmin: {token: \xff}\n", "n.yaml:2:16: this is not UTF-8 text")
	wantErrors(t, "admin: {token: ${T}}\n", `n.yaml:1:16: inside {…} and […] a value with a variable needs quotes: "${NAME}"`)
}

func TestAnchorsMergesAndTags(t *testing.T) {
	c, report := load(t, `
admin: {token: &t shared}
merchants:
  - &m
    name: a
    endpoints: &e
      - {name: x, url: "http://a.example", secrets: ["`+whsec+`"]}
accounts:
  - &base {name: one, provider: p, merchant: a}
  - <<: *base
    name: !!str 0123
`)
	if !report.OK() || c.Accounts[1].Name != "0123" || c.Accounts[1].Provider != "p" || c.Accounts[1].Merchant != "a" {
		t.Errorf("%v %+v", report.Errors, c.Accounts)
	}
	wantErrors(t, "listen: *nope\nadmin: &a\n  listen: *a\nstore: !!binary aGk=\n",
		"n.yaml:1:9: listen: the alias *nope has no anchor &nope before it",
		"n.yaml:3:11: admin.listen: the alias *a has no anchor &a before it",
		"n.yaml:4:8: store: a YAML tag is not understood here: write the plain value")
}

func TestFindingsAreAnError(t *testing.T) {
	_, report := load(t, "a: 1\nb: 2\n")
	var err error = report.Errors
	var list Findings
	if !errors.As(err, &list) || len(list) != 2 || !strings.Contains(err.Error(), "(and 1 more)") {
		t.Errorf("%v", err)
	}
}
