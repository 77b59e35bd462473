package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
)

// installation is a notify URL and the server that is asked about it; they need
// not be the same.
type installation struct {
	answer   int  // instead of that of the provider
	away     bool // nobody answers at the URL
	uncalled bool // what is posted comes to another server
	busy     bool // others are refused in the same moments
	taken    int  // so many posts find that others have taken their place
	marks    []provider.Mark
	late     time.Duration // from the answer until it is kept

	posts, refused int
	kept           []keptPost
}

type keptPost struct {
	from  time.Time
	body  []byte
	proof http.Header
}

func (i *installation) String() string { return "http://private" }

func (i *installation) Call(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if i.away || err != nil {
		return nil, &url.Error{Op: "Post", URL: "https://shop", Err: errors.New("connection refused")}
	}
	i.posts++
	if !i.uncalled {
		i.refused++
		if i.posts > i.taken {
			i.kept = append(i.kept, keptPost{from: time.Now().Add(i.late), body: body, proof: r.Header.Clone()})
		}
	}
	status := i.answer
	if status == 0 {
		status = http.StatusUnauthorized
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("FAIL"))}, nil
}

func (i *installation) Get(_ context.Context, path string, _ url.Values) (int, []byte, error) {
	if i.busy {
		i.refused++
	}
	switch path {
	case "/metrics":
		return 200, fmt.Appendf(nil, "notifyd_refusals_total{account=\"a\",code=\"tp.probe\"} %d\nnotifyd_refusals_kept_total{result=\"kept\"} 0\n", i.refused), nil
	case adminNotifications:
		var items []string
		for n, k := range i.kept {
			if sum := sha256.Sum256(k.body); !time.Now().Before(k.from) {
				items = append([]string{fmt.Sprintf(`{"id":"ref_%d","account":"a","code":"tp.probe","body_sha256":%q}`, n, hex.EncodeToString(sum[:]))}, items...)
			}
		}
		return 200, fmt.Appendf(nil, `{"items":[%s],"next_cursor":null}`, strings.Join(items, ",")), nil
	}
	var n int
	if _, err := fmt.Sscanf(path, adminNotifications+"/ref_%d/capture", &n); err != nil {
		return 404, nil, nil
	}
	var header, text bytes.Buffer
	err := i.kept[n].proof.Write(&header)
	c := order.Capture{RequestLine: "POST /notify/a HTTP/1.1", Header: header.Bytes(), Body: i.kept[n].body}
	err = errors.Join(err, provider.WriteCapture(&text, c, i.kept[n].from, i.marks...))
	return 200, text.Bytes(), err
}

