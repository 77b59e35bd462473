package outbox

import (
	"net/http"
	"strconv"
	"time"
)

const (
	// MaxRetryAfter is the longest wait that an endpoint may ask for. One that
	// asks for more is asked again after it.
	MaxRetryAfter = time.Hour
	// jitter is how far a wait may be from the schedule, as a share of it: what
	// failed together must not come back together.
	jitter = 0.1
)

// Schedule is how long a delivery waits after each failed attempt, counted from
// the attempt's end. The first attempt is made at once; after the one that
// follows the last wait, the delivery is exhausted.
// Source: section 6 of the outside contract.
func Schedule() []time.Duration {
	const s, m, h = time.Second, time.Minute, time.Hour
	return []time.Duration{5 * s, 15 * s, 30 * s, m, 2 * m, 5 * m, 10 * m, 20 * m, 30 * m,
		h, 2 * h, 4 * h, 6 * h, 8 * h, 10 * h, 12 * h, 12 * h, 12 * h}
}

// nextState is where a delivery stands after an attempt, and how long it waits
// for the next one. random is in [0, 1).
func nextState(schedule []time.Duration, step int, a answer, random float64) (State, time.Duration) {
	switch {
	case a.delivered():
		return Delivered, 0
	case step >= len(schedule):
		return Exhausted, 0
	}
	wait := time.Duration(float64(schedule[step]) * (1 - jitter + 2*jitter*random))
	return Pending, max(wait, a.retryAfter)
}

// retryAfter reads the header: a number of seconds, or a time. What cannot be
// read, or has passed, asks for nothing.
// Source: RFC 9110, section 10.2.3.
func retryAfter(h http.Header, now time.Time, longest time.Duration) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return max(0, min(time.Duration(min(seconds, int64(MaxRetryAfter/time.Second)))*time.Second, longest))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), longest))
}
