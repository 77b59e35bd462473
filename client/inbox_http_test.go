package client_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client"
)

func handler(t *testing.T, inbox *client.Inbox) http.Handler {
	t.Helper()
	h, err := inbox.Handler(hookSecret, newHookSecret)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// deliver sends a delivery and returns the status of the answer.
func deliver(h http.Handler, header http.Header, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/events", strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// 2xx is said after the commit, to the first and to every repeat.
func TestDeliveriesRunOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		h := handler(t, db.inbox(t, db.book))
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				w := deliver(h, delivery(t, "evt_01", paidEvent, sentAt, hookSecret), paidEvent)
				if w.Code != http.StatusNoContent || w.Body.Len() != 0 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				var booked int
				if err := db.QueryRowContext(t.Context(), "select count(*) from bookings").Scan(&booked); err != nil || booked != 1 {
					t.Errorf("at an answer there are %d bookings, %v", booked, err)
				}
			})
		}
		all.Wait()
	})
}

func TestAFailingHandlerIsNotAcked(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		fails := true
		h := handler(t, db.inbox(t, func(ctx context.Context, tx *sql.Tx, e client.Received) error {
			if fails {
				return errors.New("the printer is out of paper")
			}
			return db.book(ctx, tx, e)
		}))
		w := deliver(h, delivery(t, "evt_01", paidEvent, sentAt, hookSecret), paidEvent)
		if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "paper") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		fails = false
		if w := deliver(h, delivery(t, "evt_01", paidEvent, sentAt.Add(time.Minute), newHookSecret), paidEvent); w.Code != http.StatusNoContent {
			t.Errorf("sent again: %d %s", w.Code, w.Body)
		}
		if n := db.count(t, "select count(*) from bookings"); n != 1 {
			t.Errorf("%d bookings", n)
		}
	})
}

func TestRefusedDeliveriesRunNothing(t *testing.T) {
	db := openSQLite(t)
	var said bytes.Buffer
	inbox, err := client.NewInbox(db.DB, db.dialect, db.book, client.WithInboxClock(func() time.Time { return sentAt }),
		client.WithInboxLog(slog.New(slog.NewTextHandler(&said, nil))))
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, inbox)
	good := delivery(t, "evt_01", paidEvent, sentAt, hookSecret)
	big := `{"id":"evt_01","reason":"` + strings.Repeat("x", 300<<10) + `"}`
	texts := map[string]bool{}
	for name, test := range map[string]struct {
		header http.Header
		body   string
		status int
	}{
		"no headers":       {http.Header{}, paidEvent, 401},
		"another body":     {good, strings.Replace(paidEvent, "1000", "1", 1), 401},
		"an old timestamp": {delivery(t, "evt_01", paidEvent, sentAt.Add(-time.Hour), hookSecret), paidEvent, 401},
		"a stranger":       {delivery(t, "evt_01", paidEvent, sentAt, "whsec_"+strings.Repeat("QUJD", 8)), paidEvent, 401},
		"no event":         {delivery(t, "evt_01", "[]", sentAt, hookSecret), "[]", 400},
		"too long":         {delivery(t, "evt_01", big, sentAt, hookSecret), big, 400},
	} {
		w := deliver(h, test.header, test.body)
		if w.Code != test.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		texts[w.Body.String()] = true
	}
	if len(texts) != 1 {
		t.Errorf("the sender learns causes: %v", texts)
	}
	if n := strings.Count(said.String(), "\n"); n != 6 || strings.Contains(said.String(), "whsec_") {
		t.Errorf("the log says:\n%s", said.String())
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/events", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", w.Code, w.Header())
	}
	if n := db.count(t, "select count(*) from notifyd_inbox") + db.count(t, "select count(*) from bookings"); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	if _, err := inbox.Handler(); !errors.Is(err, client.ErrSecret) {
		t.Errorf("a handler without secrets: %v", err)
	}
}

// The feed goes on where it was, across processes and failures; what came as a
// delivery before runs no second time.
func TestFollowKeepsItsPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, db shop) {
		f := newFeed(5)
		broken := errors.New("the stock is locked")
		var ran []string
		failAt := "evt_3"
		inbox := db.inbox(t, func(ctx context.Context, tx *sql.Tx, e client.Received) error {
			if e.ID == failAt {
				return broken
			}
			ran = append(ran, e.ID)
			return db.book(ctx, tx, e)
		})
		if _, err := inbox.Receive(t.Context(), client.Event{ID: "evt_2"}); err != nil {
			t.Fatal(err)
		}
		s := &server{reply: func(_ int, a attempt) (*http.Response, error) {
			if strings.Contains(a.uri, "after=5") {
				return problem(401, "unauthorized"), nil // an end that the test can wait for
			}
			return f.page(a.uri), nil
		}}
		c := newClient(t, s)
		if err := inbox.Follow(t.Context(), c, "books"); !errors.Is(err, broken) {
			t.Errorf("it ends with %v", err)
		}
		failAt = ""
		if err := inbox.Follow(t.Context(), c, "books"); client.CodeOf(err) != "unauthorized" {
			t.Errorf("it ends with %v", err)
		}
		if got := fmt.Sprint(ran); got != "[evt_2 evt_1 evt_3 evt_4 evt_5]" {
			t.Errorf("it ran %v", got)
		}
		if n := db.count(t, "select number from notifyd_inbox where kind = 'feed' and key = 'books'"); n != 5 {
			t.Errorf("its place is %d", n)
		}
		if at := s.attempts[1].uri; !strings.Contains(at, "after=2&") {
			t.Errorf("after the failure it goes on with %s", at)
		}
		if err := inbox.Follow(t.Context(), c, ""); err == nil {
			t.Error("an empty name was taken")
		}
	})
}
