package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/client/simulator/play"
	"github.com/notifyd/notifyd/internal/config"
)

// cheating puts a server before the one that is serving, and sets $PUBLIC and
// $PRIVATE to it. It keeps its books badly for some of Alipay's orders, by the
// last digit of their number:
//
//	1  acks what it throws away
//	2  shows the payment twice
//	3  shows another amount
//	4  shows the order shipped
func cheating(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: cheating")
	}
	public, private := pass(ts, "PUBLIC"), pass(ts, "PRIVATE")
	cheatsPublic := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if form, err := url.ParseQuery(string(body)); err == nil && strings.HasSuffix(form.Get("out_trade_no"), "1") {
			_, _ = io.WriteString(w, "success")
			return
		}
		public.ServeHTTP(w, r)
	}))
	private.ModifyResponse = cheat
	cheatsPrivate := httptest.NewServer(private)
	ts.Defer(cheatsPublic.Close)
	ts.Defer(cheatsPrivate.Close)
	ts.Setenv("PUBLIC", cheatsPublic.URL)
	ts.Setenv("PRIVATE", cheatsPrivate.URL)
}

func pass(ts *testscript.TestScript, variable string) *httputil.ReverseProxy {
	to, err := url.Parse(ts.Getenv(variable))
	ts.Check(err)
	return httputil.NewSingleHostReverseProxy(to)
}

// cheat changes the answer about an order.
func cheat(r *http.Response) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var o client.Order
	if json.Unmarshal(text, &o) == nil && o.OutTradeNo != "" && len(o.Payments) > 0 {
		switch o.OutTradeNo[len(o.OutTradeNo)-1] {
		case '2':
			o.Payments = append(o.Payments, o.Payments[0])
		case '3':
			o.Payments[0].AmountFen++
		case '4':
			o.Status = client.Shipped
		}
		text, err = json.Marshal(o)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	r.ContentLength = int64(len(text))
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return err
}

// The example is a plan, and says what is the default where it says nothing else.
func TestTheExamplePlanIsPlayed(t *testing.T) {
	code, text, _ := runIn("simulate", "run", "--example")
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil || code != exitDone {
		t.Fatal(code, err)
	}
	plan, _, err := readPlan(&app{env: noEnv, stdio: stdio{err: io.Discard}}, path)
	if err != nil {
		t.Fatal(err)
	}
	own := play.DefaultPlan()
	if plan.Orders != own.Orders || plan.Speed != own.Speed || plan.Limit != own.Limit || plan.Senders != own.Senders || plan.AmountFen != own.AmountFen {
		t.Errorf("%+v", plan)
	}
	if fmt.Sprint(plan.Retries.Wechat) != fmt.Sprint(play.WechatRetries()) || fmt.Sprint(plan.Retries.Alipay) != fmt.Sprint(play.AlipayRetries()) {
		t.Errorf("the example's pauses are not the providers': %v", plan.Retries)
	}
}

// An interrupt ends the sending; what the ledger has until then is printed.
func TestARunIsInterrupted(t *testing.T) {
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer private.Close()
	dir := t.TempDir()
	keys, err := simulator.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Save(filepath.Join(dir, "simulator")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"token": "throw-away-token\n", "plan.yaml": "orders: 500\nsenders: 1\n",
		"n.yaml": "admin: {token_file: token}\naccounts:\n  - {name: alipay, provider: alipay, app_id: \"2021000000000001\", public_keys: [{file: simulator/alipay_public_key.pem}]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for flag, want := range map[string]string{"--json=false": "\nledger      not checked\n", "--json": `"interrupted": true`} {
		ctx, interrupt := context.WithCancel(context.Background())
		seen := 0 // by one sender, one after another
		public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if seen++; seen == 20 {
				interrupt()
			}
			_, _ = io.WriteString(w, "success")
		}))
		var o, e bytes.Buffer
		code := run(ctx, []string{"simulate", "run", filepath.Join(dir, "plan.yaml"), "--config", filepath.Join(dir, "n.yaml"), "--to", public.URL,
			"--server", private.URL, "--token-file", filepath.Join(dir, "token"), flag}, noEnv, stdio{out: &o, err: &e})
		if code != exitInterrupted || !strings.Contains(o.String(), want) || e.String() != "notifyd: interrupted\n" {
			t.Errorf("%s: exit code %d\n%s%s", flag, code, o.String(), e.String())
		}
		public.Close()
		interrupt()
	}
}

// The bar says which phase it is and how far, on a terminal alone.
func TestRunBar(t *testing.T) {
	for _, visible := range []bool{false, true} {
		var drawn bytes.Buffer
		b := &runBar{err: &drawn, visible: visible}
		for _, phase := range []play.Phase{play.Sending, play.Checking} {
			for done := range 3 {
				b.show(phase, done, 3)
			}
		}
		b.end()
		for _, want := range []string{"sending", "checking", "/3)"} {
			if got := strings.Contains(drawn.String(), want); got != visible {
				t.Errorf("visible %v: %q", visible, drawn.String())
			}
		}
	}
}

// Whoever adds a key to the plan explains it: in the example and in the document.
func TestEveryKeyOfAPlanIsExplained(t *testing.T) {
	document, err := os.ReadFile("../../docs/simulate-run.md")
	if err != nil {
		t.Fatal(err)
	}
	options := config.OptionsOf(play.Plan{}, "")
	if len(options) < 20 {
		t.Fatalf("%d options", len(options))
	}
	for _, o := range options {
		group, key, nested := strings.Cut(o.Path, ".")
		if !nested {
			key = group
		}
		if !strings.Contains(play.Example(), key+":") {
			t.Errorf("the example does not name %s", o.Path)
		}
		if !strings.Contains(string(document), "`"+o.Path+"`") && !strings.Contains(string(document), "| `"+group+"`") {
			t.Errorf("docs/simulate-run.md does not name %s", o.Path)
		}
	}
}
