package main

import (
	"fmt"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// kindWords says what a notification is about.
func kindWords(k order.Kind) string {
	switch k {
	case order.KindPaying:
		return "waits for the buyer to pay"
	case order.KindPaid:
		return "paid"
	case order.KindClosed:
		return "closed, without a payment or after all of it was refunded"
	case order.KindFinished:
		return "finished, nothing can be refunded any more"
	case order.KindRefund:
		return "refunded"
	case order.KindRefundClosed:
		return "a refund was closed, no money moved"
	case order.KindRefundAbnormal:
		return "a refund failed, the buyer has not got the money"
	case order.KindContract:
		return "a contract for later payments changed"
	case order.KindFundAuth:
		return "an authorisation of funds changed"
	case order.KindAgreement:
		return "an agreement changed"
	case order.KindProfitSharing:
		return "a payment was shared"
	case order.KindTransfer:
		return "a transfer changed"
	case order.KindMessage:
		return "a message"
	}
	return "something that notifyd does not know (" + shown(string(k)) + ")"
}

// decisionWords says what a fact did and why.
func decisionWords(o order.Outcome, r order.Reason) string {
	switch o {
	case order.Applied:
		return "it changed the order"
	case order.Duplicate:
		return "it says what was known already"
	case order.Stale:
		return "it is older than what is known and changes nothing"
	case order.Unmatched:
		return "it waits until the order is registered, or its payment is known"
	case order.Unhandled:
		return "it moves no order; it was recorded and told"
	case order.Conflict:
		return reasonWords(r)
	}
	return shown(string(o))
}

// reasonWords says why nothing moved.
func reasonWords(r order.Reason) string {
	switch r {
	case order.ReasonAmountMismatch:
		return "the amount is not the one that was expected; nothing moved"
	case order.ReasonCurrencyMismatch:
		return "the currency is not the one that was expected; nothing moved"
	case order.ReasonSurplusPayment:
		return "the order has its payment: this is a second one, money to give back"
	case order.ReasonClosedAfterPaid:
		return "the provider closed what was paid; the order stays as it is, ask the provider"
	case order.ReasonPaidAfterCancel:
		return "it was paid after it was cancelled here: money to give back"
	case order.ReasonRefundExceedsPaid:
		return "more would be refunded than was paid; nothing moved"
	case order.ReasonNumberReused:
		return "a known number came with other contents; nothing moved"
	case order.ReasonUnreadableField:
		return "it is genuine, but a field cannot be read exactly; nothing moved"
	case order.ReasonAmbiguousText:
		return "it is genuine, but free text in it could be read as a field; nothing moved"
	}
	return "it needs a person (" + shown(string(r)) + "); nothing moved"
}

// disputeWords are the amounts that a conflict is about, as far as they are known.
func disputeWords(f *order.FactView, s *httpapi.OrderStory) string {
	if f.AmountFen == nil {
		return ""
	}
	words := ": says " + yuan(*f.AmountFen, s.Currency)
	switch {
	case f.Reason != order.ReasonAmountMismatch || f.Kind != order.KindPaid:
	case s.ExpectedFen != nil:
		words += ", expected is " + yuan(*s.ExpectedFen, s.Currency)
	case s.PaidFen > 0:
		words += ", known is " + yuan(s.PaidFen, s.Currency)
	}
	return words
}

// conflictLines say of each reason what a person has to see to. Money to give
// back has a line of its own already.
func conflictLines(s *httpapi.OrderStory) (lines []string) {
	told := map[order.Reason]bool{order.ReasonSurplusPayment: true, order.ReasonPaidAfterCancel: true}
	for i := range s.Notifications {
		for _, f := range s.Notifications[i].Facts {
			if f.Outcome == order.Conflict && !told[f.Reason] && f.OutTradeNo != nil && *f.OutTradeNo == s.OutTradeNo {
				told[f.Reason] = true
				lines = append(lines, "Somebody has to look at a conflict above ("+shown(string(f.Reason))+"): ask the provider what is true.")
			}
		}
	}
	return lines
}

// waitWords says what an order waits for.
func waitWords(w httpapi.WaitCode, s *httpapi.OrderStory) string {
	switch w {
	case httpapi.WaitPayment:
		if s.ExpectedFen != nil {
			return "It waits for a payment of " + yuan(*s.ExpectedFen, s.Currency) + "."
		}
		return "It waits for a payment."
	case httpapi.WaitShipment:
		return "It waits for you to ship it."
	case httpapi.WaitReceipt:
		return "It is on its way and waits for you to complete it."
	case httpapi.WaitReturn:
		return "Somebody has to give money back: a payment above is not this order's (surplus or mismatched)."
	case httpapi.WaitRefund:
		return "Somebody has to see to a refund: the provider could not pay it out (abnormal)."
	case httpapi.WaitMatch:
		return "A notification waits for this order's registration or for its payment; it is applied as soon as that comes."
	}
	return "It waits for " + shown(string(w)) + "."
}

// nextLines say what comes next.
func nextLines(s *httpapi.OrderStory, again string) (lines []string) {
	for i := range s.Next.Deliveries {
		lines = append(lines, deliveryWords(&s.Next.Deliveries[i], again))
	}
	for _, w := range s.Next.WaitsFor {
		lines = append(lines, waitWords(w, s))
	}
	lines = append(lines, conflictLines(s)...)
	which := ""
	if s.Merchant != config.DefaultMerchant {
		which = " --merchant " + shellWord(s.Merchant)
	}
	for _, command := range s.Next.MerchantMay { // each in a line of its own, to be pasted
		lines = append(lines, fmt.Sprintf("You may: notifyd orders %s %s", command, shellWord(s.OutTradeNo)+which+again))
	}
	if len(lines) == 0 {
		lines = append(lines, "Nothing is due. What the provider still sends about it is recorded.")
	}
	return lines
}

// deliveryWords says what becomes of a delivery that has not arrived.
func deliveryWords(d *httpapi.NextDelivery, again string) string {
	what := fmt.Sprintf("%s %s to %s: ", shown(string(d.Type)), shown(d.EventID), shown(d.Endpoint))
	switch {
	case d.State == outbox.Exhausted:
		return what + "given up after " + plural(d.Attempts, "attempt", "attempts") + ". Send it again: notifyd events redeliver " + shown(d.EventID) + again
	case d.Paused != nil:
		return what + "the endpoint is paused (" + dash(*d.Paused) + "). Go on: notifyd endpoints resume " + shown(d.Endpoint) + again
	case d.Behind != nil:
		return what + "waits for " + shown(*d.Behind) + " to arrive or to be given up"
	case d.Sending:
		return what + fmt.Sprintf("attempt %d is being made", d.Attempts+1)
	}
	return what + fmt.Sprintf("attempt %d is due at %s", d.Attempts+1, clockTime(d.NextAt))
}
