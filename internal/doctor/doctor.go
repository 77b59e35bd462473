// Package doctor looks at a whole installation the way somebody would who was
// called because notifications do not arrive: keys, clock, database, the running
// server, and the notify URLs as the provider would call them. It says what is
// right, what is not and how it is put right; it changes nothing. What it cannot
// look at, it says too.
//
// It imports provider and the store's Checkup, whose answers it judges, and mend,
// which reads key files of every kind. It opens
// no connection of its own: what asks the server, the database and the outside
// is handed in.
package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/store"
)

// Status is how a check ended.
type Status string

// The four ends of a check. A skipped one could not be made; it says why.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Fail    Status = "fail"
	Skipped Status = "skipped"
)

// Line is what one check found about one subject.
type Line struct {
	Check   string `json:"check"`   // one of Checks
	Subject string `json:"subject"` // the account, where there are several; ""
	Status  Status `json:"status"`
	Text    string `json:"text"`
	Fix     string `json:"fix"` // what to do; "" when there is nothing to do
}

// The checks, each under one name for scripts and searches. docs/doctor.md
// explains them.
const (
	Config = "config"

	KeysRead   = "keys.read"
	KeysExpiry = "keys.expiry"
	KeysOwn    = "keys.own"

	ServerUp    = "server.up"
	ServerReady = "server.ready"

	ClockStore = "clock.store"
	ClockPeer  = "clock.peer"

	StoreReach      = "store.reach"
	StoreDurability = "store.durability"
	StoreSpace      = "store.space"
	StoreWritable   = "store.writable"
	StoreSchema     = "store.schema"
	StoreIntegrity  = "store.integrity"

	Acks     = "acks"
	Refusals = "refusals"
	Silence  = "silence"

	URLHTTPS    = "url.https"
	URLQuery    = "url.query"
	URLChain    = "url.chain"
	URLReach    = "url.reach"
	URLRedirect = "url.redirect"
	URLLogin    = "url.login"
	URLTime     = "url.time"
	URLHeaders  = "url.headers"
	URLBody     = "url.body"
)

// Checks lists the names of all checks, in the order in which they are made.
func Checks() []string {
	return []string{Config, KeysRead, KeysExpiry, KeysOwn, ServerUp, ServerReady, ClockStore, ClockPeer,
		StoreReach, StoreDurability, StoreSpace, StoreWritable, StoreSchema, StoreIntegrity, Acks, Refusals, Silence,
		URLHTTPS, URLQuery, URLChain, URLReach, URLRedirect, URLLogin, URLTime, URLHeaders, URLBody}
}

// Account is a configured account.
type Account struct {
	Name string
	// Provider is nil when the account cannot be used as it is configured.
	Provider provider.Provider
	Faults   []string // why it cannot be used, as far as its keys are why
	Files    []File   // what its keys were read from
	Nearby   []File   // what lies in the same folders
	// URL is what the provider was told to call; "" when it is not tried, and
	// NoURL says why.
	URL   string
	NoURL string
}

// File is a file and what it holds.
type File struct {
	Path    string
	Content []byte
}

// Server asks the running server at its private listener.
type Server interface {
	// Get returns whatever status the server answered with.
	Get(ctx context.Context, path string, query url.Values) (status int, body []byte, err error)
	// String is where it is, for people.
	String() string
}

// Patient is what is looked at, and the ways to look at it.
type Patient struct {
	Accounts []Account
	Server   Server        // nil: there is no way to it
	NoServer string        // then: why
	NoKept   string        // why the server keeps nothing of what it refuses; "": it does
	Store    store.Checkup // nil: its URL cannot be read
	StoreURL string        // without its password
	// Call makes one request and follows no redirect.
	Call      func(*http.Request) (*http.Response, error)
	ClockPeer string // a server whose clock is trusted; "" for none

	Now func() time.Time
	// Mark is new for each run: letters and digits that nobody else sends.
	Mark string
	// TestMark stands in every key file of the simulator; "" for none.
	TestMark string
	// FirstID is the smallest id that a notification could have got at a time.
	FirstID func(time.Time) string
	// IntegrityTime bounds the reading of the whole store; 0 leaves it out.
	IntegrityTime time.Duration
}

// Examine makes all checks but Config, which is over when there is a Patient.
// tell is given each line as soon as it is known.
func Examine(ctx context.Context, p *Patient, tell func(Line)) {
	x := &examination{Patient: p, tell: tell}
	for _, check := range []func(context.Context){x.keys, x.server, x.clocks, x.store, x.acks, x.refusals, x.silence, x.notifyURLs} {
		if ctx.Err() != nil {
			return
		}
		check(ctx)
	}
}

// examination is one run.
type examination struct {
	*Patient
	tell func(Line)

	up     bool   // the server answers
	down   string // otherwise: why not
	writes bool   // the server says that it can commit
	mute   error  // why the refusals that are kept cannot be read; nil: they can
}

func (x *examination) ok(check, subject, format string, args ...any) {
	x.tell(Line{check, subject, OK, fmt.Sprintf(format, args...), ""})
}

func (x *examination) warn(check, subject, fix, format string, args ...any) {
	x.tell(Line{check, subject, Warn, fmt.Sprintf(format, args...), fix})
}

func (x *examination) fail(check, subject, fix, format string, args ...any) {
	x.tell(Line{check, subject, Fail, fmt.Sprintf(format, args...), fix})
}

func (x *examination) skip(check, subject, format string, args ...any) {
	x.tell(Line{check, subject, Skipped, fmt.Sprintf(format, args...), ""})
}

// skipFrom skips a check and all that come after it within the same part.
func (x *examination) skipFrom(part []string, first, subject, format string, args ...any) {
	for _, check := range part[slices.Index(part, first):] {
		x.skip(check, subject, format, args...)
	}
}

// shortTime rounds for people.
func shortTime(d time.Duration) string {
	switch d = d.Abs(); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= time.Minute:
		return d.Round(time.Minute).String()[:len(d.Round(time.Minute).String())-len("0s")]
	case d >= time.Second:
		return d.Round(time.Second / 10).String()
	}
	return max(d.Round(time.Millisecond), time.Millisecond).String()
}
