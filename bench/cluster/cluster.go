// Package cluster starts PostgreSQL for the benchmark: a private server of the
// installed programs, as a user without rights, with fsync on. It makes and
// drops the databases that the systems are measured on.
//
// It imports the driver and the standard library.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds every wait for the server.
const patience = 60 * time.Second

// settings hold for every system alike. All that makes a commit durable is on;
// the rest keeps rare work (checkpoints) from falling into one measurement and
// not into the next.
var settings = []string{
	"fsync=on", "synchronous_commit=on", "full_page_writes=on", "wal_sync_method=fdatasync",
	"shared_buffers=512MB", "max_wal_size=8GB", "checkpoint_timeout=30min", "max_connections=100",
}

// Cluster is a running server.
type Cluster struct {
	bin, root string
	port      int
	user      *syscall.Credential
	main      *exec.Cmd
	Admin     *pgx.Conn // on the database postgres
}

// Start starts the server whose files are in root, a folder that is made when
// it is not there.
func Start(ctx context.Context, root string) (*Cluster, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return nil, errors.New("PostgreSQL's server programs are not installed. Debian, Ubuntu: sudo apt-get install --no-install-recommends postgresql")
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) }) // 9.6 before 15
	c := &Cluster{bin: filepath.Dir(found[len(found)-1]), root: root}
	var err error
	if c.user, err = unprivileged(); err != nil {
		return nil, err
	}
	if err := c.makeFolder(); err != nil {
		return nil, err
	}
	if c.port, err = freePort(); err != nil {
		return nil, err
	}
	return c, c.start(ctx)
}

func (c *Cluster) data() string { return filepath.Join(c.root, "data") }

// makeFolder makes root and an empty cluster in it.
func (c *Cluster) makeFolder() error {
	if _, err := os.Stat(filepath.Join(c.data(), "PG_VERSION")); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.root, 0o700); err != nil {
		return err
	}
	if c.user != nil {
		if err := os.Chown(c.root, int(c.user.Uid), int(c.user.Gid)); err != nil {
			return err
		}
	}
	initdb := c.command("initdb", "--pgdata", c.data(), "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// unprivileged is whom the server runs as: it refuses to run as root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.Atoi(u.Uid)
		gid, errG := strconv.Atoi(u.Gid)
		if err := errors.Join(errU, errG); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("the benchmark runs as root and there is neither a user postgres nor nobody to run a server as")
}

func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.root
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	// Should the benchmark be killed, its server ends as well.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user, Pdeathsig: syscall.SIGINT, Setpgid: true}
	return cmd
}

func (c *Cluster) start(ctx context.Context) error {
	args := []string{"-D", c.data()}
	for _, s := range append([]string{"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(c.port), "unix_socket_directories=" + c.root}, settings...) {
		args = append(args, "-c", s)
	}
	log, err := os.OpenFile(filepath.Join(c.root, "log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c.main = c.command("postgres", args...)
	c.main.Stdout, c.main.Stderr = log, log
	if err := c.main.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if c.Admin, err = pgx.Connect(ctx, c.URL("postgres")); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			text, _ := os.ReadFile(log.Name())
			return errors.Join(fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, text), c.Stop())
		}
	}
}

// Stop ends the server; what was committed is written.
func (c *Cluster) Stop() error {
	if c.Admin != nil {
		_ = c.Admin.Close(context.Background())
	}
	if err := c.main.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return c.main.Wait()
}

// PID is the server's first process, the parent of all others.
func (c *Cluster) PID() int { return c.main.Process.Pid }

// URL names a database.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

// Create makes a database, empty or as a copy of another one.
func (c *Cluster) Create(ctx context.Context, name, template string) error {
	create := "create database " + name
	if template != "" {
		create += " template " + template
	}
	return c.exec(ctx, "drop database if exists "+name+" with (force)", create)
}

// Drop removes a database.
func (c *Cluster) Drop(ctx context.Context, name string) error {
	return c.exec(ctx, "drop database if exists "+name+" with (force)")
}

// Has says whether there is a database.
func (c *Cluster) Has(ctx context.Context, name string) (has bool, err error) {
	err = c.Admin.QueryRow(ctx, "select exists (select 1 from pg_database where datname = $1)", name).Scan(&has)
	return has, err
}

// Settle writes what is in memory, so that no measurement pays for what was
// before it.
func (c *Cluster) Settle(ctx context.Context) error { return c.exec(ctx, "checkpoint") }

func (c *Cluster) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := c.Admin.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Do runs statements in a database.
func (c *Cluster) Do(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, c.URL(database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", firstLine(statement), err)
		}
	}
	return nil
}

// Count asks a database for one number.
func (c *Cluster) Count(ctx context.Context, database, query string) (n int64, err error) {
	conn, err := pgx.Connect(ctx, c.URL(database))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, query).Scan(&n)
	return n, err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// DropOthers removes the databases whose name is like a pattern.
func (c *Cluster) DropOthers(ctx context.Context, like string) error {
	rows, err := c.Admin.Query(ctx, "select datname from pg_database where datname like $1", like)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.Drop(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
