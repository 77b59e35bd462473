package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// performance is a scenario that is told of one order after another.
type performance struct {
	*app
	by       *simulator.Simulator
	scenario simulator.Scenario
	edits    []simulator.Edit
	step     int // 0: all of them
	pace     *pace
}

// story tells the scenario of an order, with what the command line changes.
func (p *performance) story(o simulator.Order) ([]numberedStep, error) {
	told, err := p.by.Tell(p.scenario, o)
	if err != nil {
		return nil, exitWith(exitUsage, "%w", err)
	}
	if p.step > len(told.Steps) {
		return nil, exitWith(exitUsage, "--step %d: %s has %s", p.step, p.scenario.Name, count(len(told.Steps), "message"))
	}
	var steps []numberedStep
	for i, step := range told.Steps {
		if p.step != 0 && p.step != i+1 {
			continue
		}
		if step.Notification, err = step.Notification.With(p.edits...); err != nil {
			return nil, exitWith(exitUsage, "message %d of %s: %w", i+1, p.scenario.Name, err)
		}
		for _, e := range p.edits { // or else the line would speak of what is not sent
			step.What += ", " + shown(e.String())
		}
		steps = append(steps, numberedStep{step, i + 1})
	}
	return steps, nil
}

// numberedStep is a step and where it stands.
type numberedStep struct {
	simulator.Step
	number int
}

func (n numberedStep) copies() int { return max(1, n.Copies) }

// orders are the orders that the message is about: a story has several, and
// some messages are about none.
func (n numberedStep) orders() []string { return append([]string{}, n.Notification.OutTradeNos()...) }

// errUnanswered ends a run: without a receiver there is nothing to simulate.
var errUnanswered = errors.New("no answer")

// send plays all orders, so many at a time, and shows what was answered.
func (s *simulate) send(ctx context.Context, p *performance, to *simulator.Sender) error {
	order := s.orders()
	first, err := p.story(order(0))
	if err != nil {
		return err
	}
	show := newSimulateShow(s.app, s.number*len(first), len(s.set)+len(s.drop) > 0, s.asJSON)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(s.concurrency, s.number) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(s.number) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := p.play(ctx, order(int(i)), to, show); err != nil {
					stop(err)
				}
			}
		})
	}
	workers.Wait()
	show.end()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errUnanswered):
		return exitWith(exitUnreachable, "%w", cause)
	case cause != nil:
		return cause
	}
	return show.verdict()
}

// play sends the story of one order, message after message.
func (p *performance) play(ctx context.Context, o simulator.Order, to *simulator.Sender, show *simulateShow) error {
	steps, err := p.story(o)
	if err != nil {
		return err
	}
	for _, step := range steps {
		done := p.sendStep(ctx, step, to)
		if ctx.Err() != nil {
			return nil // told to end: what was cut off says nothing
		}
		if err := show.add(done); err != nil {
			return err
		}
		if done.err != nil {
			return fmt.Errorf("stopped: %w: %w", errUnanswered, done.err)
		}
	}
	return nil
}

// sendStep sends a message, or its copies at the same time.
func (p *performance) sendStep(ctx context.Context, step numberedStep, to *simulator.Sender) simulatedStep {
	done := simulatedStep{numberedStep: step, account: p.by.Account().Name, protocol: p.by.Protocol()}
	answers := make([]simulator.Answer, step.copies())
	faults := make([]error, step.copies())
	var all sync.WaitGroup
	var m simulator.Message
	for i := range answers {
		if faults[i] = p.pace.wait(ctx); faults[i] != nil {
			break
		}
		if i == 0 { // signed when it is sent, not when its turn came
			m = step.Notification.At(p.now())
		}
		all.Go(func() { answers[i], faults[i] = to.Send(ctx, m) })
	}
	all.Wait()
	for i, a := range answers {
		switch {
		case faults[i] != nil:
			done.err = faults[i]
		case p.by.Protocol().Acked(a):
			done.acked++
		}
		if a.Status != 0 {
			done.status = a.Status
		}
		done.took = max(done.took, a.Took)
	}
	return done
}

// pace keeps messages apart, over all senders.
type pace struct {
	apart time.Duration // 0: no pace
	now   func() time.Time
	mu    sync.Mutex
	next  time.Time
}

func newPace(perSecond float64, now func() time.Time) *pace {
	if perSecond == 0 {
		return &pace{}
	}
	return &pace{apart: time.Duration(float64(time.Second) / perSecond), now: now}
}

// wait returns when the next message may go.
func (p *pace) wait(ctx context.Context) error {
	if p.apart == 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := p.now()
	turn := p.next
	if turn.Before(now) {
		turn = now
	}
	p.next = turn.Add(p.apart)
	p.mu.Unlock()
	pause(ctx, turn.Sub(now))
	return ctx.Err()
}
