package figure

import "slices"

// Row is one line of the table of what is to be reached.
type Row struct {
	Figure string  `json:"figure"`
	Bound  float64 `json:"bound"`
	AtMost bool    `json:"at_most"` // the value must not exceed the bound; otherwise it must reach it
	Unit   string  `json:"unit"`    // "×", "ms", …
	Spread
	Note string `json:"note,omitempty"`
}

// Measured says whether there is a value.
func (r Row) Measured() bool { return r.Rounds > 0 }

// Reached says whether the bound is kept.
func (r Row) Reached() bool {
	if r.AtMost {
		return r.Median <= r.Bound
	}
	return r.Median >= r.Bound
}

// value takes one figure of the round.
type value func(round int) (float64, bool)

// speed is a name's speed in a round.
func (b *Book) speed(name string) value {
	found := b.Of(name)
	return func(round int) (float64, bool) {
		m, ok := found[round]
		return m.PerSecond, ok && m.PerSecond > 0
	}
}

// median is a name's median latency in a round, in milliseconds.
func (b *Book) median(name string) value {
	found := b.Of(name)
	return func(round int) (float64, bool) {
		m, ok := found[round]
		if !ok || m.Load == nil {
			return 0, false
		}
		return m.Load.P50 / 1000, true
	}
}

// ceiling composes costs that share the processors.
func ceiling(a, b value) value {
	return func(round int) (float64, bool) {
		x, okX := a(round)
		y, okY := b(round)
		if !okX || !okY {
			return 0, false
		}
		return 1 / (1/x + 1/y), true
	}
}

// ratio is a by b, round by round: what disturbs one of them mostly disturbs
// both.
func (b *Book) ratio(x, y value) Spread {
	var values []float64
	for _, round := range b.rounds() {
		p, okP := x(round)
		q, okQ := y(round)
		if okP && okQ {
			values = append(values, p/q)
		}
	}
	return SpreadOf(values)
}

func (b *Book) rounds() (rounds []int) {
	for _, m := range b.Measured {
		if !slices.Contains(rounds, m.Round) {
			rounds = append(rounds, m.Round)
		}
	}
	return rounds
}

// best is the name whose median is the best of some.
func best(names []string, of func(string) Spread, better func(a, b float64) bool) string {
	found := ""
	for _, name := range names {
		if s := of(name); s.Rounds > 0 && (found == "" || better(s.Median, of(found).Median)) {
			found = name
		}
	}
	return found
}

// Fastest is the one with the greatest speed; "" when none was measured.
func (b *Book) Fastest(names ...string) string {
	return best(names, b.Speed, func(x, y float64) bool { return x > y })
}

// Promptest is the one with the least median latency.
func (b *Book) Promptest(names ...string) string {
	p50 := func(name string) Spread {
		return b.each(name, func(m Measured) float64 { return m.Load.P50 })
	}
	return best(names, p50, func(x, y float64) bool { return x < y })
}
