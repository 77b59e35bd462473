package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/store"
)

// Every check stands in the documents under its name, and no other does.
func TestChecksAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, found := range regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\|").FindAllSubmatch(text, -1) {
		explained = append(explained, string(found[1]))
	}
	if !slices.Equal(explained, Checks()) {
		t.Errorf("docs/doctor.md explains\n%v\nthe checks are\n%v", explained, Checks())
	}
}

func TestKeysThatEnd(t *testing.T) {
	for left, line := range map[time.Duration]string{
		-time.Second: "fail keys.expiry", 0: "fail keys.expiry",
		time.Hour: "warn keys.expiry|within 1 day", 24 * time.Hour: "warn keys.expiry|within 1 day", 25 * time.Hour: "warn keys.expiry|within 7 days",
		7 * 24 * time.Hour: "warn keys.expiry|within 7 days", 8 * 24 * time.Hour: "warn keys.expiry|within 30 days",
		30 * 24 * time.Hour: "warn keys.expiry|within 30 days", 31 * 24 * time.Hour: "ok keys.expiry|no key ends",
	} {
		a := Account{Name: "a", Provider: &counter{[]provider.KeyInfo{{ID: "K1", Kind: "certificate", NotAfter: now.Add(left)}, {Kind: "secret"}}}}
		begins, holds, _ := strings.Cut(line, "|")
		got := seen(t, &Patient{Accounts: []Account{a}}, nil, (*examination).keys)
		want(t, left.String(), got, begins, holds)
		if len(got) != 3 {
			t.Errorf("%s: %q", left, got)
		}
	}
}

// The simulator keeps its private keys beside the public ones: that is no slip,
// and no business either.
func TestKeysOfTheSimulator(t *testing.T) {
	const mark = "made to simulate"
	public := func(k forge.Key) File { return File{string(k) + ".pub", k.PublicPEM()} }
	private := File{"own.pem", forge.MerchantKey.PrivatePEM()}
	marked := File{"simulator/own.pem", append([]byte(mark+"\n"), private.Content...)}
	mine, theirs := public(forge.MerchantKey), public(forge.PlatformKey)
	for name, c := range map[string]struct {
		files, nearby []File
		begins, holds string
	}{
		"a try-out":               {[]File{mine}, []File{marked}, "skipped keys.own", "not for real money"},
		"beside the provider's":   {[]File{theirs, mine}, []File{marked}, "warn keys.own", "who has simulator/own.pem"},
		"trusted by nobody":       {[]File{theirs}, []File{marked}, "ok keys.own", ""},
		"the merchant's own":      {[]File{mine}, []File{private}, "fail keys.own", "own.pem is its private half"},
		"a copy without its mark": {[]File{mine}, []File{marked, private}, "fail keys.own", ": own.pem is its private half"},
	} {
		p := &Patient{TestMark: mark, Accounts: []Account{{Name: "a", Provider: &counter{}, Files: c.files, Nearby: c.nearby}}}
		want(t, name, seen(t, p, nil, (*examination).keys), c.begins, c.holds)
	}
}

func TestClocksApart(t *testing.T) {
	for _, c := range []struct {
		theirs, grain time.Duration // after the question, which took a second
		status        string
	}{
		{0, 0, "ok"}, {time.Second, 0, "ok"}, {-time.Second, time.Second, "ok"}, {-5 * time.Second, 0, "ok"}, {6 * time.Second, 0, "ok"},
		{7 * time.Second, 0, "warn"}, {-6 * time.Second, 0, "warn"}, {-6 * time.Second, time.Second, "ok"},
		{-31 * time.Second, 0, "fail"}, {32 * time.Second, 0, "fail"}, {-10 * time.Minute, time.Second, "fail"},
	} {
		lines := seen(t, &Patient{}, nil, func(x *examination, _ context.Context) {
			x.compare(ClockPeer, "theirs", reading{now.Add(c.theirs), now, now.Add(time.Second), c.grain})
		})
		want(t, c.theirs.String(), lines, c.status+" clock.peer", "")
	}
	behind := seen(t, &Patient{}, nil, func(x *examination, _ context.Context) {
		x.compare(ClockStore, "the other", reading{now.Add(2 * time.Minute), now, now, 0})
	})
	want(t, "behind", behind, "fail clock.store", "this machine's clock is 2m behind the other")
	ahead := seen(t, &Patient{}, nil, func(x *examination, _ context.Context) {
		x.compare(ClockStore, "the other", reading{now.Add(-2 * time.Minute), now, now, 0})
	})
	want(t, "ahead", ahead, "fail clock.store", "is 2m ahead of the other")
}

