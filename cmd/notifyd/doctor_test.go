package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// Nothing is found where nothing is wrong, on either database; and what doctor
// posted itself is nothing wrong for the next one.
func TestDoctorInventsNothing(t *testing.T) {
	peer := elsewhere(t, func(http.ResponseWriter, *http.Request) {}) // with a right Date
	for name, url := range map[string]string{"sqlite": "", "postgres": pgtest.Empty(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := admit(t, illness{store: url})
			for range 2 {
				code, r := c.doctor(t, "--clock-peer", peer)
				if code != exitDone || !r.OK || unwell(r) != "" {
					t.Errorf("exit code %d, found: %s\n%+v", code, unwell(r), r.Lines)
				}
				for _, check := range []string{"url.body", "url.headers", "url.chain", "url.time", "silence"} {
					if got := strings.Join(linesOf(r, check), "\n"); strings.Count(got, "ok wechat:") != 1 || strings.Count(got, "ok alipay:") != 1 {
						t.Errorf("%s: %s", check, got)
					}
				}
			}
		})
	}
}

// answers makes a proxy that answers everything itself.
func answers(answer http.HandlerFunc) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler { return answer }
}

// rewrites makes a proxy that changes bodies on their way in.
func rewrites(change func([]byte) []byte) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			body = change(body)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Del("Content-Length")
			next.ServeHTTP(w, r)
		})
	}
}

// Each planted fault is found under its own name, and nothing else is.
func TestDoctorFindsPlantedFaults(t *testing.T) {
	var (
		redirect = answers(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://www.example.com"+r.URL.Path+"?session=1", http.StatusMovedPermanently)
		})
		login = answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html><form><input type=password></form></html>")
		})
		escapes = rewrites(func(b []byte) []byte {
			return []byte(strings.NewReplacer("&", "&amp;", `"`, "&#34;").Replace(string(b)))
		})
		wrongDate = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
		}
		expired = forge.PlatformKey.CertificatePEM(forge.Cert{SerialHex: "77", NotAfter: time.Now().Add(-time.Hour)})
		one     = func(c *clinic) []string { return []string{"--url", c.proxy.URL + "/notify/wechat"} } // each is waited for
		own     = map[string][]byte{"alipay.pem": forge.MerchantKey.PublicPEM(), "app_private_key.pem": forge.MerchantKey.PrivatePEM()}
	)
	well := admit(t, illness{}) // for all that is planted without a server of its own
	for _, c := range []struct {
		name, check string
		ill         *illness // nil: well, but for what is planted
		plant       func(*clinic) []string
	}{
		{"the clock of a named peer", "clock.peer", nil, func(*clinic) []string { return []string{"--clock-peer", elsewhere(t, wrongDate)} }},
		{"an expired key", "keys.expiry", &illness{certificate: expired}, nil},
		{"the merchant's own key", "keys.own", &illness{files: own}, nil},
		{"a redirecting proxy", "url.redirect", &illness{proxy: redirect}, one},
		{"a login page", "url.login", &illness{proxy: login}, one},
		{"a proxy that changes bodies", "url.body", &illness{proxy: escapes}, nil},
		{"a read-only disk", "store.writable", nil, func(c *clinic) []string {
			c.disk = &store.Disk{Path: "/data", FreeBytes: 1 << 40, ReadOnly: true}
			return nil
		}},
		{"a full disk", "store.space", nil, func(c *clinic) []string { c.disk = &store.Disk{Path: "/data", FreeBytes: 1 << 20}; return nil }},
		{"an http URL", "url.https", nil, func(c *clinic) []string { return []string{"--url", c.served.public + "/notify/wechat"} }},
		{"a query in the URL", "url.query", nil, func(c *clinic) []string { return []string{"--url", c.proxy.URL + "/notify/alipay?shop=1"} }},
		{"a silent account", "silence", &illness{lastHeard: 3 * 24 * time.Hour}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the time nothing is done but wait
			clinic := *well
			if c.ill != nil {
				clinic = *admit(t, *c.ill)
			}
			var args []string
			if c.plant != nil {
				args = c.plant(&clinic)
			}
			code, r := clinic.doctor(t, args...)
			if code != exitUnhealthy || r.OK || unwell(r) != c.check {
				t.Errorf("exit code %d, found %q, want %q\n%+v", code, unwell(r), c.check, r.Lines)
			}
			for _, l := range r.Lines {
				if l.Check == c.check && l.Status == "fail" && l.Fix == "" {
					t.Errorf("no fix: %+v", l)
				}
			}
		})
	}
}

