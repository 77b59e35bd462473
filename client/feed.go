package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// MaxWait is the longest time for which notifyd holds a request to the feed
	// that has nothing to answer yet.
	MaxWait = 60 * time.Second
	// followWait is how long one request of Follow waits: below the 30 s after
	// which many proxies cut a silent connection.
	followWait = 20 * time.Second
)

// EventQuery says which piece of the feed to read.
type EventQuery struct {
	After int64         // the seq after which it begins; 0: at the beginning
	Limit int           // how many events at most; 0: notifyd's choice
	Wait  time.Duration // how long to wait for an event when there is none, up to [MaxWait]; whole seconds
}

// Events reads one page of the feed: events in the order of their seq. No event
// appears later under a seq that was passed, so that going on at NextAfter
// misses nothing.
func (c *Client) Events(ctx context.Context, q EventQuery) (*EventPage, error) {
	return c.events(ctx, q, c.attempts)
}

func (c *Client) events(ctx context.Context, q EventQuery, attempts int) (*EventPage, error) {
	if q.After < 0 || q.Limit < 0 || q.Wait < 0 || q.Wait > MaxWait {
		return nil, fmt.Errorf("a page of the feed begins after 0 or more, and waits for %v at most", MaxWait)
	}
	values := url.Values{"after": {strconv.FormatInt(q.After, 10)}}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Wait > 0 {
		values.Set("wait", strconv.FormatInt(int64(q.Wait/time.Second), 10)+"s")
	}
	page := &EventPage{}
	call := request{method: http.MethodGet, path: "/v1/events?" + values.Encode(), extra: q.Wait, attempts: attempts}
	if err := c.send(ctx, call, page); err != nil {
		return nil, err
	}
	if page.NextAfter < q.After {
		return nil, fmt.Errorf("the feed goes back, from %d to %d: was notifyd's database replaced by an older one?", q.After, page.NextAfter)
	}
	return page, nil
}

// Follow reads the feed for ever, by long polls: every event once, in order,
// beginning after the given seq. Outages are waited for. It ends with the
// context's error, or with a [Problem] that waiting does not solve, as the last
// pair.
//
// Keep the Seq of the last event that you are done with, and begin there after a
// restart; [Inbox.Follow] does it in your own database.
func (c *Client) Follow(ctx context.Context, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			asked := time.Now()
			page, err := c.events(ctx, EventQuery{After: after, Wait: followWait}, 0)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page.Items {
				if !yield(e, nil) {
					return
				}
			}
			// A notifyd that is about to stop does not hold requests; one that steps
			// over the events of others gets on.
			if page.NextAfter == after && time.Since(asked) < c.firstPause {
				pause(ctx, c.firstPause)
			}
			after = page.NextAfter
		}
	}
}

// pause waits, or less when the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
