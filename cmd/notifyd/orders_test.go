package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// counter runs commands against a server.
type counter struct {
	*served
	token string // a file
}

func newCounter(t *testing.T) counter {
	t.Helper()
	s := newShop(t, "sqlite:n.db")
	s.write(t, "token", []byte("throw-away-token\n"))
	return counter{s.serve(t), filepath.Join(s.dir, "token")}
}

func (c counter) run(args ...string) (code int, out, err string) {
	return runIn(append(args, "--server", c.private, "--token-file", c.token)...)
}

func (c counter) want(t *testing.T, code int, args ...string) (out, err string) {
	t.Helper()
	got, out, err := c.run(args...)
	if got != code {
		t.Errorf("%v: exit code %d, want %d\n%s%s", args, got, code, out, err)
	}
	if code != exitDone && out != "" {
		t.Errorf("%v: failed, with data on stdout: %s", args, out)
	}
	return out, err
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in\n%s", p, text)
		}
	}
}

func TestOrdersFromRegistrationToCompletion(t *testing.T) {
	c := newCounter(t)
	out, _ := c.want(t, exitDone, "orders", "register", "T1", "--amount-fen", "1000", "--expires-at", "2036-01-02T15:04:05+08:00")
	wantAll(t, out, "T1", "created", "10.00", "registered")
	c.want(t, exitDone, "orders", "register", "T1", "--amount-fen", "1000", "--expires-at", "2036-01-02T15:04:05+08:00")
	_, err := c.want(t, exitFailed, "orders", "register", "T1", "--amount-fen", "999")
	wantAll(t, err, "registered already")
	_, err = c.want(t, exitFailed, "orders", "ship", "T1")
	wantAll(t, err, "notifyd: T1 is created; only a paid order can be shipped\n")

	if status, _ := get(t, http.MethodPost, c.public+"/notify/alipay", paid("T1", forge.AlipayKey)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	out, _ = c.want(t, exitDone, "orders", "ship", "T1")
	wantAll(t, out, "shipped")
	c.want(t, exitDone, "orders", "complete", "T1")
	out, _ = c.want(t, exitDone, "orders", "show", "T1")
	wantAll(t, out, "completed", "2026-01-01 12:00:00", "PAYMENT", "accepted", "version 4", "notification ntf_", "applied")
	out, err = c.want(t, exitDone, "orders", "list", "--status", "completed")
	wantAll(t, out, "ORDER", "T1", "10.00", "alipay")
	if err != "" {
		t.Errorf("stderr: %s", err)
	}

	out, _ = c.want(t, exitDone, "orders", "show", "T1", "--json")
	var story order.StoryView
	if err := json.Unmarshal([]byte(out), &story); err != nil || story.Status != order.Completed || len(story.Transitions) != 4 {
		t.Errorf("%v: %+v", err, story)
	}
	c.want(t, exitDone, "orders", "register", "T2", "--amount-fen", "5", "--currency", "USD")
	out, _ = c.want(t, exitDone, "orders", "cancel", "T2")
	wantAll(t, out, "cancelled", "5 smallest units of USD")
	out, err = c.want(t, exitDone, "orders", "list", "--limit", "1")
	wantAll(t, out, "T2")
	wantAll(t, err, "there are more: --cursor ")
	_, cursor, _ := strings.Cut(strings.TrimSpace(err), "--cursor ")
	out, _ = c.want(t, exitDone, "orders", "list", "--limit", "1", "--cursor", cursor, "--json")
	var page listing[order.View]
	if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Items) != 1 || page.Items[0].OutTradeNo != "T1" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNotificationsFromTheCommandLine(t *testing.T) {
	c := newCounter(t)
	body := paid("T1", forge.AlipayKey)
	get(t, http.MethodPost, c.public+"/notify/alipay", body)
	get(t, http.MethodPost, c.public+"/notify/alipay", paid("T-2", forge.StrangerKey)) // refused: not listed; no id can look like this number
	out, _ := c.want(t, exitDone, "notifications", "list", "--order", "T1", "--outcome", "applied", "--json")
	var page listing[order.NotificationView]
	if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Items) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	id := page.Items[0].ID
	out, _ = c.want(t, exitDone, "notifications", "list")
	wantAll(t, out, "NOTIFICATION", id, "paid", "applied", "alipay", "T1")
	if strings.Contains(out, "T-2") {
		t.Errorf("the refused one is listed:\n%s", out)
	}
	out, err := c.want(t, exitDone, "notifications", "list", "--kind", "refund")
	wantAll(t, out, "NOTIFICATION")
	wantAll(t, err, "there are none")
	out, _ = c.want(t, exitDone, "notifications", "show", id)
	wantAll(t, out, "nT1", "applied", "FACT", "default")
	if out, _ = c.want(t, exitDone, "notifications", "show", id, "--raw"); out != body {
		t.Errorf("the raw body is\n%q, want\n%q", out, body)
	}
	out, _ = c.want(t, exitDone, "notifications", "show", id, "--capture")
	wantAll(t, out, "POST /notify/alipay HTTP/1.1\r\n", "X-Captured-At: ")
	c.want(t, exitDone, "notifications", "show", id, "--json")
	c.want(t, exitUsage, "notifications", "show", id, "--raw", "--json")
	_, err = c.want(t, exitFailed, "notifications", "show", "ntf_none")
	wantAll(t, err, "there is no notification of this id")
}

