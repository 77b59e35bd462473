package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	c, report := load(t, `
admin:
  token: pre-${A}-$$-$x-${B}
store: "postgres://u:${P}@h/d"
drain_delay: ${D}
orders: {require_registration: "${R}"}
accounts: [{name: "${N}", provider: p}]
public_url: |-
  https://${H}
`, "A=${B}", "B=: [x", "P=pa$$wd", "D=3s", "R=true", "N=0123", "H=pay.example", "EMPTY=")
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	got := []any{c.Admin.Token.Reveal(), c.Store.Reveal(), c.DrainDelay.String(), c.Orders.RequireRegistration, c.Accounts[0].Name, c.PublicURL}
	want := []any{"pre-${B}-$-$x-: [x", "postgres://u:pa$$wd@h/d", "3s", true, "0123", "https://pay.example"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a variable's value is text and nothing more (-want +got)\n%s", diff)
	}
	const named = "${ must be followed by the name of an environment variable and }; a plain $ is written $$"
	wantErrors(t, "admin:\n  token: ${UNSET}\n  listen: '${'\nstore: ${A:-b}\npublic_url: \"x${}\"\n",
		"n.yaml:2:10: admin.token: the environment variable UNSET is not set",
		"n.yaml:3:11: admin.listen: "+named,
		"n.yaml:4:8: store: "+named,
		"n.yaml:5:13: public_url: "+named)
}

func TestNumbersWhereTextIsDue(t *testing.T) {
	type opts struct {
		ID     string   `yaml:"id"`
		Secret Secret   `yaml:"secret"`
		List   []string `yaml:"list"`
	}
	read := func(value string) (string, string) {
		c, report := load(t, "accounts:\n  - {name: a, provider: p, id: "+value+", secret: "+value+", list: ["+value+"]}\n")
		if !report.OK() {
			return "", report.Errors[0].Text
		}
		var o opts
		if err := c.Accounts[0].Decode(&o); err != nil {
			list := err.(Findings)
			if len(list) != 3 || list[0].Path != "accounts[0].id" || list[1].Path != "accounts[0].secret" || list[2].Path != "accounts[0].list[0]" {
				t.Errorf("%s: %v", value, list)
			}
			return "", list[0].Text
		}
		if o.Secret.Reveal() != o.ID || o.List[0] != o.ID {
			t.Errorf("%s: %q %q %q differ", value, o.ID, o.Secret.Reveal(), o.List)
		}
		return o.ID, ""
	}
	for value, want := range map[string]string{
		"1900000001": "1900000001", "2021000000000000": "2021000000000000", "0": "0", "-5": "-5",
		`"0123"`: "0123", `'1e9'`: "1e9", "wx8888": "wx8888", "2026-01-01": "2026-01-01", "yes": "yes", "1.2.3": "1.2.3", "12ab": "12ab", "!!str 007": "007",
	} {
		if got, problem := read(value); got != want || problem != "" {
			t.Errorf("%s is read as %q (%s), want %q", value, got, problem, want)
		}
	}
	for _, value := range []string{
		"0123", "0199", "00", "1e9", "1.5E+3", "1.0", ".5", "1_000", "+5", "-0", "0x1F", "0o17", "0b11", ".inf", "-.Inf", ".nan",
		"9223372036854775807", "18446744073709551615", "12345678901234567890123", "-1234567890123456789",
	} {
		if got, problem := read(value); problem != quoteIt {
			t.Errorf("%s is read as %q (%s), want: quote it", value, got, problem)
		}
	}
	for _, value := range []string{"true", "False"} {
		if got, problem := read(value); !strings.Contains(problem, "quote it") {
			t.Errorf("%s is read as %q (%s), want: quote it", value, got, problem)
		}
	}
}