// A database whose commits may be lost, and one whose clock is another.
func TestDoctorFindsPlantedFaultsOfPostgres(t *testing.T) {
	t.Parallel()
	c := admit(t, illness{store: pgtest.Start(t, "fsync=off", "synchronous_commit=off").URL("postgres")})
	if code, r := c.doctor(t); code != exitUnhealthy || unwell(r) != "store.durability" {
		t.Errorf("fsync and synchronous_commit off: exit code %d, found %q\n%+v", code, unwell(r), r.Lines)
	}
	c = admit(t, illness{store: pgtest.Empty(t)})
	c.now = func() time.Time { return time.Now().Add(-2 * time.Minute) }
	if code, r := c.doctor(t); code != exitUnhealthy || unwell(r) != "clock.store" {
		t.Errorf("a clock that is behind: exit code %d, found %q\n%+v", code, unwell(r), r.Lines)
	}
}

// What else stands between a provider and a notification.
func TestDoctorFindsWhatElseIsInTheWay(t *testing.T) {
	dropped := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Wechatpay-Serial")
			next.ServeHTTP(w, r)
		})
	}
	elsewhere := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = "/notify/wechat"
			next.ServeHTTP(w, r)
		})
	}
	pages := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(discarded{http.Header{}}, r)
			http.Error(w, "<html>oops</html>", http.StatusBadGateway)
		})
	}
	accepts := answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "success") })
	for _, c := range []struct {
		name, check string
		ill         illness
		text        string // of each account's line
	}{
		{"a chain without its intermediate", "url.chain", illness{leafOnly: true}, "not the ones between it and the root"},
		{"a proxy that drops headers", "url.headers", illness{proxy: dropped}, "Wechatpay-Serial"},
		{"a proxy that puts pages in the place of our answers", "url.reach", illness{proxy: pages}, "the message came here, but"},
		{"something that accepts everything", "url.reach", illness{proxy: accepts}, "accepted a message that proves nothing (200)"},
		{"a proxy that leads to another account", "url.reach", illness{proxy: elsewhere}, "the message came to the account wechat, not to alipay"},
		{"a certificate that ends soon", "keys.expiry", illness{certificate: forge.PlatformKey.CertificatePEM(forge.Cert{SerialHex: "77", NotAfter: time.Now().Add(20 * time.Hour)})}, "ends within 1 day"},
		{"an account that is quieter than usual", "silence", illness{lastHeard: 13 * time.Hour}, "nothing came for 13h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the time nothing is done but wait
			clinic := admit(t, c.ill)
			_, r := clinic.doctor(t)
			if unwell(r) != c.check {
				t.Errorf("found %q, want %q\n%+v", unwell(r), c.check, r.Lines)
			}
			for _, l := range linesOf(r, c.check) {
				if bad := !strings.HasPrefix(l, "ok ") && !strings.HasPrefix(l, "skipped "); bad && !strings.Contains(l, c.text) {
					t.Errorf("%q does not say %q", l, c.text)
				}
			}
		})
	}
}

// discarded is an answer that nobody gets.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d discarded) WriteHeader(int)             {}

// Without its server, doctor says what could not be looked at and goes on.
func TestDoctorWithoutAServer(t *testing.T) {
	t.Parallel()
	c := admit(t, illness{noServer: true})
	c.asked = []string{"--server", "http://" + closedPort(t), "--url", "http://" + closedPort(t) + "/notify/wechat"}
	code, r := c.doctor(t)
	if code != exitUnhealthy || unwell(r) != "server.up url.https url.reach" { // the URL is http, and nobody is there
		t.Errorf("exit code %d, found %q\n%+v", code, unwell(r), r.Lines)
	}
	for _, check := range []string{"server.ready", "acks", "refusals", "url.redirect", "url.body"} {
		if got := linesOf(r, check); len(got) == 0 || !strings.HasPrefix(got[0], "skipped") {
			t.Errorf("%s: %q", check, got)
		}
	}
	for _, check := range []string{"store.schema", "store.integrity", "silence"} {
		if got := linesOf(r, check); len(got) == 0 || !strings.HasPrefix(got[0], "ok") {
			t.Errorf("%s: %q", check, got)
		}
	}
}

