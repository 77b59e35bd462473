package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/refusal"
	"github.com/notifyd/notifyd/internal/store"
)

// roomy bounds keep all that a test writes.
var roomy = refusal.Bounds{Account: refusal.Bound{Count: 1000, Bytes: 1 << 30}, Unknown: refusal.Bound{Count: 1000, Bytes: 1 << 30}}

// aRefusal has bytes that no text column would keep; its id and its time follow
// from n.
func aRefusal(n int, account, code string) refusal.Refusal {
	r := refusal.Refusal{ID: fmt.Sprintf("ref_%06d", n), ReceivedAt: start.Add(time.Duration(n) * time.Second), Account: account, Provider: provider,
		Code: code, Detail: "serial \"7D4B\" 订单", Status: 401, Peer: "192.0.2.1", BodyBytes: 70000, BodySHA256: [32]byte{1, 0xff}, Cut: true,
		Capture: order.Capture{RequestLine: "POST /notify/wechat HTTP/1.1", Header: []byte("A: \xff\r\n"), Body: []byte("a\x00\xff\xfe\r\n")}}
	r.KeptBytes = int64(len(r.Capture.Body))
	return r
}

func keep(t *testing.T, db store.DB, bounds refusal.Bounds, rows ...refusal.Refusal) {
	t.Helper()
	if err := db.KeepRefusals(t.Context(), rows, bounds); err != nil {
		t.Fatal(err)
	}
}

// keptIDs are the numbers of the refusals that are kept, newest first.
func keptIDs(t *testing.T, db store.DB, f refusal.Filter) []string {
	t.Helper()
	rows, err := db.Refusals(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, r := range rows {
		ids = append(ids, strings.TrimLeft(strings.TrimPrefix(r.ID, refusal.IDPrefix), "0"))
	}
	return ids
}

func refusalsRoundTrip(t *testing.T, db store.DB) {
	full, bare := aRefusal(1, account, "wx.signature"), aRefusal(2, "", "edge.no_account")
	bare.Provider, bare.Detail, bare.Cut, bare.Capture.Header, bare.Capture.Body = "", "", false, []byte{}, []byte{}
	bare.KeptBytes, bare.BodyBytes = 0, 0
	before := tablesOfOrders(t, db)
	keep(t, db, roomy, full, bare)
	for _, want := range []refusal.Refusal{full, bare} {
		got, err := db.Refusal(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, want.ID, got, want)
	}
	list, err := db.Refusals(t.Context(), refusal.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	full.Capture = order.Capture{RequestLine: full.Capture.RequestLine}
	bare.Capture = order.Capture{RequestLine: bare.Capture.RequestLine}
	same(t, "the list", list, []refusal.Refusal{bare, full})

	// A transaction that was committed though its caller saw an error comes again.
	again := aRefusal(1, account, "wx.stale")
	keep(t, db, roomy, again)
	if got, _ := db.Refusal(t.Context(), again.ID); got.Code != "wx.signature" {
		t.Errorf("a refusal was written over: %+v", got)
	}
	for _, id := range []string{"ref_9", "", "a\x00", "\xff"} {
		if _, err := db.Refusal(t.Context(), id); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("%q: %v, want ErrUnknown", id, err)
		}
		if _, err := db.Notification(t.Context(), full.ID); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("a refusal is a notification: %v", err)
		}
	}
	same(t, "the tables of orders and notifications", tablesOfOrders(t, db), before)
	if err := db.KeepRefusals(t.Context(), nil, roomy); err != nil {
		t.Error(err)
	}
}

// tablesOfOrders is all that is known of orders and notifications, counted.
func tablesOfOrders(t *testing.T, db store.DB) [3]int {
	t.Helper()
	orders, err := db.Orders(t.Context(), order.OrderFilter{})
	notifications, errN := db.Notifications(t.Context(), order.NotificationFilter{})
	events, errE := db.Events(t.Context(), order.EventFilter{})
	if err := errors.Join(err, errN, errE); err != nil {
		t.Fatal(err)
	}
	return [3]int{len(orders), len(notifications), len(events)}
}

