package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

const (
	userAgent = "notifyd-doctor/" // and the mark
	// callPatience is twice what a provider waits, so that a slow answer can be
	// told from none.
	callPatience = 2 * ackBound
	// callSlow leaves the provider's own way, which is longer, hardly any room.
	callSlow = 2 * time.Second
	// maxAnswer is more than any ack, and enough of a page to know it by.
	maxAnswer = 16 << 10
	// maxPosts is how often a probe is posted while others' refusals may have
	// taken its place among those that are kept.
	maxPosts = 3
)

var urlPart = []string{URLHTTPS, URLQuery, URLChain, URLReach, URLRedirect, URLLogin, URLTime, URLHeaders, URLBody}

// probes are what is posted for an account.
func (a *Account) probes(mark string, now time.Time) []provider.Request {
	if p, ok := a.Provider.(provider.Prober); ok {
		return p.Probes(mark, now)
	}
	return nil
}

func (x *examination) notifyURLs(ctx context.Context) {
	for i := range x.Accounts {
		if ctx.Err() == nil {
			x.notifyURL(ctx, &x.Accounts[i], fmt.Sprintf("%sx%d", x.Mark, i))
		}
	}
}

// visit is one probe that is posted to a notify URL and what became of it.
type visit struct {
	account *Account
	url     *url.URL
	mark    string
	sent    provider.Request

	address string // of who answered
	took    time.Duration
	answer  *http.Response
	body    []byte
	err     error
	class   error // as which the answer says that we refused it
	ours    bool  // the answer is
	// passedBy: this server has refused nothing since the probe was posted.
	passedBy bool
}

func (x *examination) notifyURL(ctx context.Context, a *Account, mark string) {
	u, err := url.Parse(a.URL)
	switch {
	case a.URL == "":
		x.skipFrom(urlPart, URLHTTPS, a.Name, "%s", a.NoURL)
		return
	case err != nil || u.Hostname() == "":
		x.skipFrom(urlPart, URLHTTPS, a.Name, "the notify URL is none: correct public_url, or give --url")
		return
	}
	x.form(a.Name, u)
	if a.Provider == nil {
		x.skipFrom(urlPart, URLChain, a.Name, "the account cannot be used as it is configured")
		return
	}
	probes := a.probes(mark, x.Now())
	if len(probes) == 0 {
		x.skipFrom(urlPart, URLChain, a.Name, "there is no message to try it with: the account has no key for one")
	}
	for i, p := range probes {
		v := &visit{account: a, url: u, mark: mark, sent: p}
		in := x
		if len(probes) > 1 {
			in = x.inForm(p, i == 0)
		}
		kept := in.visit(ctx, v)
		if ctx.Err() != nil || !in.judge(ctx, v, kept) {
			return
		}
	}
}

// inForm says in each line which of an account's forms it is about. How the
// server proves who it is concerns them all and is said with the first.
func (x *examination) inForm(p provider.Request, first bool) *examination {
	form := *x
	form.tell = func(l Line) {
		switch {
		case l.Check != URLChain:
			l.Text = p.Header.Get("Content-Type") + ": " + l.Text
		case !first && (l.Status == OK || l.Status == Skipped):
			return
		}
		x.tell(l)
	}
	return &form
}

// visit posts a probe and looks for what the server kept of it; nil when there is
// nothing. A flood of refusals may take the probe's place: then it is posted again.
func (x *examination) visit(ctx context.Context, v *visit) *kept {
	before := x.latestRefusal(ctx)
	for range maxPosts {
		counted, known := x.refusalsCounted(ctx)
		v.post(ctx, x.Call, x.Now)
		if v.err != nil || ctx.Err() != nil {
			return nil
		}
		v.class, v.ours = v.isOurs()
		if errors.Is(v.class, provider.ErrUnavailable) {
			return nil // it was not judged, and nothing is kept of it
		}
		if k := x.findKept(ctx, v, before); k != nil || !v.ours || x.mute != nil {
			return k
		}
		if now, still := x.refusalsCounted(ctx); known && still && now == counted {
			v.passedBy = true
			return nil
		}
	}
	return nil
}

// form looks at the URL itself.
func (x *examination) form(account string, u *url.URL) {
	if u.Scheme == "https" {
		x.ok(URLHTTPS, account, "%s", withoutQuery(u))
	} else {
		x.fail(URLHTTPS, account, "put a proxy with a certificate in front, and give the provider the https URL",
			"%s is not https: everybody on the way can read and change it", withoutQuery(u))
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		x.fail(URLQuery, account, "give the provider the URL up to the question mark", "%s has a query: providers refuse it, or sign it away", withoutQuery(u))
		return
	}
	x.ok(URLQuery, account, "no query")
}

// withoutQuery is a URL for people: a query may hold a secret.
func withoutQuery(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// post sends the probe as the provider would.
func (v *visit) post(ctx context.Context, call func(*http.Request) (*http.Response, error), now func() time.Time) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { v.address = c.Conn.RemoteAddr().String() }})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url.String(), bytes.NewReader(v.sent.Body))
	if err != nil {
		v.err = err
		return
	}
	r.Header = v.sent.Header.Clone()
	r.Header.Set("User-Agent", userAgent+v.mark)
	began := now()
	v.answer, v.err = call(r)
	if v.err == nil {
		v.body, v.err = io.ReadAll(io.LimitReader(v.answer.Body, maxAnswer))
		v.err = errors.Join(v.err, v.answer.Body.Close())
	}
	v.took = now().Sub(began)
}

