package wechat

import (
	"bytes"

	"github.com/notifyd/notifyd/internal/order"
)

// The words of v3 that decide what a message is about.
const (
	eventPaid          = "TRANSACTION.SUCCESS"
	eventRefund        = "REFUND."
	eventContract      = "ENTRUST."
	eventProfitSharing = "PROFITSHARING."
	eventTransfer      = "MCHTRANSFER."

	originalProfitSharing = "profitsharing"

	stateSuccess = "SUCCESS"

	// maxProviderID bounds the notification's own id: string(36) in the tables.
	maxProviderID = 64
)

// factsV3 reads the decrypted content. The event's name alone decides nothing:
// profit sharing, too, arrives as TRANSACTION.SUCCESS.
func (m *message) factsV3() (order.Notification, error) {
	c := &m.content
	fault := c.read(m.plain, maxPlainNodes)
	if fault != nil && fault.code != CodeMalformedJSON {
		return order.Notification{}, fault.refusal()
	}
	event := m.envelope.text(root, "event_type")
	var n order.Notification
	var err error
	switch {
	case fault != nil || !c.isObject(root):
		// Genuine, and nothing that can be understood: a repeat would say the same.
		n = m.conflict(m.unhandled(order.KindOther, m.a.own(), nil), order.ReasonUnreadableField)
	case string(event) == eventPaid && (c.member(root, "sub_orders") != none || c.member(root, "combine_out_trade_no") != none):
		n, err = m.combinedV3()
	case string(event) == eventPaid && string(c.text(root, "trade_state")) == stateSuccess:
		n, err = m.paymentV3()
	case bytes.HasPrefix(event, []byte(eventRefund)) && refundKind(c.text(root, "refund_status")) != "":
		n, err = m.refundV3()
	default:
		var p party
		p, err = m.a.bind(m.contentText, &v3OtherNames)
		n = m.unhandled(m.unhandledKind(event), p, c.text(root, "out_trade_no"))
	}
	if err != nil {
		return order.Notification{}, err
	}
	if id := m.envelope.text(root, "id"); isNumber(id, maxProviderID) {
		n.ProviderID = string(id)
	}
	if !n.Kind.Moves() || isConflict(&n) {
		// The event's name tells apart what has the same content.
		n.Distinct = append(append(append([]byte(nil), event...), '\n'), m.plain...)
	}
	if !saysItAll(&n) {
		// What cannot stand in a text column is replaced; the raw body has it.
		n.Content = storable(m.plain)
	}
	return n, nil
}

// contentText is a field of the decrypted content's first level.
func (m *message) contentText(name string) []byte { return m.content.text(root, name) }

// unhandledKind says in one word what a message is about that moves no order.
func (m *message) unhandledKind(event []byte) order.Kind {
	switch {
	case bytes.HasPrefix(event, []byte(eventContract)):
		return order.KindContract
	case bytes.HasPrefix(event, []byte(eventProfitSharing)):
		return order.KindProfitSharing
	case bytes.HasPrefix(event, []byte(eventTransfer)):
		return order.KindTransfer
	case string(event) == eventPaid && m.isProfitSharing():
		return order.KindProfitSharing
	}
	return order.KindOther
}

// isProfitSharing goes by what the content has and has not, and by the type that
// the resource claims; merchants saw all three differ.
func (m *message) isProfitSharing() bool {
	c := &m.content
	if c.member(root, "trade_state") != none {
		return false
	}
	resource := m.envelope.member(root, "resource")
	return string(m.envelope.text(resource, "original_type")) == originalProfitSharing ||
		c.member(root, "order_id") != none && (c.member(root, "out_order_no") != none || c.member(root, "receiver") != none)
}

// paymentV3 reads an ordinary payment, direct or of a sub-merchant.
//
// Source: WeChat Pay docs, v3, "payment notice", table of the decrypted resource.
func (m *message) paymentV3() (order.Notification, error) {
	c := &m.content
	p, err := m.a.bind(m.contentText, &v3PaymentNames)
	if err != nil {
		return order.Notification{}, err
	}
	amount := c.member(root, "amount")
	var r reading
	f := m.fact(order.KindPaid, p)
	f.OutTradeNo = r.number(c.text(root, "out_trade_no"), maxOrderNumber)
	f.ProviderTxnID = r.number(c.text(root, "transaction_id"), maxProviderNumber)
	f.AmountFen = r.fen(c.number(amount, "total"))
	f.Currency = r.currency(c.text(amount, "currency"), order.DefaultCurrency)
	f.At = r.at(c.text(root, "success_time"), parseTime)
	// A service provider's payment is always a sub-merchant's.
	r.unreadable = r.unreadable || p.sub == "" && c.member(root, "sp_mchid") != none
	n := m.notification(order.KindPaid, f)
	if r.unreadable {
		n = m.conflict(n, order.ReasonUnreadableField)
	}
	return n, nil
}

// storable is text that a text column takes: UTF-8 without NUL. Never nil.
func storable(text []byte) []byte {
	replacement := []byte("\uFFFD")
	if len(text) == 0 {
		return []byte{}
	}
	return bytes.ReplaceAll(bytes.ToValidUTF8(text, replacement), []byte{0}, replacement)
}