func refusalTextsAreRefused(t *testing.T, db store.DB) {
	for name, spoil := range map[string]func(*refusal.Refusal){
		"detail": func(r *refusal.Refusal) { r.Detail = "a\x00" }, "peer": func(r *refusal.Refusal) { r.Peer = "\xff" },
		"account": func(r *refusal.Refusal) { r.Account = strings.Repeat("x", 4096) },
	} {
		r := aRefusal(2, account, "wx.signature")
		spoil(&r)
		err := db.KeepRefusals(t.Context(), []refusal.Refusal{aRefusal(1, account, "wx.signature"), r}, roomy)
		if err == nil || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ids := keptIDs(t, db, refusal.Filter{}); len(ids) != 0 {
		t.Errorf("half of a transaction was kept: %v", ids)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.KeepRefusals(ctx, []refusal.Refusal{aRefusal(1, account, "wx.signature")}, roomy); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("an ended context: %v", err)
	}
}

func refusalsByFilter(t *testing.T, db store.DB) {
	keep(t, db, roomy, aRefusal(1, "a", "x"), aRefusal(2, "a", "y"), aRefusal(3, "b", "x"), aRefusal(4, "", "z"), aRefusal(5, "A", "x"))
	for _, c := range []struct {
		f    refusal.Filter
		want string
	}{
		{refusal.Filter{}, "5 4 3 2 1"},
		{refusal.Filter{Account: "a"}, "2 1"},
		{refusal.Filter{Code: "x"}, "5 3 1"},
		{refusal.Filter{Account: "a", Code: "x"}, "1"},
		{refusal.Filter{Provider: "other"}, ""},
		{refusal.Filter{Provider: provider, Code: "z"}, "4"},
		{refusal.Filter{Since: start.Add(2 * time.Second), Until: start.Add(4 * time.Second)}, "3 2"},
		{refusal.Filter{Limit: 2}, "5 4"},
		{refusal.Filter{Limit: 2, AfterID: "ref_000004"}, "3 2"},
		{refusal.Filter{Account: "a\x00"}, ""},
		{refusal.Filter{Code: "x' or 1=1 --"}, ""},
	} {
		if got := strings.Join(keptIDs(t, db, c.f), " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.f, got, c.want)
		}
	}
}

// A code that floods gives way, those that came seldom stay, and other accounts
// are none of its business.
func floodKeepsSomeOfEach(t *testing.T, db store.DB) {
	bounds := refusal.Bounds{Account: refusal.Bound{Count: 10, Bytes: 1 << 20}, Unknown: refusal.Bound{Count: 2, Bytes: 1 << 20}}
	n := 0
	next := func(account, code string) refusal.Refusal { n++; return aRefusal(n, account, code) }
	keep(t, db, bounds, next("a", "seldom"), next("a", "twice"), next("a", "twice"), next("b", "other"))
	for range 8 {
		var flood []refusal.Refusal
		for range 10 {
			flood = append(flood, next("a", "flood"), next("", "edge.no_account"))
		}
		keep(t, db, bounds, flood...)
	}
	for want, f := range map[string]refusal.Filter{
		"1": {Code: "seldom"}, "3 2": {Code: "twice"}, "4": {Account: "b"}, "164 162": {Code: "edge.no_account"},
		"163 161 159 157 155 153 151": {Code: "flood"},
	} {
		if got := strings.Join(keptIDs(t, db, f), " "); got != want {
			t.Errorf("%+v keeps %s, want %s", f, got, want)
		}
	}
	// Bounds that were lowered hold from the next one on.
	bounds.Account.Count = 3
	keep(t, db, bounds, next("a", "flood"))
	if got := strings.Join(keptIDs(t, db, refusal.Filter{Account: "a"}), " "); got != "165 3 1" {
		t.Errorf("a lower bound keeps %s", got)
	}
}

// Whatever comes in whatever order: what is kept is within its bounds, is what
// the rule says, and is the newest of its code.
func refusalsStayWithinBounds(t *testing.T, db store.DB) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		bounds := refusal.Bounds{
			Account: refusal.Bound{Count: rapid.IntRange(1, 8).Draw(rt, "count"), Bytes: rapid.Int64Range(300, 6000).Draw(rt, "bytes")},
			Unknown: refusal.Bound{Count: 2, Bytes: 1000},
		}
		var all []refusal.Refusal
		for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
			var rows []refusal.Refusal
			for range rapid.IntRange(1, 12).Draw(rt, "rows") {
				n++
				r := aRefusal(n, rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "account"), rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "code"))
				r.Capture.Body = make([]byte, rapid.IntRange(0, 700).Draw(rt, "body"))
				rows = append(rows, r)
			}
			if err := db.KeepRefusals(context.Background(), rows, bounds); err != nil {
				rt.Fatal(err)
			}
			all = withinBounds(append(all, rows...), bounds)
		}
		if rapid.Bool().Draw(rt, "lowered") { // with nothing that comes after it
			bounds.Account.Count, bounds.Unknown.Count = rapid.IntRange(0, 4).Draw(rt, "count left"), rapid.IntRange(0, 2).Draw(rt, "left of strangers'")
			bounds.Account.Bytes = rapid.Int64Range(0, 4000).Draw(rt, "bytes left")
			left := withinBounds(all, bounds)
			if n, err := db.TrimRefusals(context.Background(), bounds, 1000); err != nil || n != len(all)-len(left) {
				rt.Fatalf("%d were removed, %v, of %d all but %d", n, err, len(all), len(left))
			}
			all = left
		}
		var want []string
		for _, r := range all {
			want = append(want, r.ID)
		}
		got, err := db.Refusals(context.Background(), refusal.Filter{Limit: 1000})
		if err != nil {
			rt.Fatal(err)
		}
		var ids []string
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		slices.Sort(want)
		if !slices.Equal(ids, want) {
			rt.Fatalf("kept %v, want %v", ids, want)
		}
		if _, err := db.PruneRefusals(context.Background(), start.Add(1<<20*time.Second), 1000); err != nil {
			rt.Fatal(err)
		}
	})
}

