// Package play plays a whole payment provider against a server: many orders
// whose notifications are told by several senders at once, again by the
// provider's own schedule until they are acked, with answers that get lost or
// come too late, in and out of order. It keeps a ledger of the acks it got and
// holds the server to it at the end: what was acked must be there, once, and say
// what was told.
//
// The clock of the provider can run faster than ours, or skip every wait, so
// that the two days over which a provider repeats itself take a minute. Nothing
// else is made up: every message is signed when it is sent.
//
// The package imports the simulator, which makes and signs the messages; the
// public client package for the shape of orders; and the standard library. Who
// looks at the server's orders comes in as a function: see Stage.
package play

import (
	"context"
	"errors"
	"time"

	"github.com/notifyd/notifyd/client"
)

// Kind is what a notice says of its order.
type Kind string

// The kinds. Probe is a payment under a signature that is wrong on purpose:
// WeChat Pay's own test whether the receiver checks.
const (
	Paying   Kind = "paying"
	Paid     Kind = "paid"
	Refund   Kind = "refund"
	Closed   Kind = "closed"
	Finished Kind = "finished"
	Probe    Kind = "probe"
)

// Notice is one thing that a provider has to tell about an order. All its
// deliveries say the same.
type Notice struct {
	ID         string // names the notice within the run
	Kind       Kind
	OutTradeNo string
	AmountFen  int64
	PaidAt     time.Time

	OutRefundNo string // of a refund
	RefundFen   int64  // this refund
	RefundedFen int64  // all refunds of the order so far, with this one
	RefundedAt  time.Time
}

// Desk reads an order with its lists as the server has it; nil when the server
// knows none by that number. It is called by several readers at once.
type Desk func(ctx context.Context, merchant, outTradeNo string) (*client.Order, error)

// Phase is what a run is doing.
type Phase string

// The phases.
const (
	Sending  Phase = "sending"
	Checking Phase = "checking"
)

// Stage is what a plan is played on.
type Stage struct {
	Tellers []Teller
	To      []string // public listeners, "http://127.0.0.1:8080"; repeats go to the next one
	Desk    Desk
	Run     string    // names the run in its order numbers, [0-9A-Za-z]{1,12}
	Start   time.Time // when all its payments were made: shortly before now
	// Progress is told how many orders of the phase are done, one call at a
	// time. It may be nil.
	Progress func(phase Phase, done, total int)
}

// Run plays the plan and checks the ledger. There is a report even when the run
// could not end: with ctx done it holds what the ledger had until then, checked
// by nobody, and the error is ctx's. A report that is not clean is no error.
func Run(ctx context.Context, plan Plan, stage Stage) (*Report, error) {
	script, err := newScript(plan, stage)
	if err != nil {
		return nil, err
	}
	book := newLedger(script, stage.Progress)
	began := time.Now()
	sending, cancel := context.WithTimeoutCause(ctx, plan.Limit, errLimit)
	err = newSenders(script, book).run(sending)
	cancel()
	report := book.report(plan, stage)
	report.TookSeconds = time.Since(began).Seconds()
	switch {
	case ctx.Err() != nil:
		report.Interrupted = true
		return report, ctx.Err()
	case errors.Is(err, errLimit):
		report.LimitReached = true
	case err != nil:
		return report, err
	}
	if err := check(ctx, stage, script, book, report); err != nil {
		report.Interrupted = ctx.Err() != nil
		return report, err
	}
	return report, nil
}

var errLimit = errors.New("the plan's limit is reached")
