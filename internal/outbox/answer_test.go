package outbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var noon = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)

func TestScheduleIsTheContracts(t *testing.T) {
	var total time.Duration
	texts := make([]string, 0, 18)
	for _, wait := range Schedule() {
		total += wait
		texts = append(texts, strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(wait.String()))
	}
	if got := strings.Join(texts, " "); got != "5s 15s 30s 1m 2m 5m 10m 20m 30m 1h 2h 4h 6h 8h 10h 12h 12h 12h" {
		t.Errorf("the schedule is %s", got)
	}
	if days := total.Hours() / 24; days < 2.8 || days > 3 {
		t.Errorf("a delivery is tried for %.1f days", days)
	}
}

func TestNextState(t *testing.T) {
	schedule := []time.Duration{10 * time.Second, 100 * time.Second}
	for _, c := range []struct {
		step   int
		a      answer
		random float64
		state  State
		wait   time.Duration
	}{
		{0, answer{status: 200}, 0.5, Delivered, 0},
		{2, answer{status: 299}, 0.5, Delivered, 0},
		{0, answer{failure: FailureTimeout}, 0.5, Pending, 10 * time.Second},
		{0, answer{status: 301}, 0, Pending, 9 * time.Second},
		{1, answer{status: 500}, 0.75, Pending, 105 * time.Second},
		{1, answer{status: 410}, 0.5, Pending, 100 * time.Second},
		{2, answer{status: 500}, 0.5, Exhausted, 0},
		{0, answer{status: 429, retryAfter: time.Minute}, 0.5, Pending, time.Minute},
		{1, answer{status: 503, retryAfter: time.Minute}, 0.5, Pending, 100 * time.Second}, // never sooner than scheduled
		{2, answer{status: 503, retryAfter: time.Minute}, 0.5, Exhausted, 0},
	} {
		if state, wait := nextState(schedule, c.step, c.a, c.random); state != c.state || wait.Round(time.Millisecond) != c.wait {
			t.Errorf("%+v: %s after %s, want %s after %s", c, state, wait, c.state, c.wait)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "1": time.Second, "120": 2 * time.Minute, "3600": time.Hour, "3601": time.Hour, "99999999999": time.Hour,
		"9223372036854775807": time.Hour, "-9223372036854775808": 0, "99999999999999999999": 0, "1.5": 0, "soon": 0, "Thu, 01 Jan 2026 04:00:30 GMT": 30 * time.Second, "Thu, 01 Jan 2026 03:00:00 GMT": 0,
		"Fri, 02 Jan 2026 04:00:00 GMT": time.Hour,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, noon, MaxRetryAfter); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A broken endpoint is probed, less and less often; when it is well it is asked
// at a rising rate.
func TestPace(t *testing.T) {
	p, now := newPace(), noon
	bad, good := answer{status: 500}, answer{status: 204}
	for range failuresToProbe - 1 {
		p.learn(bad, now, now)
	}
	if p.room(now) != firstWindow {
		t.Errorf("a few failures leave room for %d", p.room(now))
	}
	for i, pause := range []time.Duration{1, 2, 4, 8, 15, 15, 15} {
		p.learn(bad, now, now)
		if p.room(now.Add(pause*time.Second-1)) != 0 || p.room(now.Add(pause*time.Second)) != 1 {
			t.Errorf("probe %d: held until %s, want %d s", i, p.notBefore.Sub(now), pause)
		}
		now = now.Add(pause * time.Second)
	}
	p.inFlight = 1
	if p.room(now) != 0 {
		t.Error("two probes at once")
	}
	p.inFlight = 0
	var rooms []int
	for range 7 {
		for range p.room(now) {
			p.learn(good, now, now)
		}
		rooms = append(rooms, p.room(now))
	}
	if got := fmt.Sprint(rooms); got != "[2 4 8 16 32 32 32]" {
		t.Errorf("after the recovery there is room for %s", got)
	}
	for range 2 * failuresToProbe { // they hung while others were answered
		p.learn(answer{failure: FailureTimeout}, now.Add(-time.Second), now)
	}
	if p.room(now) != maxInFlight {
		t.Errorf("attempts that hang leave room for %d", p.room(now))
	}
	p.learn(answer{status: 429, retryAfter: time.Minute}, now, now)
	if p.room(now.Add(time.Minute-1)) != 0 || p.room(now.Add(time.Minute)) != 16 {
		t.Errorf("slowed down: held until %s, room for %d", p.notBefore.Sub(now), p.room(now.Add(time.Minute)))
	}
}

// A lone event keeps to its schedule, however long the endpoint fails: no probe
// is later than the schedule has it.
func TestProbesAreNotLaterThanTheSchedule(t *testing.T) {
	p, now := newPace(), noon
	for i, wait := range Schedule() {
		p.learn(answer{failure: FailureConnect}, now, now)
		if earliest := now.Add(wait * 9 / 10); p.notBefore.After(earliest) {
			t.Errorf("after failure %d the endpoint is held for %s, the event is due after %s", i+1, p.notBefore.Sub(now), earliest.Sub(now))
		}
		now = now.Add(wait)
	}
}

// posting makes an Outbox that can reach this machine.
func posting(timeout time.Duration) *Outbox {
	n := 0
	return New(Options{Now: func() time.Time { return noon }, NewID: func(prefix string) string { n++; return fmt.Sprint(prefix, n) },
		UserAgent: "notifyd/test", AttemptTimeout: timeout})
}

func TestPost(t *testing.T) {
	var got *http.Request
	var sent []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		sent, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, strings.Repeat("y", MaxResponseBytes+1))
	}))
	defer server.Close()
	e := Endpoint{Name: "shop", URL: server.URL + "/hook?a=b", Keys: [][]byte{[]byte("throw-away key 1"), []byte("throw-away key 2")}, AllowPrivate: true}
	a := posting(AttemptTimeout).post(t.Context(), &e, "evt_1", []byte(`{"id":"evt_1"}`), noon.Add(999*time.Millisecond))
	if a.status != http.StatusAccepted || a.failure != "" || !a.delivered() || len(a.response) != MaxResponseBytes {
		t.Errorf("status %d, failure %q, %d bytes of the answer", a.status, a.failure, len(a.response))
	}
	if string(sent) != `{"id":"evt_1"}` || got.Method != "POST" || got.URL.String() != "/hook?a=b" {
		t.Errorf("%s %s %s", got.Method, got.URL, sent)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "User-Agent": "notifyd/test", "Webhook-Id": "evt_1",
		"Webhook-Timestamp": "1767240000", "Webhook-Signature": Sign(e.Keys, "evt_1", noon, sent), "Accept-Encoding": ""} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
}