func TestStore(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(*database, *examination)
		begins, holds string
	}{
		"sound":                      {func(*database, *examination) {}, "ok store.durability", "fsync on"},
		"not there yet":              {func(d *database, x *examination) { d.err, x.up = fs.ErrNotExist, false }, "skipped store.reach", "serve makes it"},
		"gone under a server":        {func(d *database, _ *examination) { d.err = fs.ErrNotExist }, "fail store.reach", ""},
		"somebody else's":            {func(d *database, _ *examination) { d.err = fs.ErrPermission }, "skipped store.integrity", "as the user"},
		"away":                       {func(d *database, _ *examination) { d.err = fmt.Errorf("refused") }, "fail store.reach", "refused"},
		"away, for its disk is full": {func(d *database, _ *examination) { d.err, d.found.Disk.FreeBytes = fmt.Errorf("I/O error"), 0 }, "fail store.space", "0 bytes"},
		"nothing but an error":       {func(d *database, _ *examination) { d.err, d.found = fmt.Errorf("refused"), store.Examination{} }, "skipped store.writable", ""},
		"away, said in lines": {func(d *database, _ *examination) {
			d.err = fmt.Errorf("cannot connect:\n\tone: refused\n\tone: refused\n\ttwo: late")
		},
			"fail store.reach", "at: cannot connect: one: refused; two: late"},
		"away, though the server wrote a moment ago": {func(d *database, x *examination) { d.err, x.writes = fmt.Errorf("refused"), true }, "skipped store.writable", ""},
		"unsafe": {func(d *database, _ *examination) {
			d.found.Settings[0] = store.Setting{Name: "fsync", Value: "off", Risk: "all", Grave: true, Fix: "on"}
		}, "fail store.durability", "fsync is off: all"},
		"unwise": {func(d *database, _ *examination) {
			d.found.Settings[0] = store.Setting{Name: "fsync", Value: "off", Risk: "little", Fix: "on"}
		}, "warn store.durability", ""},
		"almost full":                         {func(d *database, _ *examination) { d.found.Disk.FreeBytes = 100 << 20 }, "warn store.space", "100.0 MiB"},
		"full":                                {func(d *database, _ *examination) { d.found.Disk.FreeBytes = 1 << 20 }, "fail store.space", "below 4.0 MiB"},
		"unseen disk":                         {func(d *database, _ *examination) { d.found.Disk = nil }, "skipped store.space", ""},
		"not ours to write, but the server's": {func(d *database, x *examination) { d.found.ReadOnly, x.writes = "denied", true }, "ok store.writable", ""},
		"not to be written":                   {func(d *database, _ *examination) { d.found.ReadOnly = "a standby" }, "fail store.writable", "a standby"},
		"mounted read-only under a server": {func(d *database, x *examination) {
			d.found.ReadOnly, d.found.Disk.ReadOnly, x.writes = "mounted", true, true
		}, "fail store.writable", "mounted"},
		"empty":     {func(d *database, _ *examination) { d.found.Schema = 0 }, "warn store.schema", ""},
		"old":       {func(d *database, _ *examination) { d.found.Schema = 6 }, "warn store.schema", "6"},
		"newer":     {func(d *database, _ *examination) { d.found.Schema = 8 }, "fail store.schema", "8"},
		"damaged":   {func(d *database, _ *examination) { d.faults = []string{"page 7"} }, "fail store.integrity", "page 7"},
		"too large": {func(d *database, x *examination) { d.hangs, x.IntegrityTime = true, time.Millisecond }, "skipped store.integrity", "1ms"},
		"left out":  {func(_ *database, x *examination) { x.IntegrityTime = 0 }, "skipped store.integrity", "--integrity 0"},
	} {
		d := &database{found: sound()}
		p := &Patient{Store: d, StoreURL: "postgres://db", IntegrityTime: time.Minute}
		lines := seen(t, p, func(x *examination) { c.change(d, x) }, (*examination).store)
		want(t, name, lines, c.begins, c.holds)
		if len(lines) != len(storePart) {
			t.Errorf("%s: %d lines, want one for each check:\n%s", name, len(lines), strings.Join(lines, "\n"))
		}
	}
}

