package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
)

var t1 = order.Key{Merchant: "default", OutTradeNo: "T1"}

// oneOrder fills the reader with an order.
func oneOrder(b *bench, key order.Key) {
	at := time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	b.reader.stories = map[order.Key]order.Story{key: {Order: order.Order{Key: key, Version: 1, Status: order.Paid, Provider: "testpay",
		Account: "shop", ProviderTxnID: "42", PaidFen: 1000, PaidAt: at, CreatedAt: at, UpdatedAt: at}}}
}

// admin calls with the token.
func (b *bench) admin(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	return b.send(t, method, "/admin/v1"+path, body, append(header, "Authorization", "Bearer "+testToken)...)
}

// wantProblem checks an error's whole form.
func wantProblem(t *testing.T, what string, got reply, status int, code string) Problem {
	t.Helper()
	var p Problem
	if err := json.Unmarshal([]byte(got.body), &p); err != nil {
		t.Errorf("%s: %d with %q", what, got.status, got.body)
		return p
	}
	if got.status != status || p.Status != status || p.Code != code {
		t.Errorf("%s: %d %s (%s), want %d %s", what, got.status, p.Code, p.Detail, status, code)
	}
	if got.header.Get("Content-Type") != "application/problem+json" || p.Type == "" || p.Title == "" || p.Detail == "" {
		t.Errorf("%s: not a whole problem: %s %s", what, got.header.Get("Content-Type"), got.body)
	}
	return p
}

func TestBearer(t *testing.T) {
	t.Parallel()
	b, closed := serve(t, nil), serve(t, func(o *Options) { o.Token = "" })
	oneOrder(b, t1)
	for _, path := range []string{"/admin/v1/orders/T1", "/admin/v1/orders", "/admin/v1/nothing", "/admin/v1/notifications/x/raw"} {
		for _, auth := range [][]string{nil, {""}, {"Bearer"}, {"Bearer "}, {"Bearer wrong"}, {"Basic " + testToken}, {testToken},
			{"Bearer " + testToken + "x"}, {"Bearer " + strings.ToUpper(testToken)}, {"Bearer " + testToken, "Bearer " + testToken}} {
			var header []string
			for _, v := range auth {
				header = append(header, "Authorization", v)
			}
			got := b.send(t, "GET", path, "", header...)
			wantProblem(t, fmt.Sprint(path, auth), got, 401, "unauthorized")
			if got.header.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		}
		wantProblem(t, "no token configured", closed.send(t, "GET", path, "", "Authorization", "Bearer "), 401, "unauthorized")
		wantProblem(t, "no token configured", closed.send(t, "GET", path, "", "Authorization", "Bearer "+testToken), 401, "unauthorized")
	}
	if got := b.send(t, "GET", "/admin/v1/orders/T1", "", "Authorization", "bearer  "+testToken); got.status != 200 {
		t.Errorf("the right token: %d", got.status)
	}
}

// T31: pages of other origins change nothing.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	oneOrder(b, t1)
	for _, path := range []string{"/orders", "/orders/T1/ship", "/orders/T1/complete", "/orders/T1/cancel"} {
		for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
			wantProblem(t, fmt.Sprint(path, header), b.admin(t, "POST", path, "", header...), 403, "cross_origin")
		}
	}
	if len(b.commands.done)+len(b.commands.registrations) != 0 {
		t.Error("a page of another origin changed something")
	}
	_, private := b.Addrs()
	if got := b.admin(t, "POST", "/orders/T1/ship", "", "Origin", "http://"+private.String()); got.status != 200 {
		t.Errorf("our own origin: %d", got.status)
	}
}

