// Package pgtest gives tests a real PostgreSQL. NOTIFYD_TEST_POSTGRES names a
// server; without it a private cluster is started from the installed server
// programs, one for each test process, in a temporary folder, as a user without
// rights, with fsync on. Each test gets a database of its own.
//
// It serves tests only. It imports the driver, and the migrations with the
// postgres store that runs them.
package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/migrations"
)

// EnvURL names a server for tests: a URL of a user that may create databases,
// for instance postgres://user:password@127.0.0.1:5432/postgres.
const EnvURL = "NOTIFYD_TEST_POSTGRES"

// patience bounds every wait for a server; a test that needs more has failed.
const patience = 30 * time.Second

// server is where this process makes its databases.
type server struct {
	url      string
	template string   // a migrated database
	id       uint32   // of this process, in the names of its databases
	cluster  *Cluster // held as long as the process lives: its end of the keeper's pipe closes with it
}

// shared is this process's server. Its cluster, if it is ours, ends with the
// process: see keeper.
var shared = sync.OnceValues(func() (*server, error) {
	s := &server{url: os.Getenv(EnvURL), id: rand.Uint32()}
	if s.url == "" {
		c, err := newCluster()
		if err == nil {
			err = c.start()
		}
		if err != nil {
			return nil, err
		}
		s.url, s.cluster = c.URL("postgres"), c
	}
	return s, s.makeTemplate()
})

// count numbers the databases of this process.
var count atomic.Int64

// Database makes a fresh, migrated database for a test and returns its URL. It
// is dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	return database(t, true)
}

// Empty makes a fresh database without a schema.
func Empty(t testing.TB) string {
	t.Helper()
	return database(t, false)
}

func database(t testing.TB, migrated bool) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("notifyd_test_%08x_%d", s.id, count.Add(1))
	create := "create database " + name
	if migrated {
		create += " template " + s.template
	}
	if err := s.exec(create); err != nil {
		t.Fatalf("a database for the test cannot be made: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec("drop database " + name + " with (force)"); err != nil {
			t.Errorf("the database of the test cannot be dropped: %v", err)
		}
	})
	return withDatabase(s.url, name)
}

// makeTemplate migrates a database that the others are copies of: copying is
// several times faster than migrating. Its name tells schemas apart, so that all
// processes that test against one server share it; on a server of somebody's own
// it stays for the next run.
func (s *server) makeTemplate() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return fmt.Errorf("the server for the tests does not answer: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", templateLock); err != nil {
		return err
	}
	s.template = "notifyd_test_template_" + schema()
	var ready bool
	const isReady = `select exists (select 1 from pg_database where datname = $1 and shobj_description(oid, 'pg_database') = 'migrated')`
	if err := conn.QueryRow(ctx, isReady, s.template).Scan(&ready); err != nil || ready {
		return err
	}
	// One that is not ready was left by a process that died.
	if err := s.exec("drop database if exists "+s.template, "create database "+s.template); err != nil {
		return fmt.Errorf("the template of the tests' databases cannot be made: %w", err)
	}
	db, err := postgres.Open(withDatabase(s.url, s.template), postgres.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(db.Prepare(ctx), db.Close()); err != nil {
		return fmt.Errorf("the template of the tests' databases cannot be migrated: %w", err)
	}
	return s.exec("comment on database " + s.template + " is 'migrated'")
}

// templateLock is the advisory lock under which the template is made: "ntfytmpl".
const templateLock int64 = 0x6e746679746d706c

// schema is a short name of what the migrations say.
func schema() string {
	h := sha256.New()
	names, _ := fs.Glob(migrations.Postgres, "postgres/*.sql") // the pattern is well-formed
	for _, name := range names {
		text, _ := migrations.Postgres.ReadFile(name) // it is part of this program
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

func (s *server) exec(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// withDatabase is a server's URL with another database.
func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		panic(EnvURL + " is no URL of the form postgres://user:password@host:5432/database")
	}
	u.Path = "/" + name
	return u.String()
}

// Forget keeps the server from making statistics of a table: its planner goes on
// as if the table were as it was made, which it does for a minute after any burst.
func Forget(t testing.TB, url, table string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "alter table "+pgx.Identifier{table}.Sanitize()+" set (autovacuum_enabled = off)"); err != nil {
		t.Fatal(err)
	}
}
