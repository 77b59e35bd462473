package wechat

import (
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// maxSubOrders is twice what the documentation allows.
const maxSubOrders = 100

// subOrderForm says how a protocol writes a sub-order.
type subOrderForm struct {
	mchid, sub        string
	amount, total     string // the object and the field within it; "" for the sub-order itself
	currency          string
	at                string
	parseAt           func([]byte) (time.Time, bool)
	stateMayBeMissing bool // v2: the message's result_code speaks for all
	amountMayBeText   bool
}

var (
	v3SubOrder = subOrderForm{mchid: "mchid", sub: "sub_mchid", amount: "amount", total: "total_amount", currency: "currency", at: "success_time", parseAt: parseTime}
	v2SubOrder = subOrderForm{mchid: "mch_id", sub: "sub_mch_id", total: "total_fee", currency: "fee_type", at: "time_end", parseAt: parseTimeEnd,
		stateMayBeMissing: true, amountMayBeText: true}
)

// combinedV3 reads a combined payment: one fact for each sub-order, in order.
//
// Source: WeChat Pay docs, v3, "combined payment notice".
func (m *message) combinedV3() (order.Notification, error) {
	if _, err := m.a.bind(m.contentText, &v3CombinedNames); err != nil {
		return order.Notification{}, err
	}
	return m.combined(m.content.member(root, "sub_orders"), &v3SubOrder)
}

// combined reads the sub-orders in the array at list of m.content. One that
// cannot be read decides the whole message, for its parts were paid as one.
func (m *message) combined(list int, form *subOrderForm) (order.Notification, error) {
	c := &m.content
	count := c.elements(list, nil)
	if count == 0 || count > maxSubOrders {
		return m.conflict(m.unhandled(order.KindOther, m.a.own(), nil), order.ReasonUnreadableField), nil
	}
	facts := make([]order.Fact, 0, count)
	kind := order.KindOther
	unreadable := false
	var err error
	c.elements(list, func(i int) {
		var p party
		var r reading
		if !c.isObject(i) {
			unreadable = true
			return
		}
		if err == nil {
			p, err = m.a.bindSubOrder(c.text(i, form.mchid), c.text(i, form.sub), form)
		}
		f := m.subOrder(i, p, form, &r)
		if f.Kind == order.KindPaid {
			kind = order.KindPaid
		}
		unreadable = unreadable || r.unreadable
		facts = append(facts, f)
	})
	if err != nil {
		return order.Notification{}, err
	}
	n := m.notification(kind, facts...)
	if unreadable {
		n = m.conflict(n, order.ReasonUnreadableField)
	}
	return n, nil
}

// bindSubOrder finds whose a sub-order is: ours, or an accepted sub-merchant's.
func (a *Adapter) bindSubOrder(mchid, sub []byte, form *subOrderForm) (party, error) {
	ours := string(mchid) == a.options.MchID
	if !ours && !a.acceptsSub(mchid) {
		return party{}, foreign(CodeForeignMchID, "sub-order's "+form.mchid, mchid)
	}
	switch {
	case sub != nil && !a.acceptsSub(sub):
		return party{}, foreign(CodeForeignSubMchID, "sub-order's "+form.sub, sub)
	case sub != nil:
		return a.subMerchant(sub), nil
	case !ours:
		return a.subMerchant(mchid), nil
	}
	return a.own(), nil
}

func (m *message) subOrder(i int, p party, form *subOrderForm, r *reading) order.Fact {
	c := &m.content
	state := c.text(i, "trade_state")
	paid := string(state) == stateSuccess || state == nil && form.stateMayBeMissing
	f := m.fact(order.KindOther, p)
	f.OutTradeNo = r.number(c.text(i, "out_trade_no"), maxOrderNumber)
	if !paid {
		return f
	}
	f.Kind = order.KindPaid
	amount := i
	if form.amount != "" {
		amount = c.member(i, form.amount)
	}
	total := c.number(amount, form.total)
	if form.amountMayBeText && string(total) == string(wrongType) {
		total = c.text(amount, form.total)
	}
	f.ProviderTxnID = r.number(c.text(i, "transaction_id"), maxProviderNumber)
	f.AmountFen = r.fen(total)
	f.Currency = r.currency(c.text(amount, form.currency), order.DefaultCurrency)
	f.At = r.at(c.text(i, form.at), form.parseAt)
	return f
}
