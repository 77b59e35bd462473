package figure

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the tables for people.
func (b *Book) Print(w io.Writer) {
	fmt.Fprintln(w, "What is to be reached (medians of the rounds' ratios, lowest to highest)")
	b.table(w, []string{"figure", "bound", "reached", "spread", "", "note"}, b.reachCells())
	fmt.Fprintln(w, "\nAbsolute figures (per second; latencies in ms; medians of the rounds)")
	b.table(w, []string{"measurement", "per second", "spread", "p50", "p99", "idle %", "CPU µs: client, server, database", "batch", "syncs/commit", ""}, b.absoluteCells())
	if len(b.Parse) > 0 {
		fmt.Fprintln(w, "\nParse + verify + decrypt + map, the same bytes")
		b.table(w, []string{"protocol", "library", "µs", "bytes", "allocations"}, b.parseCells())
	}
	for _, m := range b.Faults() {
		fmt.Fprintf(w, "not used: %s, round %d: %s\n", m.Name, m.Round, m.Fault)
	}
}

func (b *Book) table(w io.Writer, head []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, cells := range append([][]string{head}, rows...) {
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // an error of stdout has nowhere to go
}

// Markdown is the tables for a document.
func (b *Book) Markdown() string {
	var text strings.Builder
	m := b.Machine
	fmt.Fprintf(&text, "Measured %s with notifyd %s, %s, on %d processors (%s), Linux %s, %s.\n\n", m.Time.UTC().Format("2006-01-02"), m.Notifyd, m.Go, m.Processors, m.Model, m.Kernel, m.Filesystem)
	fmt.Fprintf(&text, "%s.\n\n", strings.Join(m.Database, "; "))
	markdownTable(&text, []string{"figure", "bound", "reached", "spread", "kept", "note"}, b.reachCells())
	text.WriteString("\n")
	markdownTable(&text, []string{"measurement", "per second", "spread", "p50 ms", "p99 ms", "idle %", "CPU µs: client, server, database", "mean batch", "syncs per commit", "note"}, b.absoluteCells())
	if len(b.Parse) > 0 {
		text.WriteString("\n")
		markdownTable(&text, []string{"protocol", "library", "µs", "bytes", "allocations"}, b.parseCells())
	}
	return text.String()
}

func markdownTable(w *strings.Builder, head []string, rows [][]string) {
	line := func(cells []string) { w.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	w.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, cells := range rows {
		line(cells)
	}
}

func (b *Book) reachCells() (rows [][]string) {
	for _, r := range b.Reach {
		sign := "≥"
		if r.AtMost {
			sign = "≤"
		}
		cells := []string{r.Figure, fmt.Sprintf("%s %g %s", sign, r.Bound, r.Unit), "not measured", "", "", r.Note}
		if r.Measured() {
			cells[2] = fmt.Sprintf("%.2f %s", r.Median, r.Unit)
			cells[3] = fmt.Sprintf("%.2f–%.2f", r.Low, r.High)
			if cells[4] = "no"; r.Reached() {
				cells[4] = "yes"
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

func (b *Book) absoluteCells() (rows [][]string) {
	for _, name := range b.Names() {
		s := b.Speed(name)
		if s.Rounds == 0 {
			rows = append(rows, []string{name, "not used", "", "", "", "", "", "", "", ""})
			continue
		}
		cells := []string{name, fmt.Sprintf("%.0f", s.Median), fmt.Sprintf("%.0f–%.0f", s.Low, s.High), "", "", "", "", "", "", ""}
		all, hasLoad, busy := b.Of(name), false, true
		for _, m := range all {
			hasLoad, busy = hasLoad || m.Load != nil, busy && m.CPUBound()
		}
		if hasLoad {
			show := func(format string, of func(Measured) float64) string {
				return fmt.Sprintf(format, b.each(name, of).Median)
			}
			cells[3] = show("%.2f", func(m Measured) float64 { return m.Load.P50 / 1000 })
			cells[4] = show("%.2f", func(m Measured) float64 { return m.Load.P99 / 1000 })
			cells[5] = show("%.0f", func(m Measured) float64 { return m.Load.IdlePercent })
			cells[6] = fmt.Sprintf("%.0f, %.0f, %.0f", b.spent(name, "client"), b.spent(name, "server"), b.spent(name, "database"))
		}
		if batch := b.each(name, func(m Measured) float64 { return m.Batch }).Median; batch > 0 {
			cells[7] = fmt.Sprintf("%.1f", batch)
			cells[8] = fmt.Sprintf("%.2f", b.each(name, func(m Measured) float64 { return m.SyncsPerCommit }).Median)
		}
		if !busy {
			cells[9] = "not CPU-bound"
		}
		rows = append(rows, cells)
	}
	return rows
}

// spent is the processor time for each answer of those whose name begins so: of
// a second server as well.
func (b *Book) spent(name, who string) float64 {
	return b.each(name, func(m Measured) (sum float64) {
		for n, spent := range m.Load.Spent {
			if strings.HasPrefix(n, who) {
				sum += spent
			}
		}
		return sum
	}).Median
}

func (b *Book) parseCells() (rows [][]string) {
	for _, p := range b.Parse {
		rows = append(rows, []string{p.Protocol, p.Library, fmt.Sprintf("%.1f", p.Nanoseconds/1000), fmt.Sprintf("%.0f", p.Bytes), fmt.Sprintf("%.0f", p.Allocations)})
	}
	return rows
}
