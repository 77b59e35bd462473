package simulator

import "github.com/notifyd/notifyd/internal/provider/forge"

// repeated are stories of messages that come again, at once or in another order
// than they happened.
func repeated() []Scenario {
	return []Scenario{
		scenario("repeats", "the provider sends a payment again and again, each time signed anew", "P39", plot{v3: tellRepeats, v2: tellRepeatsOfV2, ali: tellRepeats}),
		scenario("copies", "fifty copies of a payment at the same time, twice, and one more", "P39", plot{all: tellCopies}),
		scenario("out-of-order", "the refund comes before the payment, and what was first comes last", "P16 P26 P37", plot{v3: tellRefundFirst, v2: tellRefundThatWaits, ali: tellOutOfOrder}),
		scenario("paid-after-close", "the order was closed, and is paid all the same", "P37", plot{ali: tellPaidAfterClose}),
		scenario("many-orders", "twenty orders are paid, one after the other", "P45", plot{all: tellManyOrders}),
	}
}

func tellRepeats(t *teller) {
	o := t.order
	n := t.Payment(o)
	t.pays("paid "+yuan(o.AmountFen), o, n)
	t.say("the same again", n, duplicate)
	t.say("the same under another id", t.edited(n, t.anotherID()), duplicate)
	t.say("and again", n, duplicate)
}

// anotherID gives a notification another id of the provider's.
func (t *teller) anotherID() Edit {
	if t.protocol == Alipay {
		return Set("notify_id", "2000010100222"+t.number(21))
	}
	return Set("envelope.id", "EV-"+t.number(30))
}

func tellRepeatsOfV2(t *teller) {
	o := t.order
	n := t.Payment(o)
	t.pays("paid "+yuan(o.AmountFen), o, n)
	t.say("the same again, byte for byte", n, duplicate)
	t.say("the same with another nonce", t.edited(n, Set("nonce_str", "N"+t.number(16))), duplicate)
}

// copiesAtOnce is more than any provider sends: what holds against it holds
// against two.
const copiesAtOnce = 50

func tellCopies(t *teller) {
	o := t.order
	n := t.Payment(o)
	for _, what := range []string{"fifty copies at the same time", "fifty more"} {
		t.say(what, n, Want{Acked: true}) // which of them is the first is a race
		t.steps[len(t.steps)-1].Copies = copiesAtOnce
	}
	t.say("one more", n, duplicate)
	t.end(o, statusPaid, o.AmountFen, 0)
}

func tellRefundFirst(t *teller) {
	o := t.order
	if len(t.account.SubMchIDs) > 0 && o.SubMerchant == "" {
		tellRefundThatWaits(t) // it does not say which sub-merchant's, so it finds its order by the payment
		return
	}
	t.say("refunded "+yuan(t.part())+", before the payment was told", t.refunds(o, t.part(), 0, ""), applied)
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), duplicate) // the refund implied it
	t.say("the refund again", t.refunds(o, t.part(), 0, ""), duplicate)
	t.end(o, statusPaid, o.AmountFen, t.part())
}

// tellRefundThatWaits: a refund that implies no payment waits for it. Of v2 that
// is every one, for nothing signs it.
func tellRefundThatWaits(t *teller) {
	o := t.order
	t.say("refunded "+yuan(t.part())+", before the payment was told", t.refunds(o, t.part(), 0, ""), unmatched)
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.end(o, statusPaid, o.AmountFen, t.part())
}

func tellOutOfOrder(t *teller) {
	o := t.order
	first, second := t.part(), t.order.AmountFen/2
	t.say("refunded "+yuan(second)+" in all, before the payment was told", t.refunds(o, second-first, second, ""), applied)
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), duplicate) // the refund implied it
	t.say("the refund of "+yuan(first)+" that was before", t.refunds(o, first, 0, ""), stale)
	t.say("waits for its buyer, hours late", t.must(t.Waiting(o)), stale)
	t.end(o, statusPaid, o.AmountFen, second)
}

func tellPaidAfterClose(t *teller) {
	o := t.order
	t.say("closed unpaid", t.must(t.Closed(o)), applied)
	t.say("paid "+yuan(o.AmountFen), t.Payment(o), applied)
	t.end(o, statusPaid, o.AmountFen, 0)
}

// severalOrders is enough to meet both kinds of keys many times.
const severalOrders = 20

