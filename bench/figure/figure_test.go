package figure

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/bench/load"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3, 1, 2}, Spread{2, 1, 3, 3}},
		{[]float64{4, 1, 2, 3}, Spread{2.5, 1, 4, 4}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("SpreadOf(%v) = %+v", c.values, got)
		}
	}
}

// book holds two rounds in which the machine was twice as fast in the second.
func book() *Book {
	b := &Book{}
	for round, speed := range []float64{1, 2} {
		for name, perSecond := range map[string]float64{"unique v3, notifyd, 256": 9000, "unique v3, gopay, 256": 2000, "unique v3, sdk, 256": 1500, "E, 256": 20000, "D, 256": 20000} {
			b.Add(Measured{Name: name, Round: round + 1, PerSecond: perSecond * speed})
		}
	}
	b.Add(Measured{Name: "unique v3, sdk, 256", Round: 3, PerSecond: 99999, Fault: "nothing was durable"})
	return b
}

func TestGoals(t *testing.T) {
	b := book()
	b.Reach = b.Goals()
	found := map[string]Row{}
	for _, r := range b.Reach {
		found[r.Figure] = r
	}
	peer := found["the same, 256 connections"]
	if !near(peer.Median, 4.5) || !near(peer.Low, 4.5) || peer.Note != "the faster peer: gopay" || !peer.Reached() {
		t.Errorf("against the faster peer: %+v", peer)
	}
	composed := found["the same against the composed ceiling of E and D, 256 connections"]
	if !near(composed.Median, 0.9) || !composed.Reached() {
		t.Errorf("against the ceiling: %+v", composed)
	}
	if r := found["p99 ack at half of the best throughput"]; r.Measured() {
		t.Errorf("nobody measured it: %+v", r)
	}
	var text strings.Builder
	b.Print(&text)
	for _, want := range []string{"4.50 ×", "not measured", "not used: unique v3, sdk, 256, round 3: nothing was durable"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
}

func TestSlope(t *testing.T) {
	m := Measured{Load: &load.Result{}}
	for i := range int64(100) {
		kib := int64(40_000) // the first half does not count
		if i >= 50 {
			kib = 50_000 + (i-50)*1024/50 // 1 MiB in 50,000
		}
		m.Load.Memory = append(m.Load.Memory, load.Memory{Answered: i * 1000, ResidentKiB: kib})
	}
	if got := slope(m); got < 0.98 || got > 1.02 {
		t.Errorf("the slope is %f MiB", got)
	}
	if m.ResidentKiB() < 51_000 {
		t.Errorf("the most is %d KiB", m.ResidentKiB())
	}
}

func TestPublish(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "performance.md")
	if err := os.WriteFile(name, []byte("before\n"+figuresBegin+"old\n"+figuresEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := book()
	b.Reach = b.Goals()
	for range 2 { // the second time finds the place again
		if err := b.Publish(folder); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.HasPrefix(s, "before\n") || !strings.HasSuffix(s, "\nafter\n") || strings.Contains(s, "old\n") || strings.Count(s, "4.50 ×") != 1 {
		t.Errorf("the document is\n%s", s)
	}
	chart, err := os.ReadFile(filepath.Join(folder, "performance.svg"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(string(chart)))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the chart is no XML: %v\n%s", err, chart)
		}
	}
	if !strings.Contains(string(chart), "9000") && !strings.Contains(string(chart), "13500/s") {
		t.Errorf("the chart lacks the speed:\n%s", chart)
	}
}
