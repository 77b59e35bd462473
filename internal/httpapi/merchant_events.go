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
	// maxWaiting is how many calls may wait at a time: each costs a connection,
	// and a read for every event that comes.
	maxWaiting = 500
)

var (
	feedParameters = []parameter{afterParameter, limitParameter, waitParameter}
	afterParameter = parameter{name: "after", about: "The place (seq) that has been read; 0 or left out: from the beginning"}
	waitParameter  = parameter{name: "wait", about: "How long to wait for an event when there is none, at most 60s, for instance 20s; left out: not at all"}
)

// feedPage is a part of the feed. NextAfter is the after of the next call.
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
	events, err := a.eventsAfter(c, after, limit, wait)
	if err != nil {
		return err
	}
	page := feedPage{Items: make([]order.EventView, 0, len(events)), NextAfter: after}
	for i := range events {
		page.Items = append(page.Items, events[i].View())
		page.NextAfter = events[i].Seq
	}
	return c.ok(page)
}

// eventsAfter reads the feed, again and again for as long as there is nothing
// and the caller wants to wait.
func (a *private) eventsAfter(c *call, after int64, limit int, wait time.Duration) ([]order.Event, error) {
	// Before the read: what comes after it is not missed.
	moved := a.api.Moved()
	events, err := a.api.Feed.EventsAfter(c.r.Context(), c.signer.merchant, after, limit)
	if err != nil || len(events) > 0 || wait <= 0 {
		return events, err
	}
	select {
	case a.waiting <- struct{}{}:
		defer func() { <-a.waiting }()
	default:
		return nil, problemCrowded
	}
	c.linger(wait)
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		select {
		case <-moved:
		case <-over.C:
			return nil, nil
		case <-a.stopping:
			return nil, nil // the process is about to end: another one answers the next call
		case <-c.r.Context().Done():
			return nil, c.r.Context().Err()
		}
		moved = a.api.Moved()
		events, err := a.api.Feed.EventsAfter(c.r.Context(), c.signer.merchant, after, limit)
		if err != nil || len(events) > 0 {
			return events, err
		}
	}
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
