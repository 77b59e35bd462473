package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

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
	if diff := gocmp.Diff(want, p.Items[0]); diff != "" {
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

// keeper notes what it is given; room says how much of a body it wants, 0 none.
type keeper struct {
	mu   sync.Mutex
	room int
	full bool
	kept []refusal.Refusal
}

func (k *keeper) Room(_, _ string) (int, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.room, k.room > 0
}

func (k *keeper) Keep(r refusal.Refusal) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, r)
	return !k.full
}

// theRefusal waits for the end of the request and returns what was kept of it.
func (b *bench) theRefusal(t *testing.T) (refusal.Refusal, bool) {
	t.Helper()
	b.end() // the answer may be out before the request is handed over; the end waits for both
	if err := <-b.ended; err != nil {
		t.Fatal(err)
	}
	b.ended <- nil
	b.keeper.mu.Lock()
	defer b.keeper.mu.Unlock()
	if len(b.keeper.kept) > 1 {
		t.Fatalf("%d refusals of one request", len(b.keeper.kept))
	}
	if len(b.keeper.kept) == 0 {
		return refusal.Refusal{}, false
	}
	return b.keeper.kept[0], true
}

func TestRefusedAreKept(t *testing.T) {
	t.Parallel()
	const room = 100
	garbage := "forged"
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		kept                     bool
		want                     refusal.Refusal
	}{
		{name: "accepted", body: "ok"},
		{name: "unavailable", body: "not now"},
		{name: "a panic", body: "panic"},
		{name: "not proven", body: garbage, kept: true, want: refusal.Refusal{Code: "tp.bad_signature", Status: 401}},
		{name: "no envelope", body: "no envelope", kept: true, want: refusal.Refusal{Code: "tp.no_envelope", Status: 400}},
		{name: "with a detail", body: "unknown serial", header: []string{"Wechatpay-Serial", "7D4B"}, kept: true,
			want: refusal.Refusal{Code: "tp.unknown_serial", Status: 401, Detail: "serial 7D4B is not configured"}},
		{name: "a browser", method: "GET", kept: true, want: refusal.Refusal{Code: codeMethod, Status: 405}},
		{name: "encoded", body: "ok", header: []string{"Content-Encoding", "gzip"}, kept: true,
			want: refusal.Refusal{Code: codeEncoding, Status: 415, Cut: true}},
		{name: "too large", body: strings.Repeat("x", maxBodyBytes+1), kept: true,
			want: refusal.Refusal{Code: codeTooLarge, Status: 413, Cut: true, Detail: "1048577 bytes announced"}},
		{name: "nobody's", path: "/notify/shpo", body: "ok", kept: true, want: refusal.Refusal{Code: codeNoAccount, Status: 404}},
		{name: "nobody's, long", path: "/notify/shpo", body: strings.Repeat("x", room+7), kept: true,
			want: refusal.Refusal{Code: codeNoAccount, Status: 404, Cut: true, BodyBytes: room + 1}},
		{name: "nobody's, asked by a browser", path: "/notify/shpo", method: "GET"},
		{name: "another path", path: "/notify/shop/more", body: "ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, nil)
			b.keeper.room = room
			method, path := cmp.Or(c.method, "POST"), cmp.Or(c.path, "/notify/shop")
			header := append(c.header, "User-Agent", "Mozilla/4.0", "Host", "pay.example.com")
			b.send(t, method, path+"?token=secret-of-a-query", c.body, header...)
			got, kept := b.theRefusal(t)
			if kept != c.kept {
				t.Fatalf("kept: %v %+v", kept, got)
			}
			if !kept {
				return
			}
			if c.path == "" {
				c.want.Account, c.want.Provider = "shop", "testpay"
			}
			if !c.want.Cut && c.want.BodyBytes == 0 {
				c.want.BodyBytes = int64(len(c.body))
			}
			read := c.body[:min(len(c.body), int(c.want.BodyBytes))]
			c.want.BodySHA256 = sha256.Sum256([]byte(read))
			begin := read[:min(len(read), room)]
			c.want.KeptBytes = int64(len(begin))
			c.want.ID, c.want.ReceivedAt, c.want.Peer = got.ID, receivedAt.Truncate(time.Microsecond), "127.0.0.1"
			c.want.Capture = got.Capture
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if !refusal.IsID(got.ID) || string(got.Capture.Body) != begin || got.Capture.RequestLine != method+" "+path+" HTTP/1.1" {
				t.Errorf("%s keeps %q of %q", got.ID, got.Capture.Body, got.Capture.RequestLine)
			}
			if !strings.Contains(string(got.Capture.Header), "Host: pay.example.com\r\n") || strings.Contains(string(got.Capture.Header), "secret") {
				t.Errorf("header %q", got.Capture.Header)
			}
			if !strings.Contains(b.log.text(), `"refusal_id":"`+got.ID+`"`) {
				t.Error("the log does not name it")
			}
		})
	}
}