func TestServer(t *testing.T) {
	alive := page{200, `{"status":"ok"}`}
	for name, c := range map[string]struct {
		l             listener
		begins, holds string
		writes        bool
	}{
		"ready":                {listener{"/healthz": alive, "/readyz": {200, `{"ready":true,"checks":[{"name":"store","ok":true}]}`}}, "ok server.ready", "", true},
		"not ready":            {listener{"/healthz": alive, "/readyz": {503, `{"ready":false,"checks":[{"name":"store","ok":false,"detail":"away"},{"name":"keys","ok":true}]}`}}, "fail server.ready", "store: away", false},
		"down":                 {listener{}, "warn server.up", "nobody is at", false},
		"somebody else":        {listener{"/healthz": {404, ""}}, "warn server.up", "404", false},
		"no readiness":         {listener{"/healthz": alive, "/readyz": {200, `<html>`}}, "fail server.ready", "", false},
		"another's":            {listener{"/healthz": alive, adminNotifications: {401, `{}`}}, "fail server.up", "does not accept the token", false},
		"nothing of another's": {listener{"/healthz": alive, adminNotifications: {401, `{}`}}, "skipped server.ready", "token", false},
		"the public listener":  {listener{"/healthz": alive, adminNotifications: {404, "not found"}}, "fail server.up", "the public listener", false},
		"a store that is away": {listener{"/healthz": alive, adminNotifications: {503, `{}`}, "/readyz": {503, `{"ready":false}`}}, "ok server.up", "", false},
		"nothing of down":      {listener{}, "skipped server.ready", "does not answer", false},
	} {
		x := (*examination)(nil)
		lines := seen(t, &Patient{Server: c.l}, func(e *examination) { x = e; x.up = false }, (*examination).server)
		want(t, name, lines, c.begins, c.holds)
		if len(lines) != 2 || x.writes != c.writes || x.up != strings.HasPrefix(lines[0], "ok ") {
			t.Errorf("%s: %q, writes %v", name, lines, x.writes)
		}
	}
	lines := seen(t, &Patient{NoServer: "nobody knows where"}, nil, (*examination).server)
	want(t, "unknown", lines, "skipped server.up", "nobody knows where")
}

func metrics(counts ...int) page {
	var b strings.Builder
	b.WriteString("# TYPE notifyd_ack_seconds histogram\n")
	for i, bound := range []string{"0.1", "2", "3", "5", "+Inf"} {
		fmt.Fprintf(&b, "notifyd_ack_seconds_bucket{le=%q} %d\n", bound, counts[i])
	}
	return page{200, b.String() + "notifyd_ack_seconds_sum 1\nnotifyd_queue_length 0\n"}
}

