package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
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
	// siteKeyEndsSoon is when the certificate of the site wants attention:
	// whoever renews it automatically has done so by then.
	siteKeyEndsSoon = 7 * day
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

// visit is one post to a notify URL and what became of it.
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
}

func (x *examination) notifyURL(ctx context.Context, a *Account, mark string) {
	u, err := url.Parse(a.URL)
	if a.URL == "" || err != nil || u.Hostname() == "" {
		x.skipFrom(urlPart, URLHTTPS, a.Name, "set public_url, or give --url: the URL is not known")
		return
	}
	x.form(a.Name, u)
	if a.Provider == nil {
		x.skipFrom(urlPart, URLChain, a.Name, "the account cannot be used as it is configured")
		return
	}
	before := x.latestRefusal(ctx)
	for _, p := range a.probes(mark, x.Now()) {
		v := &visit{account: a, url: u, mark: mark, sent: p}
		v.post(ctx, x.Call, x.Now)
		if ctx.Err() != nil || !x.judge(ctx, v, before) {
			return
		}
	}
}

// form looks at the URL itself.
func (x *examination) form(account string, u *url.URL) {
	if u.Scheme == "https" {
		x.ok(URLHTTPS, account, "%s", withoutQuery(u))
	} else {
		x.fail(URLHTTPS, account, "put a proxy with a certificate in front, and give the provider the https URL",
			"%s is not https: everybody on the way can read and change it, and WeChat Pay demands https", withoutQuery(u))
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

// judge says what a visit shows; true when nothing is wrong.
func (x *examination) judge(ctx context.Context, v *visit, before string) bool {
	if !x.chain(v) {
		return false
	}
	if v.err != nil && !x.up {
		x.skipFrom(urlPart, URLReach, v.account.Name, "%s", x.down)
		return false
	}
	if v.err != nil {
		x.fail(URLReach, v.account.Name, "see that the name leads here and that POST is let through, from everywhere: providers have no fixed addresses",
			"no answer: %v", bare(v.err))
		x.skipFrom(urlPart, URLRedirect, v.account.Name, "no answer came")
		return false
	}
	class, ours := v.ours()
	kept := x.findKept(ctx, v, before, ours)
	if !ours && kept == nil {
		x.stranger(v)
		return false
	}
	if kept != nil && kept.account() != v.account.Name {
		x.fail(URLReach, v.account.Name, "let the proxy pass the path as it is, or correct the URL", "the message came to %s, not to %s", whose(kept), v.account.Name)
		x.skipFrom(urlPart, URLRedirect, v.account.Name, "another account judged the message")
		return false
	}
	if !x.reached(v, class, ours) {
		return false
	}
	x.ok(URLRedirect, v.account.Name, "none")
	x.ok(URLLogin, v.account.Name, "none")
	x.time(v)
	return x.arrived(ctx, v, kept)
}

// chain judges how the server proves who it is. Nothing is fetched to complete
// a chain: a provider does not either.
func (x *examination) chain(v *visit) bool {
	account := v.account.Name
	if v.url.Scheme != "https" {
		x.skip(URLChain, account, "there is no TLS")
		return true
	}
	var unproven *tls.CertificateVerificationError
	if errors.As(v.err, &unproven) {
		x.fail(URLChain, account, chainFix(unproven), "%s does not prove who it is: %s", v.url.Host, chainText(unproven))
		x.skipFrom(urlPart, URLReach, account, "the provider would not send anything")
		return false
	}
	if v.err != nil || v.answer.TLS == nil || len(v.answer.TLS.PeerCertificates) == 0 {
		x.skip(URLChain, account, "no connection was made")
		return true
	}
	sent := v.answer.TLS.PeerCertificates
	if left := sent[0].NotAfter.Sub(x.Now()); left < siteKeyEndsSoon {
		x.warn(URLChain, account, "renew it, and look why that did not happen by itself", "the certificate of %s ends in %s", v.url.Host, shortTime(left))
		return true
	}
	x.ok(URLChain, account, "complete, %s, until %s", counted(len(sent), "certificate"), sent[0].NotAfter.In(beijing).Format(time.DateOnly))
	return true
}

func chainText(e *tls.CertificateVerificationError) string {
	if isIncomplete(e) {
		return fmt.Sprintf("it sends %s and not the ones between it and the root", counted(len(e.UnverifiedCertificates), "certificate"))
	}
	return e.Err.Error()
}

func chainFix(e *tls.CertificateVerificationError) string {
	if isIncomplete(e) {
		return "let the proxy send the whole chain (fullchain.pem): browsers fetch what is missing, providers do not"
	}
	return "give the proxy a certificate for this name from an authority that everybody trusts (a private one for tests: --ca FILE)"
}

// isIncomplete says that the chain stops at a certificate which somebody else
// has issued, and which is not known here.
func isIncomplete(e *tls.CertificateVerificationError) bool {
	var unknown x509.UnknownAuthorityError
	if !errors.As(e.Err, &unknown) || len(e.UnverifiedCertificates) == 0 {
		return false
	}
	last := e.UnverifiedCertificates[len(e.UnverifiedCertificates)-1]
	return !bytes.Equal(last.RawIssuer, last.RawSubject)
}

func whose(k *kept) string {
	if account := k.account(); account != "" {
		return "the account " + account
	}
	line, _, _ := strings.Cut(k.RequestLine, "?") // a query may hold a secret
	return "no account: " + line
}

// ours compares the answer with what this account answers, byte for byte.
func (v *visit) ours() (class error, ours bool) {
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
	case !x.up:
		x.skipFrom(urlPart, URLReach, account, "%s", x.down)
		return
	default:
		x.fail(first, account, "see that the proxy passes POST "+v.url.Path+" to notifyd's public listener and its answers back unchanged",
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
func (x *examination) reached(v *visit, class error, ours bool) bool {
	account := v.account.Name
	skip := func() { x.skipFrom(urlPart, URLRedirect, account, "the server did not judge the message") }
	switch {
	case !ours:
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