// judge says what a visit shows; true when the way is open, so that another form
// may be tried.
func (x *examination) judge(ctx context.Context, v *visit, kept *kept) bool {
	if !x.chain(v) {
		return false
	}
	if v.err != nil {
		x.fail(URLReach, v.account.Name, x.serverFirst("see that the name leads here and that POST is let through, from everywhere: providers have no fixed addresses"),
			"no answer: %v", bare(v.err))
		x.skipFrom(urlPart, URLRedirect, v.account.Name, "no answer came")
		return false
	}
	if !v.ours && kept == nil {
		x.stranger(v)
		return false
	}
	if kept != nil && kept.account() != v.account.Name {
		x.fail(URLReach, v.account.Name, "let the proxy pass the path as it is, or correct the URL", "the message came to %s, not to %s", whose(kept), v.account.Name)
		x.skipFrom(urlPart, URLRedirect, v.account.Name, "another account judged the message")
		return false
	}
	if !x.reached(v) {
		return false
	}
	x.ok(URLRedirect, v.account.Name, "none")
	x.ok(URLLogin, v.account.Name, "none")
	x.time(v)
	x.arrived(ctx, v, kept)
	return !v.passedBy
}

// serverFirst puts the likeliest cure before another.
func (x *examination) serverFirst(fix string) string {
	if x.up {
		return fix
	}
	return "see server.up first: as long as the server is down nothing can answer. Then " + fix
}

func whose(k *kept) string {
	if account := k.account(); account != "" {
		return "the account " + account
	}
	line, _, _ := strings.Cut(k.RequestLine, "?") // a query may hold a secret
	return "no account: " + line
}

// isOurs compares the answer with what this account answers, byte for byte.
func (v *visit) isOurs() (class error, ours bool) {
	for _, class := range []error{provider.ErrSignature, provider.ErrMalformed, provider.ErrTooLarge, provider.ErrEncoding, provider.ErrUnavailable} {
		want := v.account.Provider.Ack(v.sent, class)
		if v.answer.StatusCode == want.Status && bytes.Equal(v.body, want.Body) {
			return class, true
		}
	}
	return nil, false
}

// stranger names who answered in our place.
func (x *examination) stranger(v *visit) {
	account, status := v.account.Name, v.answer.StatusCode
	page := strings.HasPrefix(v.answer.Header.Get("Content-Type"), "text/html")
	asks := v.answer.Header.Get("WWW-Authenticate") != ""
	first := URLReach
	switch {
	case status >= 300 && status < 400:
		first = URLRedirect
		x.fail(first, account, "give the provider the URL at which the redirect ends, or stop redirecting: providers follow none",
			"%s answered %d, to %s", v.address, status, location(v.answer))
	case asks || page && (status == http.StatusOK || status == http.StatusUnauthorized):
		first = URLLogin
		x.fail(first, account, "let POST "+v.url.Path+" through without a login, a session or a CSRF token: the signature is the proof",
			"%s answered %d with a page or a login, not notifyd", v.address, status)
	case status >= 200 && status < 300:
		x.fail(first, account, "look who answers at this URL: what it accepts, nobody keeps", "%s accepted a message that proves nothing (%d); it is not this notifyd", v.address, status)
	default:
		x.fail(first, account, x.serverFirst("see that the proxy passes POST "+v.url.Path+" to notifyd's public listener and its answers back unchanged"),
			"%s answered %d, not as notifyd does", v.address, status)
	}
	for _, check := range urlPart[slices.Index(urlPart, URLReach):] {
		if check != first {
			x.skip(check, account, "something else answered")
		}
	}
}

func location(answer *http.Response) string {
	to, err := answer.Location()
	if err != nil {
		return "nowhere"
	}
	return withoutQuery(to)
}

// reached says that the server was, and whether its answer came back.
func (x *examination) reached(v *visit) bool {
	account, class := v.account.Name, v.class
	skip := func() { x.skipFrom(urlPart, URLRedirect, account, "the server did not judge the message") }
	switch {
	case !v.ours:
		x.fail(URLReach, account, "let the proxy pass answers back as they are, those of 4xx too",
			"the message came here, but %s put its own answer (%d) in the place of ours", v.address, v.answer.StatusCode)
		x.skipFrom(urlPart, URLRedirect, account, "our answer does not get back")
		return false
	case errors.Is(class, provider.ErrUnavailable):
		x.fail(URLReach, account, "see server.ready", "the server answers 503: it takes nothing now")
		skip()
		return false
	case errors.Is(class, provider.ErrEncoding), errors.Is(class, provider.ErrTooLarge):
		x.fail(URLBody, account, "let the proxy pass the body as it is", "something packs or enlarges the body: the server answers %d", v.answer.StatusCode)
		return false
	}
	from := ""
	if at, err := netip.ParseAddrPort(v.address); err == nil && (at.Addr().IsPrivate() || at.Addr().IsLoopback()) {
		from = ", an address inside: the way from outside was not tried"
	}
	x.ok(URLReach, account, "POST was refused by notifyd, as it should be (%d), at %s%s", v.answer.StatusCode, v.address, from)
	return true
}

func (x *examination) time(v *visit) {
	const fix = "see acks, and look at the way between: the proxy, name resolution, TLS"
	switch account, took := v.account.Name, shortTime(v.took); {
	case v.took > ackBound:
		x.fail(URLTime, account, fix, "the answer took %s; providers wait %s", took, ackBound)
	case v.took > callSlow:
		x.warn(URLTime, account, fix, "the answer took %s; providers wait %s", took, ackBound)
	default:
		x.ok(URLTime, account, "answered in %s", took)
	}
}

// bare is an error without the URL, which the line names itself.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
