package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
)

// told is what the demo's JSON says, as far as the tests ask.
type told struct {
	Folder, Config, Private string
	Token                   string `json:"admin_token"`
	Steps                   []demoResult
	Orders                  []order.StoryView
}

func readTold(t *testing.T, text string) told {
	t.Helper()
	var d told
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// The whole story, on the composition that serve runs: each step with what the
// server made of it.
func TestDemoTellsTheStory(t *testing.T) {
	code, out, err := runIn("demo", "--once", "--json")
	if code != exitDone || err != "" {
		t.Fatalf("exit code %d, stderr %q", code, err)
	}
	d := readTold(t, out)
	var got []string
	for _, s := range d.Steps {
		after := ""
		for _, status := range s.After {
			after += " " + string(status)
		}
		got = append(got, strings.Join(s.Orders, "+")+" "+s.Verdict+" "+*s.outcome()+" "+s.Reason+after)
	}
	want := []string{
		"T1001    created",
		"T1001 accepted applied  paid",
		"T1001 accepted repeat  paid",
		"T1002 refused  wx.signature ",
		"T1002 refused  wx.probe ",
		"T1002 refused  wx.foreign_mchid ",
		"T1003 accepted applied  paid",
		"T1003 accepted applied  paid",
		"T1005    created",
		"T1005 accepted conflict amount_mismatch created",
		"T1006 accepted applied  paid",
		"T1006 accepted duplicate  paid",
		"T1007+T1008 accepted applied  paid paid",
		"T1004 accepted applied  pending",
		"T1004 accepted applied  paid",
		"T1004 accepted applied  paid",
		"T1004 accepted applied  refunded",
		"T1009 accepted applied  paid",
		"T1009 accepted stale  paid",
		"T1010 refused  ali.signature ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	money := map[string][2]int64{}
	for _, o := range d.Orders {
		money[o.OutTradeNo] = [2]int64{o.PaidFen, o.RefundedFen}
	}
	if diff := cmp.Diff(map[string][2]int64{"T1001": {1000, 0}, "T1003": {500, 200}, "T1004": {8800, 8800}, "T1005": {0, 0},
		"T1006": {3000, 900}, "T1007": {1200, 0}, "T1008": {800, 0}, "T1009": {1800, 0}}, money); diff != "" {
		t.Error(diff)
	}
	if exists(d.Folder) {
		t.Errorf("%s is still there", d.Folder)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestDemoIsReadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	code, out, err := runIn("demo", "--once", "--keep", dir)
	if code != exitDone || err != "kept in "+dir+": notifyd.yaml, secrets, simulator, data, and the log of the server\n" {
		t.Fatalf("exit code %d, stderr %q", code, err)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("there are colours where no terminal is")
	}
	header, rows, found := strings.Cut(out[strings.Index(out, "#   FROM"):], "\n")
	if !found {
		t.Fatal(out)
	}
	// Every row has its verdict in the column of that name.
	at := strings.Index(header, "VERDICT")
	for _, row := range strings.Split(strings.TrimRight(rows, "\n"), "\n")[:20] {
		if cell := row[at-1:]; !strings.HasPrefix(cell, " accepted ") && !strings.HasPrefix(cell, " refused ") && !strings.HasPrefix(cell, " - ") {
			t.Errorf("out of line: %s", row)
		}
	}
	if !strings.HasSuffix(out, "\n\nWithout --once it stays up and shows how to ask for yourself.\n") || strings.Contains(out, "curl") {
		t.Errorf("it has ended, and offers to be asked:\n%s", out)
	}
	// What is left is a configuration like any other.
	if code, _, err := runIn("check", "--config", filepath.Join(dir, "notifyd.yaml")); code != exitDone || err != "" {
		t.Errorf("check: exit code %d, %s", code, err)
	}
	if code, _, err := runIn("demo", "--keep", dir); code != exitUsage || !strings.Contains(err, "is not empty") {
		t.Errorf("a second demo in the folder: exit code %d, %s", code, err)
	}
	if painted := painted([]byte("3  accepted  conflict  -\n")); !bytes.Contains(painted, []byte("\x1b[32maccepted\x1b[0m  \x1b[33mconflict\x1b[0m")) {
		t.Errorf("%q", painted)
	}
}

// What stays up says how it is asked.
func TestDemoShowsHowToAsk(t *testing.T) {
	told := demoTold{Config: "/tmp/d/notifyd.yaml", Private: "http://127.0.0.1:1", Token: "secret"}
	text := string(told.text(false))
	for _, want := range []string{
		"  curl -sS -H 'Authorization: Bearer secret' 'http://127.0.0.1:1/admin/v1/orders/T1004'\n",
		"  curl -sS http://127.0.0.1:1/readyz\n", "  notifyd orders list --config /tmp/d/notifyd.yaml\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// It stays up for questions until it is told to end, and then removes its folder.
func TestDemoStaysUntilASignal(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	out, err, code := newWatched(), newWatched(), make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"demo", "--json"}, noEnv, stdio{in: strings.NewReader(""), out: out, err: err})
	}()
	err.await(t, `(?m)^Running until Ctrl-C`)
	d := readTold(t, out.String())
	if c, list, e := runIn("orders", "list", "--config", d.Config, "--status", "refunded"); c != exitDone || !strings.Contains(list, "T1004") {
		t.Errorf("orders list: exit code %d\n%s%s", c, list, e)
	}
	// Its keys are those of a simulated provider: anybody can go on with them.
	if c, sent, e := runIn("simulate", "payment", "--config", d.Config, "--order", "T2001"); c != exitDone || !strings.Contains(sent, "200  acked") {
		t.Errorf("simulate: exit code %d\n%s%s", c, sent, e)
	}
	end()
	select {
	case c := <-code:
		if c != exitDone {
			t.Errorf("exit code %d", c)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
	if exists(d.Folder) {
		t.Errorf("%s is still there", d.Folder)
	}
}

// A signal in the middle of the story is no failure.
func TestDemoEndsBeforeItsStory(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	var out, err bytes.Buffer
	if code := run(ctx, []string{"demo"}, noEnv, stdio{in: strings.NewReader(""), out: &out, err: &err}); code != exitDone || out.Len() > 0 {
		t.Errorf("exit code %d, %s%s", code, out.String(), err.String())
	}
}
