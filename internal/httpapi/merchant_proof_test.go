package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// tampering changes a signed request on its way.
type tampering struct {
	name   string
	change func(r *request, h http.Header)
}

func setHeader(name, value string) func(*request, http.Header) {
	return func(_ *request, h http.Header) { h[name] = []string{value} }
}

func addHeader(name, value string) func(*request, http.Header) {
	return func(_ *request, h http.Header) { h[name] = append(h[name], value) }
}

// tamperings are one change each.
func tamperings(signed http.Header) []tampering {
	var all []tampering
	add := func(name string, change func(*request, http.Header)) { all = append(all, tampering{name, change}) }
	for _, method := range []string{"PUT", "PATCH", "DELETE", "GET", "post", "OPTIONS"} {
		add("method "+method, func(r *request, _ http.Header) { r.method = method })
	}
	for _, uri := range []string{"/v1/orders/T2/cancel", "/v1/orders/T1/ship", "/v1/orders/T1/cancel/", "/v1//orders/T1/cancel", "/v1/orders/t1/cancel",
		"/v1/orders/%541/cancel", "/v1/orders/T1/cancel?", "/v1/orders/T1/cancel?sub_merchant=20", "/v1/orders/T1/cancel?sub_merchant=19&x=1",
		"/v1/orders/T1/cancel?x=1&sub_merchant=19", "/v1/orders/T1/cancel?sub_merchant=%319", "/v1/orders/T1/cancel?sub_merchant=19&", "/v1/orders"} {
		add("uri "+uri, func(r *request, _ http.Header) { r.uri = uri })
	}
	for _, body := range []string{"", "{} ", " {}", "{}\n", "{ }", "null", `{"a":1}`, "[]", "{}{}"} {
		add("body "+body, func(r *request, _ http.Header) { r.body = body })
	}
	now := receivedAt.Unix()
	for _, stamp := range []string{"", "0", "abc", strconv.FormatInt(now+1, 10), strconv.FormatInt(now-1, 10), strconv.FormatInt(now+301, 10), strconv.FormatInt(now-301, 10),
		"0" + strconv.FormatInt(now, 10), "+" + strconv.FormatInt(now, 10)[1:], strconv.FormatInt(now, 10) + ".0", strconv.FormatInt(now*1000, 10), "-1767240000"} {
		add("timestamp "+stamp, setHeader(idempotency.HeaderTimestamp, stamp))
	}
	for _, id := range []string{"", "k2", "K1", "k1 x", "nobody", "east", strings.Repeat("k", 4000)} {
		add("key id "+claim(id), setHeader(idempotency.HeaderAPIKey, id))
	}
	for _, key := range []string{"fresh", "captureD", "captured2", "", strings.Repeat("k", 300)} {
		add("idempotency key "+claim(key), setHeader(idempotency.HeaderKey, key))
	}
	signature := signed.Get(idempotency.HeaderSignature)
	flipped := []byte(signature)
	flipped[0] ^= 1
	for _, s := range []string{"", "0", string(flipped), signature[:63], signature + "0", strings.ToUpper(signature), strings.Repeat("0", 64), strings.Repeat("0", 8000)} {
		add("signature "+claim(s), setHeader(idempotency.HeaderSignature, s))
	}
	for _, name := range []string{idempotency.HeaderAPIKey, idempotency.HeaderTimestamp, idempotency.HeaderSignature, idempotency.HeaderKey} {
		add("without "+name, func(_ *request, h http.Header) { delete(h, name) })
		add("twice the same "+name, addHeader(name, signed.Get(name)))
		add("twice "+name, addHeader(name, "x"))
		add("first another "+name, func(_ *request, h http.Header) { h[name] = []string{"x", signed.Get(name)} })
	}
	add("in lower case as well", addHeader(strings.ToLower(idempotency.HeaderSignature), signature))
	add("twice the alias", func(_ *request, h http.Header) { h[idempotency.HeaderKeyAlias] = []string{"captured", "captured"} })
	return all
}