func TestGetOrder(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	oneOrder(b, t1)
	got := b.admin(t, "GET", "/orders/T1", "")
	const want = `{"merchant":"default","out_trade_no":"T1","status":"paid","version":1,"amount_fen":1000,"expected_fen":null,` +
		`"amount_verified":false,"currency":"CNY","paid_fen":1000,"refunded_fen":0,"provider":"testpay","account":"shop","provider_txn_id":"42",` +
		`"late":false,"finished":false,"paid_at":"2026-01-01T12:00:00+08:00","created_at":"2026-01-01T12:00:00+08:00","updated_at":"2026-01-01T12:00:00+08:00",` +
		`"payments":[],"refunds":[],"transitions":[],"notifications":[]}` + "\n"
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s", got.status, got.header.Get("Content-Type"))
	}
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if head := b.admin(t, "HEAD", "/orders/T1", ""); head.status != 200 || head.body != "" {
		t.Errorf("HEAD: %d %q", head.status, head.body)
	}
	b.reader.waiting = map[order.Key][]string{{Merchant: "default", OutTradeNo: "T2"}: {"ntf_1", "ntf_2"}}
	p := wantProblem(t, "unknown", b.admin(t, "GET", "/orders/T2", ""), 404, "order_unknown")
	if diff := cmp.Diff([]string{"ntf_1", "ntf_2"}, p.Waiting); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	if nothing := b.admin(t, "GET", "/orders/T3", ""); !strings.Contains(nothing.body, `"waiting":[]`) {
		t.Errorf("nothing waits: %s", nothing.body)
	}
}

func TestOrderNumbersInThePathAreDecodedOnce(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	for path, want := range map[string]string{
		"a%2Fb": "a/b", "a%7Cb": "a|b", "a*b@c-d_e": "a*b@c-d_e", "a%252Fb": "a%2Fb", "a+b": "a+b", "%E8%AE%A2": "订", "a%3Fb": "a?b", "a;b": "a;b",
	} {
		b.admin(t, "GET", "/orders/"+path, "")
		b.admin(t, "POST", "/orders/"+path+"/ship", "")
		if got := b.reader.keysAskedFor[len(b.reader.keysAskedFor)-1].OutTradeNo; got != want {
			t.Errorf("%s is read as %q, want %q", path, got, want)
		}
		if got := b.commands.done[len(b.commands.done)-1]; got != "ship default "+want {
			t.Errorf("%s is commanded as %q", path, got)
		}
	}
	for _, path := range []string{"%00", "a%0Ab", "%FF", strings.Repeat("x", maxTextBytes+1)} {
		wantProblem(t, path, b.admin(t, "GET", "/orders/"+path, ""), 400, "bad_parameter")
	}
}

func TestMerchantParameter(t *testing.T) {
	t.Parallel()
	one, two := serve(t, nil), serve(t, func(o *Options) { o.Merchants = []string{"east", "west"} })
	oneOrder(one, order.Key{Merchant: "default/1900000109", OutTradeNo: "T1"})
	oneOrder(two, order.Key{Merchant: "west", OutTradeNo: "T1"})
	if got := one.admin(t, "GET", "/orders/T1?merchant=default/1900000109", ""); got.status != 200 {
		t.Errorf("a sub-merchant: %d", got.status)
	}
	if got := two.admin(t, "GET", "/orders/T1?merchant=west", ""); got.status != 200 {
		t.Errorf("one of two: %d", got.status)
	}
	for _, c := range []struct {
		b             *bench
		method, query string
		status        int
		code          string
	}{
		{two, "GET", "/T1", 400, "merchant_required"}, {two, "POST", "/T1/ship", 400, "merchant_required"}, {two, "POST", "", 400, "merchant_required"},
		{one, "GET", "/T1?merchant=north", 404, "merchant_unknown"}, {one, "POST", "/T1/ship?merchant=north/1", 404, "merchant_unknown"},
		{one, "GET", "?merchant=north", 404, "merchant_unknown"},
		{one, "GET", "/T1?merchant=default/", 400, "bad_parameter"}, {one, "GET", "/T1?merchant=default/a/b", 400, "bad_parameter"},
	} {
		wantProblem(t, c.method+c.query, c.b.admin(t, c.method, "/orders"+c.query, ""), c.status, c.code)
	}
}

