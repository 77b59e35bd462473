package simulator

// ordinary are the stories of orders on a day without trouble.
func ordinary() []Scenario {
	return []Scenario{
		scenario("payment", "an order is paid", "", plot{all: tellPayment}),
		scenario("refund-partial", "an order is paid, and a part of it refunded", "P16 P26", plot{all: tellPartialRefund}),
		scenario("refund-full", "an order is paid, and all of it refunded", "P16 P37", plot{all: tellFullRefund}),
		scenario("refund-in-parts", "two refunds of one order: together all of it", "P16 P26", plot{all: tellRefundInParts}),
		scenario("refund-closed", "a refund comes to nothing: the money stays", "P16", plot{wechat: refundThatFails(RefundClosed)}),
		scenario("refund-abnormal", "a refund cannot be paid out: the money stays", "P16", plot{wechat: refundThatFails(RefundAbnormal)}),
		scenario("refund-abnormal-then-paid", "an abnormal refund that is paid out later", "P16", plot{wechat: tellRecoveredRefund}),
		scenario("closed", "an order closes unpaid (WeChat Pay does not notify it: a state that moves nothing)", "P15 P37", plot{v3: tellClosedState, v2: tellClosedState, ali: tellClosed}),
		scenario("waiting", "an order is made and waits for its buyer", "P37", plot{ali: tellWaiting}),
		scenario("finished", "made, paid, and months later past refunding", "P37", plot{ali: tellFinished}),
		scenario("finished-first", "past refunding, without a word of the payment before", "P37", plot{ali: tellFinishedFirst}),
		scenario("combined", "three orders paid in one", "P17", plot{wechat: tellCombined}),
		scenario("combined-one-paid-before", "two orders paid in one, of which one was notified alone before", "P17", plot{wechat: tellCombinedPaidBefore}),
		scenario("combined-one-mismatch", "two orders paid in one, of which one was paid with another amount before", "P17", plot{wechat: tellCombinedMismatch}),
		scenario("partner", "two shops under one provider, with the same order number", "P16", plot{all: tellPartner}),
	}
}

func tellPayment(t *teller) {
	t.pays("paid "+yuan(t.order.AmountFen), t.order, t.Payment(t.order))
}

// part is what a partial refund gives back.
func (t *teller) part() int64 { return t.order.AmountFen * 3 / 10 }

func tellPartialRefund(t *teller) {
	o := t.order
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.say("refunded "+yuan(t.part()), t.refunds(o, t.part(), 0, ""), applied)
	t.end(o, statusPaid, o.AmountFen, t.part())
}

func tellFullRefund(t *teller) {
	o := t.order
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.say("refunded "+yuan(o.AmountFen), t.refunds(o, o.AmountFen, 0, ""), applied)
	t.end(o, statusRefunded, o.AmountFen, o.AmountFen)
}

func tellRefundInParts(t *teller) {
	o := t.order
	first, rest := t.part(), t.order.AmountFen-t.part()
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.say("refunded "+yuan(first), t.refunds(o, first, 0, ""), applied)
	t.say("the same refund again", t.refunds(o, first, 0, ""), duplicate)
	t.say("refunded the other "+yuan(rest), t.refunds(o, rest, o.AmountFen, ""), applied)
	t.end(o, statusRefunded, o.AmountFen, o.AmountFen)
}

func refundThatFails(state RefundState) func(*teller) {
	return func(t *teller) {
		o := t.order
		t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
		t.say("the refund of "+yuan(t.part())+" is "+string(state), t.refunds(o, t.part(), 0, state), applied)
		t.end(o, statusPaid, o.AmountFen, 0)
	}
}

func tellRecoveredRefund(t *teller) {
	o := t.order
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.say("the refund of "+yuan(t.part())+" cannot be paid out", t.refunds(o, t.part(), 0, RefundAbnormal), applied)
	t.say("the same refund is paid out", t.refunds(o, t.part(), 0, RefundSuccess), applied)
	t.end(o, statusPaid, o.AmountFen, t.part())
}

func tellClosedState(t *teller) {
	t.say("the state of the payment is CLOSED", t.edited(t.Payment(t.order), Set("trade_state", "CLOSED")), unhandled)
	t.end(t.order, "", 0, 0)
}

func tellClosed(t *teller) {
	t.say("closed unpaid", t.must(t.Closed(t.order)), applied)
	t.end(t.order, statusClosed, 0, 0)
}

func tellWaiting(t *teller) {
	t.say("waits for its buyer", t.must(t.Waiting(t.order)), applied)
	t.end(t.order, statusPending, 0, 0)
}

func tellFinished(t *teller) {
	o := t.order
	t.say("waits for its buyer", t.must(t.Waiting(o)), applied)
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.say("finished", t.must(t.Finished(o)), applied)
	t.end(o, statusPaid, o.AmountFen, 0)
}

func tellFinishedFirst(t *teller) {
	t.pays("finished", t.order, t.must(t.Finished(t.order)))
}

func tellCombined(t *teller) {
	parts := []Order{t.next(), t.next(), t.next()}
	t.say("three orders paid in one", t.must(t.Combined(t.order.OutTradeNo, parts...)), applied)
	for _, o := range parts {
		t.end(o, statusPaid, o.AmountFen, 0)
	}
}

func tellCombinedPaidBefore(t *teller) {
	first, second := t.next(), t.next()
	t.pays("the first order is paid", first, t.Payment(first))
	t.say("both orders paid in one", t.must(t.Combined(t.order.OutTradeNo, first, second)), applied)
	t.end(second, statusPaid, second.AmountFen, 0)
}

func tellCombinedMismatch(t *teller) {
	first, second := t.next(), t.next()
	other := first
	other.AmountFen++
	t.pays("the first order is paid", first, t.Payment(first))
	t.say("both orders paid in one, the first with a fen more", t.must(t.Combined(t.order.OutTradeNo, other, second)), conflict("amount_mismatch"))
	t.end(second, statusPaid, second.AmountFen, 0)
}

// tellPartner needs an account that has sub-merchants.
func tellPartner(t *teller) {
	subs := t.subMerchants()
	if t.order.SubMerchant != "" {
		subs = []string{t.order.SubMerchant}
	}
	if len(subs) == 0 {
		t.must(Notification{}, errNoSubMerchants)
		return
	}
	for _, sub := range subs[:min(2, len(subs))] {
		o := t.order
		o.SubMerchant = sub
		t.pays("paid "+yuan(o.AmountFen)+", to "+sub, o, t.Payment(o))
	}
}