// What was paid in one is listed with all its orders.
func TestNotificationOfSeveralOrders(t *testing.T) {
	one, two := "T1", "T2"
	n := order.NotificationView{OutTradeNo: &one, Facts: []order.FactView{{OutTradeNo: &one}, {OutTradeNo: &two}, {OutTradeNo: &two}}}
	if got := ordersOf(&n); got != "T1,T2" {
		t.Errorf("several: %s", got)
	}
	n.Facts = nil
	if got := ordersOf(&n); got != "T1" {
		t.Errorf("no facts: %s", got)
	}
}

// What goes wrong has its exit code and says what to do.
func TestAdminCommandsFail(t *testing.T) {
	c := newCounter(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + gone.Addr().String()
	_ = gone.Close()
	wrong, empty, two := file("wrong", "another"), file("empty", "\n"), file("two", "a\nb\n")
	const config = "admin: {listen: \"%s\", token: t}\naccounts: [{name: a, provider: alipay, app_id: \"1\", public_keys: [{file: gone}]}]\n"
	away := file("away.yaml", strings.Replace(config, "%s", gone.Addr().String(), 1))
	anywhere := file("anywhere.yaml", strings.Replace(config, "%s", "127.0.0.1:0", 1))
	lines := file("lines.yaml", "admin: {listen: \":1\", token: t}\nlisten: [\n")
	closed := file("closed.yaml", "admin: {listen: \"127.0.0.1:1\"}\n")
	for _, x := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "unknown command \"shop\"", []string{"orders", "shop"}},
		{exitUsage, "ship", []string{"orders"}},
		{exitUsage, "name one OUT_TRADE_NO; none is given", []string{"orders", "show"}},
		{exitUsage, "name one ID; 2 are given", []string{"notifications", "show", "a", "b"}},
		{exitUsage, `"paid" is not understood: notifyd orders list takes flags only` + "\n", []string{"orders", "list", "paid"}},
		{exitUsage, "must be a whole number of fen, 1000 for 10 yuan", []string{"orders", "register", "T1", "--amount-fen", "10.00"}},
		{exitUsage, "must be at least 1 fen", []string{"orders", "register", "T1", "--amount-fen", "0"}},
		{exitUsage, "--amount-fen is missing", []string{"orders", "register", "T1"}},
		{exitUsage, "See: notifyd orders list --help", []string{"orders", "list", "--colour"}},
		{exitUsage, "status: must be one of", []string{"orders", "list", "--status", "payed", "--server", c.private, "--token-file", c.token}},
		{exitUsage, "must be a URL like", []string{"orders", "list", "--server", "localhost:8081", "--token-file", c.token}},
		{exitUsage, "the token is needed too", []string{"orders", "list", "--server", c.private}},
		{exitUsage, "is empty", []string{"orders", "list", "--server", c.private, "--token-file", empty}},
		{exitUsage, "one line of text", []string{"orders", "list", "--server", c.private, "--token-file", two}},
		{exitUsage, "no such file", []string{"orders", "list", "--server", c.private, "--token-file", two + "x"}},
		{exitUsage, "does not say where the server is", []string{"orders", "list", "--config", anywhere}},
		{exitConfig, "lines.yaml", []string{"orders", "list", "--config", lines}},
		{exitConfig, "sets no admin.token", []string{"orders", "list", "--config", closed}},
		{exitConfig, "cannot be read", []string{"orders", "list", "--config", lines + "x"}},
		{exitUnreachable, "cannot reach the server at " + nobody + ": dial tcp", []string{"orders", "list", "--config", away}},
		{exitUnreachable, "Is notifyd serve running", []string{"notifications", "list", "--server", nobody, "--token-file", c.token}},
		{exitFailed, "does not accept the token. Give the one", []string{"orders", "list", "--server", c.private, "--token-file", wrong}},
		{exitFailed, "Is this its private listener", []string{"orders", "list", "--server", c.public, "--token-file", c.token}},
		{exitFailed, "merchant default has no order T9", []string{"orders", "show", "T9", "--server", c.private, "--token-file", c.token}},
		{exitFailed, "amount_fen: must be", []string{"orders", "register", "T9", "--amount-fen", "1000000000001", "--server", c.private, "--token-file", c.token}},
		{exitFailed, `no merchant "m2" is configured`, []string{"orders", "list", "--merchant", "m2", "--server", c.private, "--token-file", c.token}},
	} {
		code, out, err := runIn(x.args...)
		if code != x.code || !strings.Contains(err, x.says) || out != "" {
			t.Errorf("%v: exit code %d, want %d; stdout %q; stderr, which should say %q:\n%s", x.args, code, x.code, out, x.says, err)
		}
		if strings.Contains(err, "throw-away-token") {
			t.Errorf("%v: the token is shown: %s", x.args, err)
		}
	}
}