func TestDurationsAndSwitches(t *testing.T) {
	wantErrors(t, "drain_delay: 15\nshutdown_timeout: 0s\nretention: {raw: soon}\norders: {require_registration: yes}\n",
		"n.yaml:1:14: drain_delay: needs a unit, for instance 15s or 15h",
		"n.yaml:2:19: shutdown_timeout: must be more than 0",
		"n.yaml:3:18: retention.raw: must be a duration, for instance 15s, 2m or 4320h",
		"n.yaml:4:32: orders.require_registration: must be true or false")
	wantErrors(t, "drain_delay: -1s\n", "n.yaml:1:14: drain_delay: must not be negative")
	if c, report := load(t, "drain_delay: 0\n"); !report.OK() || c.DrainDelay != 0 {
		t.Error(report.Errors)
	}
}

func TestBoundsOfRefused(t *testing.T) {
	wantErrors(t, "refused: {keep: -1, message_bytes: 1k, account_bytes: 0x10}\n",
		"n.yaml:1:17: refused.keep: must not be negative",
		"n.yaml:1:36: refused.message_bytes: must be a whole number",
		"n.yaml:1:55: refused.account_bytes: must be a whole number")
	wantErrors(t, "refused: {keep: 10001}\n", "n.yaml:1:17: refused.keep: at most 10000: they are for people to look at")
	wantErrors(t, "refused: {message_bytes: 1048577}\n", "n.yaml:1:26: refused.message_bytes: at most 1048576: no larger body is read")
	wantErrors(t, "refused: {message_bytes: 1000, account_bytes: 66535}\n",
		"n.yaml:1:47: refused.account_bytes: must be message_bytes and 65536 more, at least: one message with its header has to fit")
	c, report := load(t, "refused: {keep: 0, message_bytes: 1000, account_bytes: 66536}\nretention: {refused: 1h}\n")
	if !report.OK() || c.Refused != (Refused{Keep: 0, MessageBytes: 1000, AccountBytes: 66536}) || c.Retention.Refused != time.Hour {
		t.Errorf("%v %+v", report.Errors, c.Refused)
	}
}

