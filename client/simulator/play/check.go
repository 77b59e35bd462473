package play

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/client/simulator"
)

// readers is how many orders are asked for at once: the admin API is for people,
// and shares its database with the notifications.
const readers = 4

// check asks the server for every order that was told and compares it with the
// ledger. Its error means that the server could not be asked.
func check(ctx context.Context, stage Stage, s *script, book *ledger, report *Report) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var mu sync.Mutex // of report
	next := make(chan int)
	var work sync.WaitGroup
	for range readers {
		work.Go(func() {
			for order := range next {
				story := s.story(order)
				o, err := ask(ctx, stage.Desk, story)
				if err != nil {
					fail(err)
					continue
				}
				found := judge(story, book.entries[order], o)
				mu.Lock()
				report.Checked++
				if stage.Progress != nil {
					stage.Progress(Checking, report.Checked, report.Orders)
				}
				for _, x := range found {
					report.add(x)
				}
				mu.Unlock()
			}
		})
	}
	for order, e := range book.entries {
		if e.told != 0 {
			select {
			case next <- order:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(next)
	work.Wait()
	slices.SortFunc(report.Offenders, func(a, b Offender) int { return cmp.Compare(a.OutTradeNo, b.OutTradeNo) })
	return context.Cause(ctx)
}

const (
	askTimes = 5
	askPause = 500 * time.Millisecond
)

// ask asks for an order, a few times when the server cannot be asked: it may
// have just lost its database.
func ask(ctx context.Context, desk Desk, t story) (o *client.Order, err error) {
	for range askTimes {
		if o, err = desk(ctx, t.teller.Merchant, t.number); err == nil || ctx.Err() != nil {
			return o, err
		}
		pause(ctx, askPause, nil)
	}
	return nil, err
}

// bounds is what an order must be at least and may be at most: the acked notices
// must have had their effect, what was told without an ack may have had it.
type bounds struct {
	protocol                simulator.Protocol
	amount                  int64
	mustExist, mustPay      bool
	mayExist, mayPay        bool
	mustClose, mayClose     bool
	mustFinish, mayFinish   bool
	mustRefund, mayRefund   int64
	mustRefunds, mayRefunds int
}

func boundsOf(t story, e entry) bounds {
	b := bounds{protocol: t.teller.Protocol, amount: t.notices[0].AmountFen}
	for i, n := range t.notices {
		if n.Kind != Probe && e.has(e.told, i) {
			b.add(n, e.has(e.acked, i))
		}
	}
	return b
}

// add takes a notice that was told into account.
func (b *bounds) add(n Notice, acked bool) {
	// A v2 refund proves no payment: alone it waits for one and shows no order.
	pays := n.Kind == Paid || n.Kind == Finished || n.Kind == Refund && b.protocol != simulator.WechatV2
	exists := pays || n.Kind == Paying || n.Kind == Closed
	b.mayPay, b.mustPay = b.mayPay || pays, b.mustPay || pays && acked
	b.mayExist, b.mustExist = b.mayExist || exists, b.mustExist || exists && acked
	switch n.Kind {
	case Closed:
		b.mayClose, b.mustClose = true, b.mustClose || acked
	case Finished:
		b.mayFinish, b.mustFinish = true, b.mustFinish || acked
	case Refund:
		b.mayRefunds++
		b.mayRefund = b.total(b.mayRefund, n)
		if acked {
			b.mustRefunds++
			b.mustRefund = b.total(b.mustRefund, n)
		}
	}
}

// total adds a refund: Alipay tells running totals, of which the greatest counts.
func (b *bounds) total(sum int64, n Notice) int64 {
	if b.protocol == simulator.Alipay {
		return max(sum, n.RefundedFen)
	}
	return sum + n.RefundFen
}

// judge compares an order with what was told about it. At most one fault of a
// kind is named.
func judge(t story, e entry, o *client.Order) (found []Offender) {
	b := boundsOf(t, e)
	add := func(f Fault, format string, args ...any) {
		if !slices.ContainsFunc(found, func(x Offender) bool { return x.Fault == f }) {
			found = append(found, Offender{t.number, t.teller.Merchant, t.teller.Account, f, fmt.Sprintf(format, args...)})
		}
	}
	for i, n := range t.notices {
		switch {
		case n.Kind == Probe && e.has(e.acked, i):
			add(Wrong, "a probe, signed badly on purpose, was acked")
		case e.has(e.givenUp, i) && !e.has(e.acked, i) && e.has(e.refused, i):
			add(Unacked, "%s was told to the end of the schedule and never acked", n.Kind)
		}
	}
	switch {
	case o == nil && b.mustExist:
		add(Lost, "%s was acked, and the server knows no such order", b.said())
	case o != nil && !b.mayExist:
		add(Wrong, "nothing was told that would make an order, and there is one: %s", o.Status)
	case o != nil:
		b.judgePayment(o, add)
		b.judgeRefunds(o, add)
		b.judgeStatus(o, add)
	}
	return found
}

// said names the most that was acked.
func (b *bounds) said() string {
	switch {
	case b.mustRefund > 0:
		return fmt.Sprintf("a refund of %d fen", b.mustRefund)
	case b.mustPay:
		return fmt.Sprintf("a payment of %d fen", b.amount)
	case b.mustClose:
		return "the close"
	}
	return "an order that waits for its buyer"
}

type adder func(f Fault, format string, args ...any)

func (b *bounds) judgePayment(o *client.Order, add adder) {
	moves := 0
	for _, m := range o.Transitions {
		switch {
		case m.Reason != "":
			add(Wrong, "the server sees a conflict, %s, where none was told", m.Reason)
		case m.Kind == string(Paid):
			moves++
		}
	}
	switch {
	case len(o.Payments) > 1:
		add(Doubled, "it has %d payments, one was told", len(o.Payments))
	case moves > 1:
		add(Doubled, "it was paid %d times, in %d transitions", moves, moves)
	case len(o.Payments) == 0 && b.mustPay:
		add(Lost, "%s was acked, and the order has no payment: it is %s", b.said(), o.Status)
	case len(o.Payments) == 1 && moves == 0:
		add(Wrong, "it has a payment that no transition tells of")
	case len(o.Payments) == 1 && !b.mayPay:
		add(Wrong, "it has a payment, none was told")
	}
	for _, p := range o.Payments {
		if p.AmountFen != b.amount {
			add(Wrong, "a payment of %d fen, %d was told", p.AmountFen, b.amount)
		}
	}
	if len(o.Payments) == 1 && o.PaidFen != b.amount {
		add(Wrong, "paid_fen is %d, %d was told", o.PaidFen, b.amount)
	}
}

func (b *bounds) judgeRefunds(o *client.Order, add adder) {
	moves, sum := 0, int64(0)
	for _, m := range o.Transitions {
		if m.Kind == string(Refund) && m.Reason == "" {
			moves++
		}
	}
	for _, r := range o.Refunds {
		sum += r.AmountFen
	}
	switch {
	case moves > b.mayRefunds || len(o.Refunds) > b.mayRefunds:
		add(Doubled, "%d refunds in %d transitions, %d told", len(o.Refunds), moves, b.mayRefunds)
	case o.RefundedFen > b.mayRefund:
		add(Doubled, "refunded_fen is %d, %d was told in all", o.RefundedFen, b.mayRefund)
	case b.mayPay && len(o.Payments) > 0 && o.RefundedFen < b.mustRefund:
		add(Lost, "a refund was acked, and refunded_fen is %d of %d", o.RefundedFen, b.mustRefund)
	case sum != o.RefundedFen:
		add(Wrong, "refunded_fen is %d, and its refunds are %d together", o.RefundedFen, sum)
	}
}

func (b *bounds) judgeStatus(o *client.Order, add adder) {
	want := client.Pending
	switch {
	case len(o.Payments) > 0 && o.RefundedFen > 0 && o.RefundedFen == o.PaidFen:
		want = client.Refunded
	case len(o.Payments) > 0:
		want = client.Paid
	case b.mustClose, b.mayClose && o.Status == client.Closed:
		want = client.Closed
	}
	switch {
	case o.Status == want:
	case want == client.Closed:
		add(Lost, "the close was acked, and the order is %s", o.Status)
	default:
		add(Wrong, "it is %s, and should be %s", o.Status, want)
	}
	switch {
	case b.mustFinish && !o.Finished:
		add(Lost, "finished was acked, and the order does not know it")
	case o.Finished && !b.mayFinish:
		add(Wrong, "it is finished, and nobody said so")
	}
}
