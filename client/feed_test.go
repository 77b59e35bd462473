package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/client"
)

// feed answers from a list of events, two at a time, and holds a request to its
// end as notifyd does.
type feed struct{ last atomic.Int64 }

func newFeed(last int64) *feed {
	f := &feed{}
	f.last.Store(last)
	return f
}

func (f *feed) page(uri string) *http.Response {
	u, _ := url.Parse(uri) // a client made it
	var after int64
	var wait time.Duration
	_, _ = fmt.Sscan(u.Query().Get("after"), &after) // 0 is the beginning
	wait, _ = time.ParseDuration(u.Query().Get("wait"))
	var items []string
	for seq := after + 1; seq <= f.last.Load() && len(items) < 2; seq++ {
		items = append(items, fmt.Sprintf(`{"id":"evt_%d","seq":%d,"type":"order.paid"}`, seq, seq))
	}
	if len(items) == 0 {
		<-time.After(wait)
	}
	return says(200, fmt.Sprintf(`{"items":[%s],"next_after":%d}`, strings.Join(items, ","), after+int64(len(items))))
}

func TestFollowReadsEveryEventOnceAndWaitsOutOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(5)
		s := &server{reply: func(n int, a attempt) (*http.Response, error) {
			if n > 1 && n < 60 { // longer than a call would try
				return nil, errors.New("connection refused")
			}
			return f.page(a.uri), nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var seen []int64
		var end error
		for e, err := range newClient(t, s).Follow(ctx, 1) {
			if err != nil {
				end = err
				continue
			}
			seen = append(seen, e.Seq)
			if e.Seq == 5 {
				time.AfterFunc(time.Minute, func() { f.last.Store(6) })
			}
			if e.Seq == 6 {
				cancel()
			}
		}
		if !slices.Equal(seen, []int64{2, 3, 4, 5, 6}) || !errors.Is(end, context.Canceled) {
			t.Errorf("it saw %v and ended with %v", seen, end)
		}
		if s.attempts[0].uri != "/v1/events?after=1&wait=20s" {
			t.Errorf("it asks %s", s.attempts[0].uri)
		}
	})
}

// A notifyd that answers without waiting is not asked without a pause.
func TestFollowDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s := &server{reply: always(200, `{"items":[],"next_after":7}`)}
		for range newClient(t, s).Follow(ctx, 7) {
		}
		if n := len(s.attempts); n < 30 || n > 41 {
			t.Errorf("it asked %d times in 10 s", n)
		}
	})
}

func TestFollowEndsWithWhatWaitingDoesNotSolve(t *testing.T) {
	for name, test := range map[string]struct {
		reply reply
		code  string
	}{
		"a wrong key":           {func(int, attempt) (*http.Response, error) { return problem(401, "unauthorized"), nil }, "unauthorized"},
		"a feed that goes back": {always(200, `{"items":[],"next_after":3}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{reply: test.reply}
			var ends []error
			for _, err := range newClient(t, s).Follow(t.Context(), 7) {
				ends = append(ends, err)
			}
			if len(ends) != 1 || ends[0] == nil || client.CodeOf(ends[0]) != test.code {
				t.Errorf("it ends with %v", ends)
			}
		})
	}
}

func TestFollowStopsWhenItsReaderDoes(t *testing.T) {
	f := newFeed(100)
	s := &server{reply: func(_ int, a attempt) (*http.Response, error) { return f.page(a.uri), nil }}
	for e := range newClient(t, s).Follow(t.Context(), 0) {
		if e.Seq == 3 {
			break
		}
	}
	if len(s.attempts) != 2 {
		t.Errorf("it asked %d times", len(s.attempts))
	}
}

func TestEventQueriesThatCannotBe(t *testing.T) {
	s := &server{reply: always(200, `{}`)}
	for _, q := range []client.EventQuery{{After: -1}, {Limit: -1}, {Wait: -time.Second}, {Wait: client.MaxWait + 1}} {
		if _, err := newClient(t, s).Events(t.Context(), q); err == nil || len(s.attempts) != 0 {
			t.Errorf("%+v was asked", q)
		}
	}
}
