package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/client"
)

var register = client.NewOrder{OutTradeNo: "T1001", AmountFen: 1000}

// One call, many attempts: one key, one body, and a fresh signature each time.
func TestAttemptsKeepTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func(n int, _ attempt) (*http.Response, error) {
			switch n {
			case 0:
				return problem(503, "store_unavailable", "Retry-After", "2"), nil
			case 1:
				return nil, io.ErrUnexpectedEOF
			case 2:
				return problem(409, "idempotency_in_progress", "Retry-After", "1"), nil
			case 3:
				return cutShort(201, anOrder[:40]), nil
			case 4:
				return says(502, "<html>bad gateway</html>", "Content-Type", "text/html"), nil
			}
			return says(201, anOrder), nil
		}}
		var answer client.Answer
		o, err := newClient(t, s).RegisterOrder(t.Context(), register, client.KeepAnswer(&answer))
		if err != nil || o.OutTradeNo != "T1001" || o.AmountFen != 1000 {
			t.Fatalf("%+v, %v", o, err)
		}
		if len(s.attempts) != 6 || answer.Attempts != 6 || answer.Status != 201 || answer.IdempotencyKey != s.attempts[0].key {
			t.Errorf("%d attempts, answer %+v", len(s.attempts), answer)
		}
		for n, a := range s.attempts {
			if a.key == "" || a.key != s.attempts[0].key || a.body != s.attempts[0].body {
				t.Errorf("attempt %d has another key or body: %q %s", n, a.key, a.body)
			}
			if a.signature != signatureOf(a) {
				t.Errorf("attempt %d is not signed", n)
			}
			if a.timestamp != strconv.FormatInt(a.at.Unix(), 10) {
				t.Errorf("attempt %d at %d says %s", n, a.at.Unix(), a.timestamp)
			}
		}
		if first, last := s.attempts[0], s.attempts[5]; first.timestamp == last.timestamp || first.signature == last.signature {
			t.Error("the signature of the first attempt was used again")
		}
	})
}

// The pauses double up to the longest, each within its jitter, and the default
// attempts outlast a lock of 30 s.
func TestPausesDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func(int, attempt) (*http.Response, error) { return problem(500, "internal"), nil }}
		_, err := newClient(t, s).RegisterOrder(t.Context(), register)
		var p *client.Problem
		if !errors.As(err, &p) || p.Status != 500 || p.Code != "internal" || p.Detail != "why" {
			t.Errorf("the last problem is gone: %v", err)
		}
		if len(s.attempts) != client.DefaultAttempts {
			t.Fatalf("%d attempts", len(s.attempts))
		}
		nominal, varied := client.DefaultFirstPause, false
		for n := 1; n < len(s.attempts); n++ {
			pause := s.attempts[n].at.Sub(s.attempts[n-1].at)
			if pause < nominal*80/100 || pause > nominal*120/100 {
				t.Errorf("pause %d is %v, not within 20 %% of %v", n, pause, nominal)
			}
			varied = varied || pause != nominal
			nominal = min(2*nominal, client.DefaultLongestPause)
		}
		if !varied {
			t.Error("there is no jitter")
		}
		if all := s.attempts[len(s.attempts)-1].at.Sub(s.attempts[0].at); all < 30*time.Second {
			t.Errorf("the attempts end after %v", all)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, test := range map[string]struct {
		value       func() string
		least, most time.Duration
	}{
		"seconds":      {func() string { return "20" }, 20 * time.Second, 20 * time.Second},
		"a date":       {func() string { return time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat) }, 29 * time.Second, 30 * time.Second},
		"a whole day":  {func() string { return "86400" }, 5 * time.Minute, 5 * time.Minute},
		"less":         {func() string { return "0" }, 200 * time.Millisecond, 300 * time.Millisecond},
		"a past date":  {func() string { return "Sat, 02 Jan 1999 15:04:05 GMT" }, 200 * time.Millisecond, 300 * time.Millisecond},
		"no such form": {func() string { return "-5" }, 200 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{reply: func(n int, _ attempt) (*http.Response, error) {
					if n == 0 {
						return problem(503, "store_unavailable", "Retry-After", test.value()), nil
					}
					return says(200, anOrder), nil
				}}
				if _, err := newClient(t, s).Ship(t.Context(), "T1001"); err != nil {
					t.Fatal(err)
				}
				if pause := s.attempts[1].at.Sub(s.attempts[0].at); pause < test.least || pause > test.most {
					t.Errorf("it came back after %v", pause)
				}
			})
		})
	}
}