// T18: a captured request is worth nothing once anything of it is changed, its
// idempotency key included. Whatever was wrong, the 401 is the same to the byte.
func TestT18TamperedRequests(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	genuine := request{"POST", "/v1/orders/T1/cancel?sub_merchant=19", "{}", "captured"}
	for _, n := range []string{"T1", "T2"} {
		for _, sub := range []string{"", "?sub_merchant=19", "?sub_merchant=20"} {
			wantOrder(t, "register", d.ask(t, "POST", "/v1/orders"+sub, fmt.Sprintf(`{"out_trade_no":%q,"amount_fen":1}`, n)), 201, order.Created)
		}
	}
	d.sequencer.Wake()
	refused := ""
	all := tamperings(d.sign(genuine))
	for _, c := range all {
		r, h := genuine, d.sign(genuine)
		c.change(&r, h)
		got := d.sendAs(t, r, h)
		switch {
		case got.status == 400:
		case got.status != 401:
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		case refused == "":
			refused = got.body + fmt.Sprint(headerNames(got.header))
		case got.body+fmt.Sprint(headerNames(got.header)) != refused:
			t.Errorf("%s: another 401: %s", c.name, got.body)
		}
	}
	if len(all) < 50 {
		t.Errorf("only %d changes were tried", len(all))
	}
	list, err := d.db.Orders(t.Context(), order.OrderFilter{Limit: 100})
	if err != nil || len(list) != 6 {
		t.Fatalf("%d orders, %v", len(list), err)
	}
	for _, o := range list {
		if o.Status != order.Created || o.Version != 1 {
			t.Errorf("order %v is %s with version %d", o.Key, o.Status, o.Version)
		}
	}
	// No key was spent either: the request itself is still the first.
	got := d.call(t, genuine)
	wantOrder(t, "the genuine one", got, 200, order.Cancelled)
	if got.header.Get(idempotency.HeaderReplayed) != "" {
		t.Error("the genuine request is answered as a repeat")
	}
	// Captured and sent again it tells what it told.
	if again := d.call(t, genuine); again.body != got.body || again.header.Get(idempotency.HeaderReplayed) != "true" {
		t.Errorf("sent again: %d %s", again.status, again.body)
	}
}

// headerNames are what a refusal may not differ in.
func headerNames(h http.Header) []string {
	var names []string
	for name := range h {
		names = append(names, name+"="+h.Get(name))
	}
	names = slices.DeleteFunc(names, func(s string) bool { return strings.HasPrefix(s, "Date=") })
	slices.Sort(names)
	return names
}

// The private cause of a refusal is in the log, and nothing else of the request.
func TestMerchantRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	r := request{"POST", "/v1/orders/T1/cancel", "", "CANARY-key"}
	want := map[idempotency.Code]func(http.Header){
		idempotency.CodeHeaderMissing: func(h http.Header) { delete(h, idempotency.HeaderTimestamp) },
		idempotency.CodeHeaderDoubled: func(h http.Header) { h.Add(idempotency.HeaderTimestamp, "CANARY-2") },
		idempotency.CodeTimestamp:     func(h http.Header) { h.Set(idempotency.HeaderTimestamp, "CANARY-x") },
		idempotency.CodeStale:         func(h http.Header) { h.Set(idempotency.HeaderTimestamp, "1000000000") },
		idempotency.CodeUnknownKey:    func(h http.Header) { h.Set(idempotency.HeaderAPIKey, "CANARY-id") },
		idempotency.CodeSignature:     func(h http.Header) { h.Set(idempotency.HeaderSignature, "CANARY-signature") },
	}
	if len(want) != len(idempotency.Codes()) {
		t.Errorf("%d of %d codes are tried", len(want), len(idempotency.Codes()))
	}
	for _, change := range want {
		h := d.sign(r)
		change(h)
		if got := d.sendAs(t, r, h); got.status != 401 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	d.end()
	if err := <-d.ended; err != nil {
		t.Fatal(err)
	}
	d.ended <- nil
	for _, line := range d.log.lines(t, "request") {
		delete(want, idempotency.Code(fmt.Sprint(line["code"])))
	}
	for code := range want {
		t.Errorf("no line has the code %s", code)
	}
	if text := d.log.text(); strings.Contains(text, "CANARY-") || strings.Contains(text, string(eastKey.Secret)) {
		t.Error("the log holds what stood in a refused request")
	}
}

// T22: whatever stands in a request, it makes one log line, which is JSON, and no
// value of it is longer than its bound.
func TestT22MerchantLogLines(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	_, private := d.Addrs()
	hostile := []string{"\x1b[2J", "\u2028", "\xff\xfe", `"},{"msg":"request"`, `\n\r\u0000`, "%0d%0a", strings.Repeat("A", 9000), "\u0085", "a\tb"}
	names := []string{idempotency.HeaderAPIKey, idempotency.HeaderTimestamp, idempotency.HeaderSignature, idempotency.HeaderKey,
		idempotency.HeaderKeyAlias, "Request-Id", "X-Forwarded-For"}
	sent := 0
	for _, value := range hostile {
		for _, name := range names {
			for _, path := range []string{"/v1/orders/%0a%1b/cancel?x=%0a", "/v1/events"} {
				r := request{method: "POST", uri: path, body: value, key: "k"}
				h := d.sign(r)
				h[name] = []string{value}
				if sendRaw(t, private, r, h) {
					sent++
				}
			}
		}
	}
	d.end()
	if err := <-d.ended; err != nil {
		t.Fatal(err)
	}
	d.ended <- nil
	lines := d.log.lines(t, "request")
	if len(lines) != sent || sent < 100 {
		t.Errorf("%d lines for %d requests", len(lines), sent)
	}
	for _, line := range lines {
		for name, value := range line {
			if text, ok := value.(string); ok && len(text) > 3*maxClaimBytes {
				t.Errorf("%s has %d bytes", name, len(text))
			}
		}
	}
	if strings.ContainsAny(d.log.text(), "\x1b\x00\u2028\u0085") {
		t.Error("a control character is in the log")
	}
}

