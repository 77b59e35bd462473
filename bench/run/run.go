// Package run is the plan of the benchmark: which systems are measured under
// which load, in which order, from which state of the database.
//
// It imports the other packages of the benchmark.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/notifyd/notifyd/bench/cluster"
	"github.com/notifyd/notifyd/bench/figure"
)

// Options of a run.
type Options struct {
	Binary   string         // notifyd's own binary
	Before   string         // another build of it, measured beside it; may be empty
	Self     string         // this program: client, peers and the edge are processes of it
	Source   string         // notifyd's repository, for the Go benchmarks
	Folder   string         // where the run's files are made; on a disk, not in memory
	Cache    string         // where the settled orders are kept between runs
	Rounds   int            // repetitions of each measurement
	Warm     time.Duration  // before each, not counted
	Measure  time.Duration  // of each
	Messages int            // unique messages of a kind: a measurement ends when they do
	Long     int            // messages of the run that watches memory
	Settled  int            // settled orders, when the kept set is not there
	Full     bool           // the whole matrix, and the whole set of settled orders
	Only     *regexp.Regexp // names of the groups to run; nil: all
	// Measurements are the names of those to run of the groups; nil: all.
	Measurements *regexp.Regexp
	Progress     io.Writer
}

// settledWhole is the table set that is built once and kept.
const settledWhole = 5_000_000

// bench is a run in progress.
type bench struct {
	Options
	ctx       context.Context
	start     time.Time
	cluster   *cluster.Cluster
	pools     map[poolKey]*pool
	templates map[string]bool
	book      *figure.Book
}

// Run measures everything that the options ask for. What was measured before an
// error is in the book.
func Run(ctx context.Context, o Options) (book *figure.Book, err error) {
	b := &bench{Options: o, ctx: ctx, start: time.Now(), pools: map[poolKey]*pool{}, templates: map[string]bool{}, book: &figure.Book{}}
	if b.Folder, err = os.MkdirTemp(o.Folder, "notifyd-bench-"); err != nil {
		return b.book, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.Folder)) }()
	// The server's own user must pass.
	if err := os.Chmod(b.Folder, 0o755); err != nil {
		return b.book, err
	}
	if b.cluster, err = cluster.Start(ctx, filepath.Join(b.Folder, "pg")); err != nil {
		return b.book, err
	}
	defer func() { err = errors.Join(err, b.cluster.Stop()) }()
	if b.book.Machine, err = b.machine(); err != nil {
		return b.book, err
	}
	for _, line := range b.book.Machine.Database {
		b.say("%s", line)
	}
	for _, g := range b.groups() {
		if o.Only != nil && !o.Only.MatchString(g.name) {
			continue
		}
		if err := b.measureGroup(g); err != nil {
			return b.book, fmt.Errorf("%s: %w", g.name, err)
		}
	}
	if o.Only == nil || o.Only.MatchString("parse") {
		if b.book.Parse, err = b.parse(); err != nil {
			return b.book, err
		}
	}
	b.book.Reach = b.book.Goals()
	return b.book, nil
}

// say tells the progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.Progress, "%6.1fs  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

// group is measurements that are compared with each other, so that they take
// turns: A B A B …
type group struct {
	name string
	// build returns the measurements, after all that only has to be done once,
	// and what ends the group; nil: nothing does.
	build func() ([]measurement, func() error, error)
	once  bool // one round is enough
}

// measurement is one name, measured once in each round.
type measurement struct {
	name    string
	measure func(round int) (figure.Measured, error)
}

func (b *bench) measureGroup(g group) (err error) {
	b.say("── %s: preparing", g.name)
	measurements, end, err := g.build()
	if end != nil {
		defer func() { err = errors.Join(err, end()) }()
	}
	if err != nil {
		return err
	}
	if b.Measurements != nil {
		measurements = slices.DeleteFunc(measurements, func(m measurement) bool { return !b.Measurements.MatchString(m.name) })
	}
	rounds := b.Rounds
	if g.once {
		rounds = 1
	}
	for round := 1; round <= rounds; round++ {
		for i, m := range measurements {
			if err := b.ctx.Err(); err != nil {
				return context.Cause(b.ctx)
			}
			got, err := m.measure(round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", m.name, round, err)
			}
			got.Name, got.Round = m.name, round
			b.book.Add(got)
			b.say("%s [round %d/%d, %d/%d] %s", g.name, round, rounds, i+1, len(measurements), summary(got))
		}
	}
	return nil
}

func summary(m figure.Measured) string {
	text := fmt.Sprintf("%s: %.0f/s", m.Name, m.PerSecond)
	if m.Load != nil {
		text += fmt.Sprintf(", p50 %.2f ms, p99 %.2f ms, idle %.0f %%", m.Load.P50/1000, m.Load.P99/1000, m.Load.IdlePercent)
		for _, name := range slices.Sorted(maps.Keys(m.Load.Spent)) {
			text += fmt.Sprintf(", %s %.0f µs", name, m.Load.Spent[name])
		}
	}
	if m.Batch > 0 {
		text += fmt.Sprintf(", batch %.1f, %.2f syncs/commit", m.Batch, m.SyncsPerCommit)
	}
	if m.Fault != "" {
		text += ", NOT USED: " + m.Fault
	}
	return text
}