func TestAcks(t *testing.T) {
	for name, c := range map[string]struct {
		p             page
		begins, holds string
	}{
		"quick":      {metrics(1000, 1000, 1000, 1000, 1000), "ok acks", "p99 of 1000 acks is 99ms"},
		"slow":       {metrics(90, 90, 100, 100, 100), "warn acks", "p99 of 100 acks is 2.9s"},
		"late":       {metrics(90, 90, 90, 100, 100), "fail acks", "p99 of 100 acks is 4.8s"},
		"beyond":     {metrics(90, 90, 90, 90, 100), "fail acks", "over 5s"},
		"none yet":   {metrics(0, 0, 0, 0, 0), "skipped acks", "nothing was acked"},
		"none there": {page{200, "go_goroutines 7\n"}, "skipped acks", "has no notifyd_ack_seconds"},
		"broken":     {page{200, "notifyd_ack_seconds_bucket{le=\"x\"} 7\n"}, "skipped acks", "cannot be read"},
		"no metrics": {page{404, ""}, "skipped acks", "404"},
	} {
		want(t, name, seen(t, &Patient{Server: listener{"/metrics": c.p}}, nil, (*examination).acks), c.begins, c.holds)
	}
	h := histogram{{1, 50}, {2, 100}, {math.Inf(1), 100}}
	for q, want := range map[float64]float64{0.25: 0.5, 0.5: 1, 0.75: 1.5, 1: 2} {
		if got := h.quantile(q); got != want {
			t.Errorf("quantile(%v) = %v, want %v", q, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	item := func(id, account, code string) string {
		return fmt.Sprintf(`{"id":%q,"account":%s,"code":%q,"request_line":"POST / HTTP/1.1"}`, id, account, code)
	}
	first := fmt.Sprintf(`{"items":[%s,%s,%s],"next_cursor":"c2"}`, item("ref_5", `"a"`, "tp.stale"), item("ref_4", `"a"`, "tp.probe"), item("ref_3", "null", "edge.no_account"))
	second := fmt.Sprintf(`{"items":[%s,%s],"next_cursor":null}`, item("ref_2", `"a"`, "tp.stale"), item("ref_1", `"a"`, "tp.signature"))
	p := &Patient{Server: listener{adminNotifications: {200, first}, adminNotifications + "?c2": {200, second}}, Accounts: []Account{{Name: "a", Provider: &counter{}}}}
	lines := seen(t, p, nil, (*examination).refusals)
	if len(lines) != 3 {
		t.Errorf("%q", lines)
	}
	want(t, "the most frequent first", lines[1:2], "warn refusals", "2 refused as tp.stale")
	want(t, "another cause", lines[2:], "warn refusals", "1 refused as tp.signature")
	want(t, "no account", lines[:1], "warn refusals", "edge.no_account")

	var many []string // of a, seven causes; of b, five
	for i := range 7 {
		many = append(many, item("ref_9", `"a"`, fmt.Sprint("tp.c", i)))
		if i < topCauses {
			many = append(many, item("ref_9", `"b"`, fmt.Sprint("tp.c", i)))
		}
	}
	p.Server = listener{adminNotifications: {200, fmt.Sprintf(`{"items":[%s],"next_cursor":null}`, strings.Join(many, ","))}}
	lines = seen(t, p, nil, (*examination).refusals)
	want(t, "the rest", lines, "warn refusals", "and 2 more causes")
	if len(lines) != 2*topCauses+1 {
		t.Errorf("%q", lines)
	}

	p.Server = listener{adminNotifications: {200, `{"items":[],"next_cursor":null}`}}
	want(t, "none", seen(t, p, nil, (*examination).refusals), "ok refusals", "")
	p.Server = listener{adminNotifications: {401, `{}`}}
	want(t, "no token", seen(t, p, nil, (*examination).refusals), "skipped refusals", "token")
}

func TestSilence(t *testing.T) {
	// times a day at noon in Beijing and some hours later, for days until some time ago.
	regular := func(last time.Duration, days int, every time.Duration) (all []store.Arrival) {
		for at := now.Add(-last); now.Sub(at) < time.Duration(days)*day; at = at.Add(-every) {
			all = append(all, store.Arrival{ID: fmt.Sprint(at.Unix()), At: at})
		}
		slices.Reverse(all)
		return all
	}
	outage := slices.DeleteFunc(regular(time.Hour, 20, time.Hour), func(a store.Arrival) bool {
		ago := now.Sub(a.At)
		return ago > 5*day && ago < 8*day // three days of the past, once
	})
	for name, c := range map[string]struct {
		arrivals      []store.Arrival
		begins, holds string
	}{
		"as ever":                {regular(5*time.Hour, 20, 6*time.Hour), "ok silence", "its longest pause is about 6h0m"},
		"late":                   {regular(13*time.Hour, 20, 6*time.Hour), "warn silence", "13h0m"},
		"gone":                   {regular(31*time.Hour, 20, 6*time.Hour), "fail silence", "31h0m"},
		"short pauses":           {regular(100*time.Minute, 20, 10*time.Minute), "ok silence", "its longest pause is about 1h0m"},
		"nothing at all":         {nil, "skipped silence", "nothing came"},
		"too young":              {regular(time.Hour, 6, time.Hour), "skipped silence", "(sampled: at most 16 of an hour) are too few"},
		"too few":                {regular(time.Hour, 20, 48*time.Hour), "skipped silence", "too few"},
		"older than a habit":     {[]store.Arrival{{ID: "1", At: now.Add(-40 * day)}}, "skipped silence", "nothing came"},
		"one outage is no habit": {outage, "ok silence", "its longest pause is about 1h0m"},
		"very many":              {regular(time.Minute, 8, 2*time.Minute), "ok silence", "the last came 1m ago"},
	} {
		// However busy another account is, each is judged by its own.
		others := regular(31*time.Hour, 28, 10*time.Minute)
		p := &Patient{Store: &database{arrivals: map[string][]store.Arrival{"a": c.arrivals, "b": others}}, Accounts: []Account{{Name: "b"}, {Name: "a"}}, FirstID: secondsID}
		lines := seen(t, p, nil, (*examination).silence)
		if len(lines) != 2 {
			t.Errorf("%s: %q", name, lines)
		}
		want(t, name, lines[1:], c.begins, c.holds)
		want(t, name, lines[:1], "fail silence", "nothing came for 31h0m")
	}
}

func secondsID(at time.Time) string { return fmt.Sprint(at.Unix()) }

// An account whose habit is not found in time is no silent one, and one that was
// heard a moment ago is well whatever its habit.
func TestSilenceWithoutTime(t *testing.T) {
	for last, begins := range map[time.Duration]string{2 * time.Hour: "ok silence", 3 * time.Hour: "skipped silence"} {
		synctest.Test(t, func(t *testing.T) {
			at := now.Add(-last)
			d := &database{hangs: true, arrivals: map[string][]store.Arrival{"a": {{ID: secondsID(at), At: at}}}}
			want(t, begins, seen(t, &Patient{Store: d, Accounts: []Account{{Name: "a"}}, FirstID: secondsID}, nil, (*examination).silence), begins, "")
		})
	}
}

func TestDifference(t *testing.T) {
	const form = "a=1&b=x%2By+z&c=%e6"
	const object = `{"b":1.0,"a":"\u652f\/"}` + "\r\n"
	for _, c := range []struct{ sent, got, want string }{
		{form, "", "it is empty"},
		{object, strings.TrimSpace(object), "blanks and line ends at its end are cut"},
		{form, form[:9], "its end is cut off"},
		{form, form + "&t=1", "something follows it"},
		{form, form + " ", "something follows it"},
		{"a\r\nb", "a\nb", "line ends are written otherwise"},
		{`a="b"&c`, `a=&quot;b&quot;&amp;c`, "quotes and brackets are escaped for HTML"},
		{`a="b"`, `a=\"b\"`, "quotes got backslashes"},
		{"a=x+y", "a=x y", "'+' became a blank"},
		{"a=%7B&b=1", "a={&b=1", "the form was decoded"},
		{object, `{"a":"支/","b":1}`, "the JSON was read and written again"},
		{form, "a=1&b=x%2By%20z&c=%E6", "the form was read and written again"},
		{"abcdef", "abXdef", "6 bytes were sent and 6 came, the first other one at 2"},
	} {
		if got := difference([]byte(c.sent), []byte(c.got)); got != c.want {
			t.Errorf("%q to %q: %q, want %q", c.sent, c.got, got, c.want)
		}
	}
}

func TestTextsForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "1ms", 1400 * time.Microsecond: "1ms", 2940 * time.Millisecond: "2.9s", 90 * time.Second: "2m", -2 * time.Minute: "2m",
		13 * time.Hour: "13h0m", 49 * time.Hour: "2 days",
	} {
		if got := shortTime(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0 bytes", 1023: "1023 bytes", 4 << 20: "4.0 MiB", 1536 << 30: "1.5 TiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
