package store_test

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

// shop is an endpoint that misbehaves, and notes what it took.
type shop struct {
	*httptest.Server
	misbehave bool
	hung      chan struct{}

	mu       sync.Mutex
	accepted map[string]int   // how often, by event id
	versions map[string]int64 // the last one taken, by order
	inside   map[string]int   // requests that are being answered, by event id
	faults   []string
	asked    int
	all      chan struct{} // closed when want events were taken
	want     int
}

func newShop(t *testing.T, want int, misbehave bool) *shop {
	t.Helper()
	s := &shop{misbehave: misbehave, hung: make(chan struct{}), want: want, all: make(chan struct{}),
		accepted: map[string]int{}, versions: map[string]int64{}, inside: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { close(s.hung); s.Close() })
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event struct {
		ID           string
		OrderVersion int64 `json:"order_version"`
		Order        struct {
			OutTradeNo string `json:"out_trade_no"`
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &event) != nil {
		return // cut off: nothing was said
	}
	s.mu.Lock()
	s.asked++
	if event.ID != r.Header.Get("webhook-id") {
		s.faults = append(s.faults, "the id of the header is not the event's")
	}
	if s.inside[event.ID]++; s.inside[event.ID] > 1 {
		s.faults = append(s.faults, event.ID+" is being sent twice at once")
	}
	// An event that comes again was taken before; a new one is the order's next.
	if last := s.versions[event.Order.OutTradeNo]; event.OrderVersion != last && event.OrderVersion != last+1 {
		s.faults = append(s.faults, fmt.Sprintf("%s: version %d after %d", event.Order.OutTradeNo, event.OrderVersion, last))
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inside[event.ID]--
		s.mu.Unlock()
	}()
	if s.misbehave && s.refuse(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[event.Order.OutTradeNo] = max(s.versions[event.Order.OutTradeNo], event.OrderVersion)
	if s.accepted[event.ID]++; s.accepted[event.ID] == 1 && len(s.accepted) == s.want {
		close(s.all)
	}
	w.WriteHeader(http.StatusOK)
}

// refuse does what endpoints do instead of answering.
func (s *shop) refuse(w http.ResponseWriter, r *http.Request) bool {
	switch n := rand.IntN(100); {
	case n < 5:
		w.WriteHeader(http.StatusInternalServerError)
	case n < 10: // hangs
		select {
		case <-r.Context().Done():
		case <-s.hung:
		}
	case n < 15: // resets after reading
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	case n < 17: // drips, and never ends
		w.WriteHeader(http.StatusBadGateway)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ".")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
			case <-s.hung:
				return true
			}
		}
	case n < 20:
		w.Header().Set("Retry-After", strconv.Itoa(rand.IntN(3)))
		w.WriteHeader(http.StatusTooManyRequests)
	case n < 23:
		w.Header().Set("Location", "http://169.254.169.254/")
		w.WriteHeader(http.StatusFound)
	default:
		return false
	}
	return true
}

func (s *shop) check(t *testing.T, once bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, fault := range s.faults {
		if t.Error(fault); i == 10 {
			break
		}
	}
	if len(s.accepted) != s.want {
		t.Errorf("%d events were taken, want %d", len(s.accepted), s.want)
	}
	again := 0
	for _, n := range s.accepted {
		again += n - 1
	}
	t.Logf("%d events in %d requests, %d came again after they were taken", len(s.accepted), s.asked, again)
	if once && again > 0 {
		t.Errorf("%d events came again although every answer was heard", again)
	}
}
