package figure

import (
	"fmt"
	"html"
	"strings"
)

// The measures of the chart, in pixels.
const (
	chartWidth  = 860
	labelWidth  = 250
	valueWidth  = 120
	barHeight   = 18
	barGap      = 6
	groupGap    = 34
	chartMargin = 24
)

type bar struct {
	label string
	Spread
	class string
}

// Chart draws the speed of unique payments at 64 and 256 connections: notifyd,
// the peers, and what bounds them. Whiskers go from the slowest to the fastest
// round.
func (b *Book) Chart() string {
	var out strings.Builder
	y := chartMargin + 2*barHeight
	greatest := 0.0
	type group struct {
		title string
		bars  []bar
	}
	var groups []group
	for _, conns := range []int{64, 256} {
		g := group{title: fmt.Sprintf("%d connections", conns), bars: b.bars(conns)}
		for _, x := range g.bars {
			greatest = max(greatest, x.High)
		}
		if len(g.bars) > 0 {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		fmt.Fprintf(&out, `<text class="group" x="%d" y="%d">%s</text>`+"\n", chartMargin, y, g.title)
		y += barGap
		for _, x := range g.bars {
			y += barGap
			draw(&out, x, y, float64(chartWidth-labelWidth-valueWidth)/greatest)
			y += barHeight
		}
		y += groupGap
	}
	if len(groups) == 0 {
		fmt.Fprintf(&out, `<text x="%d" y="%d">not measured yet: make bench</text>`+"\n", chartMargin, y)
		y += groupGap
	}
	return fmt.Sprintf(chartFrame, chartWidth, y, chartWidth, y, chartWidth, y, chartMargin, chartMargin+4, out.String())
}

const chartFrame = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Durable payment notifications per second">
<style>
text { font: 13px sans-serif; fill: #24292f } .title { font-size: 16px; font-weight: bold } .group { font-weight: bold }
.ours { fill: #1a7f37 } .peer { fill: #8c959f } .bound { fill: #d0d7de } .whisker { stroke: #24292f; stroke-width: 1.5 }
</style>
<rect width="%d" height="%d" fill="#ffffff"/>
<text class="title" x="%d" y="%d">Durable payment notifications per second, unique v3 payments</text>
%s</svg>
`

func draw(out *strings.Builder, x bar, y int, scale float64) {
	middle := float64(y) + barHeight/2
	fmt.Fprintf(out, `<text x="%d" y="%.0f">%s</text>`, chartMargin, middle+5, html.EscapeString(x.label))
	fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`, x.class, labelWidth, y, x.Median*scale, barHeight)
	fmt.Fprintf(out, `<line class="whisker" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, labelWidth+x.Low*scale, middle, labelWidth+x.High*scale, middle)
	fmt.Fprintf(out, `<text x="%.1f" y="%.0f">%.0f/s</text>`+"\n", labelWidth+x.High*scale+8, middle+5, x.Median)
}

func (b *Book) bars(conns int) (bars []bar) {
	add := func(label, class string, s Spread) {
		if s.Rounds > 0 {
			bars = append(bars, bar{label, s, class})
		}
	}
	at := func(name string) string { return fmt.Sprintf("%s, %d", name, conns) }
	add("notifyd, PostgreSQL", "ours", b.Speed(at("unique v3, notifyd")))
	add("notifyd, two instances", "ours", b.Speed(at("unique v3, notifyd two instances")))
	add("notifyd, SQLite", "ours", b.Speed(at("unique v3, notifyd sqlite")))
	add("gopay + pgx", "peer", b.Speed(at("unique v3, gopay")))
	add("SDKs + GORM", "peer", b.Speed(at("unique v3, sdk")))
	one := func(int) (float64, bool) { return 1, true }
	add("ceiling of E and D", "bound", b.ratio(ceiling(b.speed(at("E")), b.speed(at("D"))), one))
	add("E: the edge alone", "bound", b.Speed(at("E")))
	add("D: the database alone", "bound", b.Speed(at("D")))
	add("COPY of the same rows", "bound", b.Speed(at("COPY")))
	return bars
}
