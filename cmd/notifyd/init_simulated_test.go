package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
)

// tried is the folder of an init --test, with the simulators of its accounts.
type tried struct {
	shop
	simulators []*simulator.Simulator // one for each protocol
}

func initTest(t *testing.T) tried {
	t.Helper()
	s := shop{dir: filepath.Join(t.TempDir(), "try")}
	s.file = filepath.Join(s.dir, "notifyd.yaml")
	if code, _, said := runIn("init", "--test", s.dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"); code != exitDone || said != "" {
		t.Fatalf("exit code %d: %s", code, said)
	}
	keys, err := simulator.LoadKeys(filepath.Join(s.dir, testKeysFolder))
	if err != nil {
		t.Fatal(err)
	}
	secret := func(name string) simulator.Secret {
		text, err := os.ReadFile(filepath.Join(s.dir, "secrets", name))
		if err != nil {
			t.Fatal(err)
		}
		return simulator.Secret(strings.TrimSpace(string(text)))
	}
	tried := tried{shop: s}
	for _, p := range simulator.Protocols() {
		account := simulator.Account{Name: "wechat", MchID: demoMchID, AppID: demoAppID, SubMchIDs: []string{madeUpSubMch},
			APIv3Key: secret("api_v3_key"), APIv2Key: secret("api_v2_key")}
		if p == simulator.Alipay {
			account = simulator.Account{Name: "alipay", AlipayAppID: demoAliApp, SellerID: demoSellerID, AuthAppIDs: []string{madeUpAuthApp}, AESKey: secret("alipay_aes_key")}
		}
		sim, err := simulator.New(p, account, keys)
		if err != nil {
			t.Fatal(err)
		}
		tried.simulators = append(tried.simulators, sim)
	}
	return tried
}

// What init --test makes works at once: serve takes a simulated payment of each
// protocol, and the story of its order is told.
func TestInitTestTakesSimulatedPayments(t *testing.T) {
	tried := initTest(t)
	running := tried.serve(t)
	c := counter{running, filepath.Join(tried.dir, "secrets", "admin_token")}
	for _, sim := range tried.simulators {
		number := "T-" + string(sim.Protocol())
		now := time.Now().Truncate(time.Second)
		m := sim.Payment(simulator.Order{OutTradeNo: number, AmountFen: 1234, PaidAt: now}).At(now)
		r, err := m.Request(t.Context(), running.public+sim.Path())
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !bytes.Contains(bytes.ToLower(said), []byte("success")) {
			t.Fatalf("%s: %d %s %v", sim.Protocol(), answer.StatusCode, said, err)
		}
		out, _ := c.want(t, exitDone, "orders", "show", number, "--json")
		var story httpapi.OrderStory
		if err := json.Unmarshal([]byte(out), &story); err != nil || story.Status != order.Paid || story.PaidFen != 1234 {
			t.Errorf("%s: %v\n%s", sim.Protocol(), err, out)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	running.stop(t)
}

// Whoever has a set-up of init --test can play every scenario: none asks for an
// option that it leaves out.
func TestInitTestHasWhatScenariosNeed(t *testing.T) {
	tried, told := initTest(t), 0
	for _, sim := range tried.simulators {
		for _, scenario := range simulator.Scenarios() {
			for _, p := range scenario.Protocols {
				if p != sim.Protocol() {
					continue
				}
				if _, err := sim.Tell(scenario, simulator.Order{OutTradeNo: "T1", AmountFen: 1000, PaidAt: time.Now()}); err != nil {
					t.Errorf("%s, %s: %v", p, scenario.Name, err)
				}
				told++
			}
		}
	}
	if told < 50 {
		t.Errorf("only %d stories", told)
	}
}
