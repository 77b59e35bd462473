package main

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/doctor"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store"
)

// integrityDefault is long enough for some ten million notifications on a disk
// of today, and short enough to wait for.
const integrityDefault = 30 * time.Second

// doctorFlags are what the user of doctor names.
type doctorFlags struct {
	reach
	urls          []string
	account       string
	clockPeer, ca string
	integrity     time.Duration
}

func doctorCommand(a *app) *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps notifications away, and say how it is put right",
		Long: `doctor looks at the configuration, the keys, the clock, the store, the running
server and the notify URLs as the provider would call them. It prints a line for
each check: ok, warn, fail, or skipped with the reason, and what to do. It changes
nothing and works beside a running server and without one.

For the notify URLs it posts a marked message that proves nothing, gets the usual
401, and reads back through the admin API what arrived. The URLs are those of
public_url, or those that --url names.

Exit code 0 when nothing failed, 6 when something did, 3 when the configuration
cannot be read at all.`,
		Example: `  notifyd doctor
  notifyd doctor --json --clock-peer https://pay.example.com
  notifyd doctor --url https://pay.example.com/notify/wechat`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage, exitConfig, exitUnhealthy, exitInterrupted),
		RunE:        func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), &f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.config, "config", defaultConfig, "configuration `file`")
	fs.StringVar(&f.server, "server", "", "`URL` of the private listener, instead of the one in the configuration")
	fs.StringVar(&f.tokenFile, "token-file", "", "`file` with the admin token (or set "+tokenVariable+")")
	fs.StringArrayVar(&f.urls, "url", nil, "notify `URL` as the provider was told it, instead of the one from public_url; may be repeated")
	fs.StringVar(&f.account, "account", "", "`name` of the account that --url is for, when it is not the URL's last part")
	fs.StringVar(&f.clockPeer, "clock-peer", "", "`URL` of a server whose clock is trusted")
	fs.StringVar(&f.ca, "ca", "", "PEM `file` with the authorities to trust instead of the system's, for tests")
	fs.DurationVar(&f.integrity, "integrity", integrityDefault, "how long reading the whole store may take; 0 leaves it out")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

func (a *app) doctor(ctx context.Context, f *doctorFlags) error {
	conf, accounts, report := a.loadConfig(f.config)
	if conf == nil {
		a.printFindings(report)
		return unusable(f.config, report)
	}
	p, err := a.patient(f, conf)
	if err != nil {
		return err
	}
	// What is wrong with the store's URL, the report says.
	if db, err := store.Open(conf.Store.Reveal(), store.Options{Disk: a.disk}); err == nil {
		defer func() { _ = db.Close() }() // it was only looked at
		p.Store = db
	}
	if p.Accounts, err = f.accountsOf(conf, accounts, report); err != nil {
		return err
	}
	sheet := &doctorSheet{app: a, asJSON: f.asJSON}
	tellConfig(sheet.tell, f.config, report)
	doctor.Examine(ctx, p, sheet.tell)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return sheet.end()
}

// patient gathers the ways to all that is looked at.
func (a *app) patient(f *doctorFlags, conf *config.Config) (*doctor.Patient, error) {
	p := &doctor.Patient{Now: a.now, Mark: strings.ToLower(newID("doctor")), FirstID: firstID, TestMark: simulator.Mark, ClockPeer: f.clockPeer,
		IntegrityTime: f.integrity, StoreURL: conf.StoreForPeople()}
	if conf.Refused.Keep == 0 {
		p.NoKept = "nothing is kept of what is refused: refused.keep is 0"
	}
	roots, err := f.roots()
	if err != nil {
		return nil, err
	}
	p.Call = outbox.NewVisitor(roots).Do
	client, err := f.serverOf(a, conf)
	if err != nil {
		return nil, err
	}
	if client == nil {
		p.NoServer = "admin.listen does not say where the server is: give --server URL, see its line \"notifyd ready\""
	} else {
		p.Server = privateListener{client}
	}
	return p, nil
}

// maxAuthorityBytes is above the list of all the authorities of the world.
const maxAuthorityBytes = 4 << 20

// roots are the authorities of --ca; nil for the system's.
func (f *doctorFlags) roots() (*x509.CertPool, error) {
	if f.ca == "" {
		return nil, nil
	}
	text, err := readAtMost(f.ca, maxAuthorityBytes)
	if err != nil {
		return nil, exitWith(exitUsage, "the file of --ca, %s, cannot be read: %w", f.ca, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, exitWith(exitUsage, "the file of --ca, %s, holds no certificate in PEM", f.ca)
	}
	return roots, nil
}

// serverOf is a client of the private listener; nil when its place is not known.
// Without a token the admin API will say so.
func (f *doctorFlags) serverOf(a *app, conf *config.Config) (*adminClient, error) {
	token, err := f.token(a)
	if err != nil {
		return nil, err
	}
	if token == "" {
		token = conf.Admin.Token
	}
	if f.server != "" {
		base, err := serverURL(f.server)
		if err != nil {
			return nil, err
		}
		return newAdminClient(base, token), nil
	}
	base, err := listenURL(conf.Admin.Listen)
	if err != nil {
		return nil, nil // port 0: the doctor goes on without the server
	}
	return newAdminClient(base, token), nil
}

// privateListener is the running server as the doctor asks it.
type privateListener struct{ client *adminClient }

func (l privateListener) String() string { return l.client.base }

func (l privateListener) Get(ctx context.Context, path string, query url.Values) (int, []byte, error) {
	answer, err := l.client.call(ctx, http.MethodGet, path, query, nil)
	return answer.status, answer.body, err
}

// firstID is the smallest id that newID could have made of a notification at t.
func firstID(t time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(t)) // fails in the year 10889
	return "ntf_" + id.String()
}
