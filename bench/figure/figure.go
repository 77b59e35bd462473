// Package figure keeps what was measured and shows it: medians with their
// spread, ratios within one round, tables, a chart and a JSON file.
//
// It imports load and the standard library.
package figure

import (
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/notifyd/notifyd/bench/load"
)

// Measured is one measurement.
type Measured struct {
	Name      string       `json:"name"`
	Round     int          `json:"round"`
	PerSecond float64      `json:"per_second"`
	Load      *load.Result `json:"load,omitempty"` // nil for what runs without HTTP

	// Of notifyd's own runs on PostgreSQL.
	Batch          float64 `json:"mean_batch,omitempty"`           // notifications per commit
	SyncsPerCommit float64 `json:"wal_syncs_per_commit,omitempty"` // above 1 by the starting and the beats, below it where commits share one
	Lookup         float64 `json:"mean_lookup,omitempty"`          // repeats per read
	Fault          string  `json:"fault,omitempty"`                // the figure must not be used
}

// maxIdlePercent: with more idle time something else than the processors was
// the bound.
const maxIdlePercent = 10

// CPUBound says whether the processors were busy.
func (m Measured) CPUBound() bool { return m.Load == nil || m.Load.IdlePercent <= maxIdlePercent }

// ResidentKiB is the most memory that was seen; 0 when nobody looked.
func (m Measured) ResidentKiB() (most int64) {
	if m.Load != nil {
		for _, seen := range m.Load.Memory {
			most = max(most, seen.ResidentKiB)
		}
	}
	return most
}

// Machine is where the figures were made.
type Machine struct {
	Time       time.Time `json:"time"`
	Processors int       `json:"processors"`
	Model      string    `json:"model"`
	Kernel     string    `json:"kernel"`
	Filesystem string    `json:"filesystem"`
	Go         string    `json:"go"`
	Database   []string  `json:"database"`
	Notifyd    string    `json:"notifyd"`
}

// Book holds all figures of a run.
type Book struct {
	Machine  Machine    `json:"machine"`
	Measured []Measured `json:"measured"`
	Parse    []Parse    `json:"parse,omitempty"`
	Reach    []Row      `json:"reach"`
	Notes    []string   `json:"notes,omitempty"`
}

// Parse is one Go benchmark of parse, verify and map.
type Parse struct {
	Protocol    string  `json:"protocol"`
	Library     string  `json:"library"`
	Nanoseconds float64 `json:"ns_per_op"`
	Bytes       float64 `json:"bytes_per_op"`
	Allocations float64 `json:"allocs_per_op"`
}

// Add notes a measurement.
func (b *Book) Add(m Measured) { b.Measured = append(b.Measured, m) }

// Names are all names, in the order in which they came first.
func (b *Book) Names() (names []string) {
	for _, m := range b.Measured {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Of are the measurements of one name that can be used, by round.
func (b *Book) Of(name string) map[int]Measured {
	found := map[int]Measured{}
	for _, m := range b.Measured {
		if m.Name == name && m.Fault == "" {
			found[m.Round] = m
		}
	}
	return found
}

// Faults are the measurements that must not be used.
func (b *Book) Faults() (faults []Measured) {
	for _, m := range b.Measured {
		if m.Fault != "" {
			faults = append(faults, m)
		}
	}
	return faults
}

// Write writes the book as JSON.
func (b *Book) Write(name string) error {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// Spread is a median with what lies around it.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Rounds int     `json:"rounds"`
}

// SpreadOf is the spread of values.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	s := Spread{sorted[middle], sorted[0], sorted[len(sorted)-1], len(sorted)}
	if len(sorted)%2 == 0 {
		s.Median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return s
}

// Speed is the spread of a name's speed.
func (b *Book) Speed(name string) Spread {
	return b.each(name, func(m Measured) float64 { return m.PerSecond })
}

func (b *Book) each(name string, value func(Measured) float64) Spread {
	var values []float64
	for _, m := range b.Of(name) {
		values = append(values, value(m))
	}
	return SpreadOf(values)
}

// Batch is the median of a name's mean batch; 1 at least.
func (b *Book) Batch(name string) int {
	return max(1, int(b.each(name, func(m Measured) float64 { return m.Batch }).Median+0.5))
}

// Lookup is the median of a name's repeats per read; 1 at least.
func (b *Book) Lookup(name string) int {
	return max(1, int(b.each(name, func(m Measured) float64 { return m.Lookup }).Median+0.5))
}
