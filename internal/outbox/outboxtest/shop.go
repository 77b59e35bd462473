// Package outboxtest has the endpoint that every outbox must get the better of:
// a shop that fails, hangs, breaks off, drips, asks for patience and sends
// elsewhere, and notes what it took, in which order, and what was sent to it
// twice at once.
//
// It imports the standard library only, so that an outbox inside the test and one
// in another process meet the same shop.
package outboxtest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// What a misbehaving shop does instead of answering, in percent of its requests.
const (
	fails     = 5 // with 500
	hangs     = 5 // until the sender gives up
	breaks    = 5 // resets the connection after it has read everything
	drips     = 2 // a body that never ends, under 502
	tooMany   = 3 // 429 with Retry-After
	redirects = 3 // to where nobody may be sent
	// dripEvery is often enough that no timeout between two bytes would help.
	dripEvery = 20 * time.Millisecond
	// maxRetryAfter, in seconds, is short: the test waits for it.
	maxRetryAfter = 2
)

// Shop is an endpoint that notes what it took.
type Shop struct {
	*httptest.Server
	// All is closed when as many different events were taken as were wanted.
	All chan struct{}
	// Lag is how long it takes to answer after it has taken an event: whoever
	// dies meanwhile has told without knowing it. Set it before the first request.
	Lag time.Duration

	want      int
	misbehave bool
	over      chan struct{}

	mu       sync.Mutex
	taken    map[string]int    // how often, by event id
	ids      map[place]string  // the event at each place
	versions map[string]int64  // the last one taken, by order
	inside   map[string]*visit // being answered, by event id
	faults   []string
	asked    int
}

// visit is one request being answered.
type visit struct {
	*http.Request
	doubled bool // the same event came meanwhile
	over    bool
}

// place is an event's place among those of its order.
type place struct {
	order   string
	version int64
}

// NewShop starts a shop that waits for so many events.
func NewShop(t testing.TB, want int, misbehave bool) *Shop {
	t.Helper()
	s := &Shop{misbehave: misbehave, over: make(chan struct{}), want: want, All: make(chan struct{}),
		taken: map[string]int{}, ids: map[place]string{}, versions: map[string]int64{}, inside: map[string]*visit{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { close(s.over); s.Close() })
	return s
}

// told is what the shop reads of an event.
type told struct {
	ID           string
	OrderVersion int64 `json:"order_version"`
	Order        struct {
		OutTradeNo string `json:"out_trade_no"`
	}
}

// ServeHTTP takes an event, or misbehaves.
func (s *Shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event told
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &event) != nil {
		return // cut off: nothing was said
	}
	v := &visit{Request: r}
	s.enter(&event, v)
	defer s.leave(&event, v)
	if s.misbehave && s.refuse(w, r, func() { s.leave(&event, v) }) {
		return
	}
	s.take(&event)
	if s.Lag > 0 {
		timer := time.NewTimer(s.Lag)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Shop) take(event *told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[event.Order.OutTradeNo] = max(s.versions[event.Order.OutTradeNo], event.OrderVersion)
	if s.taken[event.ID]++; s.taken[event.ID] == 1 && len(s.taken) == s.want {
		close(s.All)
	}
}

// enter judges an event as it arrives.
func (s *Shop) enter(event *told, r *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if event.ID != r.Header.Get("webhook-id") {
		s.fault("%s: the header says %s", event.ID, r.Header.Get("webhook-id"))
	}
	at := place{event.Order.OutTradeNo, event.OrderVersion}
	if known := s.ids[at]; known != "" && known != event.ID {
		s.fault("version %d of %s comes as %s and as %s", at.version, at.order, known, event.ID)
	}
	s.ids[at] = event.ID
	if other := s.inside[event.ID]; other != nil {
		other.doubled = true
	}
	s.inside[event.ID] = r
	// An event that comes again was taken before; a new one is the order's next.
	if last := s.versions[at.order]; at.version != last && at.version != last+1 {
		s.fault("%s: version %d after %d", at.order, at.version, last)
	}
}

// leave judges a request when it is answered. Of two at once the first may be
// one whose sender was killed or has given up, which it notices in the end.
func (s *Shop) leave(event *told, v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.doubled && !v.over && v.Context().Err() == nil {
		s.fault("%s is being sent twice at once", event.ID)
	}
	v.over = true
	if s.inside[event.ID] == v {
		delete(s.inside, event.ID)
	}
}

func (s *Shop) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// refuse does what endpoints do instead of answering, and says whether it did.
// What it hears of the request ends with leave, where that is before the end.
func (s *Shop) refuse(w http.ResponseWriter, r *http.Request, leave func()) bool {
	n := rand.IntN(100)
	among := func(share int) bool { n -= share; return n < 0 }
	switch {
	case among(fails):
		w.WriteHeader(http.StatusInternalServerError)
	case among(hangs):
		select {
		case <-r.Context().Done():
		case <-s.over:
		}
	case among(breaks):
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			leave() // the sender may come again before this function ends
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	case among(drips):
		s.drip(w, r)
	case among(tooMany):
		w.Header().Set("Retry-After", strconv.Itoa(rand.IntN(maxRetryAfter+1)))
		w.WriteHeader(http.StatusTooManyRequests)
	case among(redirects):
		w.Header().Set("Location", "http://169.254.169.254/")
		w.WriteHeader(http.StatusFound)
	default:
		return false
	}
	return true
}

// drip answers without an end.
func (s *Shop) drip(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusBadGateway)
	tick := time.NewTicker(dripEvery)
	defer tick.Stop()
	for {
		_, _ = io.WriteString(w, ".")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-s.over:
			return
		}
	}
}

// Taken is how many different events were taken so far.
func (s *Shop) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken)
}

// Check holds what was taken to the promise. An event may come again after it was
// taken, when its sender did not hear the answer or died before it wrote it down.
func (s *Shop) Check(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	const enough = 10 // to see what is wrong
	for _, fault := range s.faults[:min(len(s.faults), enough)] {
		t.Error(fault)
	}
	if len(s.taken) != s.want || len(s.ids) != s.want {
		t.Errorf("%d events at %d places were taken, want %d", len(s.taken), len(s.ids), s.want)
	}
	again := 0
	for _, n := range s.taken {
		again += n - 1
	}
	t.Logf("%d events in %d requests, %d came again after they were taken", len(s.taken), s.asked, again)
}