// What can happen between a question and its answer, and what it is called.
func TestPostFails(t *testing.T) {
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/hang":
			<-released
		case "/reset":
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		case "/garbage":
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "SSH-2.0-nothing\r\n\r\n")
			_ = conn.Close()
		case "/headers":
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		case "/drip": // the header at once, the body never
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "o")
			_ = http.NewResponseController(w).Flush()
			<-released
		}
	}))
	defer server.Close()
	defer close(released)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct{ url, failure string }{
		{server.URL + "/hang", FailureTimeout}, {server.URL + "/reset", FailureBroken}, {server.URL + "/garbage", FailureBroken},
		{server.URL + "/headers", FailureBroken}, {secure.URL, FailureTLS}, {strings.Replace(server.URL, "http", "https", 1), FailureTLS},
		{closed.URL, FailureConnect}, {"http://169.254.169.254/", FailureAddress},
		{"http://user:secret@127.0.0.1/", FailureURL}, {"ftp://127.0.0.1/", FailureURL}, {"http://a b/", FailureURL}, {server.URL + "/drip", ""},
	} {
		patience := AttemptTimeout
		if strings.HasSuffix(c.url, "/hang") || strings.HasSuffix(c.url, "/drip") {
			patience = 300 * time.Millisecond
		}
		a := posting(patience).post(t.Context(), &Endpoint{URL: c.url, AllowPrivate: true}, "evt_1", nil, noon)
		if a.failure != c.failure || (a.status == 0) != (c.failure != "") {
			t.Errorf("%s: %q with status %d, want %q", c.url, a.failure, a.status, c.failure)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	nobody := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }}
	o := posting(AttemptTimeout)
	o.opt.Client = func(bool) *http.Client { return NewClient(false, nobody) }
	if a := o.post(t.Context(), &Endpoint{URL: "http://shop.example/"}, "evt_1", nil, noon); a.failure != FailureName {
		t.Errorf("%q, want %q", a.failure, FailureName)
	}
}

// A whole attempt takes 15 seconds at most.
func TestAttemptsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Options{Now: time.Now, NewID: func(p string) string { return p }, Endpoints: []Endpoint{{Name: "shop", URL: "http://shop.example/"}},
			Client: func(bool) *http.Client { return &http.Client{Transport: hanging{}} }})
		start := time.Now()
		a, ok := o.Try(t.Context(), "shop", "evt_1", nil)
		if took := time.Since(start); !ok || a.Failure != FailureTimeout || took != AttemptTimeout || a.Duration != took {
			t.Errorf("%+v after %s", a, took)
		}
		if _, ok := o.Try(t.Context(), "mail", "evt_1", nil); ok {
			t.Error("an endpoint that is not there was tried")
		}
	})
}

// hanging never answers.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
