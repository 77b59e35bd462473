package outbox

import (
	"context"
	"sync"
	"time"
)

// run is the state of one Run: all but the attempts happens in its one
// goroutine.
type run struct {
	*Outbox
	attempts context.Context // of every attempt; ends some time after the run's own
	cut      context.CancelFunc
	inFlight sync.WaitGroup
	running  int
	results  []Result // not yet written
	pauses   []Pause  // not yet written
}

// Run delivers until ctx ends. Then nothing more is claimed; attempts that run
// may end within a grace time, and what is cut off after it goes out again
// under the same event id, from whichever instance is next.
func (o *Outbox) Run(ctx context.Context) {
	attempts, cut := context.WithCancel(context.WithoutCancel(ctx))
	r := &run{Outbox: o, attempts: attempts, cut: cut}
	defer cut()
	if len(o.endpoints) == 0 {
		<-ctx.Done()
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case a := <-o.ended:
			r.take(a)
			r.drain()
		case <-o.wake:
		case <-timer.C:
		}
		timer.Reset(r.work(ctx))
	}
	r.end()
}

// drain takes what else has ended, so that it is written in one transaction.
func (r *run) drain() {
	for {
		select {
		case a := <-r.ended:
			r.take(a)
		default:
			return
		}
	}
}

// work writes what has ended and claims what is due. It says after how long it
// should be called again, if nothing happens before.
func (r *run) work(ctx context.Context) time.Duration {
	if !r.settle(ctx) {
		return storePause // while results cannot be written, no more are made
	}
	want, held := r.room()
	wait := r.opt.PollEvery
	if held > 0 {
		wait = min(wait, held)
	}
	if len(want) == 0 {
		return wait
	}
	c := Claim{Now: r.opt.Now(), Lease: r.opt.NewID("lea_"), For: r.opt.Lease, Want: want}
	if r.opt.Sequenced {
		c.SequencedBy = c.Now.Add(-SequencePatience)
	}
	claimed, err := r.claim(ctx, c)
	if err != nil {
		r.failed(err)
		return storePause
	}
	for _, d := range claimed.Deliveries {
		r.begin(d)
	}
	if claimed.NextAt.IsZero() {
		return wait
	}
	until := claimed.NextAt.Sub(r.opt.Now())
	if until <= 0 && len(claimed.Deliveries) == 0 {
		until = claimPause
	}
	return min(wait, max(until, 0))
}

// claim asks the store. An end that came in between would leave leases behind
// that nobody knows of.
func (r *run) claim(ctx context.Context, c Claim) (Claimed, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return r.opt.Store.Claim(ctx, c)
}

// room is what may begin now, and after how long an endpoint that is held back
// may be asked again; 0: none is.
func (r *run) room() (want []Want, held time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opt.Now()
	for i := range r.opt.Endpoints {
		name := r.opt.Endpoints[i].Name
		p := r.paces[name]
		if n := p.room(now); n > 0 {
			want = append(want, Want{name, n})
		}
		if left := p.notBefore.Sub(now); left > 0 && (held == 0 || left < held) {
			held = left
		}
	}
	return want, held
}

// begin starts an attempt.
func (r *run) begin(d Delivery) {
	r.mu.Lock()
	r.paces[d.Endpoint].inFlight++
	r.mu.Unlock()
	r.running++
	r.inFlight.Go(func() {
		e := r.endpoints[d.Endpoint]
		start := r.opt.Now()
		got := r.post(r.attempts, e, d.EventID, d.Body, start)
		end := r.opt.Now()
		if r.attempts.Err() != nil && !got.delivered() {
			r.ended <- attempted{cut: true, result: Result{Delivery: d, State: Pending, Step: d.Step, NextAt: end}}
			return
		}
		state, wait := nextState(r.opt.Schedule, d.Step, got, r.opt.Random())
		a := Attempt{ID: r.opt.NewID("att_"), Key: d.Key, Number: d.Attempts + 1, StartedAt: start, Duration: end.Sub(start),
			StatusCode: got.status, Failure: got.failure, Response: got.response}
		if r.opt.Attempted != nil {
			r.opt.Attempted(d, a, state)
		}
		step := d.Step
		if state != Delivered {
			step++
		}
		r.ended <- attempted{answer: got, began: start, result: Result{Delivery: d, Attempt: &a, State: state, Step: step, NextAt: end.Add(wait)}}
	})
}

// take takes in an attempt that has ended.
func (r *run) take(a attempted) {
	d := a.result.Delivery
	r.running--
	r.results = append(r.results, a.result)
	now := r.opt.Now()
	r.mu.Lock()
	p := r.paces[d.Endpoint]
	p.inFlight--
	if !a.cut {
		p.learn(a.answer, a.began, now)
	}
	r.mu.Unlock()
	if a.answer.gone() {
		pause := Pause{Endpoint: d.Endpoint, Reason: "the endpoint answered 410 Gone to " + d.EventID, At: now}
		r.pauses = append(r.pauses, pause)
		if r.opt.Paused != nil {
			r.opt.Paused(pause)
		}
	}
}

// settle writes what has ended, pauses first: after a 410 nothing more may go
// out. It says whether all is written; what is not is kept for the next time.
func (r *run) settle(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	for len(r.pauses) > 0 {
		if err := r.opt.Store.Pause(ctx, r.pauses[0]); err != nil {
			r.failed(err)
			return false
		}
		r.pauses = r.pauses[1:]
	}
	if len(r.results) > 0 {
		if err := r.opt.Store.Finish(ctx, r.opt.Now(), r.results); err != nil {
			r.failed(err)
			return false
		}
		r.results = nil
	}
	return true
}

// end waits for the attempts that run, cuts off those that take too long, and
// writes what is left. Leases of what was cut off are given back.
func (r *run) end() {
	grace := time.AfterFunc(r.opt.StopGrace, r.cut)
	defer grace.Stop()
	for r.running > 0 {
		r.take(<-r.ended)
	}
	r.inFlight.Wait()
	r.settle(r.attempts)
}

func (r *run) failed(err error) {
	if err != nil && r.opt.Failed != nil {
		r.opt.Failed(err)
	}
}
