package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
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

// refusedShop is a shop whose admin token stands in a file, too.
func refusedShop(t testing.TB, options string) shop {
	t.Helper()
	s := shop{dir: t.TempDir()}
	s.file = filepath.Join(s.dir, "notifyd.yaml")
	for name, text := range map[string][]byte{
		"alipay.pem": forge.AlipayKey.PublicPEM(), "token": []byte("throw-away-token\n"),
		"notifyd.yaml": fmt.Appendf(nil, `
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: "sqlite:./data/notifyd.db"
%s
accounts:
  - {name: alipay, provider: alipay, app_id: "2021000000000001", public_keys: [{file: alipay.pem}]}
`, options)} {
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

// garbage is a message that is refused; every hundredth is refused for another reason.
func garbage(i int) string {
	switch {
	case i%1000 == 0:
		return fmt.Sprintf("sign=x&sign=y&n=%d", i) // ali.duplicate_field
	case i%100 == 0:
		return fmt.Sprintf("%%zz%d", i) // ali.form_syntax
	}
	return fmt.Sprintf("n=%d&app_id=2021000000000001", i) + strings.Repeat("x", 4000) // ali.no_signature
}

// flood posts n messages of garbage, on a few connections, and says what was
// answered by status. It ends early with ctx.
func flood(ctx context.Context, url string, n int) map[int]int {
	const senders = 8
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var mu sync.Mutex
	answers := map[int]int{}
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for i := int(next.Add(1)); i <= n && ctx.Err() == nil; i = int(next.Add(1)) {
				to := url + "/notify/alipay"
				if i%7 == 0 {
					to = url + "/notify/" + fmt.Sprint("nobody", i)
				}
				status := post(ctx, client, to, garbage(i))
				mu.Lock()
				answers[status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return answers
}

// post is the status of an answer; 0 when there was none.
func post(ctx context.Context, client *http.Client, url, body string) int {
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		return 0
	}
	res, err := client.Do(req)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

// A flood of garbage stays within its bounds, hides nothing that came seldom,
// and no valid notification waits for it or is refused.
func TestFloodOfGarbage(t *testing.T) {
	// The slowest ack is still in time for the provider.
	const messages, keep, slowest = 50_000, 50, 4 * time.Second
	s := refusedShop(t, fmt.Sprintf("refused: {keep: %d, message_bytes: 1000, account_bytes: 70000}", keep))
	r := s.serveQuietly(t)
	if status, _ := get(t, "POST", r.public+"/notify/alipay", paid("T0", forge.StrangerKey)); status != 401 { // ali.signature, once
		t.Fatal(status)
	}
	ended := make(chan map[int]int, 1)
	go func() { ended <- flood(t.Context(), r.public, messages) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var answers map[int]int
	var worst time.Duration
	acked := 0
	for ; answers == nil; acked++ {
		start := time.Now()
		if status := post(t.Context(), client, r.public+"/notify/alipay", paid(fmt.Sprintf("T1%05d", acked), forge.AlipayKey)); status != 200 {
			t.Fatalf("a valid notification amid the flood: %d", status)
		}
		worst = max(worst, time.Since(start))
		select {
		case answers = <-ended:
		default:
		}
	}
	t.Logf("%d valid notifications acked meanwhile, the slowest after %v; the flood: %v", acked, worst, answers)
	if worst > slowest {
		t.Errorf("a valid notification waited for %v", worst)
	}
	if answers[404] != messages/7 || answers[401]+answers[400] != messages-messages/7 {
		t.Errorf("the flood was answered %v", answers)
	}
	r.stop(t)
	r = s.serve(t)
	codes, bytes, strangers := map[string]int{}, int64(0), 0
	for _, n := range r.refused(t, s) {
		if n.Account == nil {
			strangers++
			continue
		}
		codes[n.Code]++
		bytes += n.KeptBytes
		if n.KeptBytes > 1000 || n.Truncated != (n.Bytes > 1000) {
			t.Errorf("%d of %d bytes are kept", n.KeptBytes, n.Bytes)
		}
	}
	total := 0
	for _, n := range codes {
		total += n
	}
	if total > keep || bytes > 70000 || strangers == 0 || strangers > strangersKept {
		t.Errorf("%d kept with %d bytes, and %d of strangers", total, bytes, strangers)
	}
	if codes["ali.signature"] != 1 || codes["ali.duplicate_field"] == 0 || codes["ali.form_syntax"] == 0 || codes["ali.no_signature"] == 0 {
		t.Errorf("of each some should be kept: %v", codes)
	}
	r.stop(t)
}

// BenchmarkAckBesideFlood measures acks one after another: without a flood,
// beside one of which nothing is kept, and beside one that is kept.
func BenchmarkAckBesideFlood(b *testing.B) {
	for _, c := range []struct{ name, options string }{
		{"no flood", ""}, {"not kept", "refused: {keep: 0}"}, {"kept", ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := refusedShop(b, c.options)
			r := s.serveQuietly(b)
			flooding, stop := context.WithCancel(b.Context())
			ended := make(chan map[int]int, 1)
			if c.name == "no flood" {
				ended <- nil
			} else {
				go func() { ended <- flood(flooding, r.public, 1<<40) }()
			}
			client := &http.Client{Transport: &http.Transport{}}
			for i := 0; b.Loop(); i++ {
				if status := post(b.Context(), client, r.public+"/notify/alipay", paid(fmt.Sprintf("T%07d", i), forge.AlipayKey)); status != 200 {
					b.Fatal(status)
				}
			}
			client.CloseIdleConnections()
			stop()
			<-ended
			r.end()
			<-r.code
		})
	}
}

// serveQuietly is serve without its log, which of a flood would fill the memory.
func (s shop) serveQuietly(t testing.TB) *served {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	r := &served{err: newWatched(), end: end, code: make(chan int, 1)}
	said := &readyLine{found: make(chan []byte, 1)}
	go func() {
		r.code <- run(ctx, []string{"serve", "--config", s.file}, noEnv, stdio{in: strings.NewReader(""), out: io.Discard, err: said})
	}()
	t.Cleanup(end)
	if _, err := fmt.Sscanf(string(<-said.found), "notifyd ready public=%s private=%s", &r.public, &r.private); err != nil {
		t.Fatal(err)
	}
	r.public, r.private = "http://"+r.public, "http://"+r.private
	return r
}

// readyLine hands on the line that says where a server listens, and forgets the rest.
type readyLine struct {
	once  sync.Once
	found chan []byte
}

func (f *readyLine) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("notifyd ready ")) {
		f.once.Do(func() { f.found <- bytes.Clone(p) })
	}
	return len(p), nil
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
