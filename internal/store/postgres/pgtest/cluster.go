package pgtest

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
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// missing says what to do on a machine without a server: a test that is left
// out in silence is worse than one that fails.
const missing = `PostgreSQL's server programs are not installed, and the tests need them. Do one of these:
  Debian, Ubuntu:  sudo apt-get install --no-install-recommends postgresql
  elsewhere:       start PostgreSQL 14 or later and set ` + EnvURL + `=postgres://user:password@host:5432/postgres`

// Cluster is a private server whose processes a test may stop, start and kill.
type Cluster struct {
	bin  string // the folder of the server's programs
	root string // the temporary folder: data, socket, log
	port int
	user *syscall.Credential // nil: the test's own user
	rest *keeper
	main *exec.Cmd // the server; nil while it is down
	more []string  // settings
}

// Start makes and starts a cluster of the test's own, with further settings
// ("synchronous_commit=off"); it is removed when the test ends.
func Start(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c := New(t, settings...)
	c.Start(t)
	return c
}

// New makes a cluster that is not started: its URL names a server that is down.
func New(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := newCluster(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.KillAll(t)
		_ = os.Remove(filepath.Join(c.data(), "postmaster.pid")) // the number may be another's by now
		c.rest.end()
	})
	return c
}

// URL names a database of the cluster; "postgres" always is there.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

// Start starts the server and waits until it answers.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server as its makers mean it: sessions are broken off, what was
// committed is written.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	if c.main == nil {
		return
	}
	if err := c.main.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = c.main.Wait() // it was told to
	c.main = nil
}

// KillAll kills every process of the cluster at once, as a power cut does.
func (c *Cluster) KillAll(t testing.TB) {
	t.Helper()
	if c.main == nil {
		return
	}
	// Stopped, the first process makes no more of the others.
	_ = c.main.Process.Signal(syscall.SIGSTOP)
	all := append(childrenOf(c.main.Process.Pid), c.main.Process.Pid)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one that ended meanwhile is what we want
	}
	_ = c.main.Wait()
	c.main = nil
	// A server does not start while a process of the last one holds its memory.
	err := eventually(func() error {
		if i := slices.IndexFunc(all, isAlive); i >= 0 {
			return fmt.Errorf("process %d of the cluster lives on", all[i])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newCluster(settings ...string) (*Cluster, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return nil, errors.New(missing)
	}
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) }) // 9.6 before 15
	c := &Cluster{bin: filepath.Dir(found[len(found)-1]), more: settings}
	var err error
	if c.user, err = unprivileged(); err != nil {
		return nil, err
	}
	if c.root, err = os.MkdirTemp("", "notifyd-pg-"); err != nil { // short: a socket's path has 107 bytes at most
		return nil, err
	}
	if c.user != nil {
		if err := os.Chown(c.root, int(c.user.Uid), int(c.user.Gid)); err != nil {
			return nil, err
		}
	}
	if c.rest, err = newKeeper(c.root); err != nil {
		return nil, err
	}
	if c.port, err = freePort(); err != nil {
		return nil, err
	}
	initdb := c.command("initdb", "--pgdata", c.data(), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return c, nil
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
	return nil, errors.New("the tests run as root and there is neither a user postgres nor nobody to run a server as")
}

func (c *Cluster) data() string { return filepath.Join(c.root, "data") }

func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.root
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.user}
	return cmd
}

func (c *Cluster) start() error {
	settings := append([]string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(c.port), "unix_socket_directories=" + c.root,
		"max_connections=200", "shared_buffers=64MB", "fsync=on",
	}, c.more...)
	args := []string{"-D", c.data()}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := c.command("postgres", args...)
	log, err := os.OpenFile(filepath.Join(c.root, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log // files: nobody has to copy, nobody is waited for
	if err := cmd.Start(); err != nil {
		return err
	}
	c.main = cmd
	err = eventually(func() error {
		if !isAlive(cmd.Process.Pid) {
			return errGone
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := pgx.Connect(ctx, c.URL("postgres"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("the server does not answer: %w\n%s", err, text)
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

var errGone = errors.New("its first process has ended")

// eventually asks again until there is no error, within patience. There is no
// event to wait for: another program does the work.
func eventually(ask func() error) error {
	const pause = 5 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		err := ask()
		if err == nil || errors.Is(err, errGone) || time.Now().After(end) {
			return err
		}
	}
}
