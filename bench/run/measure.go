package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/bench/cluster"
	"github.com/notifyd/notifyd/bench/figure"
	"github.com/notifyd/notifyd/bench/load"
	"github.com/notifyd/notifyd/bench/target"
)

// The systems.
const (
	notifyd       = "notifyd"
	notifydTwo    = "notifyd two instances"
	notifydBefore = "notifyd before" // another build of it
	notifydSQLite = "notifyd sqlite"
	gopay         = "gopay"
	sdk           = "sdk"
	edge          = "E"
)

// trial is one measurement over HTTP: a system, what its database holds, and the
// load.
type trial struct {
	system   string
	on       *cluster.Cluster // nil: the run's own
	template string           // the database is a fresh copy of this one
	inPlace  string           // or it is this one, as it is
	file     string           // SQLite: a copy of this file

	pool    func() (*pool, error)
	conns   int
	measure time.Duration // 0: the run's
	rate    float64
	cycle   bool
	memory  bool
	status  string // each accepted message left an order in this status; "": not so
}

// perform measures a trial.
func (b *bench) perform(t trial) (m figure.Measured, err error) {
	p, err := t.pool()
	if err != nil {
		return m, err
	}
	if t.on == nil {
		t.on = b.cluster
	}
	folder, err := os.MkdirTemp(b.Folder, "trial-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	database := t.inPlace
	if t.template != "" {
		database = "trial"
		if err := t.on.Create(b.ctx, database, t.template); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, t.on.Drop(b.ctx, database)) }()
	}
	if t.file != "" {
		if err := copyFile(filepath.Join(folder, "notifyd.db"), t.file); err != nil {
			return m, err
		}
	}
	if err := t.on.Settle(b.ctx); err != nil {
		return m, err
	}
	var before cluster.Counters
	if database != "" {
		if before, err = t.on.Read(b.ctx, database); err != nil {
			return m, err
		}
	}
	batches, err := b.drive(t, folder, database, p, &m)
	if err != nil {
		return m, err
	}
	m.PerSecond = m.Load.PerSecond
	if database != "" {
		after, err := t.on.Read(b.ctx, database)
		if err != nil {
			return m, err
		}
		derive(&m, t.cycle, batches, after.Syncs-before.Syncs, after.Ended-before.Ended)
	}
	return m, b.verify(t, folder, database, &m)
}

// drive starts the system, runs the client and ends the system.
func (b *bench) drive(t trial, folder, database string, p *pool, m *figure.Measured) (batches target.Batches, err error) {
	servers, err := b.serve(t, folder, database)
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Stop())
		}
	}()
	if err != nil {
		return batches, err
	}
	if m.Load, err = b.client(t, servers, p); err != nil {
		return batches, err
	}
	if t.system == notifyd || t.system == notifydSQLite {
		batches, err = servers[0].Batches()
	}
	return batches, err
}

func (b *bench) serve(t trial, folder, database string) (servers []*target.Process, err error) {
	instances, program, args := 1, b.Self, []string{"peer", t.system, t.on.URL(database)}
	switch t.system {
	case edge:
		args = []string{"edge"}
	case notifyd, notifydTwo, notifydBefore, notifydSQLite:
		store := t.on.URL(database)
		if t.system == notifydSQLite {
			store = "sqlite:" + filepath.Join(folder, "notifyd.db")
		}
		config, err := target.Configure(folder, store)
		if err != nil {
			return nil, err
		}
		program, args = b.Binary, []string{"serve", "--config", config}
		switch t.system {
		case notifydTwo:
			instances = 2
		case notifydBefore:
			program = b.Before
		}
	}
	for i := range instances {
		own := filepath.Join(folder, strconv.Itoa(i))
		if err := os.Mkdir(own, 0o755); err != nil {
			return servers, err
		}
		s, err := target.Start(b.ctx, own, program, args...)
		if err != nil {
			return servers, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// client runs the client in a process of its own.
func (b *bench) client(t trial, servers []*target.Process, p *pool) (*load.Result, error) {
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Public)
	}
	warm, measure := b.Warm, t.measure
	switch measure {
	case 0:
		measure = b.Measure
	case untilSent:
		warm = 0
	}
	args := []string{"load", "-addrs", strings.Join(addrs, ","), "-pool", p.file, "-conns", strconv.Itoa(t.conns),
		"-warm", warm.String(), "-measure", measure.String(), "-rate", strconv.FormatFloat(t.rate, 'f', 1, 64)}
	if t.cycle {
		args = append(args, "-cycle")
	}
	if t.memory {
		args = append(args, "-watch", strconv.Itoa(servers[0].PID()))
	}
	spent := []string{"database=" + strconv.Itoa(t.on.PID())}
	for i, s := range servers {
		spent = append(spent, fmt.Sprintf("server%s=%d", strings.Repeat("'", i), s.PID()))
	}
	args = append(args, "-spent", strings.Join(spent, ","))
	client := exec.CommandContext(b.ctx, b.Self, args...)
	var fault strings.Builder
	client.Stderr = &fault
	out, err := client.Output()
	if err != nil {
		return nil, fmt.Errorf("the client failed: %w\n%s", err, fault.String())
	}
	r := new(load.Result)
	return r, json.Unmarshal(out, r)
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
