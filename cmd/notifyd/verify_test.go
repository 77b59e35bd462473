package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

const testdataConfig = "../../testdata/notifyd.yaml"

// newVerifying is the command over testdata's accounts, whose store nobody made.
func newVerifying(t *testing.T) *verifying {
	t.Helper()
	v := &verifying{app: &app{stdio: stdio{out: &bytes.Buffer{}, err: &bytes.Buffer{}}, env: noEnv, now: time.Now}, config: testdataConfig}
	conf, accounts, report := v.loadConfig(v.config)
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	v.conf, v.accounts = conf, accounts
	return v
}

// Every capture is named as the table says: what is broken by its cause, what is
// genuine by none; and in every refusal a step failed, in no other one.
func TestVerifyNamesEveryCapture(t *testing.T) {
	for _, row := range expectations(t) {
		t.Run(row["capture"], func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("../../testdata/captures", row["capture"])
			code, out, said := runIn("verify", "--json", "--config", testdataConfig, path)
			var got verified
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%v: %s%s", err, out, said)
			}
			failed := slices.ContainsFunc(got.Steps, func(s stepShown) bool { return s.State == provider.StepFailed })
			if row["verdict"] == verdictAccepted {
				if code != exitDone || got.Verdict != verdictVerified || got.Code != nil || got.Cause != nil || failed || len(got.Facts) == 0 || got.Order == nil {
					t.Errorf("exit code %d: %s", code, out)
				}
				return
			}
			if code != exitRefused || got.Verdict != verdictRefused || *got.Code != row["code"] || got.Cause.Code != row["cause"] || !failed {
				t.Errorf("exit code %d, code %s, cause %s, want %s and %s", code, *got.Code, got.Cause.Code, row["code"], row["cause"])
			}
			if got.Cause.Means.Chinese == "" || got.Cause.Fix.English == "" || got.Cause.Anchor != anchorOf(row["cause"]) {
				t.Errorf("the cause is not explained: %+v", got.Cause)
			}
		})
	}
}

// personalTexts are the keys of testdata and the persons in its messages.
func personalTexts(t *testing.T) []string {
	t.Helper()
	return []string{"TestKeyForReceiver00000000000001", "TestApiV3KeyForReceiver000000001", "TestKeyForReceiver00000000000019",
		"TestApiV3KeyForReceiver000000002", "VGhyb3dBd2F5QUVTS2V5IQ==", "ThrowAwayAESKey!", "throw-away-token-of-testdata",
		"o_test_1", "2088000000000009", "支付用户零钱"}
}

// Neither a key nor who paid is in anything that is printed, in any form.
func TestVerifyPrintsNoSecret(t *testing.T) {
	secrets := personalTexts(t)
	captures, err := filepath.Glob("../../testdata/captures/*.http")
	if err != nil || len(captures) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, path := range captures {
		for _, form := range [][]string{{"--show-text"}, {"--show-text", "--json"}, {"--lang", "zh"}} {
			_, out, said := runIn(append([]string{"verify", "--config", testdataConfig, path}, form...)...)
			for _, s := range secrets {
				if strings.Contains(out+said, s) {
					t.Errorf("%s %v prints %q", filepath.Base(path), form, s)
				}
			}
		}
	}
}

// What the order would do is decided against the store, which is left as it was;
// one that is not there is not made.
func TestVerifySaysWhatTheOrderWouldDo(t *testing.T) {
	dir := capturesIn(t, "sqlite:n.db")
	config, captures := filepath.Join(dir, "notifyd.yaml"), filepath.Join(dir, "captures")
	ask := func(name string) *wouldDo {
		t.Helper()
		code, out, said := runIn("verify", "--json", "--config", config, filepath.Join(captures, name))
		var got verified
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s%s", code, err, out, said)
		}
		return got.Order
	}
	before := ask("301-v3-payment-certificate.http")
	if before.Outcome != order.Applied || len(before.Events) != 1 || before.Events[0].To != order.Paid || !strings.HasPrefix(before.Against, "for a new order") {
		t.Errorf("without a store: %+v", before)
	}
	database := filepath.Join(dir, "n.db")
	if _, err := os.Stat(database); err == nil {
		t.Fatal("verify made the database")
	}
	if code, _, said := runIn("replay", "--config", config, filepath.Join(captures, "301-v3-payment-certificate.http")); code != exitDone {
		t.Fatal(said)
	}
	repeat, refund := ask("301-v3-payment-certificate.http"), ask("401-v3-refund-partial.http")
	if repeat.Outcome != order.Duplicate || repeat.Repeat == nil || len(repeat.Events) != 0 {
		t.Errorf("a repeat: %+v", repeat)
	}
	if refund.Outcome != order.Applied || len(refund.Events) != 1 || refund.Events[0].Type != order.EventRefunded || !strings.HasPrefix(refund.Against, "against the store") {
		t.Errorf("a refund: %+v", refund)
	}
	if again := ask("401-v3-refund-partial.http"); again.Outcome != order.Applied {
		t.Errorf("asked again: %+v: verify wrote something", again)
	}
}