// sendRaw writes a request as no client would, and says whether it got as far as
// our handlers: what no header can be, net/http refuses itself.
func sendRaw(t *testing.T, address net.Addr, r request, h http.Header) bool {
	t.Helper()
	conn := dialTCP(t, address)
	defer conn.Close()
	out := bufio.NewWriter(conn)
	fmt.Fprintf(out, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n", r.method, r.uri, len(r.body))
	for name, values := range h {
		for _, v := range values {
			fmt.Fprintf(out, "%s: %s\r\n", name, v)
		}
	}
	fmt.Fprintf(out, "\r\n%s", r.body)
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(all, []byte("HTTP/1.1 4")) {
		t.Errorf("%q, %v", all, err)
	}
	return bytes.Contains(all, []byte(problemJSON))
}

// T19: keys belong to their merchant, and to one request.
func TestT19KeysAreNotShared(t *testing.T) {
	t.Parallel()
	east := newDesk(t)
	west := east.as(westKey)
	r := request{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1000}`, "one-key"}
	first := east.call(t, r)
	wantOrder(t, "east", first, 201, order.Created)
	if got := west.call(t, r); got.status != 201 || got.header.Get(idempotency.HeaderReplayed) != "" || !strings.Contains(got.body, `"merchant":"west"`) {
		t.Errorf("west under the same key: %d %s", got.status, got.body)
	}
	for _, other := range []request{
		{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1001}`, "one-key"},
		{"POST", "/v1/orders", `{"out_trade_no":"T1","amount_fen":1000} `, "one-key"},
		{"POST", "/v1/orders", `{"amount_fen":1000,"out_trade_no":"T1"}`, "one-key"},
		{"POST", "/v1/orders?sub_merchant=19", `{"out_trade_no":"T1","amount_fen":1000}`, "one-key"},
		{"POST", "/v1/orders/T1/cancel", "", "one-key"},
	} {
		got := east.call(t, other)
		wantProblem(t, other.uri+other.body, got, 422, "idempotency_key_reused")
		if got.header.Get(idempotency.HeaderKey) != "one-key" || got.header.Get(idempotency.HeaderReplayed) != "" {
			t.Errorf("header %v", got.header)
		}
	}
	if again := east.call(t, r); again.body != first.body {
		t.Errorf("after that the first request is answered %d %s", again.status, again.body)
	}
	if s := east.story(t, "T1"); s.Version != 1 || s.Status != order.Created || east.orders(t) != 2 {
		t.Errorf("%d orders, the first: %+v", east.orders(t), s.View)
	}
}

// T19: of many requests under one key at once, one has an effect, and all have
// one answer, whatever instance they reach.
func TestT19ManyAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	sqlite := openStore(t, "sqlite:"+t.TempDir()+"/n.db")
	for name, stores := range map[string][]store.DB{"SQLite": {sqlite}, "two instances on PostgreSQL": {openStore(t, url), openStore(t, url)}} {
		t.Run(name, func(t *testing.T) {
			var desks []*desk
			for _, db := range stores {
				desks = append(desks, newDeskOn(t, db, nil))
			}
			for _, many := range []int{5, 100} {
				r := request{"POST", "/v1/orders", fmt.Sprintf(`{"out_trade_no":"T%d","amount_fen":1000}`, many), fmt.Sprintf("key-%d", many)}
				manyAtOnce(t, desks, r, many)
				if s := desks[0].story(t, fmt.Sprintf("T%d", many)); s.Version != 1 || len(s.Transitions) != 1 {
					t.Errorf("%d at once: the order has %d events", many, s.Version)
				}
			}
		})
	}
}

func manyAtOnce(t *testing.T, desks []*desk, r request, many int) {
	t.Helper()
	answers := make([]reply, many)
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range many {
		all.Go(func() {
			<-begin
			d := desks[i%len(desks)]
			answers[i] = d.call(t, r)
			for answers[i].status == 409 { // the first one runs: asked again as it says
				if answers[i].header.Get("Retry-After") != "1" || !strings.Contains(answers[i].body, "idempotency_in_progress") {
					t.Errorf("409: %v %s", answers[i].header, answers[i].body)
				}
				answers[i] = d.call(t, r)
			}
		})
	}
	close(begin)
	all.Wait()
	firsts := 0
	for _, a := range answers {
		if a.status != 201 || a.body != answers[0].body {
			t.Errorf("%d at once: %d %s", many, a.status, a.body)
		}
		if a.header.Get(idempotency.HeaderReplayed) == "" {
			firsts++
		}
	}
	if firsts != 1 {
		t.Errorf("%d at once: %d were answered as the first", many, firsts)
	}
}
