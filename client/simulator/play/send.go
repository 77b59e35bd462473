package play

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// answer is what came back for a delivery.
type answer int

// The answers. A provider takes all but acked for a reason to tell it again.
const (
	acked       answer = iota
	refused            // an answer that is no ack, below 500 and not 429
	unavailable        // 429 and above 500
	unreachable        // no connection, or it broke
	late               // no whole answer within the provider's 5 s
	hungUp             // we did not wait for it: the plan's slow ack
)

func (a answer) String() string {
	return [...]string{"acked", "refused", "unavailable", "unreachable", "late", "hung up"}[a]
}

// fate is what the plan does to an answer on its way back.
type fate int

const (
	arrives fate = iota
	isLost
	isSlow
)

func (s *script) fate(t telling) fate {
	attempt := int(t.attempt)
	if t.copy {
		attempt = maxRetries + 1
	}
	switch u := Share(s.chance(forFate, int(t.order), int(t.notice), attempt).Float64()); {
	case u < s.Acks.Lost:
		return isLost
	case u < s.Acks.Lost+s.Acks.Slow:
		return isSlow
	}
	return arrives
}

// twice says whether two senders tell a notice at the same time.
func (s *script) twice(order, notice int) bool {
	const beyondAttempts = maxRetries + 2
	return hits(s.chance(forFate, order, notice, beyondAttempts), s.Twice)
}

// senders are the provider's: each takes what is due next and tells it.
type senders struct {
	script *script
	queue  *queue
	book   *ledger
	post   func(ctx context.Context, to *simulator.Sender, m simulator.Message, hold func(context.Context)) (simulator.Answer, error)

	fail context.CancelCauseFunc
}

func newSenders(s *script, book *ledger) *senders {
	return &senders{script: s, queue: newQueue(s), book: book, post: post}
}

// run tells until everything is acked or given up.
func (s *senders) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, to := range s.script.to {
		defer to.CloseIdle()
	}
	s.fail = fail
	var work sync.WaitGroup
	for range s.script.Senders {
		work.Go(func() {
			for {
				t, ok := s.queue.take(ctx)
				if !ok {
					return
				}
				s.queue.giveBack(t, s.tell(ctx, t))
			}
		})
	}
	work.Wait()
	s.book.passed(s.queue.passed())
	return context.Cause(ctx)
}

// tell delivers a notice once. It returns when to tell it again, nil when there
// is no need or no further pause in the schedule.
func (s *senders) tell(ctx context.Context, t telling) *telling {
	story := s.script.story(int(t.order))
	n := story.notices[t.notice]
	m, err := story.teller.Message(n, time.Now())
	if err != nil {
		s.fail(fmt.Errorf("order %s cannot be told: %w", story.number, err))
		return nil
	}
	turn := int(t.order) + int(t.attempt)
	if t.copy {
		turn++ // to another server than the first one
	}
	to := s.script.to[turn%len(s.script.to)]
	fate := s.script.fate(t)
	s.book.told(t, len(story.notices))
	began := time.Now()
	a := s.deliver(ctx, to, m, delivery{story.teller.Protocol, fate})
	if ctx.Err() != nil && a != acked {
		return nil // we broke it off ourselves
	}
	again, given := s.again(t, n, story.teller.Protocol, a == acked && fate == arrives)
	if err := s.book.heard(hearing{t, n.Kind, a, fate, given, time.Since(began)}); err != nil {
		s.fail(err)
	}
	return again
}

// again is when a notice is told next; given says that the provider gives up.
func (s *senders) again(t telling, n Notice, of simulator.Protocol, content bool) (again *telling, given bool) {
	if content || t.copy || n.Kind == Probe {
		return nil, false
	}
	pauses := s.script.retries(of)
	if int(t.attempt) >= len(pauses) {
		return nil, true
	}
	next := t
	next.due = s.queue.ended(t) + pauses[t.attempt]
	next.attempt++
	return &next, false
}

// delivery is a protocol, whose acks are its own, and what the plan does to the
// answer.
type delivery struct {
	protocol simulator.Protocol
	fate     fate
}

// deliver sends a message and reads the answer.
func (s *senders) deliver(ctx context.Context, to *simulator.Sender, m simulator.Message, d delivery) answer {
	inTime, cancel := context.WithTimeout(ctx, simulator.Patience)
	defer cancel()
	var hold func(context.Context)
	if d.fate == isSlow {
		hold = s.hold
	}
	got, err := s.post(inTime, to, m, hold)
	switch {
	case errors.Is(err, errHungUp):
		return hungUp
	case err != nil && inTime.Err() != nil:
		return late
	case err != nil:
		return unreachable
	case d.protocol.Acked(got):
		return acked
	case got.Status == http.StatusTooManyRequests || got.Status >= http.StatusInternalServerError:
		return unavailable
	}
	return refused
}

// hold keeps a connection open for as long as the provider waits, on its clock.
func (s *senders) hold(ctx context.Context) {
	if speed := s.script.Speed; speed != SkipWaits {
		pause(ctx, simulator.Patience/time.Duration(speed), nil)
	}
}

var errHungUp = errors.New("hung up")

// post sends a message. With hold the answer is not waited for: once the request
// is written hold is called, and then the connection is broken.
func post(ctx context.Context, to *simulator.Sender, m simulator.Message, hold func(context.Context)) (simulator.Answer, error) {
	if hold == nil {
		return to.Send(ctx, m)
	}
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	_, err := to.Send(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		go func() { hold(ctx); hangUp(errHungUp) }()
	}}), m)
	if err == nil {
		<-ctx.Done() // the answer was faster; nobody listens
	} else if ctx.Err() == nil {
		return simulator.Answer{}, err
	}
	return simulator.Answer{}, errHungUp
}
