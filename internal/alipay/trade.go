package alipay

import (
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// The values of trade_status.
// Source: Alipay docs, asynchronous notifications, "trade status".
const (
	waitBuyerPay  = "WAIT_BUYER_PAY"
	tradeSuccess  = "TRADE_SUCCESS"  // paid; again with refund_fee after a partial refund
	tradeFinished = "TRADE_FINISHED" // paid, can no longer be refunded
	tradeClosed   = "TRADE_CLOSED"   // never paid, or refunded in full
)

// trade is what a trade notification says, read field by field.
type trade struct {
	status       string
	totalFen     int64 // 0: not said
	refundFen    int64 // running total of all refunds; 0: none said
	paidAt       time.Time
	refundedAt   time.Time
	outBizNo     string
	wasPaid      bool // closed, but money had moved
	saysTotal    bool
	saysRefund   bool
	unreadable   bool // a field that we act on cannot be read
	unknownState bool
}

// readTrade reads the fields that we act on. It never guesses: what cannot be
// read makes the whole message unreadable.
func (m message) readTrade() trade {
	t := trade{status: m.get("trade_status")}
	t.totalFen, t.saysTotal = m.fen("total_amount", &t.unreadable)
	t.refundFen, t.saysRefund = m.fen("refund_fee", &t.unreadable)
	t.paidAt = m.instant("gmt_payment", &t.unreadable)
	t.refundedAt = m.instant("gmt_refund", &t.unreadable)
	t.outBizNo = m.number("out_biz_no", &t.unreadable)
	t.wasPaid = m.get("gmt_payment") != "" || m.get("gmt_refund") != "" || t.refundFen > 0

	switch t.status {
	case tradeSuccess, tradeFinished:
		t.unreadable = t.unreadable || !t.saysTotal
	case tradeClosed:
		if t.wasPaid {
			t.unreadable = t.unreadable || !t.saysTotal
			if t.refundFen == 0 {
				t.refundFen = t.totalFen // a paid trade closes when all of it is refunded
			}
			t.unreadable = t.unreadable || t.refundFen == 0 // all of nothing is no refund
		}
	case waitBuyerPay:
	default:
		t.unknownState = true
	}
	return t
}

// kind is what the notification is about in one word, also when its amounts
// cannot be read.
func (t *trade) kind(m message) order.Kind {
	refund := t.refundFen > 0 || !t.saysRefund && m.get("refund_fee") != ""
	switch {
	case t.status == waitBuyerPay:
		return order.KindPaying
	case t.status == tradeFinished:
		return order.KindFinished
	case t.status == tradeClosed && (t.wasPaid || refund), t.status == tradeSuccess && refund:
		return order.KindRefund
	case t.status == tradeClosed:
		return order.KindClosed
	case t.status == tradeSuccess:
		return order.KindPaid
	}
	return order.KindOther
}

// facts are the facts of a trade in the order in which they are decided. base
// names the order and the transaction.
func (t *trade) facts(base order.Fact) []order.Fact {
	of := func(k order.Kind) order.Fact {
		f := base
		f.Kind = k
		return f
	}
	switch {
	case t.status == waitBuyerPay:
		return []order.Fact{of(order.KindPaying)}
	case t.status == tradeClosed && !t.wasPaid:
		return []order.Fact{of(order.KindClosed)}
	}
	paid := of(order.KindPaid)
	paid.AmountFen, paid.Currency, paid.At = t.totalFen, order.DefaultCurrency, t.paidAt
	facts := []order.Fact{paid}
	if t.refundFen > 0 {
		refund := of(order.KindRefund)
		refund.RunningTotalFen, refund.Currency = t.refundFen, order.DefaultCurrency
		refund.OutRefundNo, refund.At = t.outBizNo, t.refundedAt
		facts = append(facts, refund)
	}
	switch t.status {
	case tradeFinished:
		facts = append(facts, of(order.KindFinished))
	case tradeClosed:
		facts = append(facts, of(order.KindClosed))
	}
	return facts
}

// fen reads an amount; absent is 0 and no fault.
func (m message) fen(name string, unreadable *bool) (amount int64, said bool) {
	text := m.get(name)
	if text == "" {
		return 0, false
	}
	amount, ok := fen(text)
	if !ok {
		*unreadable = true
		return 0, false
	}
	return amount, true
}

// instant reads a time; absent is zero and no fault.
func (m message) instant(name string, unreadable *bool) time.Time {
	text := m.get(name)
	if text == "" {
		return time.Time{}
	}
	t, ok := instant(text)
	if !ok {
		*unreadable = true
	}
	return t
}

// number reads a number that is text; absent is "" and no fault.
func (m message) number(name string, unreadable *bool) string {
	value := m.get(name)
	if value == "" {
		return ""
	}
	text, ok := m.charset.decode(value)
	if !ok || !plain(text) {
		*unreadable = true
		return ""
	}
	return text
}