// A URL that the provider was told is called whether or not the server is known to
// run: when nobody answers, or only a proxy, no notification comes.
func TestDoctorInATotalOutage(t *testing.T) {
	t.Parallel()
	gateway := answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	c := admit(t, illness{noServer: true, proxy: gateway})
	for _, text := range []string{"answered 502, not as notifyd does", "no answer: "} {
		code, r := c.doctor(t)
		if got := strings.Join(linesOf(r, "url.reach"), "\n"); code != exitUnhealthy || strings.Count(got, "fail ") != 2 || strings.Count(got, text) != 2 {
			t.Errorf("%s: exit code %d\n%s", text, code, got)
		}
		c.proxy.Close() // for the second time
	}
}

// Where nothing is kept of what is refused, that is said, and no fault is made of it.
func TestDoctorWhereNothingIsKept(t *testing.T) {
	t.Parallel()
	c := admit(t, illness{options: "refused: {keep: 0}\n"})
	code, r := c.doctor(t)
	if code != exitDone || unwell(r) != "" {
		t.Errorf("exit code %d, found %q\n%+v", code, unwell(r), r.Lines)
	}
	for _, check := range []string{"refusals", "url.headers", "url.body"} {
		for _, got := range linesOf(r, check) {
			if !strings.HasPrefix(got, "skipped ") || !strings.Contains(got, "refused.keep is 0") {
				t.Errorf("%s: %s", check, got)
			}
		}
	}
}

func TestDoctorWithBrokenConfiguration(t *testing.T) {
	t.Parallel()
	c := admit(t, illness{noServer: true, files: map[string][]byte{"alipay.pem": forge.MerchantKey.PrivatePEM()}})
	code, r := c.doctor(t)
	if got := strings.Join(linesOf(r, "keys.read"), "\n"); code != exitUnhealthy || !strings.Contains(got, "fail alipay:") || !strings.Contains(got, "private key") {
		t.Errorf("exit code %d: %s", code, got)
	}
}

func TestDoctorFindsRecentRefusals(t *testing.T) {
	t.Parallel()
	c := admit(t, illness{})
	for range 3 {
		get(t, "POST", c.served.public+"/notify/alipay", "a=1&sign_type=RSA2&charset=utf-8&sign="+strings.Repeat("A", 342)+"%3D%3D")
	}
	// They are kept behind the answers: the list is asked until they are there.
	await(t, func() bool {
		_, list := get(t, "GET", c.served.private+"/admin/v1/notifications?verdict=refused&account=alipay", "")
		return strings.Count(list, `"ref_`) == 3
	})
	code, r := c.doctor(t)
	got := linesOf(r, "refusals")
	if code != exitDone || len(got) != 1 || !strings.HasPrefix(got[0], "warn alipay: 3 refused as ali.signature") {
		t.Errorf("exit code %d: %q", code, got)
	}
}

// A slow answer is measured, not waited for: the clock leaps while it is under
// way.
func TestDoctorMeasuresTheAnswer(t *testing.T) {
	t.Parallel()
	var late atomic.Int64
	leaps := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			late.Add(int64(6 * time.Second))
			next.ServeHTTP(w, r)
		})
	}
	c := admit(t, illness{proxy: leaps})
	c.now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	if code, r := c.doctor(t); code != exitUnhealthy || unwell(r) != "url.time" {
		t.Errorf("exit code %d, found %q\n%+v", code, unwell(r), r.Lines)
	}
}

// Interrupted while it waits for an answer, doctor ends at once and says so.
func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	waits := answers(func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		_, _ = io.Copy(io.Discard, r.Body) // without it the server does not see the caller go
		<-r.Context().Done()
	})
	c := admit(t, illness{proxy: waits})
	code, out, said := c.runUntil(ctx)
	if code != exitInterrupted || said != "notifyd: interrupted\n" || !strings.Contains(out, "url.https [wechat]") || strings.Contains(out, "fail") {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
}
