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
// The package imports the public client package for the shape of orders, and the
// standard library. Who signs the messages and who looks at the server's orders
// come in as functions: see Stage.
package play

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/notifyd/notifyd/client"
)

// Protocol is one way in which providers speak.
type Protocol string

// The protocols.
const (
	WechatV3 Protocol = "wechat-v3"
	WechatV2 Protocol = "wechat-v2"
	Alipay   Protocol = "alipay"
)

// Protocols are all of them.
func Protocols() []Protocol { return []Protocol{WechatV3, WechatV2, Alipay} }

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
	ID            string // the provider's own id of the notice
	Kind          Kind
	OutTradeNo    string
	ProviderTxnID string
	AmountFen     int64
	PaidAt        time.Time

	OutRefundNo      string // of a refund
	ProviderRefundID string
	RefundFen        int64 // this refund
	RefundedFen      int64 // all refunds of the order so far, with this one
	RefundedAt       time.Time
}

// Message is a notice as it goes over the wire.
type Message struct {
	Header http.Header
	Body   []byte
}

// Teller speaks one protocol to one account. Message signs a notice as it is
// sent at the given time; it is called by several senders at once.
type Teller struct {
	Account  string // the last part of the notify URL
	Merchant string // whose orders the account's are
	Protocol Protocol
	Message  func(n Notice, at time.Time) (Message, error)
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
	Start   time.Time // when the run begins: payments are a little older
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
	err = newSenders(plan, stage, script, book).run(sending)
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
