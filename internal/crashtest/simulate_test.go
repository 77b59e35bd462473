package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/client/simulator/play"
)

const (
	// envOrders is how many orders a simulated provider has in these tests: 20000
	// is what the documents speak of, a tenth of a minute's worth is the default.
	envOrders     = "NOTIFYD_TEST_SIMULATED_ORDERS"
	simulatedHere = 600
)

// simulatedPlan is the weather that the documents speak of.
const simulatedPlan = `orders: %d
senders: 5
acks: {lost: 30%%, slow: 2%%}
twice: 10%%
disorder: 20%%
probes: 2%%
pending: 20%%
closed: 5%%
finished: 5%%
refunds: {partial: 10%%, full: 10%%}
`

// newSimulated is a site whose accounts take the messages of a simulated
// provider, with fresh keys, and a plan.
func newSimulated(t *testing.T, store string, orders int) *site {
	t.Helper()
	s := newSite(t)
	keys, err := simulator.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Save(filepath.Join(s.dir, "simulator")); err != nil {
		t.Fatal(err)
	}
	s.write(t, "token", []byte(adminToken))
	s.write(t, "plan.yaml", fmt.Appendf(nil, simulatedPlan, orders))
	s.write(t, "notifyd.yaml", fmt.Appendf(nil, `listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: %s}
store: %q
accounts:
  - name: wechat
    provider: wechat
    mchid: %q
    appids: [%s]
    api_v2_key: ThrowAwayKeyForTests000000000001
    api_v3_key: ThrowAwayKeyForTests000000000002
    certificates: [{file: simulator/%s}]
  - {name: alipay, provider: alipay, app_id: %q, seller_id: %q, public_keys: [{file: simulator/%s}]}
`, adminToken, store, mchID, appID, simulator.PlatformCertFile, aliAppID, sellerID, simulator.AlipayPublicKeyFile))
	return s
}

func simulatedOrders(t *testing.T) int {
	t.Helper()
	text := os.Getenv(envOrders)
	if text == "" {
		return simulatedHere
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", envOrders, err)
	}
	return n
}

// simulate runs the plan against servers and reads the report.
func simulate(t *testing.T, servers ...*instance) (report play.Report, code int) {
	t.Helper()
	first := servers[0]
	args := []string{"simulate", "run", "plan.yaml", "--json", "--server", first.private, "--token-file", "token"}
	for _, p := range servers {
		args = append(args, "--to", p.public)
	}
	c := exec.Command(built.path, args...)
	c.Dir, c.Env = first.dir, []string{"PATH=/usr/bin:/bin"}
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	err := c.Run()
	if jsonErr := json.Unmarshal(out.Bytes(), &report); jsonErr != nil {
		t.Fatalf("%v, %v\n%s%s", err, jsonErr, out.String(), said.String())
	}
	return report, c.ProcessState.ExitCode()
}

// A whole provider with its schedule, 30 % of whose acks get lost, five senders
// at once, on each database; on PostgreSQL two instances, each of which is told a
// part. What they acked is there, once, as it was told.
func TestASimulatedProvider(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			orders := simulatedOrders(t)
			s := newSimulated(t, store(t), orders)
			servers := []*instance{s.start(t)}
			if name == "PostgreSQL" {
				servers = append(servers, s.start(t))
			}
			r, code := simulate(t, servers...)
			text, _ := json.MarshalIndent(r, "", " ")
			t.Logf("%s", text)
			if code != 0 || r.Settled != orders || r.Checked != orders || len(r.Offenders) > 0 {
				t.Errorf("exit code %d", code)
			}
			if r.AcksThrownAway < orders/4 || r.Copies == 0 || r.Probes == 0 || r.Repeats < orders/4 || r.HungUp == 0 {
				t.Errorf("no such weather: %+v", r.Counts)
			}
			if r.Refused+r.Unavailable+r.Unreachable+r.Late > 0 {
				t.Errorf("answers that were no acks: %+v", r.Counts)
			}
			for _, p := range servers {
				p.stop(t)
			}
		})
	}
}
