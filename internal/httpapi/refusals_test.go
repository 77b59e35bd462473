package httpapi

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/refusal"
)

// refusals holds kept refusals, newest first, and pages them as a store does.
type refusals struct {
	rows   []refusal.Refusal
	filter refusal.Filter // the last one asked
	err    error
}

func (r *refusals) Refusals(_ context.Context, f refusal.Filter) ([]refusal.Refusal, error) {
	r.filter = f
	from := 0
	if f.AfterID != "" {
		from = 1 + slices.IndexFunc(r.rows, func(row refusal.Refusal) bool { return row.ID == f.AfterID })
	}
	return r.rows[from:min(from+f.Limit, len(r.rows))], r.err
}

func (r *refusals) Refusal(_ context.Context, id string) (refusal.Refusal, error) {
	for _, row := range r.rows {
		if row.ID == id {
			return row, r.err
		}
	}
	return refusal.Refusal{}, order.ErrUnknown
}

func aRefusal(id string) refusal.Refusal {
	return refusal.Refusal{ID: id, ReceivedAt: receivedAt, Account: "shop", Provider: "testpay", Code: "tp.bad_signature", Detail: "why",
		Status: 401, Peer: "192.0.2.1", BodyBytes: 9, KeptBytes: 6, Cut: true, BodySHA256: [32]byte{0xab},
		Capture: order.Capture{RequestLine: "POST /notify/shop HTTP/1.1", Header: []byte("Host: pay\r\nContent-Length: 6\r\n"), Body: []byte("a\x00\xff\r\nb")}}
}

func TestRefusedAreListed(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	stranger := aRefusal("ref_2")
	stranger.Account, stranger.Provider, stranger.Detail, stranger.Code, stranger.Status = "", "", "", codeNoAccount, 404
	stranger.Capture.RequestLine = "POST /notify/" + strings.Repeat("x", 2000) + " HTTP/1.1"
	b.refusals.rows = []refusal.Refusal{aRefusal("ref_3"), stranger, aRefusal("ref_1")}

	got := b.admin(t, "GET", "/notifications?verdict=refused&limit=2", "")
	var p page[map[string]any]
	if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != 200 || len(p.Items) != 2 || p.NextCursor == nil {
		t.Fatalf("%d %s", got.status, got.body)
	}
	want := map[string]any{"id": "ref_3", "verdict": "refused", "verified": false, "account": "shop", "provider": "testpay",
		"code": "tp.bad_signature", "detail": "why", "status": 401.0, "received_at": "2026-01-01T12:00:00.123456789+08:00",
		"peer": "192.0.2.1", "request_line": "POST /notify/shop HTTP/1.1", "bytes": 9.0, "kept_bytes": 6.0, "truncated": true,
		"body_sha256": "ab" + strings.Repeat("00", 31)}
	if diff := cmp.Diff(want, p.Items[0]); diff != "" {
		t.Error(diff)
	}
	if other := p.Items[1]; other["account"] != nil || other["provider"] != nil || other["detail"] != nil ||
		len(other["request_line"].(string)) > maxClaimBytes {
		t.Errorf("a request to nobody is shown as %v", other)
	}
	next := b.admin(t, "GET", "/notifications?verdict=refused&cursor="+*p.NextCursor, "")
	if !strings.Contains(next.body, `"ref_1"`) || !strings.Contains(next.body, `"next_cursor":null`) {
		t.Errorf("the next page is %s", next.body)
	}

	since := url.QueryEscape("2026-01-01T00:00:00+08:00")
	b.admin(t, "GET", "/notifications?verdict=refused&account=shop&code=tp.bad_signature&provider=testpay&since="+since, "")
	f := b.refusals.filter
	if f.Account != "shop" || f.Code != "tp.bad_signature" || f.Provider != "testpay" || f.Since.IsZero() || f.Limit != pageDefault+1 {
		t.Errorf("asked for %+v", f)
	}
}

// A filter that the asked half of the list does not have is never passed over.
func TestRefusedAndAcceptedShareNoFilter(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	for query, status := range map[string]int{
		"verdict=accepted": 200, "verdict=refused": 200, "verdict=unavailable": 400, "code=wx.stale": 400,
		"verdict=accepted&code=wx.stale": 400, "verdict=refused&outcome=conflict": 400, "verdict=refused&kind=paid": 400,
		"verdict=refused&out_trade_no=T1": 400, "verdict=refused&merchant=default": 400, "verdict=refused&until=now": 400,
		"verdict=refused&cursor=" + (cursor{List: listOfNotifications, ID: "ntf_1"}).String(): 400,
		"cursor=" + (cursor{List: listOfRefusals, ID: "ref_1"}).String():                      400,
	} {
		if got := b.admin(t, "GET", "/notifications?"+query, ""); got.status != status {
			t.Errorf("%s: %d %s, want %d", query, got.status, got.body, status)
		}
	}
}

func TestRefusedIsShownWithItsBytes(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	r := aRefusal("ref_1")
	b.refusals.rows = []refusal.Refusal{r}
	if got := b.admin(t, "GET", "/notifications/ref_1", ""); got.status != 200 || !strings.Contains(got.body, `"verified":false`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := b.admin(t, "GET", "/notifications/ref_1/raw", ""); got.status != 200 || got.body != string(r.Capture.Body) {
		t.Errorf("raw: %d %q", got.status, got.body)
	}
	want := "POST /notify/shop HTTP/1.1\r\nHost: pay\r\nContent-Length: 6\r\nX-Capture-Unverified: tp.bad_signature\r\n" +
		"X-Capture-Cut: 6 of 9 bytes\r\nX-Captured-At: 2026-01-01T04:00:00.123456Z\r\n\r\na\x00\xff\r\nb"
	if got := b.admin(t, "GET", "/notifications/ref_1/capture", ""); got.status != 200 || got.body != want {
		t.Errorf("capture: %d %q", got.status, got.body)
	}
	for _, part := range []string{"", "/raw", "/capture"} {
		if got := b.admin(t, "GET", "/notifications/ref_2"+part, ""); got.status != 404 || !strings.Contains(got.body, "notification_unknown") {
			t.Errorf("unknown%s: %d %s", part, got.status, got.body)
		}
	}
	b.refusals.err = order.ErrUnavailable
	for _, path := range []string{"?verdict=refused", "/ref_1", "/ref_1/raw", "/ref_1/capture"} {
		if got := b.admin(t, "GET", "/notifications"+path, ""); got.status != 503 {
			t.Errorf("%s without a store: %d", path, got.status)
		}
	}
}
