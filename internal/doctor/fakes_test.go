package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/store"
)

var now = time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)

// database says what a test wants it to.
type database struct {
	found    store.Examination
	faults   []string
	arrivals map[string][]store.Arrival // of each account, in order
	err      error
	hangs    bool // Integrity, and Arrivals of spans, take all the time that there is
}

func (d *database) Examine(context.Context) (store.Examination, error) { return d.found, d.err }

func (d *database) Integrity(ctx context.Context) ([]string, error) {
	if d.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.faults, d.err
}

func (d *database) Arrivals(ctx context.Context, f store.ArrivalFilter) (found []store.Arrival, err error) {
	if d.hangs && f.PerSpan > 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	lower, upper := f.Spans()
	for i := range lower {
		n := 0
		for _, a := range d.arrivals[f.Account] {
			if n < f.PerSpan && a.ID > lower[i] && a.ID <= upper[i] {
				found = append(found, a)
				n++
			}
		}
	}
	for i, a := range slices.Backward(d.arrivals[f.Account]) {
		if len(d.arrivals[f.Account])-i <= f.Newest && a.ID > f.First() {
			found = append(found, a)
		}
	}
	return found, d.err
}

func sound() store.Examination {
	return store.Examination{Schema: 7, Newest: 7, Bytes: 1 << 20, Settings: []store.Setting{{Name: "fsync", Value: "on"}},
		Disk: &store.Disk{Path: "/d", FreeBytes: 1 << 40, LeastFree: 4 << 20}}
}

// page is one answer of a fake server.
type page struct {
	status int
	body   string
}

// listener answers by path.
type listener map[string]page

func (l listener) String() string { return "http://private" }

func (l listener) Get(_ context.Context, path string, query url.Values) (int, []byte, error) {
	if cursor := query.Get("cursor"); cursor != "" {
		path += "?" + cursor
	}
	p, known := l[path]
	if !known {
		return 0, nil, fmt.Errorf("nobody is at %s", path)
	}
	return p.status, []byte(p.body), nil
}

// counter is a provider that has keys and refuses everything.
type counter struct{ keys []provider.KeyInfo }

func (c *counter) Parse(provider.Request) (order.Notification, error) {
	return order.Notification{}, provider.Refuse(provider.ErrSignature, "tp.probe", "")
}
func (c *counter) Ack(_ provider.Request, err error) provider.Answer {
	return provider.Answer{Status: provider.Status(err), ContentType: "text/plain", Body: []byte("FAIL")}
}
func (c *counter) Reload() (bool, error)    { return false, nil }
func (c *counter) Identity() string         { return "number 1" }
func (c *counter) Keys() []provider.KeyInfo { return c.keys }
func (c *counter) Probes(mark string, at time.Time) []provider.Request {
	return []provider.Request{{Header: http.Header{"X-Proof": {"1"}}, Body: []byte("body " + mark), ReceivedAt: at}}
}

// seen runs one check and returns its lines as "status check: text".
func seen(t *testing.T, p *Patient, prepare func(*examination), check func(*examination, context.Context)) []string {
	t.Helper()
	var lines []string
	if p.Now == nil {
		p.Now = func() time.Time { return now }
	}
	x := &examination{Patient: p, up: true, tell: func(l Line) {
		if !slices.Contains(Checks(), l.Check) {
			t.Errorf("%s is not in Checks", l.Check)
		}
		if (l.Status == Warn || l.Status == Fail) != (l.Fix != "") {
			t.Errorf("a fix where none is due, or none where one is: %+v", l)
		}
		lines = append(lines, string(l.Status)+" "+l.Check+": "+l.Text)
	}}
	if prepare != nil {
		prepare(x)
	}
	check(x, t.Context())
	return lines
}

// want looks for a line that begins so and holds so.
func want(t *testing.T, name string, lines []string, begins, holds string) {
	t.Helper()
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, begins+":") && strings.Contains(l, holds) }) {
		t.Errorf("%s: no line %q … %q in\n%s", name, begins, holds, strings.Join(lines, "\n"))
	}
}
