package crashtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait: a test that needs more has failed.
const patience = 30 * time.Second

// adminToken opens the admin API of every process here.
const adminToken = "throw-away-admin-token"

// site is a folder with a configuration that processes are started with.
type site struct {
	dir     string
	token   string
	program string // the path of the built program
}

func newSite(t testing.TB) *site {
	t.Helper()
	return &site{dir: t.TempDir(), token: adminToken, program: built.path}
}

func (s *site) write(t testing.TB, name string, text []byte) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// instance is one process of the program.
type instance struct {
	*site
	cmd             *exec.Cmd
	public, private string // "http://127.0.0.1:…"

	mu     sync.Mutex
	stderr bytes.Buffer
	stdout bytes.Buffer
	read   sync.WaitGroup // until stderr and stdout have ended
	ended  bool
}

// start runs notifyd serve and waits for its ready line.
func (s *site) start(t testing.TB) *instance {
	t.Helper()
	p := &instance{site: s, cmd: exec.Command(s.program, "serve", "--config", filepath.Join(s.dir, "notifyd.yaml"))}
	p.cmd.Dir = s.dir
	p.cmd.Env = []string{"PATH=/usr/bin:/bin"}
	errPipe, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = writerFunc(func(b []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.stdout.Write(b)
	})
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill(t) })
	ready := make(chan bool, 1)
	p.read.Go(func() { p.follow(errPipe, ready) })
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("the program ended before it was ready:\n%s", p.said())
		}
	case <-time.After(patience):
		t.Fatalf("the program does not become ready:\n%s", p.said())
	}
	return p
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// follow keeps what the process says and finds the ready line in it.
func (p *instance) follow(r io.Reader, ready chan<- bool) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		p.stderr.WriteString(line)
		p.mu.Unlock()
		var public, private string
		if n, _ := fmt.Sscanf(line, "notifyd ready public=%s private=%s", &public, &private); n == 2 {
			p.public, p.private = "http://"+public, "http://"+private
			ready <- true
		}
		if err != nil {
			close(ready)
			return
		}
	}
}

// said is everything that the process wrote to stderr so far.
func (p *instance) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// kill ends the process as a power cut does.
func (p *instance) kill(t testing.TB) {
	t.Helper()
	if p.ended {
		return
	}
	_ = p.cmd.Process.Kill() // by its own number; one that has ended is what we want
	p.wait()
}

func (p *instance) wait() error {
	p.ended = true
	p.read.Wait() // a pipe must be read before Wait closes it
	return p.cmd.Wait()
}

// stop asks the process to end and wants exit code 0 within its shutdown time.
func (p *instance) stop(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.ends(t)
}

func (p *instance) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ends waits for an orderly end.
func (p *instance) ends(t testing.TB) {
	t.Helper()
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.wait(); err != nil {
		t.Errorf("the program did not end in order: %v\n%s", err, tail(p.said()))
	}
}

// tail is the end of a long text.
func tail(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	const enough = 20
	return strings.Join(lines[max(0, len(lines)-enough):], "\n")
}

// eventually asks again until it is true; the test has failed when it never is.
// There is no event to wait for: another process does the work.
func eventually(t testing.TB, what string, ask func() bool) {
	t.Helper()
	const pause = 10 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ask(); <-tick.C {
		if time.Now().After(end) {
			t.Errorf("never: %s", what)
			return
		}
	}
}