// Whatever a header may hold that lets somebody in, a capture does not.
func TestRefusedKeepNoCredentials(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	b.keeper.room = 1000
	const marker = "marker-of-a-secret"
	var header []string
	for _, name := range []string{"Authorization", "Cookie", "Set-Cookie", "Proxy-Authorization", "Proxy-Authenticate", "X-Api-Key", "Api-Key",
		"X-Auth-Token", "X-Amzn-Oidc-Data", "X-Amz-Security-Token", "Cf-Access-Jwt-Assertion", "X-Goog-Iap-Jwt-Assertion",
		"X-Ms-Token-Aad-Access-Token", "X-Csrf-Token", "X-Forwarded-Access-Token", "X-Forwarded-User", "X-Ssl-Client-Cert",
		"X-Signature", "X-Vault-Token", "X-Capture-Unverified", "X-Capture-Redacted", "X-Captured-At", "Referer", "Anything-Else"} {
		header = append(header, name, marker)
	}
	b.send(t, "POST", "/notify/shop?key="+marker, "forged", append(header, "Via", "1.1 proxy", "Wechatpay-Nonce", "n")...)
	got, _ := b.theRefusal(t)
	want := "Host: " + b.publicHost() + "\r\nAccept-Encoding: gzip\r\nUser-Agent: Go-http-client/1.1\r\nVia: 1.1 proxy\r\nWechatpay-Nonce: n\r\nContent-Length: 6\r\n"
	if string(got.Capture.Header) != want {
		t.Errorf("header %q, want %q", got.Capture.Header, want)
	}
}

func (b *bench) publicHost() string {
	public, _ := b.Addrs()
	return public.String()
}

// What has no room is neither copied nor named, and changes no answer.
func TestRefusedWithoutRoom(t *testing.T) {
	t.Parallel()
	for name, full := range map[string]bool{"no room": false, "queue full": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, nil)
			if b.keeper.full = full; full {
				b.keeper.room = 1
			}
			if got := b.send(t, "POST", "/notify/shop", "forged"); got.status != 401 || got.body != "failure" {
				t.Errorf("answered %d %q", got.status, got.body)
			}
			if got := b.send(t, "POST", "/notify/shpo", "forged"); got.status != 404 || got.body != "not found\n" {
				t.Errorf("answered %d %q", got.status, got.body)
			}
			b.end()
			if err := <-b.ended; err != nil {
				t.Fatal(err)
			}
			b.ended <- nil
			if strings.Contains(b.log.text(), "refusal_id") || (len(b.keeper.kept) > 0) != full {
				t.Errorf("%d kept; the log is %s", len(b.keeper.kept), b.log.text())
			}
		})
	}
}

// A sender that stops in the middle of a message to nobody is answered in time.
func TestSlowStrangerIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := serveInBubble(t, nil)
		b.keeper.room = 100
		conn := b.publicL.dial(t)
		start := time.Now()
		got := ask(t, conn, "POST /notify/shpo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
		if took := time.Since(start); got.status != 404 || took > 4*time.Second || !got.closes {
			t.Errorf("answered %d after %v, closes: %v", got.status, took, got.closes)
		}
		_ = conn.Close()
		r, _ := b.theRefusal(t)
		if string(r.Capture.Body) != "half" || !r.Cut {
			t.Errorf("kept %q, cut: %v", r.Capture.Body, r.Cut)
		}
		<-b.ended
	})
}