func TestPathsAndMethodsOfThePrivateListener(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	for path, code := range map[string]string{"/": "not_found", "/admin/": "not_found", "/admin": "not_found", "/v1": "not_found",
		"/notify": "not_found", "/docs": "not_found", "/schemas/Order.json": "not_found", "/openapi.yaml": "not_found"} {
		wantProblem(t, path, b.send(t, "GET", path, ""), 404, code)
	}
	wantProblem(t, "in the API", b.admin(t, "GET", "/nothing", ""), 404, "not_found")
	wantProblem(t, "an order's sub-path", b.admin(t, "POST", "/orders/T1/pay", ""), 404, "not_found")
	for path, allow := range map[string]string{"/admin/v1/orders": "GET, HEAD, POST", "/admin/v1/orders/T1": "GET, HEAD",
		"/admin/v1/orders/T1/ship": "POST", "/metrics": "GET, HEAD", "/readyz": "GET, HEAD", "/openapi.json": "GET, HEAD"} {
		for _, method := range []string{"DELETE", "BREW"} {
			got := b.send(t, method, path, "", "Authorization", "Bearer "+testToken)
			wantProblem(t, method+" "+path, got, 405, "method_not_allowed")
			if got.header.Get("Allow") != allow {
				t.Errorf("%s: Allow %q, want %q", path, got.header.Get("Allow"), allow)
			}
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	oneOrder(b, t1)
	for i, command := range []string{"ship", "complete", "cancel"} {
		got := b.admin(t, "POST", "/orders/T1/"+command, []string{"", "{}", " {} \n"}[i])
		if got.status != 200 || !strings.Contains(got.body, `"out_trade_no":"T1"`) {
			t.Errorf("%s: %d %s", command, got.status, got.body)
		}
	}
	if diff := cmp.Diff([]string{"ship default T1", "complete default T1", "cancel default T1"}, b.commands.done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantProblem(t, "a field", b.admin(t, "POST", "/orders/T1/ship", `{"note":"x"}`), 422, "invalid_field")
	wantProblem(t, "no object", b.admin(t, "POST", "/orders/T1/ship", `[]`), 400, "not_json")
	b.commands.err = &order.IllegalTransition{OutTradeNo: "T1", Command: order.KindShip, Status: order.Refunded}
	if p := wantProblem(t, "illegal", b.admin(t, "POST", "/orders/T1/ship", ""), 409, "illegal_transition"); p.OrderStatus != order.Refunded || p.Detail != "T1 is refunded; only a paid order can be shipped" {
		t.Errorf("the status is %q: %s", p.OrderStatus, p.Detail)
	}
	b.commands.err = order.ErrUnknown
	wantProblem(t, "unknown", b.admin(t, "POST", "/orders/T1/ship", ""), 404, "order_unknown")
	b.commands.err = fmt.Errorf("pool: %w", order.ErrUnavailable)
	got := b.admin(t, "POST", "/orders/T1/ship", "")
	wantProblem(t, "store away", got, 503, "store_unavailable")
	if got.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	b.commands.err = errors.New("relation \"orders\" has no column x")
	if p := wantProblem(t, "a fault of ours", b.admin(t, "POST", "/orders/T1/ship", ""), 500, "internal"); strings.Contains(p.Detail, "column") {
		t.Errorf("a 500 says %q", p.Detail)
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	key := order.Key{Merchant: "default/1900000109", OutTradeNo: "a/b"}
	oneOrder(b, key)
	b.commands.created = true
	const whole = `{"out_trade_no":"a/b","amount_fen":1000,"currency":"USD","expires_at":"2026-01-01T12:00:00+08:00","sub_merchant":"1900000109"}`
	got := b.admin(t, "POST", "/orders", whole)
	if got.status != http.StatusCreated || !strings.Contains(got.body, `"out_trade_no":"a/b"`) {
		t.Errorf("new: %d %s", got.status, got.body)
	}
	if at := got.header.Get("Location"); b.send(t, "GET", at, "", "Authorization", "Bearer "+testToken).status != 200 {
		t.Errorf("nothing at Location %q", at)
	}
	want := order.Registration{Key: key, AmountFen: 1000, Currency: "USD", ExpiresAt: time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, b.commands.registrations[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.commands.created = false
	if got := b.admin(t, "POST", "/orders?merchant=default/1900000109", whole); got.status != 200 {
		t.Errorf("again: %d", got.status)
	}
	b.commands.err = order.ErrFactsDiffer
	wantProblem(t, "otherwise", b.admin(t, "POST", "/orders", whole), 409, "order_facts_differ")
}

func TestRegisterIsStrict(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	for body, code := range map[string]string{
		``: "invalid_field", `{}`: "invalid_field", `null`: "not_json", `[]`: "not_json", `"x"`: "not_json", `{`: "not_json",
		`{"out_trade_no":"T1","amount_fen":1`: "not_json", `{"out_trade_no":"T1","amount_fen":1} x`: "not_json",
		`{"out_trade_no":"T1","amount_fen":1}{}`: "not_json", "{\"out_trade_no\":\"\xff\",\"amount_fen\":1}": "not_json",
		`{"out_trade_no":"T1","amount_fen":1,}`: "not_json",
	} {
		status := 422
		if code == "not_json" {
			status = 400
		}
		wantProblem(t, body, b.admin(t, "POST", "/orders", body), status, code)
	}
	for _, fields := range []string{
		`"amount_fen":1`, `"out_trade_no":"T1"`, `"out_trade_no":"T1","amount_fen":1,"note":"x"`, `"out_trade_no":"T1","Amount_fen":1`,
		`"out_trade_no":"T1","amount_fen":1,"amount_fen":2`, `"out_trade_no":"T1","amount_fen":0`, `"out_trade_no":"T1","amount_fen":-1`,
		`"out_trade_no":"T1","amount_fen":1.0`, `"out_trade_no":"T1","amount_fen":1e3`, `"out_trade_no":"T1","amount_fen":"1"`,
		`"out_trade_no":"T1","amount_fen":1000000000001`, `"out_trade_no":"T1","amount_fen":99999999999999999999`, `"out_trade_no":"T1","amount_fen":null`,
		`"out_trade_no":"T1","amount_fen":true`, `"out_trade_no":1,"amount_fen":1`, `"out_trade_no":"","amount_fen":1`,
		`"out_trade_no":"a\u0000b","amount_fen":1`, `"out_trade_no":"` + strings.Repeat("x", 65) + `","amount_fen":1`,
		`"out_trade_no":"T1","amount_fen":1,"currency":"cny"`, `"out_trade_no":"T1","amount_fen":1,"currency":""`, `"out_trade_no":"T1","amount_fen":1,"currency":"RMBX"`,
		`"out_trade_no":"T1","amount_fen":1,"expires_at":"tomorrow"`, `"out_trade_no":"T1","amount_fen":1,"expires_at":"2026-01-01 12:00:00"`,
		`"out_trade_no":"T1","amount_fen":1,"expires_at":1767240000`, `"out_trade_no":"T1","amount_fen":1,"sub_merchant":"a/b"`,
	} {
		wantProblem(t, fields, b.admin(t, "POST", "/orders", "{"+fields+"}"), 422, "invalid_field")
	}
	wantProblem(t, "two sub-merchants", b.admin(t, "POST", "/orders?merchant=default/1", `{"out_trade_no":"T1","amount_fen":1,"sub_merchant":"2"}`), 422, "invalid_field")
	wantProblem(t, "too large", b.admin(t, "POST", "/orders", `{"out_trade_no":"`+strings.Repeat("x", maxCommandBytes)+`"}`), 413, "body_too_large")
	if n := len(b.commands.registrations); n != 0 {
		t.Errorf("%d registrations got through", n)
	}
}
