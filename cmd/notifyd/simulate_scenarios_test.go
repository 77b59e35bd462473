package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
)

// testShopConfig has everything that a scenario asks for: API keys of both
// versions, sub-merchants, an AES key.
const testShopConfig = `
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: "sqlite:n.db"
accounts:
  - name: wechat
    provider: wechat
    mchid: "1600000001"
    appids: ["wxtest0000000001"]
    api_v2_key: ThrowAwayKeyForTests000000000001
    api_v3_key_file: v3key
    public_keys: [{id: %[1]s, file: simulator/wechat_public_key.pem}]
    certificates: [{file: simulator/wechat_platform_cert.pem}, {file: simulator/wechat_platform_next_cert.pem}]
  - name: wechat-partner
    provider: wechat
    mchid: "1600000002"
    appids: ["wxtest0000000002"]
    sub_mchids: ["1900000109", "1900000110"]
    api_v2_key: ThrowAwayKeyForTests000000000003
    v2_sign_types: [HMAC-SHA256]
    api_v3_key: ThrowAwayKeyForTests000000000004
    public_keys: [{id: %[1]s, file: simulator/wechat_public_key.pem}]
    certificates: [{file: simulator/wechat_platform_cert.pem}, {file: simulator/wechat_platform_next_cert.pem}]
  - name: alipay
    provider: alipay
    app_id: "2021000000000001"
    seller_id: "2088000000000001"
    auth_app_ids: ["2021000000000900", "2021000000000901"]
    public_keys: [{file: simulator/alipay_public_key.pem}]
    aes_key: VGhyb3dBd2F5QUVTS2V5IQ==
  - name: alipay-old
    provider: alipay
    app_id: "2021000000000002"
    sign_types: [RSA, RSA2]
    public_keys: [{file: simulator/alipay_public_key.pem}]
`

// writeTestShop writes the configuration and the keys of a shop that is simulated.
func writeTestShop(dir string) (*simulator.Keys, error) {
	keys, err := simulator.NewKeys()
	if err != nil {
		return nil, err
	}
	if err := keys.Save(filepath.Join(dir, simulatorFolder)); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "v3key"), []byte("ThrowAwayKeyForTests000000000002\n"), 0o600); err != nil {
		return nil, err
	}
	return keys, os.WriteFile(filepath.Join(dir, "notifyd.yaml"), fmt.Appendf(nil, testShopConfig, keys.PublicKey.ID), 0o600)
}

// simulatedShop writes the configuration and the keys of a shop into a folder:
// simulated FOLDER.
func simulatedShop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: simulated FOLDER")
	}
	if _, err := writeTestShop(ts.MkAbs(args[0])); err != nil {
		ts.Fatalf("%v", err)
	}
}

// testShop is the whole program, seen from the provider and from inside.
type testShop struct {
	to     *simulator.Sender
	admin  *adminClient
	log    *demoLog
	by     []*simulator.Simulator
	number int
}

func startTestShop(t *testing.T) *testShop {
	t.Helper()
	dir := t.TempDir()
	if _, err := writeTestShop(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "notifyd.yaml")
	ready, ended := make(chan demoAddresses, 1), make(chan error, 1)
	a := &app{stdio: stdio{in: strings.NewReader(""), out: io.Discard, err: readyWriter{io.Discard, ready}}, env: noEnv, now: time.Now}
	conf, accounts, report := a.loadConfig(file)
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	keyring, err := loadKeyring(file, "")
	if err != nil {
		t.Fatal(err)
	}
	s := &testShop{log: newDemoLog(io.Discard)}
	if s.by, err = keyring.simulators(conf, "", ""); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	go func() { ended <- a.serve(ctx, conf, accounts, slog.New(slog.NewJSONHandler(s.log, nil))) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case at := <-ready:
		s.admin = newAdminClient("http://"+at.private, "throw-away-token")
		if s.to, err = simulator.NewSender("http://" + at.public); err != nil {
			t.Fatal(err)
		}
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return s
}

// Every message of every scenario, sent to the whole program: the answer, the
// outcome or the code, and where the orders then stand, are what the scenario
// says.
func TestScenariosAgainstTheServer(t *testing.T) {
	shop := startTestShop(t)
	told := map[string]bool{}
	for _, by := range shop.by {
		for _, c := range simulator.Scenarios() {
			shop.number++
			o := simulator.Order{OutTradeNo: fmt.Sprintf("S%d", shop.number), AmountFen: 1000, PaidAt: time.Now()}
			// An account without sub-merchants has no story of them; another has.
			if story, err := by.Tell(c, o); err == nil {
				told[string(by.Protocol())+c.Name] = true
				t.Run(by.Account().Name+" "+string(by.Protocol())+" "+c.Name, func(t *testing.T) { shop.play(t, by, story) })
			}
		}
	}
	for _, c := range simulator.Scenarios() {
		for _, p := range c.Protocols {
			if !told[string(p)+c.Name] {
				t.Errorf("no account told %s in %s", c.Name, p)
			}
		}
	}
}

func (s *testShop) play(t *testing.T, by *simulator.Simulator, story simulator.Story) {
	for i, step := range story.Steps {
		if step.Copies > 1 {
			s.sendCopies(t, by.Protocol(), step)
			continue
		}
		request := fmt.Sprintf("%d-%d", s.number, i)
		n, err := step.Notification.With(simulator.Set("header.Request-Id", request))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.to.Send(t.Context(), n.At(time.Now()))
		if err != nil {
			t.Fatalf("%s: %v", step.What, err)
		}
		v, err := s.log.of(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", step.What, err)
		}
		got := simulator.Want{Acked: by.Protocol().Acked(answer), Outcome: v.Outcome, Reason: v.Reason}
		if v.Repeat {
			got.Outcome = string(order.Duplicate)
		}
		if !got.Acked {
			got.Reason, got.Code = "", v.Reason
		}
		if got != step.Want {
			t.Errorf("%s: %d %+v, want %+v", step.What, answer.Status, got, step.Want)
		}
	}
	for _, end := range story.Ends {
		s.wantEnd(t, end)
	}
}

// sendCopies sends copies at the same time: all are acked.
func (s *testShop) sendCopies(t *testing.T, p simulator.Protocol, step simulator.Step) {
	m := step.Notification.At(time.Now())
	answers := make(chan bool, step.Copies)
	for range step.Copies {
		go func() {
			answer, err := s.to.Send(t.Context(), m)
			answers <- err == nil && p.Acked(answer)
		}()
	}
	for range step.Copies {
		if !<-answers {
			t.Errorf("%s: one was not acked", step.What)
		}
	}
}

func (s *testShop) wantEnd(t *testing.T, want simulator.End) {
	t.Helper()
	query := url.Values{}
	if want.SubMerchant != "" {
		query.Set("merchant", "default/"+want.SubMerchant)
	}
	var view order.View
	err := s.admin.askFor(t.Context(), &view, adminPath("orders", want.OutTradeNo), query)
	var unknown *httpapi.Problem
	if err != nil && (!errors.As(err, &unknown) || unknown.Status != http.StatusNotFound) {
		t.Fatal(err)
	}
	got := simulator.End{OutTradeNo: want.OutTradeNo, SubMerchant: want.SubMerchant, Status: string(view.Status), PaidFen: view.PaidFen, RefundedFen: view.RefundedFen}
	if got != want {
		t.Errorf("the order ends as %+v (%v), want %+v", got, err, want)
	}
}
