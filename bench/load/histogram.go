package load

import (
	"math/bits"
	"time"
)

// A histogram counts durations in buckets that are at most 1/64 wide: exact
// enough for any percentile, and small enough that each connection has its own.
const (
	subBits    = 6
	subBuckets = 1 << subBits
	buckets    = (64 - subBits) * subBuckets
)

type histogram struct {
	counts [buckets]int64
	total  int64
	max    time.Duration
}

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < subBuckets {
		return int(n)
	}
	shift := bits.Len64(n) - subBits - 1
	return (shift+1)*subBuckets + int(n>>shift) - subBuckets
}

// upper is the greatest duration of a bucket.
func upper(bucket int) time.Duration {
	if bucket < subBuckets {
		return time.Duration(bucket)
	}
	shift := bucket/subBuckets - 1
	return time.Duration((uint64(bucket%subBuckets)+subBuckets+1)<<shift - 1)
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.max = max(h.max, d)
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.max = max(h.max, other.max)
}

// quantile is the duration that the share q of all does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := int64(q*float64(h.total) + 0.5)
	var seen int64
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return min(upper(i), h.max)
		}
	}
	return h.max
}
