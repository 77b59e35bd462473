package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/provider"
)

// finerCauses are the broken messages of the simulator of which verify knows more
// than the code that their scenario and the server give them.
var finerCauses = map[string]string{
	"alipay bad-signature: signed with another key":                                              "ali.wrong_key",
	"alipay claimed-localhost: forged, Host: 127.0.0.1":                                          "ali.wrong_key",
	"alipay claimed-localhost: forged, Host: localhost":                                          "ali.wrong_key",
	"alipay duplicate-fields: out_trade_no twice":                                                "ali.extra_field",
	"alipay duplicate-fields: total_amount twice, its name encoded":                              "ali.extra_field",
	"alipay empty-body: no body":                                                                 "ali.body_empty",
	"alipay form-syntax: &amp; between the fields":                                               "ali.html_escaped",
	"alipay signing-rules: RSA2 under the name of RSA":                                           "ali.sign_type_wrong",
	"alipay signing-rules: an algorithm that Alipay does not use":                                "ali.sign_type_wrong",
	"alipay tampered: a fen less":                                                                "ali.body_changed",
	"wechat-v2 bad-ciphertext: a refund of which 15 bytes are missing":                           "wx.body_cut",
	"wechat-v2 bad-ciphertext: a refund under another API key":                                   "wx.api_key_changed",
	"wechat-v2 bad-ciphertext: a refund under the MD5 in capitals":                               "wx.api_key_changed",
	"wechat-v2 bad-ciphertext: a refund under the MD5 itself":                                    "wx.api_key_changed",
	"wechat-v2 cut-body: the first half":                                                         "wx.body_cut",
	"wechat-v2 empty-body: no body":                                                              "wx.body_empty",
	"wechat-v2 not-xml: the XML as a text in JSON":                                               "wx.wrapped",
	"wechat-v2 plus-lost: a refund whose req_info has blanks for plus signs":                     "wx.plus_lost",
	"wechat-v2 signing-rules: HMAC-SHA256 under the name of MD5":                                 "wx.sign_type_wrong",
	"wechat-v2 signing-rules: MD5 under the name of HMAC-SHA256":                                 "wx.sign_type_wrong",
	"wechat-v2 signing-rules: sign in small letters":                                             "wx.hex_case",
	"wechat-v2 signing-rules: sign_type there, but left out of what is signed":                   "wx.sign_type_kept",
	"wechat-v3 bad-ciphertext: encrypted with another key":                                       "wx.api_key_changed",
	"wechat-v3 bad-ciphertext: the last byte of the tag is wrong":                                "wx.api_key_changed",
	"wechat-v3 bad-signature: encrypted with the right key, signed with a wrong one":             "wx.wrong_key",
	"wechat-v3 claimed-localhost: forged, Host: 127.0.0.1":                                       "wx.wrong_key",
	"wechat-v3 claimed-localhost: forged, Host: localhost":                                       "wx.wrong_key",
	"wechat-v3 cut-body: the first half":                                                         "wx.body_cut",
	"wechat-v3 empty-body: no body":                                                              "wx.body_empty",
	"wechat-v3 re-encoded: changed on the way: \\u escapes":                                      "wx.reencoded",
	"wechat-v3 re-encoded: changed on the way: blanks after colons and commas":                   "wx.reencoded",
	"wechat-v3 re-encoded: changed on the way: names sorted":                                     "wx.reencoded",
	"wechat-v3 re-encoded: changed on the way: other names":                                      "wx.reencoded",
	"wechat-v3 serial-of-another-key: the public key's signature under the certificate's serial": "wx.key_under_other_id",
	"wechat-v3 tampered: a line end more":                                                        "wx.line_ends",
	"wechat-v3 tampered: another kind of event":                                                  "wx.body_changed",
	"wechat-v3 tampered: another timestamp":                                                      "wx.body_changed",
	"wechat-v3 wrong-merchant: encrypted with the API v3 key of another":                         "wx.api_key_changed",
}

// simulatedAccounts is the command over the accounts of a shop that is simulated,
// and who plays their providers.
func simulatedAccounts(t *testing.T) (*verifying, []*simulator.Simulator) {
	t.Helper()
	dir := t.TempDir()
	if _, err := writeTestShop(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "notifyd.yaml")
	v := &verifying{app: &app{stdio: stdio{out: &bytes.Buffer{}, err: &bytes.Buffer{}}, env: noEnv, now: time.Now}}
	conf, accounts, report := v.loadConfig(file)
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	v.conf, v.accounts = conf, accounts
	keyring, err := loadKeyring(file, "")
	if err != nil {
		t.Fatal(err)
	}
	by, err := keyring.simulators(conf, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return v, by
}

// Every broken message of every scenario is named: by the code that the scenario
// says, and by the finer cause where there is one. What is genuine is verified.
func TestVerifyNamesEveryBrokenScenario(t *testing.T) {
	v, by := simulatedAccounts(t)
	at := time.Now().UTC().Truncate(time.Second)
	unused := map[string]bool{}
	for key := range finerCauses {
		unused[key] = true
	}
	broken := 0
	for _, s := range by {
		for _, scenario := range simulator.Scenarios() {
			story, err := s.Tell(scenario, simulator.Order{OutTradeNo: "S1", AmountFen: 1000, PaidAt: at})
			if err != nil {
				continue // there is no such story in this protocol, or of this account
			}
			for _, step := range story.Steps {
				key := string(s.Protocol()) + " " + scenario.Name + ": " + step.What
				c, fits := capturedAt(t, step.Notification, at)
				if !fits {
					if step.Want.Code != "edge.too_large" {
						t.Errorf("%s is no capture", key)
					}
					continue
				}
				v.account = c.Account()
				got := v.verify(t.Context(), c, nil)
				if step.Want.Code == "" {
					if got.Verdict != verdictVerified {
						t.Errorf("%s: %s, %+v", key, *got.Code, got.Cause)
					}
					continue
				}
				broken++
				want := step.Want.Code
				if finer := finerCauses[key]; finer != "" {
					want = finer
					delete(unused, key)
				}
				if got.Code == nil || *got.Code != step.Want.Code || got.Cause.Code != want {
					t.Errorf("%s: %+v, want %s and %s", key, got.Cause, step.Want.Code, want)
				}
			}
		}
	}
	if len(unused) > 0 || broken < 150 {
		t.Errorf("%d broken messages; nobody tells %v", broken, unused)
	}
}

// capturedAt is a message of a scenario as a capture; false when it is larger
// than a capture can be.
func capturedAt(t *testing.T, n simulator.Notification, at time.Time) (captured, bool) {
	t.Helper()
	var file bytes.Buffer
	if err := n.At(at).WriteCapture(&file); err != nil {
		t.Fatal(err)
	}
	read, err := provider.ReadCapture(&file)
	if err != nil && strings.Contains(err.Error(), "at most") {
		return captured{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return captured{path: "simulated.http", Captured: read}, true
}
