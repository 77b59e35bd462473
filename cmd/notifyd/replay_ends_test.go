package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// afterLine is a stdout that does something once, when the first line came.
type afterLine struct {
	bytes.Buffer
	then func()
}

func (w *afterLine) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if then := w.then; then != nil {
		w.then = nil
		then()
	}
	return n, err
}

func (w *afterLine) lines() int { return strings.Count(w.String(), "\n") }

// The capture at hand is finished, the rest is left, and the store is free.
func TestReplayIsInterruptedBetweenCaptures(t *testing.T) {
	dir := capturesIn(t, "sqlite:n.db")
	args := []string{"replay", "--config", filepath.Join(dir, "notifyd.yaml"), filepath.Join(dir, "captures", "101-v2-payment-md5.http"),
		filepath.Join(dir, "captures", "102-v2-payment-hmac.http")}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	var said bytes.Buffer
	out := &afterLine{then: interrupt}
	if code := run(ctx, args, noEnv, stdio{out: out, err: &said}); code != exitInterrupted || out.lines() != 1 {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), said.String())
	}
	if want := "1 of 2 captures: 1 accepted (1 applied)\nnotifyd: interrupted\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
	code, again, _ := runIn(args...)
	if code != exitDone || !strings.Contains(again, "duplicate  ORDER101") || !strings.Contains(again, "applied    ORDER102") {
		t.Errorf("exit code %d, and then\n%s", code, again)
	}
}

// A store that goes away in the middle ends the replay: what comes later may
// build on what could not be committed. It goes on where it stopped.
func TestReplayStopsWithoutItsStore(t *testing.T) {
	cluster := pgtest.Start(t)
	dir := capturesIn(t, cluster.URL("postgres"))
	args := []string{"replay", "--config", filepath.Join(dir, "notifyd.yaml")}
	for _, name := range []string{"601-alipay-waits-for-payment", "602-alipay-paid", "603-alipay-partial-refund"} {
		args = append(args, filepath.Join(dir, "captures", name+".http"))
	}
	var said bytes.Buffer
	out := &afterLine{then: func() { cluster.Stop(t) }}
	code := run(context.Background(), args, noEnv, stdio{out: out, err: &said})
	if code != exitUnreachable || out.lines() != 2 || !strings.Contains(out.String(), "unavailable  -          -                     -          edge.store  ") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), said.String())
	}
	if !strings.Contains(said.String(), "(1 further capture not played)") {
		t.Errorf("it does not say how much was left: %s", said.String())
	}
	cluster.Start(t)
	code, again, told := runIn(args...)
	if code != exitDone || strings.Count(again, "  applied  ") != 2 || strings.Count(again, "  duplicate  ") != 1 {
		t.Errorf("exit code %d\n%s%s", code, again, told)
	}
}

// What the store keeps of a request is enough to play it again, elsewhere and
// with the same end.
func TestStoredCapturesPlayAgain(t *testing.T) {
	dir := capturesIn(t, "sqlite:n.db")
	first := replayAll(t, dir)
	stored := filepath.Join(dir, "stored")
	export(t, "sqlite:"+filepath.Join(dir, "n.db"), stored, first)

	other := capturesIn(t, "sqlite:n.db")
	code, out, said := runIn("replay", "--config", filepath.Join(other, "notifyd.yaml"), stored)
	if code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	n := 0
	for _, p := range first {
		if p.Repeat == nil || *p.Repeat {
			continue
		}
		columns := p.columns()
		got, want := strings.Fields(lines[n])[1:], strings.Fields(strings.Join(columns[1:], " "))
		if !slices.Equal(got, want) {
			t.Errorf("%s became %v, its stored capture %v", p.File, want, got)
		}
		n++
	}
	if n != len(lines) {
		t.Errorf("%d notifications were recorded, %d stored captures played", n, len(lines))
	}
	wantEnds(t, "sqlite:"+filepath.Join(other, "n.db"))
}

// export writes the stored capture of every notification that was recorded, in
// the order in which they came.
func export(t *testing.T, url, dir string, all []played) {
	t.Helper()
	db, err := store.Open(url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Repeat == nil || *p.Repeat {
			continue
		}
		c, at, err := db.Capture(context.Background(), *p.NotificationID)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := provider.WriteCapture(&file, c, at); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(p.File)), file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
