package play

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"time"
)

// telling is one delivery of a notice that is due at a time of the provider's
// clock.
type telling struct {
	due     time.Duration
	order   int32
	notice  uint8
	attempt uint8
	copy    bool // a second sender's; nobody repeats it
}

// queue gives senders what is due next. Orders come into it when their time
// comes, and tellings that were not acked come back with a later time.
type queue struct {
	script *script
	speed  Speed

	mu      sync.Mutex
	waiting tellings
	next    int           // the next order to come in
	out     int           // tellings that senders have
	clock   time.Duration // of a clock that skips waits: how far it has come
	began   time.Time
	wake    chan struct{} // closed and made anew when something changes
}

func newQueue(s *script) *queue {
	return &queue{script: s, speed: s.Speed, began: time.Now(), wake: make(chan struct{})}
}

// take waits for the next telling. It is false when there will be none any more,
// or ctx is done.
func (q *queue) take(ctx context.Context) (telling, bool) {
	for ctx.Err() == nil {
		t, wait, changed, state := q.look()
		switch state {
		case isDue:
			return t, true
		case isOver:
			return telling{}, false
		}
		pause(ctx, wait, changed)
	}
	return telling{}, false
}

type state int

const (
	isDue state = iota
	isLater
	isOver
)

// look takes the first telling if it is due. Otherwise wait says how long until
// then, 0 for as long as nothing changes.
func (q *queue) look() (t telling, wait time.Duration, changed <-chan struct{}, s state) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.letIn()
	if len(q.waiting) == 0 {
		if q.out == 0 {
			return telling{}, 0, nil, isOver
		}
		return telling{}, 0, q.wake, isLater
	}
	if now := q.now(); q.speed != SkipWaits && q.waiting[0].due > now {
		return telling{}, max(1, (q.waiting[0].due-now)/time.Duration(q.speed)), q.wake, isLater
	}
	t = heap.Pop(&q.waiting).(telling)
	q.clock = max(q.clock, t.due)
	q.out++
	return t, 0, nil, isDue
}

// letIn puts the next orders into the queue, as far as they come before what is
// first in it: a queue holds no order whose time is far away.
func (q *queue) letIn() {
	for q.next < q.script.Orders {
		if begins := q.script.begins(q.next); len(q.waiting) > 0 && q.waiting[0].due < begins {
			return
		}
		story := q.script.story(q.next)
		for i, from := range story.from {
			heap.Push(&q.waiting, telling{due: from, order: int32(q.next), notice: uint8(i)})
			if q.script.twice(q.next, i) && story.notices[i].Kind != Probe {
				heap.Push(&q.waiting, telling{due: from, order: int32(q.next), notice: uint8(i), copy: true})
			}
		}
		q.next++
	}
}

// give back says that a telling was done; again, if it is set, is when the
// provider tells it next.
func (q *queue) giveBack(done telling, again *telling) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out--
	if again != nil {
		heap.Push(&q.waiting, *again)
	}
	if again != nil || q.out == 0 {
		close(q.wake)
		q.wake = make(chan struct{})
	}
}

// now is the provider's clock, from the beginning of the run.
func (q *queue) now() time.Duration {
	if q.speed == SkipWaits {
		return q.clock
	}
	passed, speed := time.Since(q.began), time.Duration(q.speed)
	if passed > math.MaxInt64/speed {
		return math.MaxInt64 // beyond every schedule
	}
	return passed * speed
}

// passed is how far the provider's clock has come.
func (q *queue) passed() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.now()
}

// ended is when a telling ended that has just come back. A clock that skips waits
// counts none for the answer: other senders may have taken it far ahead meanwhile.
func (q *queue) ended(t telling) time.Duration {
	if q.speed == SkipWaits {
		return t.due
	}
	return q.passed()
}

// pause waits for a time, if there is one, or until something changes.
func pause(ctx context.Context, wait time.Duration, changed <-chan struct{}) {
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-changed:
	case <-ctx.Done():
	}
}

// tellings is a heap, the earliest first; at the same time the lower order.
type tellings []telling

func (t tellings) Len() int { return len(t) }
func (t tellings) Less(a, b int) bool {
	if t[a].due != t[b].due {
		return t[a].due < t[b].due
	}
	return t[a].order < t[b].order
}
func (t tellings) Swap(a, b int) { t[a], t[b] = t[b], t[a] }
func (t *tellings) Push(x any)   { *t = append(*t, x.(telling)) }
func (t *tellings) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
