package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// An interrupt ends the wait for an answer; what was cut off is not shown.
func TestSimulateIsInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	if _, err := writeTestShop(dir); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	go func() { // reads nothing, says nothing
		if conn, err := l.Accept(); err == nil {
			interrupt()
			defer conn.Close()
			<-ctx.Done()
		}
	}()
	var o, e bytes.Buffer
	args := []string{"simulate", "refund-full", "--config", filepath.Join(dir, "notifyd.yaml"), "--to", "http://" + l.Addr().String(), "--number", "5"}
	code := run(ctx, args, noEnv, stdio{out: &o, err: &e})
	if code != exitInterrupted || o.Len() > 0 || e.String() != "0 of 10 messages: 0 acked, 0 refused\nnotifyd: interrupted\n" {
		t.Errorf("exit code %d\n%s%s", code, o.String(), e.String())
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	e.Reset()
	out := filepath.Join(dir, "captures")
	if code := run(ended, []string{"simulate", "payment", "--config", filepath.Join(dir, "notifyd.yaml"), "--out", out}, noEnv, stdio{out: &o, err: &e}); code != exitInterrupted {
		t.Errorf("exit code %d\n%s", code, e.String())
	}
}

// Only what is not as it has to be is coloured.
func TestSimulateColoursWhatIsWrong(t *testing.T) {
	if got := paintedVerdict("a  b  ! wrong\n"); got != "a  b  \x1b[31m! wrong\x1b[0m\n" {
		t.Errorf("%q", got)
	}
	if got := paintedVerdict("a  b  (due: applied)\n"); strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}

// Copies are as they have to be when all of them are.
func TestSimulatedCopiesCountOneByOne(t *testing.T) {
	step := func(copies, acked int, wantAck bool) simulatedStep {
		return simulatedStep{numberedStep: numberedStep{Step: simulator.Step{Copies: copies, Want: simulator.Want{Acked: wantAck}}}, acked: acked}
	}
	for _, c := range []struct {
		copies, acked int
		wantAck, want bool
	}{{0, 1, true, true}, {0, 0, true, false}, {50, 50, true, true}, {50, 49, true, false}, {0, 0, false, true}, {50, 1, false, false}} {
		if got := step(c.copies, c.acked, c.wantAck).asWanted(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The pace holds over all who send: n messages take n-1 pauses.
func TestSimulatePace(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := newPace(1e6, func() time.Time { return now })
	for range 11 {
		if err := p.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.next.Sub(now); got != 11*time.Microsecond {
		t.Errorf("the twelfth is due after %v", got)
	}
	now = now.Add(time.Hour) // after a silence nothing is made up for
	if err := p.wait(t.Context()); err != nil || !p.next.Equal(now.Add(time.Microsecond)) {
		t.Errorf("the next is due at %v, %v", p.next, err)
	}
}
