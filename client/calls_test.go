package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/client"
)

// Every call is the request that the contract describes, signed.
func TestCallsAreTheContracts(t *testing.T) {
	expires := time.Date(2026, 1, 1, 4, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		name, method, uri, body string
		call                    func(context.Context, *client.Client) error
	}{
		{"register", "POST", "/v1/orders", `{"out_trade_no":"T1001","amount_fen":1000}`, func(ctx context.Context, c *client.Client) error {
			_, err := c.RegisterOrder(ctx, client.NewOrder{OutTradeNo: "T1001", AmountFen: 1000})
			return err
		}},
		{"register with all", "POST", "/v1/orders", `{"out_trade_no":"T1001","amount_fen":1000,"currency":"CNY","expires_at":"2026-01-01T04:30:00Z","sub_merchant":"1900000109"}`,
			func(ctx context.Context, c *client.Client) error {
				_, err := c.RegisterOrder(ctx, client.NewOrder{OutTradeNo: "T1001", AmountFen: 1000, Currency: "CNY", ExpiresAt: expires, SubMerchant: "1900000109"})
				return err
			}},
		{"order", "GET", "/v1/orders/T1001", "", func(ctx context.Context, c *client.Client) error {
			_, err := c.Order(ctx, "T1001")
			return err
		}},
		{"order of a sub-merchant", "GET", "/v1/orders/T1001?sub_merchant=1900000109", "", func(ctx context.Context, c *client.Client) error {
			_, err := c.Order(ctx, "T1001", client.WithSubMerchant("1900000109"))
			return err
		}},
		{"a number to escape", "POST", "/v1/orders/a%2Fb%3F%7C/ship?sub_merchant=x%26y", "", func(ctx context.Context, c *client.Client) error {
			_, err := c.Ship(ctx, "a/b?|", client.WithSubMerchant("x&y"))
			return err
		}},
		{"complete", "POST", "/v1/orders/T1001/complete", "", func(ctx context.Context, c *client.Client) error {
			_, err := c.Complete(ctx, "T1001")
			return err
		}},
		{"cancel", "POST", "/v1/orders/T1001/cancel", "", func(ctx context.Context, c *client.Client) error {
			_, err := c.Cancel(ctx, "T1001")
			return err
		}},
		{"events", "GET", "/v1/events?after=41&limit=10&wait=20s", "", func(ctx context.Context, c *client.Client) error {
			_, err := c.Events(ctx, client.EventQuery{After: 41, Limit: 10, Wait: 20 * time.Second})
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{reply: always(200, `{"next_after":41}`)}
			if err := test.call(t.Context(), newClient(t, s)); err != nil {
				t.Fatal(err)
			}
			a := s.attempts[0]
			if a.method != test.method || a.uri != test.uri || a.body != test.body {
				t.Errorf("it sends %s %s %s", a.method, a.uri, a.body)
			}
			if a.signature != signatureOf(a) || a.header.Get("X-Api-Key") != keyID || len(a.timestamp) != 10 {
				t.Errorf("it is not signed as it should be: %v", a.header)
			}
			if hasKey := a.key != ""; hasKey != (test.method == "POST") {
				t.Errorf("a %s has the idempotency key %q", test.method, a.key)
			}
		})
	}
}

