package outbox

import (
	"context"
	"time"
)

// Store is what the workers need of a database. Its errors are its own; every
// verb may be tried again after one.
type Store interface {
	// Claim leases due deliveries, at most as many of each endpoint as it names.
	// A delivery is due when its time has come, no lease on it holds, its
	// endpoint is not paused, and every earlier event of its order at the same
	// endpoint is delivered or exhausted. No transaction stays open behind it.
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Finish records attempts and moves their deliveries. A result whose lease
	// is lost moves nothing; its attempt is kept. When a delivery closes, the
	// next one of its order is due at once.
	Finish(ctx context.Context, now time.Time, results []Result) error
	// Pause stops an endpoint; an earlier pause stays as it is.
	Pause(ctx context.Context, p Pause) error
}

// Desk is what people ask of deliveries.
type Desk interface {
	// Resume ends a pause and says whether there was one.
	Resume(ctx context.Context, endpoint string) (bool, error)
	Pauses(ctx context.Context) ([]Pause, error)
	// Deliveries lists by filter, newest event first, without bodies.
	Deliveries(ctx context.Context, f Filter) ([]Delivery, error)
	// Attempts lists those of an event, in order of their ids.
	Attempts(ctx context.Context, eventID string) ([]Attempt, error)
	// Resend makes an event due at endpoints, from the beginning of the
	// schedule, also where it never was to be delivered; it says at how many.
	// What is being sent right now is left alone.
	Resend(ctx context.Context, eventID string, endpoints []string, now time.Time) (int, error)
	// ResendPage does so with the deliveries of a filter that come after a key,
	// in order of their keys, at most f.Limit. DryRun only counts them.
	ResendPage(ctx context.Context, f Filter, now time.Time, dryRun bool) (ResentPage, error)
	// Backlogs counts what is not delivered, for each endpoint with such.
	Backlogs(ctx context.Context) ([]Backlog, error)
}

// Claim is a worker's wish.
type Claim struct {
	Now   time.Time
	Lease string        // a token that nobody had before
	For   time.Duration // how long the lease holds
	Want  []Want
	// SequencedBy makes events that were committed after it wait until they have
	// their place in the feed, so that their bodies tell it. Older ones go
	// without: a sequencer that stands still holds nobody up. Zero: none waits.
	SequencedBy time.Time
}

// Want is how many deliveries of an endpoint there is room for.
type Want struct {
	Endpoint string
	Limit    int
}

// Claimed is what a claim brought.
type Claimed struct {
	Deliveries []Delivery
	// NextAt is when the next delivery of the endpoints becomes due; zero: none
	// is pending. It may have passed: there is more than there was room for.
	NextAt time.Time
}

// Filter selects deliveries; zero fields select all. Since is inclusive, Until
// exclusive, both by CreatedAt.
type Filter struct {
	EventID      string
	Endpoint     string
	State        State
	Merchant     string
	OutTradeNo   string
	Since, Until time.Time
	After        Key // the last one of the page before
	Limit        int
}

// ResentPage is what one step through a filter did.
type ResentPage struct {
	Count int // made due, or that would be
	Last  Key // where the page ended
	More  bool
}

// Pruned is what one step through old deliveries removed.
type Pruned struct {
	Deliveries, Attempts int
	Last                 Key  // where the step ended
	More                 bool // false: what follows is not old enough
}

// Candidate is a due delivery before it is known whether it is its turn.
type Candidate struct {
	Delivery
	Sequenced bool      // its event has a place in the feed
	Blocker   time.Time // NextAt of the first earlier delivery of its order that is not closed; zero: none
}

// Deferral is a due delivery that has to wait for an earlier one of its order.
// The store puts off its time, so that no claim meets it again before; but not
// when the earlier one closed meanwhile, for then nobody would call it.
type Deferral struct {
	Key
	NextAt time.Time
}

// Sift says which of the due deliveries are taken and which are put off. The
// rest stay as they are: there is no room for them now, or they wait a moment
// for their place in the feed. It is the rule of both databases.
func Sift(c *Claim, due []Candidate) (take []Delivery, wait []Deferral) {
	room := map[string]int{}
	for _, w := range c.Want {
		room[w.Endpoint] = w.Limit
	}
	leased := c.Now.Add(c.For)
	for i := range due {
		d := &due[i]
		switch {
		case !d.Blocker.IsZero():
			// The earlier one may be leased in this moment; when it closes, this
			// one is called at once, so that its time here is only the latest.
			at := leased
			if d.Blocker.After(at) {
				at = d.Blocker
			}
			wait = append(wait, Deferral{d.Key, at})
		case !d.Sequenced && d.CreatedAt.After(c.SequencedBy) && !c.SequencedBy.IsZero():
			// They are the youngest and stand last: they hide nothing.
		case room[d.Endpoint] > 0:
			room[d.Endpoint]--
			d.Lease, d.NextAt = c.Lease, leased
			take = append(take, d.Delivery)
		}
	}
	return take, wait
}

// LookAhead is how many due deliveries beyond the wanted ones are looked at, so
// that a few that have to wait do not hide one that may go.
const LookAhead = 32
