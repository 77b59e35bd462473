package figure

import (
	"fmt"
	"strings"
)

// Goals computes the table of what is to be reached. The names are those that
// the plan of the run gives.
func (b *Book) Goals() []Row {
	return []Row{
		b.againstPeer("unique v3 payments/s on PostgreSQL against the faster peer, 64 connections", "unique v3, notifyd, 64", 64, 2.5),
		b.againstPeer("the same, 256 connections", "unique v3, notifyd, 256", 256, 3.5),
		{Figure: "the same against the composed ceiling of E and D, 256 connections", Bound: 0.85, Unit: "×",
			Spread: b.ratio(b.speed("unique v3, notifyd, 256"), ceiling(b.speed("E, 256"), b.speed("D, 256")))},
		{Figure: "repeats of settled orders/s against the composed ceiling of E and R, 64 connections", Bound: 0.85, Unit: "×",
			Spread: b.ratio(b.speed("repeats v3, notifyd, 64"), ceiling(b.speed("E, 64"), b.speed("R, 64")))},
		b.againstPeer("unique payments/s on SQLite (FULL) against the faster peer on PostgreSQL, 64 connections", "unique v3, notifyd sqlite, 64", 64, 1.5),
		b.oneConnection(),
		b.tail(),
		{Figure: "throughput with settled orders (" + b.settledNote() + ") against an empty table set, 64 connections", Bound: 0.9, Unit: "×",
			Spread: b.ratio(b.speed("settled, notifyd, 64"), b.speed("empty, notifyd, 64"))},
		b.parseRow("time", func(p Parse) float64 { return p.Nanoseconds }),
		b.parseRow("allocations", func(p Parse) float64 { return p.Allocations }),
		b.resident(),
		b.slope(),
		{Figure: "two instances on one PostgreSQL against one, 64 connections", Bound: 0.9, Unit: "×",
			Spread: b.ratio(b.speed("unique v3, notifyd two instances, 64"), b.speed("unique v3, notifyd, 64"))},
	}
}

func (b *Book) againstPeer(figure, ours string, conns int, bound float64) Row {
	peer := b.Fastest(fmt.Sprintf("unique v3, gopay, %d", conns), fmt.Sprintf("unique v3, sdk, %d", conns))
	return Row{Figure: figure, Bound: bound, Unit: "×", Note: faster(peer), Spread: b.ratio(b.speed(ours), b.speed(peer))}
}

// faster names the peer of a measurement, "unique v3, gopay, 64".
func faster(name string) string {
	parts := strings.Split(name, ", ")
	if len(parts) < 2 {
		return ""
	}
	return "the faster peer: " + parts[1]
}

func (b *Book) oneConnection() Row {
	peer := b.Promptest("unique v3, gopay, 1", "unique v3, sdk, 1")
	return Row{Figure: "one connection: median ack against the faster peer's", Bound: 1.1, AtMost: true, Unit: "×", Note: faster(peer),
		Spread: b.ratio(b.median("unique v3, notifyd, 1"), b.median(peer))}
}

func (b *Book) tail() Row {
	return Row{Figure: "p99 ack at half of the best throughput", Bound: 50, AtMost: true, Unit: "ms",
		Spread: b.each("half of the best, notifyd", func(m Measured) float64 { return m.Load.P99 / 1000 })}
}

// settledNote is how many orders were settled.
func (b *Book) settledNote() string {
	for _, note := range b.Notes {
		if count, found := strings.CutPrefix(note, "settled orders: "); found {
			return count
		}
	}
	return "none"
}

// parseRow is the worst protocol's ratio to the best library on the same bytes.
func (b *Book) parseRow(what string, of func(Parse) float64) Row {
	r := Row{Figure: "parse + verify + decrypt + map against the fastest library, " + what, Bound: 1, AtMost: true, Unit: "×"}
	ours, theirs := map[string]float64{}, map[string]float64{}
	for _, p := range b.Parse {
		if p.Library == "notifyd" {
			ours[p.Protocol] = of(p)
		} else if least, found := theirs[p.Protocol]; !found || of(p) < least {
			theirs[p.Protocol] = of(p)
		}
	}
	for protocol, mine := range ours {
		if least := theirs[protocol]; least > 0 {
			if x := mine / least; r.Rounds == 0 || x > r.Median {
				r.Spread, r.Note = Spread{x, x, x, 1}, "the worst protocol: "+protocol
			}
		}
	}
	return r
}

func (b *Book) resident() Row {
	return Row{Figure: "resident memory at 256 connections", Bound: 150, AtMost: true, Unit: "MiB",
		Spread: b.each("memory, notifyd, 256", func(m Measured) float64 { return float64(m.ResidentKiB()) / 1024 })}
}

// slopePer is the number of notifications over which growth is told.
const slopePer = 50_000

func (b *Book) slope() Row {
	return Row{Figure: "resident memory, the last half's slope per 50,000 notifications", Bound: 1, AtMost: true, Unit: "MiB",
		Spread: b.each("memory, notifyd, 256", func(m Measured) float64 { return slope(m) })}
}

// slope is the straight line through the last half of what was seen of memory.
func slope(m Measured) float64 {
	seen := m.Load.Memory[len(m.Load.Memory)/2:]
	var n, sx, sy, sxx, sxy float64
	for _, s := range seen {
		x, y := float64(s.Answered), float64(s.ResidentKiB)/1024
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if spread := n*sxx - sx*sx; spread > 0 {
		return (n*sxy - sx*sy) / spread * slopePer
	}
	return 0
}
