package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

const (
	// maxWait is how long a call for events may wait for one; proxies rarely
	// let a connection be silent for longer.
	maxWait = 60 * time.Second
	// maxSteps is how often one call steps over the events of others; one that
	// has not reached its own then is told where to go on.
	maxSteps = 50
	// maxWaiting is how many calls may wait at a time: each costs a connection,
	// and a read for every event that comes.
	maxWaiting = 500
)

var (
	feedParameters = []parameter{afterParameter, limitParameter, waitParameter}
	afterParameter = parameter{name: "after", about: "The place (seq) that has been read; 0 or left out: from the beginning"}
	waitParameter  = parameter{name: "wait", about: "How long to wait for an event when there is none, at most 60s, for instance 20s; left out: not at all"}
)

// feedPage is a part of the feed. NextAfter is the after of the next call: it
// may lie behind the last item, when the events that follow are others'.
type feedPage struct {
	Items     []order.EventView `json:"items"`
	NextAfter int64             `json:"next_after"`
}

func (a *private) listEvents(c *call) error {
	after, err := c.after()
	if err != nil {
		return err
	}
	limit, err := c.limit()
	if err != nil {
		return err
	}
	wait, err := c.wait()
	if err != nil {
		return err
	}
	events, through, err := a.eventsAfter(c, after, limit, wait)
	if err != nil {
		return err
	}
	page := feedPage{Items: make([]order.EventView, 0, len(events)), NextAfter: through}
	for i := range events {
		page.Items = append(page.Items, events[i].View())
	}
	return c.ok(page)
}

// eventsAfter reads the feed, again and again for as long as there is nothing
// and the caller wants to wait, and says how far it has read.
func (a *private) eventsAfter(c *call, after int64, limit int, wait time.Duration) (events []order.Event, through int64, err error) {
	// Before the read: what comes after it is not missed.
	moved := a.api.Moved()
	events, through, end, err := a.read(c, after, limit)
	if err != nil || !end || len(events) > 0 || wait <= 0 {
		return events, through, err
	}
	select {
	case a.waiting <- struct{}{}:
		defer func() { <-a.waiting }()
	default:
		return nil, 0, problemCrowded
	}
	c.linger(wait)
	over := time.NewTimer(wait)
	defer over.Stop()
	for end && len(events) == 0 {
		select {
		case <-moved:
		case <-over.C:
			return nil, through, nil
		case <-a.stopping:
			return nil, through, nil // the process is about to end: another one answers the next call
		case <-c.r.Context().Done():
			return nil, 0, c.r.Context().Err()
		}
		moved = a.api.Moved()
		if events, through, end, err = a.read(c, through, limit); err != nil {
			return nil, 0, err
		}
	}
	return events, through, nil
}

// read steps over the events of others to the merchant's next ones, or to the
// end of the feed.
func (a *private) read(c *call, after int64, limit int) (events []order.Event, through int64, end bool, err error) {
	through = after
	for range maxSteps {
		after = through
		events, through, err = a.api.Feed.EventsAfter(c.r.Context(), c.signer.merchant, after, limit)
		if end = through == after; err != nil || end || len(events) > 0 {
			return events, through, end, err
		}
	}
	return nil, through, false, nil
}

// linger lets the answer be late: the connection is kept for it.
func (c *call) linger(wait time.Duration) {
	serving(c.r.Context())
	// A test's connection has no deadlines; the server's does.
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(wait + privateWriteTimeout))
}

func (c *call) after() (int64, error) {
	text := c.query[afterParameter.name]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, badParameter(afterParameter.name, "is not a whole number from 0 on, like the next_after of the call before")
	}
	return int64(n), nil
}

func (c *call) wait() (time.Duration, error) {
	text := c.query[waitParameter.name]
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, badParameter(waitParameter.name, "is not a time from 0s to %s, like 20s", maxWait)
	}
	return d, nil
}
