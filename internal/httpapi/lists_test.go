package httpapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
)

func TestListOrders(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	for i := range 5 {
		b.reader.orders = append(b.reader.orders, order.Order{Key: order.Key{Merchant: "default", OutTradeNo: fmt.Sprintf("订/<%d>", 5-i)},
			Status: order.Paid, CreatedAt: time.Date(2026, 1, 1, 0, 0, 5-i, 678000, time.UTC)})
	}
	var seen []string
	for query, pages := "?limit=2", 0; query != ""; pages++ {
		got := b.admin(t, "GET", "/orders"+query, "")
		var p struct {
			Items []struct {
				OutTradeNo string `json:"out_trade_no"`
			}
			NextCursor *string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != 200 || pages > 3 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		for _, o := range p.Items {
			seen = append(seen, o.OutTradeNo)
		}
		query = ""
		if p.NextCursor != nil {
			query = "?limit=2&cursor=" + *p.NextCursor
		}
	}
	if diff := cmp.Diff([]string{"订/<5>", "订/<4>", "订/<3>", "订/<2>", "订/<1>"}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.reader.orders = nil
	if got := b.admin(t, "GET", "/orders", ""); got.body != `{"items":[],"next_cursor":null}`+"\n" || b.reader.orderFilter.Limit != pageDefault+1 {
		t.Errorf("no orders: %s, asked for %d", got.body, b.reader.orderFilter.Limit)
	}
	b.admin(t, "GET", "/orders?merchant=default&status=paid&provider=testpay&account=shop&since=2026-01-01T00:00:00%2B08:00&until=2026-01-02T00:00:00+08:00&limit=200", "")
	want := order.OrderFilter{Merchant: "default", Status: order.Paid, Provider: "testpay", Account: "shop", Limit: 201,
		Since: time.Date(2025, 12, 31, 16, 0, 0, 0, time.UTC), Until: time.Date(2026, 1, 1, 16, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, b.reader.orderFilter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
}

func TestListParametersAreStrict(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	foreign := cursor{List: listOfNotifications, ID: "ntf_1"}.String()
	for _, query := range []string{
		"orders?nothing=1", "orders?Status=paid", "orders?status=PAID", "orders?status=paid&status=paid", "orders?limit=0", "orders?limit=201",
		"orders?limit=ten", "orders?limit=-1", "orders?limit=1.5", "orders?since=yesterday", "orders?until=2026-01-01", "orders?cursor=xyz",
		"orders?cursor=" + foreign, "orders?status=%zz", "orders?a;b", "orders?account=%00", "orders?account=%FF", "orders?outcome=applied",
		"orders/T1?limit=1", "notifications?status=paid", "notifications?outcome=paid", "notifications?kind=nothing",
		"notifications?cursor=" + url.QueryEscape(cursor{List: listOfOrders}.String()), "notifications/ntf_1?x=1", "notifications/ntf_1/raw?x=1",
	} {
		wantProblem(t, query, b.admin(t, "GET", "/"+query, ""), 400, "bad_parameter")
	}
	if got := b.admin(t, "GET", "/orders?status=&since=&limit=&cursor=", ""); got.status != 200 {
		t.Errorf("empty values: %d %s", got.status, got.body)
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	at := time.Date(2026, 1, 1, 4, 0, 0, 123456000, time.UTC)
	b.reader.rows = []order.Row{
		{ID: "ntf_2", Outcome: order.Unhandled, Kind: order.KindContract, ReceivedAt: at, Content: []byte(`{"a":1}`),
			Results: []order.FactResult{{Merchant: "default", Kind: order.KindContract, Outcome: order.Unhandled}}},
		{ID: "ntf_1", Outcome: order.Conflict, Reason: order.ReasonSurplusPayment, Kind: order.KindPaid, Copies: 2, ReceivedAt: at, Provider: "testpay",
			Account: "shop", Merchant: "default", OutTradeNo: "T1", Results: []order.FactResult{{Merchant: "default", OutTradeNo: "T1", Kind: order.KindPaid, Outcome: order.Conflict, Reason: order.ReasonSurplusPayment, AmountFen: 1234}}},
	}
	b.reader.captures = map[string]order.Capture{
		"ntf_1": {RequestLine: "POST /notify/shop HTTP/1.1", Header: []byte("Content-Length: 4\r\n"), Body: []byte("\x00\xff\r\n")},
		"ntf_2": {RequestLine: "POST /notify/shop HTTP/1.1"},
	}
	b.reader.capturedSince = at
	got := b.admin(t, "GET", "/notifications?limit=1", "")
	var p page[order.NotificationView]
	if err := json.Unmarshal([]byte(got.body), &p); err != nil || p.NextCursor == nil || p.Items[0].ID != "ntf_2" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if want := `"facts":[{"merchant":"default","out_trade_no":null,"kind":"contract","outcome":"unhandled","reason":"","amount_fen":null}]`; !strings.Contains(got.body, want) {
		t.Errorf("a fact without an order: %s", got.body)
	}
	got = b.admin(t, "GET", "/notifications?limit=1&cursor="+*p.NextCursor, "")
	const one = `{"id":"ntf_1","outcome":"conflict","reason":"surplus_payment","kind":"paid","copies":2,"received_at":"2026-01-01T12:00:00.123456+08:00",` +
		`"provider":"testpay","account":"shop","merchant":"default","out_trade_no":"T1","provider_notification_id":null,` +
		`"facts":[{"merchant":"default","out_trade_no":"T1","kind":"paid","outcome":"conflict","reason":"surplus_payment","amount_fen":1234}],"content":null}`
	if want := `{"items":[` + one + `],"next_cursor":null}` + "\n"; got.body != want {
		t.Errorf("second page (-want +got):\n%s", cmp.Diff(want, got.body))
	}
	b.admin(t, "GET", "/notifications?out_trade_no=T1&provider=testpay&account=shop&outcome=conflict&kind=paid&merchant=default", "")
	want := order.NotificationFilter{Merchant: "default", OutTradeNo: "T1", Provider: "testpay", Account: "shop", Outcome: order.Conflict, Kind: order.KindPaid, Limit: 51}
	if diff := cmp.Diff(want, b.reader.rowFilter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	b.reader.rows = append(b.reader.rows, order.Row{ID: "ntf_0", Outcome: order.Unhandled, Reason: order.ReasonUnreadableField, Kind: order.KindOther,
		Merchant: "default", Results: []order.FactResult{{Merchant: "default", Kind: order.KindOther, Outcome: order.Unhandled, Reason: order.ReasonUnreadableField}}})
	const unnumbered = `"facts":[{"merchant":"default","out_trade_no":null,"kind":"other","outcome":"unhandled","reason":"unreadable_field","amount_fen":null}]`
	if got = b.admin(t, "GET", "/notifications/ntf_0", ""); !strings.Contains(got.body, unnumbered) {
		t.Errorf("a fact without an order number: %s", got.body)
	}
	if got = b.admin(t, "GET", "/notifications/ntf_1", ""); got.body != one+"\n" {
		t.Errorf("one: %s", got.body)
	}
	if got = b.admin(t, "GET", "/notifications/ntf_1/raw", ""); got.body != "\x00\xff\r\n" || got.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("raw: %q %s", got.body, got.header.Get("Content-Type"))
	}
	got = b.admin(t, "GET", "/notifications/ntf_1/capture", "")
	if want := "POST /notify/shop HTTP/1.1\r\nContent-Length: 4\r\nX-Captured-At: 2026-01-01T04:00:00.123456Z\r\n\r\n\x00\xff\r\n"; got.body != want {
		t.Errorf("capture %q, want %q", got.body, want)
	}
	for _, what := range []string{"raw", "capture"} {
		wantProblem(t, what, b.admin(t, "GET", "/notifications/ntf_2/"+what, ""), 404, "raw_pruned")
		wantProblem(t, what, b.admin(t, "GET", "/notifications/ntf_9/"+what, ""), 404, "notification_unknown")
	}
	wantProblem(t, "unknown", b.admin(t, "GET", "/notifications/ntf_9", ""), 404, "notification_unknown")
	b.reader.err = order.ErrUnavailable
	for _, path := range []string{"/orders", "/orders/T1", "/notifications", "/notifications/ntf_1", "/notifications/ntf_1/raw"} {
		wantProblem(t, path, b.admin(t, "GET", path, ""), 503, "store_unavailable")
	}
}

// The document speaks of exactly the paths that are served, and its schemas of
// the fields that are sent.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	b, merchant := serve(t, nil), newDesk(t)
	oneOrder(b, t1)
	got := b.send(t, "GET", "/openapi.json", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]struct{ Type any }
			}
		}
	}
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil || got.status != 200 || !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Fatalf("%d %v %s", got.status, err, doc.OpenAPI)
	}
	if n := len(doc.Paths); n != 25 {
		t.Errorf("%d paths", n)
	}
	for path, methods := range doc.Paths {
		real := strings.NewReplacer("{out_trade_no}", "T9", "{id}", "ntf_9", "{name}", "shop", "/admin/v1", "").Replace(path)
		for method := range methods {
			if strings.HasPrefix(real, merchantPrefix) {
				if got := merchant.ask(t, strings.ToUpper(method), real, ""); got.status == 405 || strings.Contains(got.body, `"code":"not_found"`) {
					t.Errorf("%s %s is described but not served", method, path)
				}
				continue
			}
			if got := b.admin(t, strings.ToUpper(method), real, ""); got.status == 405 || strings.Contains(got.body, `"code":"not_found"`) {
				t.Errorf("%s %s is described but not served", method, path)
			}
		}
	}
	var order map[string]any
	if err := json.Unmarshal([]byte(b.admin(t, "GET", "/orders/T1", "").body), &order); err != nil {
		t.Fatal(err)
	}
	schema := doc.Components.Schemas["Story"]
	if len(schema.Required) != len(order) {
		t.Errorf("the document demands %d fields, sent are %d", len(schema.Required), len(order))
	}
	for name := range order {
		if _, ok := schema.Properties[name]; !ok {
			t.Errorf("%s is sent but not described", name)
		}
	}
}