// What another attempt would not change is not tried again.
func TestFinalAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		reply reply
		code  string
	}{
		"400": {func(int, attempt) (*http.Response, error) { return problem(400, "idempotency_key_missing"), nil }, "idempotency_key_missing"},
		"401": {func(int, attempt) (*http.Response, error) { return problem(401, "unauthorized"), nil }, "unauthorized"},
		"404": {func(int, attempt) (*http.Response, error) { return problem(404, "order_unknown"), nil }, client.CodeOrderUnknown},
		"409": {func(int, attempt) (*http.Response, error) { return problem(409, "order_facts_differ"), nil }, client.CodeOrderFactsDiffer},
		"422": {func(int, attempt) (*http.Response, error) { return problem(422, "idempotency_key_reused"), nil }, client.CodeKeyReused},
		"429": {func(int, attempt) (*http.Response, error) { return problem(429, "slow_down"), nil }, "slow_down"},
		"302": {func(int, attempt) (*http.Response, error) {
			return says(302, "", "Location", "http://elsewhere.test/"), nil
		}, ""},
		"307": {func(int, attempt) (*http.Response, error) { return says(307, "", "Location", "/v1/else"), nil }, ""},
		"a page": {func(int, attempt) (*http.Response, error) {
			return says(404, "<html>", "Content-Type", "text/html"), nil
		}, ""},
		"no JSON":  {always(200, "<html>hello</html>"), ""},
		"too much": {always(200, `"`+strings.Repeat("x", 9<<20)+`"`), ""},
		"a foreign proof": {func(int, attempt) (*http.Response, error) {
			return nil, &tls.CertificateVerificationError{Err: errors.New("unknown")}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{reply: test.reply}
			_, err := newClient(t, s).RegisterOrder(t.Context(), register)
			if err == nil || len(s.attempts) != 1 {
				t.Errorf("%d attempts, error %v", len(s.attempts), err)
			}
			if code := client.CodeOf(err); code != test.code {
				t.Errorf("the code is %q: %v", code, err)
			}
		})
	}
}

func TestIllegalTransitionSaysWhereTheOrderStands(t *testing.T) {
	s := &server{reply: always(409, `{"code":"illegal_transition","status":409,"detail":"T1 is created; only a paid order can be shipped","order_status":"created"}`)}
	_, err := newClient(t, s).Ship(t.Context(), "T1001")
	var p *client.Problem
	if !errors.As(err, &p) || p.Code != client.CodeIllegalTransition || p.OrderStatus != client.Created {
		t.Errorf("%v", err)
	}
	if want := "notifyd answers 409 illegal_transition: T1 is created; only a paid order can be shipped"; err.Error() != want {
		t.Errorf("it says %q", err)
	}
}

// The caller's end is final, and does not hide what went wrong before it.
func TestContextEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &server{reply: func(int, attempt) (*http.Response, error) {
			time.AfterFunc(100*time.Millisecond, cancel) // in the pause that follows
			return problem(503, "store_unavailable", "Retry-After", "60"), nil
		}}
		begin := time.Now()
		_, err := newClient(t, s).Ship(ctx, "T1001")
		if !errors.Is(err, context.Canceled) || client.CodeOf(err) != "store_unavailable" || len(s.attempts) != 1 {
			t.Errorf("%d attempts: %v", len(s.attempts), err)
		}
		if took := time.Since(begin); took != 100*time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s := &server{reply: func(int, attempt) (*http.Response, error) {
			return problem(503, "store_unavailable", "Retry-After", "60"), nil
		}}
		begin := time.Now()
		_, err := newClient(t, s).Ship(ctx, "T1001")
		if client.CodeOf(err) != "store_unavailable" || time.Since(begin) != 0 {
			t.Errorf("it slept into its deadline, %v: %v", time.Since(begin), err)
		}
	})
	t.Run("already over", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := &server{reply: always(200, anOrder)}
		if _, err := newClient(t, s).Ship(ctx, "T1001"); !errors.Is(err, context.Canceled) || len(s.attempts) != 0 {
			t.Errorf("%d attempts: %v", len(s.attempts), err)
		}
	})
}

// An attempt that hangs is given up, and the call goes on.
func TestHangingAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: always(200, anOrder)}
		hang := transport(func(r *http.Request) (*http.Response, error) {
			if len(s.attempts) == 0 {
				s.attempts = append(s.attempts, attempt{at: time.Now()})
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return s.RoundTrip(r)
		})
		if _, err := newClient(t, s, client.WithTransport(hang), client.WithTimeout(3*time.Second)).Ship(t.Context(), "T1001"); err != nil {
			t.Fatal(err)
		}
		if pause := s.attempts[1].at.Sub(s.attempts[0].at); pause < 3*time.Second || pause > 4*time.Second {
			t.Errorf("the next attempt came after %v", pause)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Over a real connection: the signature covers the bytes of the request line,
// and a redirect is not followed.
func TestOverTheWire(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the signature tells
		got := attempt{method: r.Method, uri: r.RequestURI, timestamp: r.Header.Get("X-Timestamp"), key: r.Header.Get("X-Idempotency-Key"), body: string(body)}
		switch {
		case r.Header.Get("X-Signature") != signatureOf(got):
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodGet:
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, anOrder) // the client tells
		}
	}))
	defer here.Close()
	c, err := client.New(here.URL, keyID, keySecret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ship(t.Context(), "T 1/0?0=1|茶", client.WithSubMerchant("19 00")); err != nil {
		t.Errorf("a number with everything: %v", err)
	}
	var p *client.Problem
	if _, err := c.Order(t.Context(), "T1001"); !errors.As(err, &p) || p.Status != http.StatusTemporaryRedirect {
		t.Errorf("a redirect: %v", err)
	}
}
