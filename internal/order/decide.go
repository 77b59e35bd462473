package order

import (
	"slices"
	"time"
)

// Aggregate is an order with its payments and refunds: all that a decision
// needs to know. The zero Aggregate with a Key is an order that does not exist.
type Aggregate struct {
	Order    Order
	Payments []Payment
	Refunds  []Refund
}

// Decision is what one fact does to one order.
type Decision struct {
	Outcome Outcome
	Reason  Reason // of a conflict
	// Changed: the order's rows differ from before. Then Payment, when set, and
	// Rows are to be written with the order.
	Changed bool
	Payment *Payment // the payment that the fact speaks of, as it is now
	Refund  *Refund  // the refund likewise
	Rows    []Refund // every refund row that changed
	Kept    bool     // Payment was not kept before: facts that waited for it can be decided now
	Event   *Event   // with Type, From, To, Kind, Reason and OrderVersion filled; nil when nothing is told
}

// Decide says what a fact does to an order. It is pure and total: no clock, no
// I/O, every fact has an outcome in every state, and the given aggregate is not
// changed.
//
// One rule stands above the table: an order has at most one accepted payment,
// and its status and sums speak of that one alone. Facts of other transactions
// never change them.
func Decide(a Aggregate, f Fact) (Aggregate, Decision) {
	switch {
	case f.Conflict != ReasonNone:
		return a.conflict(f, f.Conflict, nil, nil)
	case f.Kind == KindPaid:
		return a.paid(f)
	case f.Kind == KindPaying, f.Kind == KindClosed, f.Kind == KindFinished:
		if !a.speaksOfOrder(f.Txn()) {
			return a, Decision{Outcome: Stale}
		}
		return a.step(f)
	case f.Kind.isRefund():
		return a.refund(f)
	}
	return a, Decision{Outcome: Unhandled}
}

// payment finds a kept payment by its transaction; -1 when it is not kept.
func (a *Aggregate) payment(t TxnKey) int {
	return slices.IndexFunc(a.Payments, func(p Payment) bool { return p.TxnKey == t })
}

// speaksOfOrder: the transaction is the accepted one or, while there is none,
// any that was not set aside as surplus or mismatched.
func (a *Aggregate) speaksOfOrder(t TxnKey) bool {
	if a.Order.HasAccepted() {
		return t == TxnKey{a.Order.Provider, a.Order.ProviderTxnID}
	}
	return a.payment(t) < 0
}

// step decides paying, closed and finished of the order's own transaction.
func (a Aggregate) step(f Fact) (Aggregate, Decision) {
	switch cellOf(f.Kind, a.Order.Status, a.Order.HasAccepted()) {
	case toPending:
		return a.moveTo(Pending, EventPending, f)
	case toClosed:
		return a.moveTo(Closed, EventClosed, f)
	case setFinished:
		if a.Order.Finished {
			return a, Decision{Outcome: Duplicate}
		}
		a.Order.Finished = true
		return a.moveTo(a.Order.Status, EventFinished, f)
	case isDuplicate:
		return a, Decision{Outcome: Duplicate}
	case isClosedAfterPaid:
		return a.conflict(f, ReasonClosedAfterPaid, a.accepted(), nil)
	}
	return a, Decision{Outcome: Stale}
}

// moveTo is the one place where a status changes by a fact without money.
func (a Aggregate) moveTo(to Status, t EventType, f Fact) (Aggregate, Decision) {
	from := a.Order.Status
	a.Order.Status = to
	d := Decision{Outcome: Applied, Changed: true, Payment: a.accepted()}
	d.Event = a.event(t, from, f.Kind, ReasonNone)
	return a, d
}

// accepted is a copy of the accepted payment; nil while there is none.
func (a *Aggregate) accepted() *Payment {
	if !a.Order.HasAccepted() {
		return nil
	}
	if i := a.payment(TxnKey{a.Order.Provider, a.Order.ProviderTxnID}); i >= 0 {
		p := a.Payments[i]
		return &p
	}
	return nil
}

// event counts one event of the order and describes it.
func (a *Aggregate) event(t EventType, from Status, k Kind, r Reason) *Event {
	a.Order.Version++
	return &Event{Type: t, Key: a.Order.Key, OrderVersion: a.Order.Version, From: from, To: a.Order.Status, Kind: k, Reason: r}
}