func TestSecretFiles(t *testing.T) {
	dir := files(t, map[string]string{
		"token": "tok\n\n", "crlf": whsec + "\r\n", "plain": whsec, "store@0400": "sqlite:./x/y.db\n", "key@0644": "secret-of-k1-long\n", "empty": "\n", "big": strings.Repeat("x", maxSecretBytes+1),
	})
	c, report := loadIn(t, dir, `
admin: {token: "", token_file: token}
store_file: store
merchants:
  - name: m
    api_keys:
      - {id: k1, secret_file: key}
    endpoints:
      - {name: e, url: "https://e.example", secret_files: [crlf, "`+dir+`/plain"]}
accounts: [{name: a, provider: p}]
`)
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	m := c.Merchants[0]
	got := []string{c.Admin.Token.Reveal(), c.Store.Reveal(), m.APIKeys[0].Secret.Reveal(), m.Endpoints[0].Secrets[0].Reveal(), m.Endpoints[0].Secrets[1].Reveal()}
	if diff := cmp.Diff([]string{"tok\n", "sqlite:" + dir + "/x/y.db", "secret-of-k1-long", whsec, whsec}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := []string{"n.yaml:7:31: merchants[0].api_keys[0].secret_file: key has mode 0644, so others may read the secret: chmod 600"}
	if diff := cmp.Diff(want, lines(report.Warnings, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	_, report = loadIn(t, dir, `
admin:
  token: abc
  token_file: token
store_file: absent
merchants:
  - name: m
    api_keys: [{id: k, secret_file: empty}]
    endpoints:
      - {name: e, url: "https://e.example", secrets: [x], secret_files: [plain]}
      - {name: f, url: "https://e.example", secret_files: [token, big]}
`)
	want = []string{
		"n.yaml:4:3: admin.token_file: both token and token_file are set: keep one",
		"n.yaml:5:13: store_file: absent cannot be used: no such file or directory",
		"n.yaml:8:37: merchants[0].api_keys[0].secret_file: empty cannot be used: it is empty",
		"n.yaml:10:55: merchants[0].endpoints[0].secrets[0]: must begin with whsec_, for instance from: echo whsec_$(openssl rand -base64 32)",
		"n.yaml:10:59: merchants[0].endpoints[0].secret_files: both secrets and secret_files are set: keep one",
		"n.yaml:11:60: merchants[0].endpoints[1].secret_files[0]: must begin with whsec_, for instance from: echo whsec_$(openssl rand -base64 32)",
		"n.yaml:11:67: merchants[0].endpoints[1].secret_files[1]: big cannot be used: it is larger than 65536 bytes",
	}
	if diff := cmp.Diff(want, lines(report.Errors, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAddressesAndURLs(t *testing.T) {
	for _, ok := range []string{":8080", "127.0.0.1:0", "[::]:443", "[fe80::1%eth0]:1", "localhost:65535", "my_host.internal:80"} {
		if problem := checkListen(ok); problem != "" {
			t.Errorf("listen %q: %s", ok, problem)
		}
	}
	for _, bad := range []string{"8080", "localhost", ":", ":http", ":65536", ":-1", "*:80", "a b:80", "http://x:80", "::1:80"} {
		if checkListen(bad) == "" {
			t.Errorf("listen %q is taken", bad)
		}
	}
	for _, ok := range []string{"https://a.example", "http://10.0.0.1:8080/x?y=z", "https://[::1]/"} {
		if problem := checkEndpointURL(ok); problem != "" {
			t.Errorf("url %q: %s", ok, problem)
		}
	}
	for _, bad := range []string{"a.example", "ftp://a", "//a", "https://", "https:///x", "https://u@a", "https://u:p@a", "https://a/#x", "https://a/#", "https://a:x/", "javascript:1", "http://a\x00b"} {
		if checkEndpointURL(bad) == "" {
			t.Errorf("url %q is taken", bad)
		}
	}
	if checkPublicURL("https://a/?x=1") == "" || checkPublicURL("https://a/?") == "" {
		t.Error("public_url with a query is taken")
	}
	wantErrors(t, "listen: 8080\nadmin: {listen: 127.0.0.1:80:80}\npublic_url: pay.example.com\n",
		`n.yaml:1:9: listen: must be HOST:PORT, for instance ":8080" or "127.0.0.1:8081"`,
		`n.yaml:2:17: admin.listen: must be HOST:PORT, for instance ":8080" or "127.0.0.1:8081"`,
		"n.yaml:3:13: public_url: must begin with https:// or http://")
	wantErrors(t, "listen: 127.0.0.1:8081\n",
		"n.yaml:1:9: listen: admin.listen is the same address: the private listener needs its own")
}

func TestStores(t *testing.T) {
	for _, url := range []string{"postgres://u:p@h/d", "postgresql://h", "postgres:///d?host=/run/pg"} {
		if c, report := load(t, "store: "+url+"\n"); !report.OK() || c.Store.Reveal() != url {
			t.Errorf("%s: %v", url, report.Errors)
		}
	}
	for url, want := range map[string]string{"sqlite:x.db": "DIR/x.db", "sqlite:/a/b.db": "/a/b.db", "sqlite:///a/b.db": "/a/b.db", "sqlite:../x.db": "../x.db"} {
		dir := t.TempDir()
		c, report := loadIn(t, dir, "store: "+url+"\n")
		want = strings.Replace(want, "DIR", dir, 1)
		if strings.HasPrefix(want, "..") {
			want = dir[:strings.LastIndex(dir, "/")] + "/x.db"
		}
		if !report.OK() || c.Store.Reveal() != "sqlite:"+want || c.StoreForPeople() != "sqlite:"+want {
			t.Errorf("%s: %v %s", url, report.Errors, c.StoreForPeople())
		}
	}
	for url, want := range map[string]string{
		"mysql://u:hush@h/d": "sqlite: or postgres://", `"sqlite:"`: "path of a file", `"sqlite::memory:"`: "in memory", "sqlite:x?mode=ro": "no parameters", "sqlite:data/": "path of a file",
		"postgres:hush": "postgres://user", "postgres://u:hu/sh@h:1/d": "%2F", "postgres://": "postgres://user", `""`: "sqlite: or postgres://",
	} {
		_, report := load(t, "store: "+url+"\n")
		if report.OK() || !strings.Contains(report.Errors[0].Text, want) || strings.Contains(report.Errors[0].Text, "hush") || report.Errors[0].Column != 8 {
			t.Errorf("%s: %v, want %q", url, report.Errors, want)
		}
	}
	c, _ := load(t, "store: postgres://u:hush@h/d?password=hush\n")
	if shown := c.StoreForPeople(); shown != "postgres://u@h/d" {
		t.Errorf("shown as %s", shown)
	}
}

func TestNamesAndDoubles(t *testing.T) {
	const name = "a name is 1 to 63 of a-z, 0-9, _ and -, the first a letter or digit: it is part of URLs"
	wantErrors(t, `
merchants:
  - name: a
    api_keys:
      - {id: k, secret: the-same-secret-twice}
      - {id: "k 2", secret: another-long-secret}
    endpoints:
      - {name: e, url: "https://e.example", secrets: ["`+whsec+`"]}
      - {name: E, url: "https://e.example", secrets: ["whsec_no-base64"]}
  - name: a
    api_keys:
      - {id: k, secret: the-same-secret-third}
      - {id: l, secret: the-same-secret-twice}
    endpoints:
      - {name: e, url: "https://u:p@e.example", secrets: []}
      - {}
  - name: c
accounts:
  - {name: x, provider: p, merchant: a}
  - {name: x, provider: p, merchant: b}
  - {name: a/b, provider: p}
  - {provider: ""}
`,
		"n.yaml:6:14: merchants[0].api_keys[1].id: a key id is 1 to 63 of A-Z, a-z, 0-9, ., _ and -, the first a letter or digit: it is sent in a header",
		"n.yaml:9:16: merchants[0].endpoints[1].name: "+name,
		"n.yaml:9:55: merchants[0].endpoints[1].secrets[0]: what follows whsec_ must be base64, padded, for instance from: echo whsec_$(openssl rand -base64 32)",
		`n.yaml:10:11: merchants[1].name: there is another merchant "a", in line 3`,
		`n.yaml:12:14: merchants[1].api_keys[0].id: there is another API key "k", in line 5`,
		`n.yaml:13:25: merchants[1].api_keys[1].secret: the API keys "k" and "l" have the same secret: each needs its own`,
		`n.yaml:15:16: merchants[1].endpoints[0].name: there is another endpoint "e", in line 8`,
		"n.yaml:15:24: merchants[1].endpoints[0].url: must not hold a user or password",
		"n.yaml:15:58: merchants[1].endpoints[0].secrets: must not be empty (or use secret_files)",
		"n.yaml:16:9: merchants[1].endpoints[1].name: is missing",
		"n.yaml:16:9: merchants[1].endpoints[1].url: is missing",
		"n.yaml:16:9: merchants[1].endpoints[1].secrets: is missing (or use secret_files)",
		`n.yaml:20:12: accounts[1].name: there is another account "x", in line 19`,
		`n.yaml:20:38: accounts[1].merchant: unknown merchant "b": did you mean "a"?`,
		"n.yaml:21:5: accounts[2].merchant: is missing: with several merchants each account names its own: a, c",
		"n.yaml:21:12: accounts[2].name: "+name,
		"n.yaml:22:5: accounts[3].name: is missing",
		"n.yaml:22:5: accounts[3].merchant: is missing: with several merchants each account names its own: a, c",
		"n.yaml:22:16: accounts[3].provider: must not be empty",
	)
	for _, ok := range []string{"a", "0-_", strings.Repeat("a", 63)} {
		if checkName(ok) != "" {
			t.Errorf("%q is refused", ok)
		}
	}
	for _, bad := range []string{"A", "-a", "_a", "a.b", "a/b", "a b", "中", "a\n", strings.Repeat("a", 64)} {
		if checkName(bad) == "" {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestSigningKey(t *testing.T) {
	if key, err := SigningKey(whsec); err != nil || string(key) != "test-key-of-the-config-!" {
		t.Errorf("%q %v", key, err)
	}
	for _, bad := range []Secret{"", "whsec", "whsec_", "Whsec_AAAA", "whsec_AAA", "whsec_AB==", "whsec_A-_A", "whsec_AAAA\nAAAA", "whsec_AAAA "} {
		if key, err := SigningKey(bad); err == nil {
			t.Errorf("%q is taken as %x", bad.Reveal(), key)
		} else if strings.Contains(err.Error(), "AAA") {
			t.Errorf("the error quotes the secret: %v", err)
		}
	}
}

func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	_, report := loadIn(t, dir, `
merchants:
  - name: a
    api_keys: [{id: k, secret: short}]
    endpoints:
      - {name: a, url: "http://127.0.0.1:9/", secrets: [whsec_AAAA]}
      - {name: b, url: "http://LocalHost/", secrets: ["`+whsec+`"], events: []}
      - {name: c, url: "http://10.1.2.3/", secrets: ["`+whsec+`"], allow_private: true}
      - {name: d, url: "http://169.254.169.254/", secrets: ["`+whsec+`"], allow_private: true}
`)
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	const private = "a private or loopback address gets no deliveries unless the endpoint says allow_private: true"
	want := []string{
		"n.yaml: accounts: there are none: no notification can be received",
		"n.yaml: admin.token: not set: the admin API answers 401 to everybody",
		"n.yaml:4:32: merchants[0].api_keys[0].secret: shorter than 16 characters, it can be guessed from one request; better: openssl rand -hex 32",
		"n.yaml:6:24: merchants[0].endpoints[0].url: " + private,
		"n.yaml:6:57: merchants[0].endpoints[0].secrets[0]: holds less than 24 bytes; better: echo whsec_$(openssl rand -base64 32)",
		"n.yaml:7:24: merchants[0].endpoints[1].url: " + private,
		"n.yaml:7:106: merchants[0].endpoints[1].events: the list is empty: nothing is delivered here",
		"n.yaml:9:24: merchants[0].endpoints[3].url: no delivery goes to such an address (link-local, multicast, 0/8), whatever is allowed",
	}
	if diff := cmp.Diff(want, lines(report.Warnings, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Whom the private listener lets in.
func TestAdminListenAdvice(t *testing.T) {
	const everywhere, internet = "every network of this machine", "an address of the internet"
	for listen, want := range map[string]string{
		":8081": everywhere, "0.0.0.0:8081": everywhere, "[::]:8081": everywhere, "[::ffff:0.0.0.0]:8081": everywhere,
		"8.8.8.8:8081": internet, "[2001:4860::1]:8081": internet,
		"127.0.0.1:8081": "", "[::1]:8081": "", "10.1.2.3:8081": "", "[fd00::1]:8081": "", "localhost:8081": "",
	} {
		_, report := load(t, fmt.Sprintf("admin: {listen: %q, token: canary-1}\naccounts: [{name: x, provider: p}]\n", listen))
		if !report.OK() {
			t.Fatal(report.Errors)
		}
		var said string
		for _, f := range report.Warnings {
			said += f.String() + "\n"
		}
		if want == "" && said != "" || !strings.Contains(said, want) || want != "" && !strings.Contains(said, ":1:17: admin.listen: ") {
			t.Errorf("%s: %q, want %q", listen, said, want)
		}
	}
}

func TestSecretsPrintAsMask(t *testing.T) {
	c, report := load(t, "admin: {token: canary-1}\nstore: postgres://u:canary-2@h/d\nmerchants:\n  - name: a\n    api_keys: [{id: k, secret: canary-3-long-enough}]\naccounts: [{name: x, provider: p, token: canary-4}]\n")
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	var printed strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&printed, verb, c.Admin)
		fmt.Fprintf(&printed, verb, c.Store)
		fmt.Fprintf(&printed, verb, c.Merchants)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	printed.Write(raw)
	for _, h := range []slog.Handler{slog.NewJSONHandler(&printed, nil), slog.NewTextHandler(&printed, nil)} {
		slog.New(h).Info("x", "config", c, "token", c.Admin.Token, "store", c.Store)
	}
	fmt.Fprintf(&printed, "%v %+v %#v", c, c, c)
	fmt.Fprintf(&printed, "%v %+v %#v", *c, c.Accounts, c.Accounts)
	if strings.Contains(printed.String(), "canary") || !strings.Contains(printed.String(), mask) {
		t.Errorf("a secret shows in\n%s", printed.String())
	}
}
