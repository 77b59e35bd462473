package outbox

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Times of the workers.
const (
	// Lease is how long a claim holds: an attempt, and time to write it down
	// while the store is slow. Whoever dies with it delays an event by this.
	Lease = 60 * time.Second
	// PollEvery is how often the store is asked while nothing is heard: for what
	// other instances left behind. What this one commits, it hears of.
	PollEvery = 5 * time.Second
	// SequencePatience is how long an event waits for its place in the feed:
	// far longer than it takes to get one.
	SequencePatience = time.Second
	// StopGrace is how long attempts may still run when the outbox ends.
	StopGrace = 3 * time.Second
	// storePause is between attempts to use a store that failed, and claimPause
	// after a claim that found due deliveries in other hands or without a place.
	storePause = time.Second
	claimPause = 50 * time.Millisecond
	// storeTimeout bounds one call of the store.
	storeTimeout = 5 * time.Second
)

// Options configures an Outbox. Store, Endpoints, Now, NewID and Random are
// required; zero times are those above.
type Options struct {
	Store     Store
	Endpoints []Endpoint
	Now       func() time.Time
	NewID     func(prefix string) string // never the same twice
	Random    func() float64             // in [0, 1), for the jitter
	UserAgent string

	// Sequenced: somebody gives events their place in the feed soon after their
	// commit, and calls Wake then. Events wait a moment for it, so that their
	// bodies tell it.
	Sequenced bool
	// Client makes calls; NewClient's when nil.
	Client func(allowPrivate bool) *http.Client

	Attempted func(Delivery, Attempt, State) // told of each attempt, before it is written; may be nil
	Paused    func(Pause)                    // told when an endpoint answered 410; may be nil
	Failed    func(error)                    // told of what the store refused, for the log; may be nil

	Schedule       []time.Duration
	AttemptTimeout time.Duration
	MaxRetryAfter  time.Duration
	Lease          time.Duration
	PollEvery      time.Duration
	StopGrace      time.Duration
}

func (o *Options) complete() {
	if o.Schedule == nil {
		o.Schedule = Schedule()
	}
	if o.Client == nil {
		// One for each kind: a connection that was allowed for one endpoint must
		// not serve another.
		strict, open := NewClient(false, nil), NewClient(true, nil)
		o.Client = func(allowPrivate bool) *http.Client {
			if allowPrivate {
				return open
			}
			return strict
		}
	}
	for _, t := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.AttemptTimeout, AttemptTimeout}, {&o.MaxRetryAfter, MaxRetryAfter}, {&o.Lease, Lease}, {&o.PollEvery, PollEvery}, {&o.StopGrace, StopGrace}} {
		if *t.value == 0 {
			*t.value = t.standard
		}
	}
}

// Outbox delivers events. One runs in every instance.
type Outbox struct {
	opt       Options
	endpoints map[string]*Endpoint
	wake      chan struct{} // has room for one: whoever comes while it is full is heard anyhow
	ended     chan attempted

	mu    sync.Mutex
	paces map[string]*pace
}

// attempted is an attempt that has ended.
type attempted struct {
	result Result
	answer answer
	began  time.Time
	cut    bool // by our own end: nobody knows what the endpoint did
}

// New makes an Outbox that does not run yet.
func New(opt Options) *Outbox {
	opt.complete()
	o := &Outbox{opt: opt, endpoints: map[string]*Endpoint{}, wake: make(chan struct{}, 1), ended: make(chan attempted), paces: map[string]*pace{}}
	for i := range opt.Endpoints {
		e := &opt.Endpoints[i]
		o.endpoints[e.Name] = e
		o.paces[e.Name] = newPace()
	}
	return o
}

// Wake says that there may be something to deliver. It never waits.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Standing is how an endpoint is doing, as this instance sees it.
type Standing struct {
	InFlight  int
	Failures  int       // in a row
	HeldUntil time.Time // zero: it may be asked now
}

// Endpoint is a configured endpoint and how it is doing.
func (o *Outbox) Endpoint(name string) (Endpoint, Standing, bool) {
	e, ok := o.endpoints[name]
	if !ok {
		return Endpoint{}, Standing{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.paces[name]
	s := Standing{InFlight: p.inFlight, Failures: p.failures}
	if p.notBefore.After(o.opt.Now()) {
		s.HeldUntil = p.notBefore
	}
	return *e, s, true
}

// Endpoints are the configured endpoints, in the order of the configuration.
func (o *Outbox) Endpoints() []Endpoint { return o.opt.Endpoints }

// Forgive forgets that an endpoint failed: a person says that it is well.
func (o *Outbox) Forgive(name string) {
	o.mu.Lock()
	if p := o.paces[name]; p != nil {
		p.failures, p.notBefore, p.window = 0, time.Time{}, max(p.window, firstWindow)
	}
	o.mu.Unlock()
	o.Wake()
}

// Try posts a body to an endpoint once, outside of the schedule and without a
// record, and says what came of it. ok is false when there is no such endpoint.
func (o *Outbox) Try(ctx context.Context, name, eventID string, body []byte) (a Attempt, ok bool) {
	e, ok := o.endpoints[name]
	if !ok {
		return Attempt{}, false
	}
	start := o.opt.Now()
	got := o.post(ctx, e, eventID, body, start)
	return Attempt{ID: o.opt.NewID("att_"), Key: Key{eventID, name}, Number: 1, StartedAt: start, Duration: o.opt.Now().Sub(start),
		StatusCode: got.status, Failure: got.failure, Response: got.response}, true
}
