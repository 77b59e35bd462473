package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/redact"
)

// admin runs a command of a running server; the token comes from the configuration.
func (r *served) admin(s shop, args ...string) (code int, out, err string) {
	return runIn(append(args, "--config", s.file, "--server", r.private, "--token-file", filepath.Join(s.dir, "token"))...)
}

// refusedShopText is its configuration.
func refusedShopText(options string) []byte {
	return fmt.Appendf(nil, `
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: "sqlite:./data/notifyd.db"
%s
accounts:
  - {name: alipay, provider: alipay, app_id: "2021000000000001", public_keys: [{file: alipay.pem}]}
`, options)
}

// refusedShop is a shop whose admin token stands in a file, too.
func refusedShop(t testing.TB, options string) shop {
	t.Helper()
	s := shop{dir: t.TempDir()}
	s.file = filepath.Join(s.dir, "notifyd.yaml")
	for name, text := range map[string][]byte{
		"alipay.pem": forge.AlipayKey.PublicPEM(), "token": []byte("throw-away-token\n"),
		"notifyd.yaml": refusedShopText(options)} {
		if err := os.WriteFile(filepath.Join(s.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (r *served) refused(t *testing.T, s shop, args ...string) []httpapi.RefusedView {
	t.Helper()
	var page listing[httpapi.RefusedView]
	code, out, said := r.admin(s, append([]string{"notifications", "list", "--verdict", "refused", "--limit", "200", "--json"}, args...)...)
	if code != exitDone || json.Unmarshal([]byte(out), &page) != nil {
		t.Fatalf("list: code %d\n%s%s", code, out, said)
	}
	return page.Items
}

// What was refused is there as it came, after a restart as well, and what is made
// of it can be played again and ends in the same verdict.
func TestRefusedAreThereAsTheyCame(t *testing.T) {
	s := refusedShop(t, "")
	r := s.serve(t)
	bodies := map[string]string{
		"ali.signature": paid("T1", forge.StrangerKey),
		// What no charset and no text column could hold, and line ends of every kind.
		"ali.field_name": "a\x00=\xff\xfe\r\n\n\r&b=茶",
	}
	for code, body := range bodies {
		if status, answer := get(t, "POST", r.public+"/notify/alipay?token=marker-of-a-query", body); status != 401 || answer != "failure" {
			t.Fatalf("%s: %d %q", code, status, answer)
		}
	}
	if status, _ := get(t, "POST", r.public+"/notify/alipya", bodies["ali.signature"]); status != 404 {
		t.Fatalf("nobody's: %d", status)
	}
	r.stop(t) // which writes what waits
	r = s.serve(t)
	all := r.refused(t, s)
	strangers, forged := r.refused(t, s, "--code", "edge.no_account"), r.refused(t, s, "--account", "alipay", "--code", "ali.signature")
	if len(all) != 3 || len(strangers) != 1 || strangers[0].Account != nil || len(forged) != 1 {
		t.Fatalf("kept: %+v", all)
	}
	for _, n := range all {
		want := bodies[n.Code]
		if n.Code == "edge.no_account" {
			want = bodies["ali.signature"]
		}
		code, raw, _ := r.admin(s, "notifications", "show", n.ID, "--raw")
		if code != exitDone || raw != want || n.Truncated || n.Bytes != int64(len(want)) || n.Verified {
			t.Errorf("%s: code %d, %q, want %q", n.ID, code, raw, want)
		}
		_, capture, _ := r.admin(s, "notifications", "export", n.ID)
		c, err := provider.ReadCapture(strings.NewReader(capture))
		if err != nil || string(c.Body) != want || c.Unverified != n.Code || !c.At.Equal(time.Time(n.ReceivedAt)) {
			t.Errorf("%s: %v\n%s", n.ID, err, capture)
		}
		if strings.Contains(capture, "marker-of") || strings.Contains(capture, "throw-away-token") {
			t.Errorf("the capture holds a secret:\n%s", capture)
		}
	}
	for _, path := range []string{"/admin/v1/orders", "/admin/v1/notifications", "/admin/v1/events"} {
		if _, body := get(t, "GET", r.private+path, ""); !strings.Contains(body, `"items":[]`) {
			t.Errorf("refused messages made rows: %s", body)
		}
	}
	file := filepath.Join(s.dir, "refused.http")
	if code, _, said := r.admin(s, "notifications", "export", forged[0].ID, "--out", file); code != exitDone {
		t.Fatalf("export: %d %s", code, said)
	}
	r.stop(t)
	if code, out, said := runIn("replay", "--config", s.file, "--json", file); code != exitRefused || !strings.Contains(out, `"code":"ali.signature"`) {
		t.Errorf("replay: code %d\n%s%s", code, out, said)
	}
}

// Who keeps less from now on, or nothing, has less: of accounts of which nothing
// comes any more, and of those that are no longer configured.
func TestLowerBoundsHoldForWhatIsKept(t *testing.T) {
	s := refusedShop(t, "")
	r := s.serve(t)
	for range 3 {
		for _, account := range []string{"alipay", "nobody"} {
			if status, _ := get(t, "POST", r.public+"/notify/"+account, paid("T1", forge.StrangerKey)); status < 400 {
				t.Fatal(status)
			}
		}
	}
	r.stop(t) // which writes what waits
	for _, c := range []struct{ keep, total, account int }{{2, 4, 2}, {0, 0, 0}} {
		text := refusedShopText(fmt.Sprintf("refused: {keep: %d}", c.keep))
		if err := os.WriteFile(s.file, bytes.Replace(text, []byte("name: alipay"), []byte("name: renamed"), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		r = s.serve(t)
		r.err.await(t, `"msg":"refused requests beyond what is kept were removed"`)
		if all, of := r.refused(t, s), r.refused(t, s, "--account", "alipay"); len(all) != c.total || len(of) != c.account {
			t.Errorf("keep %d: %d are kept, %d of the account", c.keep, len(all), len(of))
		}
		r.stop(t)
	}
}

// awaitKept waits until a server has written so many refused requests: kept N.
func awaitKept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: kept N")
	}
	late := time.After(30 * time.Second)
	for {
		res, err := http.Get(ts.Getenv("PRIVATE") + "/metrics")
		ts.Check(err)
		text, err := io.ReadAll(res.Body)
		ts.Check(errors.Join(err, res.Body.Close()))
		if strings.Contains(string(text), `notifyd_refusals_kept_total{result="kept"} `+args[0]+"\n") {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond): // nobody tells a script of a commit
		case <-late:
			ts.Fatalf("no %s refused requests were kept", args[0])
		}
	}
}

// takeID sets a variable to the first id in the JSON on stdout: id NAME.
func takeID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: id NAME")
	}
	found := regexp.MustCompile(`"id": "(\w+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("there is no id in stdout")
	}
	ts.Setenv(args[0], found[1])
}

// Of every capture in testdata, of whichever provider and however broken: with
// all taken out, no person, text or ciphertext of it is left.
func TestEveryCaptureCanBeRedacted(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/captures/*.http")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	personal := regexp.MustCompile(`(?:(?:buyer_id|buyer_open_id|buyer_logon_id|subject|passback_params)=([^&]+)|` +
		`<(?:openid|sub_openid|attach|req_info)>(?:<!\[CDATA\[)?([^<\]]+)|"ciphertext"\s*:\s*"([^"]+)")`)
	// All that goes, and what they may be asked of; a value of a few letters is found anywhere.
	const least, expected = 5, 100
	values := 0
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
		got, done := redact.New(redact.Kinds(), sensitive()...).Body(body)
		for _, found := range personal.FindAllSubmatch(body, -1) {
			for _, value := range found[1:] {
				if len(value) < least {
					continue
				}
				values++
				if bytes.Contains(got, value) {
					t.Errorf("%s: %q is left (%+v):\n%s", filepath.Base(path), value, done, got)
				}
			}
		}
	}
	if values < expected {
		t.Errorf("only %d values were looked for", values)
	}
}

// A body that was never read has no length.
func TestBytesOfRefused(t *testing.T) {
	for want, n := range map[string]httpapi.RefusedView{
		"not read": {Truncated: true},
		"12 (cut)": {Truncated: true, Bytes: 12, KeptBytes: 3},
		"12":       {Bytes: 12, KeptBytes: 12},
		"0":        {},
	} {
		if got := keptBytes(&n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if text := string(refusedText(&n)); strings.Contains(text, "not read") != (want == "not read") {
			t.Errorf("%s: %s", want, text)
		}
	}
}