// The token may also come from the environment, and the address from a
// configuration whose key files are elsewhere.
func TestAdminCommandsFindTheServer(t *testing.T) {
	c := newCounter(t)
	path := filepath.Join(t.TempDir(), "n.yaml")
	text := "admin: {listen: \"" + strings.TrimPrefix(c.private, "http://") + "\", token: throw-away-token}\n" +
		"accounts: [{name: a, provider: alipay, app_id: \"1\", public_keys: [{file: elsewhere.pem}]}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, err := runIn("orders", "list", "--config", path); code != exitDone || !strings.HasPrefix(out, "ORDER") {
		t.Errorf("exit code %d, %s", code, err)
	}
	// An account that the configuration does not know gets no notifications.
	for account, want := range map[string]int{"a": exitDone, "nope": exitUsage} {
		for _, form := range [][]string{nil, {"--json"}, {"--verdict", "refused"}} {
			code, _, err := runIn(append([]string{"notifications", "list", "--config", path, "--account", account}, form...)...)
			if code != want || (want == exitUsage) != strings.Contains(err, `unknown account "nope": known are a`) {
				t.Errorf("%s %v: exit code %d, %s", account, form, code, err)
			}
		}
	}
	env := func(name string) (string, bool) { return "throw-away-token", name == tokenVariable }
	var out, err bytes.Buffer
	if code := run(t.Context(), []string{"orders", "list", "--server", c.private + "/"}, env, stdio{out: &out, err: &err}); code != exitDone {
		t.Errorf("exit code %d, %s", code, err.String())
	}
	for listen, want := range map[string]string{
		":8081": "http://127.0.0.1:8081", "0.0.0.0:8081": "http://127.0.0.1:8081", "[::]:8081": "http://[::1]:8081",
		"127.0.0.1:9": "http://127.0.0.1:9", "shop.internal:8081": "http://shop.internal:8081",
	} {
		if got, err := listenURL(listen); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", listen, got, err, want)
		}
	}
}

// A server in trouble: what it answers becomes an exit code, a redirect is not
// followed with the token, and what it says cannot move the cursor.
func TestAdminCommandsMeetAServerInTrouble(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	problem := func(status int, code, detail string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "code": code, "detail": detail})
		}
	}
	for _, x := range []struct {
		answer func(http.ResponseWriter, *http.Request)
		code   int
		says   string
	}{
		{problem(503, "store_unavailable", "the store cannot be used now; try again"), exitUnreachable, "try again"},
		{problem(500, "internal", "something went wrong \x1b[2Jhere"), exitFailed, "wrong \uFFFD[2Jhere"},
		{problem(400, "merchant_required", "name one with ?merchant="), exitUsage, "name one with --merchant\n"},
		{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, exitFailed, "302 Found"},
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, exitFailed, "cannot be read"},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("{"))
		}, exitUnreachable, "cannot reach"},
	} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); x.answer(w, r) }))
		code, out, err := runIn("orders", "list", "--server", server.URL, "--token-file", token)
		server.Close()
		if code != x.code || !strings.Contains(err, x.says) || out != "" || asked.Load() != 1 {
			t.Errorf("exit code %d, want %d; asked %d times; stderr, which should say %q:\n%s", code, x.code, asked.Load(), x.says, err)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { end(); <-r.Context().Done() }))
	defer server.Close()
	var out, err bytes.Buffer
	if code := run(ctx, []string{"orders", "list", "--server", server.URL, "--token-file", token}, noEnv, stdio{out: &out, err: &err}); code != exitInterrupted {
		t.Errorf("interrupted: exit code %d, %s", code, err.String())
	}
}