func tellManyOrders(t *teller) {
	for range severalOrders {
		o := t.next()
		t.pays("paid "+yuan(o.AmountFen), o, t.Payment(o))
	}
}

// contradictions are genuine messages that cannot all be right: they are acked,
// move nothing, and want a person.
func contradictions() []Scenario {
	return []Scenario{
		scenario("amount-mismatch", "the same payment comes with another amount", "", plot{all: tellAmountMismatch}),
		scenario("currency-mismatch", "the same payment comes in another currency", "", plot{wechat: tellCurrencyMismatch}),
		scenario("second-payment", "a paid order is paid once more, by another transaction", "", plot{all: tellSecondPayment}),
		scenario("number-reused", "a transaction comes with another order's number", "", plot{all: tellNumberReused}),
		scenario("closed-after-paid", "a paid order closes without a word of a refund", "P37", plot{ali: tellClosedAfterPaid}),
		scenario("refund-exceeds-paid", "more is refunded than was paid", "P16", plot{all: tellRefundTooMuch}),
		scenario("unreadable-amounts", "amounts that are no amounts", "P35", plot{v3: tellUnreadableV3, v2: tellUnreadableV2, ali: tellUnreadableAlipay}),
		scenario("ambiguous-text", "a text that can be read as further fields", "", plot{v2: ambiguous("device_info", "till 4&total_fee=1"), ali: ambiguous("subject", "tea&total_amount=0.01")}),
	}
}

func tellAmountMismatch(t *teller) {
	o := t.order
	other := o
	other.AmountFen++
	t.pays("paid "+yuan(o.AmountFen), o, t.Payment(o))
	t.say("the same payment, now of "+yuan(other.AmountFen), t.Payment(other), conflict("amount_mismatch"))
}

func tellCurrencyMismatch(t *teller) {
	other := t.order
	other.Currency = "USD"
	tellPayment(t)
	t.say("the same payment, now in USD", t.Payment(other), conflict("currency_mismatch"))
}

func tellSecondPayment(t *teller) {
	other := t.order
	other.TransactionID = t.next().wechatTxn()
	tellPayment(t)
	t.say("paid once more, by another transaction", t.Payment(other), conflict("surplus_payment"))
}

func tellNumberReused(t *teller) {
	other := t.next()
	other.TransactionID = t.order.wechatTxn()
	if t.protocol == Alipay {
		other.TransactionID = t.order.alipayTxn()
	}
	tellPayment(t)
	t.say("the same transaction, now of order "+other.OutTradeNo, t.Payment(other), conflict("number_reused"))
}

func tellClosedAfterPaid(t *teller) {
	tellPayment(t)
	t.say("closed, without a word of a refund", t.must(t.Closed(t.order)), conflict("closed_after_paid"))
}

func tellRefundTooMuch(t *teller) {
	o := t.order
	tellPayment(t)
	var edit Edit
	refund := t.refunds(o, o.AmountFen-1, 0, "")
	switch t.protocol {
	case WechatV3:
		edit = SetJSON("amount.refund", fen(o.AmountFen+1))
	case WechatV2:
		edit = Set("refund_fee", fen(o.AmountFen+1))
	default:
		edit = Set("refund_fee", forge.Yuan(o.AmountFen+1))
	}
	t.say("refunded "+yuan(o.AmountFen+1), t.edited(refund, edit), conflict("refund_exceeds_paid"))
}

func tellUnreadableV3(t *teller) {
	for _, amount := range []string{yuan(t.order.AmountFen), `"1000"`, "1e3", "-1000", "null"} {
		t.unreadable(amount, SetJSON("amount.total", amount))
	}
}

func tellUnreadableV2(t *teller) {
	for _, amount := range []string{yuan(t.order.AmountFen), "1e3", "-1000", "+1000", "１０００"} {
		t.unreadable(amount, Set("total_fee", amount))
	}
}

func tellUnreadableAlipay(t *teller) {
	for _, amount := range []string{"0.101", "1e1", "1,000.00", "-1.00", "１０.００"} {
		t.unreadable(amount, Set("total_amount", amount))
	}
}

func (t *teller) unreadable(amount string, e Edit) {
	t.say("paid "+amount, t.edited(t.Payment(t.next()), e), conflict("unreadable_field"))
}

func ambiguous(field, text string) func(*teller) {
	return func(t *teller) {
		t.say("paid, and "+field+" says "+text, t.edited(t.Payment(t.order), Set(field, text)), conflict("ambiguous_text"))
	}
}
