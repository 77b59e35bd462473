package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// What scripts can do besides what testscript itself can: interrupt a program,
// and run it on a terminal.

// scriptPatience bounds every wait of a script.
const scriptPatience = 30 * time.Second

// silent is a server that takes requests and never answers: whoever asks it is
// in the middle of something. Its URL is $SILENT.
type silent struct {
	net.Listener
	asked chan struct{}
}

type silentKey struct{}

func serveSilence(env *testscript.Env) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &silent{l, make(chan struct{}, 1)}
	var held []net.Conn
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			held = append(held, c)
			if _, err := c.Read(make([]byte, 1)); err == nil {
				s.asked <- struct{}{}
			}
		}
	}()
	env.Setenv("SILENT", "http://"+l.Addr().String())
	env.Values[silentKey{}] = s
	env.Defer(func() {
		_ = l.Close()
		<-ended
		for _, c := range held {
			_ = c.Close()
		}
	})
	return nil
}

// awaited is an output that tells when a text has appeared.
type awaited struct {
	mu       sync.Mutex
	text     bytes.Buffer
	pattern  *regexp.Regexp // nil: nothing is waited for
	appeared chan struct{}
}

func awaiting(pattern string) *awaited {
	w := &awaited{appeared: make(chan struct{})}
	if pattern != "" {
		w.pattern = regexp.MustCompile(pattern)
	}
	return w
}

func (w *awaited) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if w.pattern != nil && w.pattern.Match(w.text.Bytes()) {
		w.pattern = nil
		close(w.appeared)
	}
	return len(p), nil
}

// scriptProgram prepares a program as exec does.
func scriptProgram(ts *testscript.TestScript, args []string) *exec.Cmd {
	path, err := exec.LookPath(args[0]) // testscript puts ours first
	ts.Check(err)
	c := exec.Command(path, args[1:]...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "NO_COLOR", "TERM", tokenVariable} {
		if value := ts.Getenv(name); value != "" {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	return c
}

// interrupted sends a program the signal of Ctrl-C and wants its exit code:
//
//	interrupted request CODE PROGRAM ARG…   once it has asked $SILENT
//	interrupted PATTERN CODE PROGRAM ARG…   once it has said that
func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupted request|PATTERN CODE PROGRAM ARG…")
	}
	pattern, moment := args[0], ts.Value(silentKey{}).(*silent).asked
	if pattern == "request" {
		pattern = ""
	}
	out, said := awaiting(pattern), awaiting(pattern)
	c := scriptProgram(ts, args[2:])
	c.Stdout, c.Stderr = out, said
	ts.Check(c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	late := time.NewTimer(scriptPatience)
	defer late.Stop()
	if pattern != "" {
		moment = nil
	}
	var early bool
	select {
	case <-moment:
	case <-out.appeared:
	case <-said.appeared:
	case <-ended:
		early = true
	case <-late.C:
		_ = c.Process.Kill()
		ts.Fatalf("its moment never came; it said %q %q", out.text.String(), said.text.String())
	}
	if !early {
		ts.Check(c.Process.Signal(os.Interrupt))
		select {
		case <-ended:
		case <-late.C:
			_ = c.Process.Kill()
			ts.Fatalf("it does not end when it is interrupted")
		}
	}
	_, _ = io.Copy(ts.Stdout(), &out.text)
	_, _ = io.Copy(ts.Stderr(), &said.text)
	if early {
		ts.Fatalf("it ended by itself, with code %d", c.ProcessState.ExitCode())
	}
	wantCode(ts, c, args[1])
}

func wantCode(ts *testscript.TestScript, c *exec.Cmd, want string) {
	if code := itoa(c.ProcessState.ExitCode()); code != want {
		ts.Fatalf("exit code %s, want %s", code, want)
	}
}