// Steps come in one order, each at most once, and begin and end as every
// request does.
func TestVerifyTakesTheStepsInOrder(t *testing.T) {
	order := []provider.StepName{provider.StepRequest, provider.StepProtocol, provider.StepTime, provider.StepKey, provider.StepText,
		provider.StepSignature, provider.StepDecryption, provider.StepBinding, provider.StepFact, provider.StepOrder}
	v := newVerifying(t)
	for _, row := range expectations(t) {
		c, err := readCapture(filepath.Join("../../testdata/captures", row["capture"]))
		if err != nil {
			t.Fatal(err)
		}
		v.account = c.Account()
		var names []provider.StepName
		for _, s := range v.verify(context.Background(), c, nil).Steps {
			names = append(names, s.Name)
		}
		want := order
		if strings.HasPrefix(row["code"], "edge.") {
			want = []provider.StepName{provider.StepRequest, provider.StepFact, provider.StepOrder}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %v", row["capture"], names)
		}
	}
}

// An interrupt ends the wait for standard input, and the search for a cause: what
// was found until then is no answer.
func TestVerifyIsInterrupted(t *testing.T) {
	in, never := io.Pipe()
	defer never.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	var o, e bytes.Buffer
	code := run(ctx, []string{"verify", "--config", testdataConfig, "-"}, noEnv, stdio{in: in, out: &o, err: &e})
	if code != exitInterrupted || o.Len() > 0 || e.String() != "notifyd: interrupted\n" {
		t.Errorf("exit code %d\n%s%s", code, o.String(), e.String())
	}
	e.Reset()
	code = run(ctx, []string{"verify", "--config", testdataConfig, "../../testdata/captures/534-refused-v3-encoded-again.http"}, noEnv, stdio{out: &o, err: &e})
	if code != exitInterrupted || o.Len() > 0 || e.String() != "notifyd: interrupted\n" {
		t.Errorf("in the search: exit code %d\n%s%s", code, o.String(), e.String())
	}
}

// The document of the codes is made of the program's texts.
func TestCodesDocumentIsInStep(t *testing.T) {
	text, err := os.ReadFile("../../" + codesDocument)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, codesMarkdown()) {
		t.Errorf("%s is not what the program says: make codes", codesDocument)
	}
	seen := map[string]bool{}
	for _, r := range order.Reasons() {
		if _, explained := explanationOf(conflictExplanations(), string(r)); !explained {
			t.Errorf("%s stands in tables and is not explained", r)
		}
	}
	for _, e := range allExplanations() {
		if seen[e.Code] || e.Means.English == "" || e.Means.Chinese == "" || e.Fix.English == "" || e.Fix.Chinese == "" {
			t.Errorf("%s is explained twice or in part", e.Code)
		}
		seen[e.Code] = true
		if code, out, _ := runIn("help", e.Code); code != exitDone || !strings.Contains(out, e.Fix.Chinese) || !strings.Contains(out, anchorOf(e.Code)) {
			t.Errorf("help %s: exit code %d: %s", e.Code, code, out)
		}
	}
	if len(seen) < 50 || !maps.Equal(seen, seenIn(string(text))) {
		t.Errorf("%d codes are explained", len(seen))
	}
}

func seenIn(document string) map[string]bool {
	seen := map[string]bool{}
	for line := range strings.Lines(document) {
		if code, is := strings.CutPrefix(strings.TrimSpace(line), "### "); is {
			seen[code] = true
		}
	}
	return seen
}