// withinBounds is the rule in Go: turn by turn, the newest of each code first,
// until the count or the bytes are used up.
func withinBounds(rows []refusal.Refusal, bounds refusal.Bounds) (kept []refusal.Refusal) {
	byAccount := map[string]map[string][]refusal.Refusal{}
	for _, r := range rows {
		if byAccount[r.Account] == nil {
			byAccount[r.Account] = map[string][]refusal.Refusal{}
		}
		byAccount[r.Account][r.Code] = append(byAccount[r.Account][r.Code], r)
	}
	newest := func(a, b refusal.Refusal) int { return strings.Compare(b.ID, a.ID) }
	for account, codes := range byAccount {
		bound, bytes, count := bounds.Of(account), int64(0), 0
		for _, list := range codes {
			slices.SortFunc(list, newest)
		}
		for turn := 0; ; turn++ {
			var round []refusal.Refusal
			for _, code := range slices.Sorted(maps.Keys(codes)) {
				if turn < len(codes[code]) {
					round = append(round, codes[code][turn])
				}
			}
			if len(round) == 0 {
				break
			}
			slices.SortFunc(round, newest)
			for _, r := range round {
				count++
				if bytes += r.Size(); count <= bound.Count && bytes <= bound.Bytes {
					kept = append(kept, r)
				}
			}
		}
	}
	return kept
}

func refusalsArePruned(t *testing.T, db store.DB) {
	for i := range 5 {
		keep(t, db, roomy, aRefusal(i+1, account, "wx.signature"))
	}
	prune := func(before time.Time, limit, want int) {
		t.Helper()
		if n, err := db.PruneRefusals(t.Context(), before, limit); err != nil || n != want {
			t.Errorf("PruneRefusals(%v, %d) = %d, %v, want %d", before, limit, n, err, want)
		}
	}
	prune(start, 10, 0)
	prune(start.Add(4*time.Second), 2, 2)
	if got := strings.Join(keptIDs(t, db, refusal.Filter{}), " "); got != "5 4 3" {
		t.Errorf("the oldest go first: %s", got)
	}
	prune(start.Add(4*time.Second), 2, 1)
	prune(start.Add(4*time.Second), 2, 0)
	if got := strings.Join(keptIDs(t, db, refusal.Filter{}), " "); got != "5 4" {
		t.Errorf("left: %s", got)
	}
}

// Bounds hold for what is there, too: for an account to which nothing comes any
// more, in pieces that make nobody wait, the oldest first.
func refusalsAreTrimmed(t *testing.T, db store.DB) {
	for i := range 5 {
		keep(t, db, roomy, aRefusal(2*i+1, account, "wx.signature"), aRefusal(2*i+2, "", "edge.no_account"))
	}
	trim := func(bounds refusal.Bounds, limit, want int) {
		t.Helper()
		if n, err := db.TrimRefusals(t.Context(), bounds, limit); err != nil || n != want {
			t.Errorf("TrimRefusals(%v, %d) = %d, %v, want %d", bounds, limit, n, err, want)
		}
	}
	trim(roomy, 10, 0)
	lower := roomy
	lower.Account.Count, lower.Unknown.Count = 4, 2
	trim(lower, 3, 3)
	if got := strings.Join(keptIDs(t, db, refusal.Filter{}), " "); got != "10 9 8 7 6 5 3" {
		t.Errorf("the oldest go first: %s", got)
	}
	trim(lower, 3, 1)
	trim(lower, 3, 0)
	if got := strings.Join(keptIDs(t, db, refusal.Filter{}), " "); got != "10 9 8 7 5 3" {
		t.Errorf("left: %s", got)
	}
	trim(refusal.Bounds{Account: roomy.Account}, 10, 2)
	trim(refusal.Bounds{}, 10, 4)
	if got := keptIDs(t, db, refusal.Filter{}); len(got) != 0 {
		t.Errorf("nothing is to be kept: %v", got)
	}
}

// Several instances keep refusals at once, and the bounds hold for all together.
func refusalsOfInstances(t *testing.T, db store.DB) {
	const many, each = 24, 4
	bounds := refusal.Bounds{Account: refusal.Bound{Count: 10, Bytes: 1 << 20}}
	atOnce(t, many, func(ctx context.Context, i int) error {
		var rows []refusal.Refusal
		for j := range each {
			rows = append(rows, aRefusal(1+i*each+j, account, fmt.Sprintf("code-%d", j)))
		}
		err := db.KeepRefusals(ctx, rows, bounds)
		if errors.Is(err, order.ErrUnavailable) {
			return nil // whoever waits too long for a turn is told so, and tries again
		}
		return err
	})
	rows, err := db.Refusals(t.Context(), refusal.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	perCode := map[string]int{}
	for _, r := range rows {
		perCode[r.Code]++
	}
	if len(rows) != bounds.Account.Count || len(perCode) != each || slices.Min(slices.Collect(maps.Values(perCode))) < bounds.Account.Count/each {
		t.Errorf("%d are kept: %v", len(rows), perCode)
	}
}