func TestOrderIsRead(t *testing.T) {
	const paid = `{"merchant":"default","out_trade_no":"T1001","status":"paid","version":2,"amount_fen":1000,"expected_fen":null,"amount_verified":false,
"currency":"CNY","paid_fen":1000,"refunded_fen":300,"provider":"wechat","account":"wechat","provider_txn_id":"42T1001","late":true,"finished":false,
"paid_at":"2026-01-01T12:00:00.000001+08:00","created_at":"2026-01-01T12:00:00+08:00","updated_at":"2026-01-01T12:00:00+08:00",
"payments":[{"provider":"wechat","account":"wechat","provider_txn_id":"42T1001","amount_fen":1000,"refunded_fen":300,"role":"accepted","paid_at":null}],
"refunds":[{"provider":"wechat","provider_txn_id":"42T1001","out_refund_no":"R1","provider_refund_id":null,"amount_fen":300,"total_fen":null,"status":"success","refunded_at":null}],
"transitions":[{"version":1,"from":"","to":"pending","kind":"paying","reason":"","at":"2026-01-01T12:00:00+08:00","notification_id":null}],
"notifications":[{"id":"ntf_1","outcome":"applied","reason":"","kind":"paid","copies":1,"received_at":"2026-01-01T12:00:00+08:00"}],"new_field":{}}`
	s := &server{reply: always(200, paid)}
	got, err := newClient(t, s).Order(t.Context(), "T1001")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	want := &client.Order{Merchant: "default", OutTradeNo: "T1001", Status: client.Paid, Version: 2, AmountFen: 1000, Currency: "CNY",
		PaidFen: 1000, RefundedFen: 300, Provider: "wechat", Account: "wechat", ProviderTxnID: "42T1001", Late: true,
		PaidAt: noon.Add(time.Microsecond), CreatedAt: noon, UpdatedAt: noon,
		Payments:      []client.Payment{{Provider: "wechat", Account: "wechat", ProviderTxnID: "42T1001", AmountFen: 1000, RefundedFen: 300, Role: "accepted"}},
		Refunds:       []client.Refund{{Provider: "wechat", ProviderTxnID: "42T1001", OutRefundNo: "R1", AmountFen: 300, Status: "success"}},
		Transitions:   []client.Transition{{Version: 1, To: client.Pending, Kind: "paying", At: noon}},
		Notifications: []client.Notification{{ID: "ntf_1", Outcome: "applied", Kind: "paid", Copies: 1, ReceivedAt: noon}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	s := &server{reply: always(200, anOrder)}
	c := newClient(t, s)
	seen := map[string]bool{}
	for range 100 {
		if _, err := c.Ship(t.Context(), "T1001"); err != nil {
			t.Fatal(err)
		}
		key := s.attempts[len(s.attempts)-1].key
		if seen[key] || len(key) < 20 {
			t.Fatalf("the key %q is short or used twice", key)
		}
		seen[key] = true
	}
	if _, err := c.Ship(t.Context(), "T1001", client.WithIdempotencyKey("ship:T1001")); err != nil {
		t.Fatal(err)
	}
	if key := s.attempts[100].key; key != "ship:T1001" {
		t.Errorf("the caller's key became %q", key)
	}
	for _, key := range []string{"a b", "a\nb", "é", strings.Repeat("k", 256)} {
		if _, err := c.Ship(t.Context(), "T1001", client.WithIdempotencyKey(key)); err == nil || len(s.attempts) != 101 {
			t.Errorf("the key %q was sent", key)
		}
	}
}

func TestAnswerIsKept(t *testing.T) {
	s := &server{reply: func(int, attempt) (*http.Response, error) {
		return says(201, anOrder, "X-Idempotency-Replayed", "true", "X-Idempotency-Created-At", "2026-01-01T12:00:00+08:00"), nil
	}}
	var got client.Answer
	if _, err := newClient(t, s).RegisterOrder(t.Context(), client.NewOrder{OutTradeNo: "T1001", AmountFen: 1000},
		client.WithIdempotencyKey("k"), client.KeepAnswer(&got)); err != nil {
		t.Fatal(err)
	}
	want := client.Answer{Status: 201, IdempotencyKey: "k", Replayed: true, CreatedAt: time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC), Attempts: 1}
	if got != want {
		t.Errorf("got %+v", got)
	}
}

func TestOrderNumbersThatCannotStandInAPath(t *testing.T) {
	s := &server{reply: always(200, anOrder)}
	c := newClient(t, s)
	for _, number := range []string{"", ".", ".."} {
		if _, err := c.Order(t.Context(), number); err == nil {
			t.Errorf("%q was asked for", number)
		}
		if _, err := c.Cancel(t.Context(), number); err == nil {
			t.Errorf("%q was cancelled", number)
		}
	}
	if len(s.attempts) != 0 {
		t.Errorf("it sent %v", s.attempts)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct{ base, id, secret string }{
		{"", "k", "s"}, {"notifyd:8081", "k", "s"}, {"ftp://h", "k", "s"}, {"http://", "k", "s"},
		{"http://h/prefix", "k", "s"}, {"http://h?x=1", "k", "s"}, {"http://h#x", "k", "s"}, {"http://u:hunter2@h", "k", "s"},
		{"http://h:hunter2", "k", "s"}, {"http://h", "", "s"}, {"http://h", "a b", "s"}, {"http://h", "k", ""},
	} {
		_, err := client.New(test.base, test.id, test.secret)
		if err == nil {
			t.Errorf("%q %q %q was accepted", test.base, test.id, test.secret)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error says a password: %v", err)
		}
	}
	for name, option := range map[string]client.Option{"no attempts": client.WithAttempts(0), "no pause": client.WithPauses(0, 1),
		"a first pause that is the longest": client.WithPauses(2, 1), "no timeout": client.WithTimeout(0)} {
		if _, err := client.New("http://h/", "k", "s", option); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	s := &server{reply: func(int, attempt) (*http.Response, error) { return nil, fmt.Errorf("refused") }}
	c := newClient(t, s, client.WithAttempts(1))
	_, err := c.Order(t.Context(), "T1001")
	if err == nil {
		t.Fatal("no error")
	}
	printed := fmt.Sprintf("%v %+v %#v %v %+v", c, c, c, err, *c)
	if strings.Contains(printed, keySecret) {
		t.Errorf("the secret is printed: %s", printed)
	}
}
