package order

import "slices"

// refund decides refund, refund_closed and refund_abnormal. A refund belongs to
// a kept payment, in whatever role; while that is unknown it waits.
func (a Aggregate) refund(f Fact) (Aggregate, Decision) {
	i := a.payment(f.Txn())
	if i < 0 {
		return a, Decision{Outcome: Unmatched}
	}
	key := f.RefundKey()
	if key.Ref == "" {
		return a.conflict(f, ReasonUnreadableField, &a.Payments[i], nil)
	}
	j := slices.IndexFunc(a.Refunds, func(r Refund) bool { return r.RefundKey == key })
	if j >= 0 && reusesRefund(a.Refunds[j], f) {
		r := a.Refunds[j]
		return a.conflict(f, ReasonNumberReused, &a.Payments[i], &r)
	}
	switch {
	case f.Kind != KindRefund:
		return a.refundFailed(i, j, f)
	case f.RunningTotalFen > 0:
		return a.refundTotal(i, j, f)
	}
	return a.refundOne(i, j, f)
}

// reusesRefund: the provider's refund number is known with another order,
// transaction or amount. Times and states may differ.
func reusesRefund(r Refund, f Fact) bool {
	return r.Order != f.Key() || r.ProviderTxnID != f.ProviderTxnID ||
		f.RunningTotalFen == 0 && r.AmountFen != f.AmountFen
}

func (a *Aggregate) newRefund(f Fact, s RefundStatus) Refund {
	return Refund{
		RefundKey: f.RefundKey(), ProviderTxnID: f.ProviderTxnID, Order: a.Order.Key, OutRefundNo: f.OutRefundNo,
		ProviderRefundID: f.ProviderRefundID, AmountFen: f.AmountFen, TotalFen: f.RunningTotalFen, Status: s, RefundedAt: f.At,
	}
}

// refundFailed: the refund closed or turned abnormal. It is told and moves no
// money; success is final.
func (a Aggregate) refundFailed(i, j int, f Fact) (Aggregate, Decision) {
	status := RefundClosed
	if f.Kind == KindRefundAbnormal {
		status = RefundAbnormal
	}
	r := a.newRefund(f, status)
	if j >= 0 {
		switch a.Refunds[j].Status {
		case RefundSuccess:
			return a, Decision{Outcome: Stale}
		case status:
			return a, Decision{Outcome: Duplicate}
		}
		r.CreatedAt = a.Refunds[j].CreatedAt
	}
	a.setRefund(j, r)
	p := a.Payments[i]
	d := Decision{Outcome: Applied, Changed: true, Payment: &p, Refund: &r, Rows: []Refund{r}}
	d.Event = a.event(EventRefundFailed, a.Order.Status, f.Kind, ReasonNone)
	return a, d
}

// refundOne: a refund with an id of its own (WeChat Pay) counts once.
func (a Aggregate) refundOne(i, j int, f Fact) (Aggregate, Decision) {
	r := a.newRefund(f, RefundSuccess)
	if j >= 0 {
		if a.Refunds[j].Status == RefundSuccess {
			return a, Decision{Outcome: Duplicate}
		}
		r.CreatedAt = a.Refunds[j].CreatedAt
	}
	p := a.Payments[i]
	if f.AmountFen > p.AmountFen-p.RefundedFen {
		return a.conflict(f, ReasonRefundExceedsPaid, &p, nil)
	}
	a.setRefund(j, r)
	return a.refunded(i, f, p.RefundedFen+f.AmountFen, r)
}

// refundTotal: Alipay tells the sum of all refunds so far. The greatest counts;
// an earlier sum that comes late becomes a row and lessens the row above it.
func (a Aggregate) refundTotal(i, j int, f Fact) (Aggregate, Decision) {
	if j >= 0 {
		return a, Decision{Outcome: Duplicate} // the same total, under whatever request number
	}
	p := a.Payments[i]
	if f.RunningTotalFen > p.AmountFen {
		return a.conflict(f, ReasonRefundExceedsPaid, &p, nil)
	}
	below, above := int64(0), -1
	for k, r := range a.Refunds {
		switch {
		case r.TxnKey() != p.TxnKey || r.TotalFen == 0:
		case r.TotalFen < f.RunningTotalFen:
			below = max(below, r.TotalFen)
		case above < 0 || r.TotalFen < a.Refunds[above].TotalFen:
			above = k
		}
	}
	r := a.newRefund(f, RefundSuccess)
	r.AmountFen = f.RunningTotalFen - below
	if above < 0 {
		a.setRefund(-1, r)
		return a.refunded(i, f, f.RunningTotalFen, r)
	}
	upper := a.Refunds[above]
	upper.AmountFen = upper.TotalFen - f.RunningTotalFen
	a.setRefund(above, upper)
	a.setRefund(-1, r)
	return a, Decision{Outcome: Stale, Changed: true, Payment: &p, Refund: &r, Rows: []Refund{upper, r}}
}

// TxnKey is the payment that was refunded.
func (r *Refund) TxnKey() TxnKey { return TxnKey{r.Provider, r.ProviderTxnID} }

// setRefund replaces row j, or appends with j < 0, in a copy of the slice.
func (a *Aggregate) setRefund(j int, r Refund) {
	a.Refunds = slices.Clone(a.Refunds)
	if j < 0 {
		a.Refunds = append(a.Refunds, r)
		return
	}
	a.Refunds[j] = r
}

// refunded sets a payment's refunded sum, and the order's when it is the
// accepted payment.
func (a Aggregate) refunded(i int, f Fact, sum int64, r Refund) (Aggregate, Decision) {
	a.Payments = slices.Clone(a.Payments)
	a.Payments[i].RefundedFen = sum
	p := a.Payments[i]
	from := a.Order.Status
	if p.Role == Accepted {
		a.Order.RefundedFen = sum
		if sum == p.AmountFen && (from == Paid || from == Shipped || from == Completed) {
			a.Order.Status = Refunded
		}
	}
	d := Decision{Outcome: Applied, Changed: true, Payment: &p, Refund: &r, Rows: []Refund{r}}
	d.Event = a.event(EventRefunded, from, f.Kind, ReasonNone)
	return a, d
}
