package main

import (
	"bytes"
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Opening a pipe that nobody writes to never ends; the first interrupt ends the
// command all the same.
func TestInterruptEndsWhatReadsAPipe(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", fifo}, {"simulate", "run", fifo}, {"check", "--config", fifo}, {"replay", "--to", "http://127.0.0.1:1", fifo}, {"doctor", "--config", fifo},
	} {
		var out, err bytes.Buffer
		ctx, interrupt := context.WithTimeout(t.Context(), 50*time.Millisecond)
		a := &app{stdio: stdio{in: &out, out: &out, err: &err}, env: noEnv, now: time.Now, patience: 50 * time.Millisecond}
		if code := a.run(ctx, args); code != exitInterrupted {
			t.Errorf("notifyd %v: exit %d, want %d; stderr: %s", args[0], code, exitInterrupted, err.String())
		}
		interrupt()
	}
}
