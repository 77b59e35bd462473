package load

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestHistogramIsExactToOneSixtyFourth(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 63, 64, 65, 127, 128, 1000, time.Millisecond, 17 * time.Millisecond, time.Minute} {
		got := upper(bucketOf(d))
		if got < d || float64(got-d) > float64(d)/subBuckets {
			t.Errorf("%d is counted as at most %d", d, got)
		}
	}
	var h histogram
	for i := 1; i <= 1000; i++ {
		h.add(time.Duration(i) * time.Microsecond)
	}
	if p50, p99 := h.quantile(.5), h.quantile(.99); p50 < 500*time.Microsecond || p50 > 510*time.Microsecond || p99 < 990*time.Microsecond || p99 > time.Millisecond {
		t.Errorf("the median is %v, the 99th percentile %v", p50, p99)
	}
}

func TestPoolsAreReadAsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pool")
	want := [][]byte{[]byte("one"), {}, []byte("three")}
	if err := WritePool(name, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPool(name)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %q, %v", got, err)
	}
	if err := os.Truncate(name, 9); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadPool(name); err == nil {
		t.Errorf("a cut file gives %q", got)
	}
}

// request is what the client sends in these tests.
func request(n int) []byte {
	body := fmt.Sprintf("message %d", n)
	return fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: bench.test\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func TestEveryRequestIsSentOnce(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n := served.Add(1); {
		case n%10 == 0:
			w.WriteHeader(http.StatusUnauthorized)
		case n%25 == 1:
			w.Header().Set("Connection", "close")
		}
		_, _ = w.Write([]byte("success"))
	}))
	defer server.Close()
	p := Plan{Addrs: []string{strings.TrimPrefix(server.URL, "http://")}, Conns: 8, Measure: time.Minute, Watch: os.Getpid()}
	for n := range 1000 {
		p.Requests = append(p.Requests, request(n))
	}
	r, err := Run(p)
	if err != nil {
		t.Fatal(err)
	}
	if served.Load() != 1000 || r.Failed != 0 || r.AcceptedAll != 900 || r.FirstFault != "" || len(r.Memory) == 0 {
		t.Errorf("%d were served, the client says %+v", served.Load(), r)
	}
}

// In an open loop a server that stalls makes the requests behind it wait, and
// the wait counts.
func TestWaitingCounts(t *testing.T) {
	const stall = 300 * time.Millisecond
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1) == 20 {
			<-time.After(stall)
		}
		_, _ = w.Write([]byte("success"))
	}))
	defer server.Close()
	p := Plan{Addrs: []string{strings.TrimPrefix(server.URL, "http://")}, Requests: [][]byte{request(0)}, Cycle: true,
		Conns: 1, Rate: 200, Measure: time.Second}
	r, err := Run(p)
	if err != nil {
		t.Fatal(err)
	}
	// One connection: at 200 a second, some 60 requests come due during the stall.
	if r.P90 < float64(stall.Microseconds()/3) {
		t.Errorf("the wait does not count: %+v", r)
	}
}
