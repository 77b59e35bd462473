package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

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

// tookUntil posts valid notifications one after another until ended has
// something, and says how long each answer took, the fastest first.
func tookUntil[T any](t *testing.T, url, number string, ended <-chan T) (took []time.Duration, end T) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		start := time.Now()
		if status := post(t.Context(), client, url+"/notify/alipay", paid(fmt.Sprintf("%s%05d", number, len(took)), forge.AlipayKey)); status != 200 {
			t.Fatalf("a valid notification: %d", status)
		}
		took = append(took, time.Since(start))
		select {
		case end = <-ended:
			slices.Sort(took)
			return took, end
		default:
		}
	}
}

func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }

// A flood of garbage stays within its bounds, hides nothing that came seldom,
// and no valid notification waits for it or is refused.
func TestFloodOfGarbage(t *testing.T) {
	// slowest is the 99th percentile that the project promises amid a flood. A
	// machine that is busy with other things is measured by itself: there it is
	// so many times what it is without the flood.
	const messages, keep, quiet, slowest, times = 50_000, 50, 3 * time.Second, 500 * time.Millisecond, 20
	s := refusedShop(t, fmt.Sprintf("refused: {keep: %d, message_bytes: 1000, account_bytes: 70000}", keep))
	r := s.serveQuietly(t)
	if status, _ := get(t, "POST", r.public+"/notify/alipay", paid("T0", forge.StrangerKey)); status != 401 { // ali.signature, once
		t.Fatal(status)
	}
	before, _ := tookUntil(t, r.public, "T1", time.After(quiet))
	ended := make(chan map[int]int, 1)
	go func() { ended <- flood(t.Context(), r.public, messages) }()
	amid, answers := tookUntil(t, r.public, "T2", ended)
	t.Logf("p99 of %d acks %v, amid the flood of %d %v; the flood: %v", len(before), p99(before), len(amid), p99(amid), answers)
	if p99(amid) > max(slowest, times*p99(before)) {
		t.Errorf("valid notifications waited: p99 %v, without the flood %v", p99(amid), p99(before))
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
