package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/notifyd/notifyd/bench/figure"
	"github.com/notifyd/notifyd/bench/message"
)

// untilSent is as long as it takes to send everything.
const untilSent = time.Hour

// groups are what a run measures, in this order. The names of the measurements
// are those by which the figures are found again.
func (b *bench) groups() []group {
	all := []group{
		{name: "64 connections", build: plain(b.at64)},
		{name: "256 connections", build: plain(b.at256)},
		{name: "one connection", build: plain(b.at1)},
		{name: "half of the best", build: plain(b.half)},
		{name: "settled", build: b.settled},
		{name: "memory", build: plain(b.memory), once: true},
	}
	if b.Full {
		all = append(all, b.matrix()...)
	}
	return all
}

// plain is a group that nothing has to end.
func plain(build func() ([]measurement, error)) func() ([]measurement, func() error, error) {
	return func() ([]measurement, func() error, error) {
		all, err := build()
		return all, nil, err
	}
}

// over makes a measurement over HTTP.
func (b *bench) over(name string, t trial) measurement {
	return measurement{name, func(int) (figure.Measured, error) { return b.perform(t) }}
}

// uniqueTrial is unique payments of a kind, each of which pays its order.
func (b *bench) uniqueTrial(system string, k message.Kind, conns int) (t trial, err error) {
	t = trial{system: system, pool: b.unique(k, b.Messages), conns: conns, status: "paid"}
	switch system {
	case notifyd, notifydTwo, notifydBefore:
		t.template, err = b.expecting("ours_expecting", b.Messages)
	case notifydSQLite:
		t.file, err = b.sqliteExpecting()
	case edge:
		t.cycle, t.status = true, ""
	default:
		t.template, err = b.peersExpecting()
	}
	return t, err
}

// uniques are unique payments of a kind to several systems.
func (b *bench) uniques(k message.Kind, conns int, systems ...string) (all []measurement, err error) {
	if b.Before != "" {
		systems = slices.Insert(systems, 1, notifydBefore) // beside the build that it is compared with
	}
	for _, s := range systems {
		t, err := b.uniqueTrial(s, k, conns)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("unique %s, %s, %d", k, s, conns)
		if s == edge {
			name = fmt.Sprintf("E, %d", conns)
		}
		all = append(all, b.over(name, t))
	}
	return all, nil
}

func (b *bench) at64() ([]measurement, error) {
	all, err := b.uniques(message.V3Paid, 64, notifyd, gopay, sdk, notifydTwo, notifydSQLite, edge)
	if err != nil {
		return nil, err
	}
	repeats, err := b.repeats(message.V3Paid, 64, notifyd)
	if err != nil {
		return nil, err
	}
	reads, err := b.floorOfReads("R, 64", "repeats v3, notifyd, 64")
	return append(append(all, repeats...), reads), err
}

func (b *bench) at256() ([]measurement, error) {
	all, err := b.uniques(message.V3Paid, 256, notifyd, gopay, sdk, edge)
	if err != nil {
		return nil, err
	}
	floors, err := b.floorsOfWrites(256, "unique v3, notifyd, 256")
	return append(all, floors...), err
}

func (b *bench) at1() ([]measurement, error) {
	return b.uniques(message.V3Paid, 1, notifyd, gopay, sdk)
}

// half is the open loop at half of the best throughput that this run has found.
func (b *bench) half() ([]measurement, error) {
	best := b.book.Speed(b.book.Fastest("unique v3, notifyd, 64", "unique v3, notifyd, 256")).Median
	if best == 0 {
		return nil, fmt.Errorf("it needs the throughput at 64 or 256 connections first")
	}
	t, err := b.uniqueTrial(notifyd, message.V3Paid, 256)
	t.rate, t.measure = best/2, 2*b.Measure
	return []measurement{b.over("half of the best, notifyd", t)}, err
}

// memory is one long run whose server is watched. Its messages are v2 payments,
// because so many can be signed in seconds.
func (b *bench) memory() ([]measurement, error) {
	template, err := b.expecting("ours_expecting_long", b.Long)
	return []measurement{b.over("memory, notifyd, 256", trial{system: notifyd, template: template,
		pool: b.unique(message.V2Paid, b.Long), conns: 256, measure: untilSent, memory: true, status: "paid"})}, err
}

// repeats are messages about orders that are settled.
func (b *bench) repeats(k message.Kind, conns int, systems ...string) (all []measurement, err error) {
	for _, s := range systems {
		t := trial{system: s, pool: b.unique(k, b.repeatable()), conns: conns, cycle: true}
		if s == notifyd {
			t.inPlace, err = b.paid(k)
		} else {
			t.inPlace, err = b.peersPaid(k)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b.over(fmt.Sprintf("repeats %s, %s, %d", k, s, conns), t))
	}
	return all, nil
}
