package run

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/notifyd/notifyd/bench/figure"
)

// benchmarkLine is a line of `go test -bench -benchmem`, for instance
// "BenchmarkParse/v3/gopay-2  20000  51234 ns/op  9000 B/op  120 allocs/op".
var benchmarkLine = regexp.MustCompile(`(?m)^BenchmarkParse/([^/\s]+)/([^/\s]+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+(\d+) B/op\s+(\d+) allocs/op`)

// parse runs the Go benchmarks of parse, verify and map.
func (b *bench) parse() (all []figure.Parse, err error) {
	b.say("── parse: go test -bench")
	test := exec.CommandContext(b.ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkParse$", "-benchmem", "-cpu", "1", "-benchtime", b.Measure.String(), "./peer")
	test.Dir = filepath.Join(b.Source, "bench")
	out, err := test.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the Go benchmarks failed: %w\n%s", err, out)
	}
	for _, found := range benchmarkLine.FindAllStringSubmatch(string(out), -1) {
		p := figure.Parse{Protocol: found[1], Library: found[2]}
		for i, into := range []*float64{&p.Nanoseconds, &p.Bytes, &p.Allocations} {
			if *into, err = strconv.ParseFloat(found[3+i], 64); err != nil {
				return nil, err
			}
		}
		all = append(all, p)
		b.say("parse %s, %s: %.1f µs, %.0f B, %.0f allocations", p.Protocol, p.Library, p.Nanoseconds/1000, p.Bytes, p.Allocations)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the Go benchmarks gave no figure:\n%s", out)
	}
	return all, nil
}
