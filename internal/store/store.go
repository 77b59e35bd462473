// Package store opens a database by the scheme of its URL. It says what the
// program needs of a database besides the domain's verbs; sqlite and postgres
// offer it, and storetest holds both to it.
//
// It imports order, outbox, idempotency, refusal, the two stores and row.
package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/refusal"
	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/internal/store/sqlite"
)

// ErrSchemaNewer is what Prepare returns for a database that a newer program
// has migrated.
var ErrSchemaNewer = sqlite.ErrSchemaNewer

// ErrSchemaOlder is what an Onlooker returns for a database that waits for a
// migration, and for one that has no schema yet.
var ErrSchemaOlder = row.ErrSchemaOlder

// DB is a database. It is safe for concurrent use; before Prepare has succeeded
// all that reads or writes is order.ErrUnavailable.
type DB interface {
	order.Store
	order.Reader
	Deliveries
	order.Feed
	Requests
	Upkeep
	Identity
}

// Deliveries are events on their way to the merchants.
type Deliveries interface {
	outbox.Store
	outbox.Desk
	order.EventReader
}

// Requests are those that are kept beside orders: the merchants' signed ones with
// their answers, and the last that were refused.
type Requests interface {
	idempotency.Store
	refusal.Store
}

// Upkeep is what the program does to a database besides its work.
type Upkeep interface {
	// Prepare connects, takes the locks that are needed, checks that commits
	// are durable, and migrates the schema under a lock. It may be called again,
	// after an error or after success. Errors: order.ErrUnavailable when the
	// database cannot be reached (trying later may help), ErrSchemaNewer,
	// *sqlite.HeldError, and others that a person has to put right.
	Prepare(ctx context.Context) error
	// Beat writes one row durably: readiness. Errors as for order.Store.
	Beat(ctx context.Context) error
	// PruneRaw removes the requests of up to limit notifications that were
	// received before a time, and says of how many; fewer than limit: none is
	// left for now. It walks in the order in which they were recorded and stops
	// at the first that is younger: a capture that is replayed goes, however old
	// it is, no later than what was recorded with it.
	PruneRaw(ctx context.Context, before time.Time, limit int) (int, error)
	// PruneDeliveries goes through up to limit deliveries that come after a key,
	// in order of their keys, which is the order of their events. Those that were
	// delivered before a time are removed with their attempts; of the others, which
	// stay until they are delivered, only attempts from before it.
	PruneDeliveries(ctx context.Context, before time.Time, after outbox.Key, limit int) (outbox.Pruned, error)
	// Close ends what is open. Units of work that run meanwhile fail or finish.
	Close() error
}

// Checkup is a look at a database from outside. It works before Prepare and while
// another process holds the database, on a connection of its own that is closed
// again; it writes nothing, migrates nothing and takes no lock that a writer
// waits for. How long it may take, the context says.
type Checkup interface {
	// Examine says how the database is set up, and whether there is room. An
	// error is why it cannot be looked at; os.ErrNotExist: SQLite's file is not
	// there yet.
	Examine(ctx context.Context) (Examination, error)
	// Integrity reads what there is and says what is damaged, one sentence each.
	Integrity(ctx context.Context) ([]string, error)
	// Arrivals says when an account's notifications came: first those of the spans, in order,
	// then the newest, the newest first; one may be in both. Never nil.
	Arrivals(ctx context.Context, f ArrivalFilter) ([]Arrival, error)
}

// Onlooker reads orders from outside, as a Checkup looks at the database: before
// Prepare, beside whoever holds it, without a write, a file or a lock.
type Onlooker interface {
	// FindBeside finds what a unit of work would find that wants this: what was
	// committed when it was asked, at one moment. Errors beside those of
	// order.Store: ErrSchemaOlder and ErrSchemaNewer, for which only the program of
	// that schema can read it; os.ErrNotExist: SQLite's file is not there yet.
	FindBeside(ctx context.Context, want order.Want) (*order.Found, error)
}

// What a Checkup says; package row explains it.
type (
	Examination   = row.Examination
	Setting       = row.Setting
	Disk          = row.Disk
	ArrivalFilter = row.ArrivalFilter
	Arrival       = row.Arrival
)

// Identity is what a database says about itself, and what it shows who looks.
type Identity interface {
	Checkup
	Onlooker
	// Describe names the database for people, without its password.
	Describe() string
	// Warnings are what Prepare found to be unwise, one sentence each: settings
	// under which an ack could be lost, readable files.
	Warnings() []string
	// Committers is how many units of work are worth running at once.
	Committers() int
}

// Options of a store.
type Options struct {
	// Holder is what a second process is told about this one when SQLite's file
	// is held, for instance "notifyd serve, public 127.0.0.1:8080".
	Holder string
	// Committers is how many units of work PostgreSQL runs at once; 0 for the
	// default. SQLite has one writer.
	Committers int
	// Subscriptions names the endpoints at which an event of a merchant is to be
	// delivered; the deliveries are written in the event's transaction. It must be
	// fast, for acks wait for it. Nil: there are no endpoints.
	Subscriptions func(merchant string, t order.EventType) []string
	// Disk is how SQLite asks the file system on which its file lies; nil: the
	// system's own way.
	Disk func(path string) (*Disk, error)
}

// Open names a database: "sqlite:PATH" (relative to the working directory) or
// "postgres://…", "postgresql://…". It connects to nothing and touches no file;
// its errors are errors of the URL.
func Open(url string, opts Options) (DB, error) {
	scheme, rest, found := strings.Cut(url, ":")
	switch {
	case found && scheme == "sqlite":
		return openSQLite(rest, opts)
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return postgres.Open(url, postgres.Options{Committers: opts.Committers, Subscriptions: opts.Subscriptions})
	}
	// The text itself may hold a password.
	return nil, fmt.Errorf("the store is neither sqlite:PATH nor postgres://user:password@host:5432/database")
}

// openSQLite takes sqlite:data/n.db, sqlite:/data/n.db and sqlite:///data/n.db.
func openSQLite(path string, opts Options) (DB, error) {
	path = strings.TrimPrefix(path, "//")
	if strings.ContainsRune(path, '?') {
		return nil, fmt.Errorf("sqlite:%s: the database takes no options, its settings are fixed", path)
	}
	return sqlite.Open(path, sqlite.Options{Holder: opts.Holder, Subscriptions: opts.Subscriptions, Disk: opts.Disk})
}
