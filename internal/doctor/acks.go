package doctor

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// ackBound is how long providers wait for an answer.
	ackBound = 5 * time.Second
	// ackLate leaves the way there and back, and a bad moment, hardly any room.
	ackLate = 4 * time.Second
	// ackSlow is far above what a healthy machine needs, milliseconds.
	ackSlow = 2 * time.Second

	ackMetric     = "notifyd_ack_seconds"
	refusalMetric = "notifyd_refusals_total"
	ackQuantile   = 0.99

	ackFix = "look at the database: its disk's time to flush (a commit is one or two), long transactions of others, and the server's CPU"
)

// acks compares the 99th percentile of the time to the ack with what providers
// wait. It is that of the server's whole life so far.
func (x *examination) acks(ctx context.Context) {
	if !x.up {
		x.skip(Acks, "", "%s", x.down)
		return
	}
	status, text, err := x.Server.Get(ctx, "/metrics", nil)
	if err != nil || status != http.StatusOK {
		x.skip(Acks, "", "/metrics cannot be read (status %d, %v)", status, err)
		return
	}
	h, err := readHistogram(text, ackMetric)
	switch {
	case err != nil:
		x.skip(Acks, "", "%v", err)
		return
	case h.count() == 0:
		x.skip(Acks, "", "nothing was acked since the server started")
		return
	}
	seconds := h.quantile(ackQuantile)
	took := time.Duration(seconds * float64(time.Second))
	switch {
	case math.IsInf(seconds, 1):
		x.fail(Acks, "", ackFix, "of %s more than one in a hundred took over %s; providers wait %s", counted(h.count(), "ack"), ackBound, ackBound)
	case took > ackLate:
		x.fail(Acks, "", ackFix, "p99 of %s is %s; providers wait %s", counted(h.count(), "ack"), shortTime(took), ackBound)
	case took > ackSlow:
		x.warn(Acks, "", ackFix, "p99 of %s is %s; providers wait %s", counted(h.count(), "ack"), shortTime(took), ackBound)
	default:
		x.ok(Acks, "", "p99 of %s is %s; providers wait %s", counted(h.count(), "ack"), shortTime(took), ackBound)
	}
}

// bucket counts what took at most so many seconds.
type bucket struct {
	atMost float64
	count  float64
}

type histogram []bucket

func (h histogram) count() int { return int(h[len(h)-1].count) }

// quantile is exact to the bucket and evenly divided within it. +Inf: it lies
// beyond the last bound.
func (h histogram) quantile(q float64) float64 {
	rank := q * h[len(h)-1].count
	below, from := 0.0, 0.0
	for _, b := range h {
		if b.count >= rank {
			if math.IsInf(b.atMost, 1) {
				return b.atMost
			}
			return from + (b.atMost-from)*(rank-below)/(b.count-below)
		}
		below, from = b.count, b.atMost
	}
	return math.Inf(1)
}

// readHistogram finds a histogram without labels in the text format of
// Prometheus.
func readHistogram(text []byte, name string) (histogram, error) {
	var h histogram
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name+`_bucket{le="`)
		if !ok {
			continue
		}
		bound, value, ok := strings.Cut(rest, `"} `)
		atMost, err1 := strconv.ParseFloat(bound, 64) // reads +Inf, too
		count, err2 := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if !ok || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("/metrics says %q, which cannot be read", lines.Text())
		}
		h = append(h, bucket{atMost, count})
	}
	slices.SortFunc(h, func(a, b bucket) int { return int(math.Copysign(1, a.atMost-b.atMost)) })
	if len(h) == 0 || !math.IsInf(h[len(h)-1].atMost, 1) {
		return nil, fmt.Errorf("/metrics has no %s", name)
	}
	return h, lines.Err()
}

// counterSum adds up a counter over all its labels. One that never counted is not
// there, and 0.
func counterSum(text []byte, name string) (sum float64) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+"{"); ok {
			n, _ := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
			sum += n
		}
	}
	return sum
}