// conflict records that a fact contradicts what is known. It moves nothing and
// creates no order: about an order that does not exist, the event stands alone.
func (a Aggregate) conflict(f Fact, r Reason, p *Payment, rf *Refund) (Aggregate, Decision) {
	d := Decision{Outcome: Conflict, Reason: r, Payment: p, Refund: rf}
	if a.Order.Status == None {
		d.Event = &Event{Type: EventConflict, Key: f.Key(), Kind: f.Kind, Reason: r}
		return a, d
	}
	d.Changed = true
	d.Event = a.event(EventConflict, a.Order.Status, f.Kind, r)
	return a, d
}

// paid decides a payment: known, the accepted one, or one to set aside.
func (a Aggregate) paid(f Fact) (Aggregate, Decision) {
	if i := a.payment(f.Txn()); i >= 0 {
		return a.paidAgain(i, f)
	}
	p := Payment{TxnKey: f.Txn(), Order: a.Order.Key, Account: f.Account, AmountFen: f.AmountFen, Currency: f.Currency, PaidAt: f.At}
	role, reason := a.roleOf(f)
	p.Role = role
	if role == Accepted {
		return a.accept(p, f)
	}
	for _, q := range a.Payments {
		p.Position = max(p.Position, q.Position)
	}
	p.Position++ // the accepted one owns 0, so the first one set aside is 1
	a.Payments = append(slices.Clone(a.Payments), p)
	a, d := a.conflict(f, reason, &p, nil)
	d.Changed, d.Kept = true, true
	return a, d
}

// roleOf says what a payment that was not kept before becomes.
func (a *Aggregate) roleOf(f Fact) (Role, Reason) {
	switch o := &a.Order; {
	case o.Status == Cancelled:
		return Surplus, ReasonPaidAfterCancel
	case o.HasAccepted():
		return Surplus, ReasonSurplusPayment
	case o.Registered && f.AmountFen != o.ExpectedFen:
		return Mismatched, ReasonAmountMismatch
	case o.Registered && f.Currency != "" && f.Currency != o.Currency:
		return Mismatched, ReasonCurrencyMismatch
	}
	return Accepted, ReasonNone
}

func (a Aggregate) accept(p Payment, f Fact) (Aggregate, Decision) {
	a.Payments = append(slices.Clone(a.Payments), p)
	from := a.Order.Status
	a.Order.Status = Paid
	a.Order.Late = from == Closed
	a.mirror(p)
	d := Decision{Outcome: Applied, Changed: true, Payment: &p, Kept: true}
	d.Event = a.event(EventPaid, from, f.Kind, ReasonNone)
	return a, d
}

// mirror copies the accepted payment's numbers into the order.
func (a *Aggregate) mirror(p Payment) {
	o := &a.Order
	o.Provider, o.Account, o.ProviderTxnID = p.Provider, p.Account, p.ProviderTxnID
	o.PaidFen, o.RefundedFen, o.PaidAt = p.AmountFen, p.RefundedFen, p.PaidAt
	if !o.Registered {
		o.Currency = p.Currency
	}
	o.AmountVerified = o.Registered && p.AmountFen == o.ExpectedFen && (p.Currency == "" || p.Currency == o.Currency)
	// Once late, always late: a payment of a closed order does not become
	// punctual because its time is known.
	o.Late = o.Late || expired(o.ExpiresAt, p.PaidAt)
}

func expired(expires, paid time.Time) bool {
	return !expires.IsZero() && !paid.IsZero() && expires.Before(paid)
}

// paidAgain decides a payment that is kept already, in whatever role and
// whatever is expected by now: the same amount again is a duplicate.
func (a Aggregate) paidAgain(i int, f Fact) (Aggregate, Decision) {
	p := a.Payments[i]
	switch {
	case f.AmountFen != p.AmountFen:
		return a.conflict(f, ReasonAmountMismatch, &p, nil)
	case p.Currency != "" && f.Currency != "" && f.Currency != p.Currency,
		// A payment that only a refund implied did not say its currency: now
		// that it is known it must still be the expected one.
		p.Currency == "" && f.Currency != "" && a.Order.Registered && p.Role == Accepted && f.Currency != a.Order.Currency:
		return a.conflict(f, ReasonCurrencyMismatch, &p, nil)
	}
	d := Decision{Outcome: Duplicate, Payment: &p}
	if p.PaidAt.IsZero() && !f.At.IsZero() {
		p.PaidAt, d.Changed = f.At, true
	}
	if p.Currency == "" && f.Currency != "" {
		p.Currency, d.Changed = f.Currency, true
	}
	if d.Changed {
		a.Payments = slices.Clone(a.Payments)
		a.Payments[i] = p
		if p.Role == Accepted {
			a.mirror(p)
		}
	}
	return a, d
}
