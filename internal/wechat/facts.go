package wechat

import (
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// reading reads the fields of one fact, and remembers whether one of them could
// not be read: then the fact is a conflict, never a guess.
type reading struct{ unreadable bool }

// number reads a number that must be there.
func (r *reading) number(b []byte, longest int) string {
	if !isNumber(b, longest) {
		r.unreadable = true
		return ""
	}
	return string(b)
}

// fen reads an amount that must be there.
func (r *reading) fen(b []byte) int64 {
	n, ok := parseFen(b)
	r.unreadable = r.unreadable || !ok
	return n
}

// at reads a time that may be missing: then it is zero.
func (r *reading) at(b []byte, parse func([]byte) (time.Time, bool)) time.Time {
	if b == nil {
		return time.Time{}
	}
	t, ok := parse(b)
	r.unreadable = r.unreadable || !ok
	return t
}

// currency reads a currency; absent says what a missing one means.
func (r *reading) currency(b []byte, absent string) string {
	switch {
	case b == nil:
		return absent
	case string(b) == order.DefaultCurrency:
		return order.DefaultCurrency
	case !isCurrency(b):
		r.unreadable = true
		return ""
	}
	return string(b)
}

// fact begins a fact of a kind about the party's order.
func (m *message) fact(kind order.Kind, p party) order.Fact {
	return order.Fact{
		Kind: kind, Merchant: p.merchant, SubMerchant: p.sub, ByTxn: p.byTxn,
		Provider: Name, Account: m.a.env.Account,
	}
}

// notification begins a notification with the given facts.
func (m *message) notification(kind order.Kind, facts ...order.Fact) order.Notification {
	return order.Notification{
		ReceivedAt: m.req.ReceivedAt,
		Provider:   Name, Account: m.a.env.Account,
		Scope: m.a.options.MchID, Merchant: m.a.env.Merchant,
		Kind: kind, Facts: facts,
	}
}

// unhandled is a notification that moves no order. outTradeNo is the order that
// it names, if it does in a form that can be read.
func (m *message) unhandled(kind order.Kind, p party, outTradeNo []byte) order.Notification {
	f := m.fact(kind, p)
	// An unhandled fact looks for no order: which one it names is enough.
	f.ByTxn = false
	if isNumber(outTradeNo, maxOrderNumber) {
		f.OutTradeNo = string(outTradeNo)
	}
	return m.notification(kind, f)
}

// conflict makes the whole message one: each fact with an order number keeps
// its kind and carries the reason. Without any order number nobody's order is in
// conflict, and the message is unhandled for that reason.
func (m *message) conflict(n order.Notification, reason order.Reason) order.Notification {
	kept := n.Facts[:0]
	for _, f := range n.Facts {
		if f.OutTradeNo != "" {
			f.Conflict = reason
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 {
		n.Kind = order.KindOther
		f := m.fact(order.KindOther, m.a.own())
		f.Conflict = reason
		kept = append(kept, f)
	}
	n.Facts = kept
	return n
}

// isConflict says whether the notification is a conflict as a whole.
func isConflict(n *order.Notification) bool { return n.Facts[0].Conflict != order.ReasonNone }

// saysItAll says whether the facts hold all that a merchant may need, so that
// the content itself need not be kept.
func saysItAll(n *order.Notification) bool {
	for i := range n.Facts {
		if !n.Facts[i].Kind.Moves() || n.Facts[i].Conflict != order.ReasonNone {
			return false
		}
	}
	return true
}