func TestNotifyURL(t *testing.T) {
	const skippedBody = "skipped url.body"
	for name, c := range map[string]struct {
		i             installation
		prepare       func(*examination)
		begins, holds string
		posts         int
		fails         int
	}{
		"kept at once":             {i: installation{}, begins: "ok url.body", holds: "as they were sent", posts: 1},
		"kept after a pause":       {i: installation{late: refusal.KeptWithin}, begins: "ok url.body", posts: 1},
		"another's answer":         {i: installation{answer: 502}, begins: "fail url.reach", holds: "put its own answer (502) in the place of ours", posts: 1, fails: 1},
		"late behind another's":    {i: installation{answer: 502, late: refusal.KeptWithin - keptPause}, begins: "fail url.reach", holds: "put its own answer (502) in the place of ours", posts: 1, fails: 1},
		"another installation":     {i: installation{uncalled: true}, begins: "fail url.body", holds: "this server has refused none", posts: 1, fails: 1},
		"taken by others once":     {i: installation{taken: 1, busy: true}, begins: "ok url.body", posts: 2},
		"taken every time":         {i: installation{taken: 9, busy: true}, begins: skippedBody, holds: "kept none of 3 posts", posts: maxPosts},
		"elsewhere, and busy":      {i: installation{uncalled: true, busy: true}, begins: skippedBody, holds: "kept none", posts: maxPosts},
		"keeping nothing":          {i: installation{taken: 9}, prepare: func(x *examination) { x.NoKept = "refused.keep is 0" }, begins: skippedBody, holds: "refused.keep is 0", posts: 1},
		"the server takes nothing": {i: installation{answer: 503}, begins: "fail url.reach", holds: "it takes nothing now", posts: 1, fails: 1},
		"nobody there, up":         {i: installation{away: true}, begins: "fail url.reach", holds: "connection refused", fails: 1},
		"nobody there, down":       {i: installation{away: true}, prepare: down, begins: "fail url.reach", holds: "connection refused", fails: 1},
		"502, down":                {i: installation{answer: 502}, prepare: down, begins: "fail url.reach", holds: "502", posts: 1, fails: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := c.i
			p := &Patient{Server: &i, Call: i.Call, Mark: "m", Now: time.Now, Accounts: []Account{{Name: "a", Provider: &counter{}, URL: "https://shop/notify/a"}}}
			lines := seen(t, p, c.prepare, (*examination).notifyURLs)
			want(t, name, lines, c.begins, c.holds)
			if all := strings.Join(lines, "\n"); strings.Count("\n"+all, "\nfail ") != c.fails || i.posts != c.posts {
				t.Errorf("%s: %d posts, want %d, and %d faults in\n%s", name, i.posts, c.posts, c.fails, all)
			}
			if len(lines) != len(urlPart) {
				t.Errorf("%s: %d lines for %d checks:\n%s", name, len(lines), len(urlPart), strings.Join(lines, "\n"))
			}
		})
	}
}

func down(x *examination) { x.up, x.down = false, "the server is down" }

func TestWhyNoURLIsTried(t *testing.T) {
	for _, c := range []struct {
		a    Account
		text string
	}{
		{Account{Name: "a", NoURL: "--url names others"}, "--url names others"},
		{Account{Name: "a", URL: "https://"}, "correct public_url"},
		{Account{Name: "a", URL: "https://shop/notify/a", Provider: mute{}}, "no key for one"},
	} {
		want(t, c.text, seen(t, &Patient{Accounts: []Account{c.a}}, nil, (*examination).notifyURLs), "skipped url.body", c.text)
	}
}

// mute is a provider that has nothing to say.
type mute struct{ *counter }

func (mute) Probes(string, time.Time) []provider.Request { return nil }

// Every form of an account is posted, also when the one before arrived changed;
// each says for itself what became of it.
func TestEveryFormIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &installation{}
		spoils := func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if r.Header.Get("Content-Type") == "text/json" {
				body = append(body, ' ')
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			answer, err2 := i.Call(r)
			return answer, errors.Join(err, err2)
		}
		p := &Patient{Server: i, Call: spoils, Mark: "m", Now: time.Now, Accounts: []Account{{Name: "a", Provider: twoForms{}, URL: "http://shop/notify/a"}}}
		lines := seen(t, p, nil, (*examination).notifyURLs)
		want(t, "the first", lines, "fail url.body", "text/json: the body is changed on its way: something follows it")
		i.marks, i.kept = []provider.Mark{{Name: provider.MarkCut, Value: "10 of 99 bytes"}}, nil
		want(t, "cut", seen(t, p, nil, (*examination).notifyURLs), "fail url.body", "of what came only the beginning is kept")
		want(t, "the second", lines, "ok url.body", "text/xml: ")
		if all := strings.Join(lines, "\n"); strings.Count(all, "url.chain") != 1 || strings.Count(all, "url.time") != 2 {
			t.Error(all)
		}
	})
}

// twoForms is a provider with two.
type twoForms struct{ *counter }

func (twoForms) Probes(mark string, at time.Time) (both []provider.Request) {
	for _, form := range []string{"text/json", "text/xml"} {
		both = append(both, provider.Request{Header: http.Header{"Content-Type": {form}}, Body: []byte(form + mark), ReceivedAt: at})
	}
	return both
}
