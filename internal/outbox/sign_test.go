package outbox_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/notifyd/notifyd/internal/outbox"
)

// Throw-away secrets: the one that goes and the one that comes.
const (
	oldSecret = "whsec_dGhyb3ctYXdheS1zZWNyZXQtb2YtdGVzdHMtMDE="
	newSecret = "whsec_dGhyb3ctYXdheS1zZWNyZXQtb2YtdGVzdHMtMDI="
	stranger  = "whsec_dGhyb3ctYXdheS1zZWNyZXQtb2YtdGVzdHMtMDM="
)

func keyOf(t *testing.T, secret string) []byte {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// The example of the specification's own libraries.
func TestSignatureOfTheSpecification(t *testing.T) {
	key := keyOf(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	got := outbox.Sign([][]byte{key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// delivered is what a receiver gets.
type delivered struct {
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"`
	Signature string `json:"signature"`
	Body      string `json:"body"`
}

func (d delivered) header() http.Header {
	h := http.Header{}
	h.Set("webhook-id", d.ID)
	h.Set("webhook-timestamp", d.Timestamp)
	h.Set("webhook-signature", d.Signature)
	return h
}

// deliver signs with both secrets of a rotation.
func deliver(t *testing.T, body string) delivered {
	t.Helper()
	now := time.Now()
	const id = "evt_01J0000000000000000000000A"
	return delivered{id, strconv.FormatInt(now.Unix(), 10), outbox.Sign([][]byte{keyOf(t, newSecret), keyOf(t, oldSecret)}, id, now, []byte(body)), body}
}

var bodies = []string{"{}", "", `{"id":"evt_1","order":{"out_trade_no":"订单 🧧","note":"a.b\u0026c"}}`, strings.Repeat("x", 100_000)}

// flipped are deliveries that differ in one bit, or in one part.
func flipped(d delivered) []delivered {
	flip := func(s string, i int, bit byte) string {
		b := []byte(s)
		b[i] ^= bit
		return string(b)
	}
	var all []delivered
	for i := range d.Body {
		f := d
		f.Body = flip(d.Body, i, 1<<(i%7))
		all = append(all, f)
	}
	for i := range d.ID {
		f := d
		f.ID = flip(d.ID, i, 1)
		all = append(all, f)
	}
	for i := range d.Timestamp {
		f := d
		f.Timestamp = flip(d.Timestamp, i, 1)
		all = append(all, f)
	}
	signatures := strings.Fields(d.Signature)
	for i := len("v1,"); i < len(signatures[0])-2; i++ { // the last letter of base64 has bits that say nothing
		f := d
		f.Signature = flip(signatures[0], i, 1)
		all = append(all, f)
	}
	for _, signature := range []string{"", "v1", "v1,", "v2" + strings.TrimPrefix(signatures[0], "v1"), strings.TrimPrefix(signatures[0], "v1,")} {
		f := d
		f.Signature = signature
		all = append(all, f)
	}
	return all
}

func TestTheGoLibraryAcceptsDeliveries(t *testing.T) {
	for _, body := range bodies {
		d := deliver(t, body)
		for _, c := range []struct {
			secret string
			known  bool
		}{{oldSecret, true}, {newSecret, true}, {stranger, false}} {
			verifier, err := standard.NewWebhook(c.secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := verifier.Verify([]byte(body), d.header()); (err == nil) != c.known {
				t.Errorf("with secret %s: %v, should be accepted: %v", c.secret, err, c.known)
			}
		}
	}
	verifier, err := standard.NewWebhook(newSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range flipped(deliver(t, bodies[2])) {
		if verifier.Verify([]byte(f.Body), f.header()) == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}

// offline is the variable that says that the npm registry cannot be reached.
const offline = "NOTIFYD_TEST_OFFLINE"

// The JavaScript library, where there is Node.js to run it.
func TestTheJavaScriptLibraryAcceptsDeliveries(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("there is no Node.js here")
		return
	}
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "standardwebhooks@1.1.1")
	if out, err := install.CombinedOutput(); err != nil {
		if os.Getenv(offline) != "" {
			t.Logf("%s is set, and the library is not at hand", offline)
			return
		}
		t.Fatalf("npm install standardwebhooks: %v (without a network, set %s=1)\n%s", err, offline, out)
	}
	type check struct {
		Secret string      `json:"secret"`
		Good   []delivered `json:"good"`
		Bad    []delivered `json:"bad"`
	}
	var good []delivered
	for _, body := range bodies {
		if body != "" { // that library takes JSON only
			good = append(good, deliver(t, body))
		}
	}
	good[len(good)-1] = deliver(t, `{"long":"`+bodies[len(bodies)-1]+`"}`)
	checks := []check{{Secret: oldSecret, Good: good}, {Secret: newSecret, Good: good, Bad: flipped(good[1])}, {Secret: stranger, Bad: good}}
	input, err := json.Marshal(checks)
	if err != nil {
		t.Fatal(err)
	}
	const program = `
const { Webhook } = require("standardwebhooks");
let wrong = 0;
for (const check of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
  const verifier = new Webhook(check.secret);
  const accepts = (d) => {
    try {
      verifier.verify(d.body, { "webhook-id": d.id, "webhook-timestamp": d.timestamp, "webhook-signature": d.signature });
      return true;
    } catch (e) { return false; }
  };
  for (const d of check.good || []) if (!accepts(d)) { wrong++; console.log("refused", check.secret, d.body.slice(0, 100)); }
  for (const d of check.bad || []) if (accepts(d)) { wrong++; console.log("accepted", JSON.stringify(d).slice(0, 300)); }
}
process.exit(wrong ? 1 : 0);
`
	run := exec.CommandContext(t.Context(), node, "-e", program)
	run.Dir, run.Stdin = dir, strings.NewReader(string(input))
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
