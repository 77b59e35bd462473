package play

import (
	"math"
	"time"
)

// latencies counts times in classes that grow by 5 %, from 50 µs to well above
// simulator.Patience: a percentile is that exact, and memory does not grow.
type latencies struct {
	classes [latencyClasses]int64
	n       int64
	longest time.Duration
}

const (
	latencyClasses = 256
	latencyGrowth  = 1.05
	latencyFirst   = 50 * time.Microsecond
)

func (l *latencies) add(d time.Duration) {
	class := 0
	if d > latencyFirst {
		class = min(latencyClasses-1, int(math.Ceil(math.Log(float64(d)/float64(latencyFirst))/math.Log(latencyGrowth))))
	}
	l.classes[class]++
	l.n++
	l.longest = max(l.longest, d)
}

// below is a time within which the share of the answers came.
func (l *latencies) below(share float64) time.Duration {
	seen := int64(0)
	for class, n := range l.classes {
		if seen += n; n > 0 && float64(seen) >= share*float64(l.n) {
			return min(l.longest, time.Duration(float64(latencyFirst)*math.Pow(latencyGrowth, float64(class))))
		}
	}
	return l.longest
}
