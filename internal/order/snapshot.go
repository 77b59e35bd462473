package order

// snapshot is what an event tells of the order, the payment and the refund it
// speaks of, as they were right after it: their views, and with the refund the
// role of its payment.
func snapshot(o *Order, p *Payment, r *Refund) []byte {
	b := begin(make([]byte, 0, snapshotSize(o, p, r)))
	if o == nil {
		b = b.null("order")
	} else {
		b = o.append(b.name("order"))
	}
	if p == nil {
		b = b.null("payment")
	} else {
		b = p.append(b.name("payment"))
	}
	if r == nil {
		b = b.null("refund")
	} else {
		role := Role("")
		if p != nil {
			role = p.Role
		}
		b = r.append(b.name("refund"), role)
	}
	return b.end()
}

// snapshotSize is room for a usual snapshot, so that it is written in one piece.
func snapshotSize(o *Order, p *Payment, r *Refund) int {
	size := 64
	if o != nil {
		size += 576
	}
	if p != nil {
		size += 256
	}
	if r != nil {
		size += 320
	}
	return size
}

// append writes the order's View.
func (o *Order) append(b []byte) []byte {
	amount, expected, currency := o.amounts()
	return begin(b).
		text("merchant", o.Merchant).text("out_trade_no", o.OutTradeNo).text("status", string(o.Status)).number("version", o.Version).
		numberOrNull("amount_fen", amount).numberOrNull("expected_fen", expected).flag("amount_verified", o.AmountVerified).
		textOrNull("currency", currency).number("paid_fen", o.PaidFen).number("refunded_fen", o.RefundedFen).
		textOrNull("provider", o.Provider).textOrNull("account", o.Account).textOrNull("provider_txn_id", o.ProviderTxnID).
		flag("late", o.Late).flag("finished", o.Finished).
		moment("paid_at", o.PaidAt).moment("created_at", o.CreatedAt).moment("updated_at", o.UpdatedAt).
		end()
}

// append writes the payment's View.
func (p *Payment) append(b []byte) []byte {
	return begin(b).
		text("provider", p.Provider).text("account", p.Account).text("provider_txn_id", p.ProviderTxnID).
		number("amount_fen", p.AmountFen).number("refunded_fen", p.RefundedFen).text("role", string(p.Role)).moment("paid_at", p.PaidAt).
		end()
}

// append writes the refund's View, and the role of its payment.
func (r *Refund) append(b []byte, role Role) []byte {
	return begin(b).
		text("provider", r.Provider).text("provider_txn_id", r.ProviderTxnID).
		textOrNull("out_refund_no", r.OutRefundNo).textOrNull("provider_refund_id", r.ProviderRefundID).
		number("amount_fen", r.AmountFen).numberOrNull("total_fen", orNull(r.TotalFen)).text("status", string(r.Status)).moment("refunded_at", r.RefundedAt).
		text("role", string(role)).
		end()
}
