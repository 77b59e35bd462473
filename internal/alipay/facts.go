package alipay

import (
	"strings"

	"github.com/notifyd/notifyd/internal/order"
)

// facts fills in what the message says: its kind, its facts, and for messages
// that move nothing what they said.
func (a *Adapter) facts(n *order.Notification, m message) {
	base := order.Fact{Merchant: a.env.Merchant, Provider: providerName, Account: a.env.Account}
	if auth := m.get("auth_app_id"); auth != "" && auth != a.options.AppID {
		base.SubMerchant = auth
		base.Merchant += "/" + auth
	}
	noOrder, noTxn := false, false
	base.OutTradeNo = m.number("out_trade_no", &noOrder)
	base.ProviderTxnID = m.number("trade_no", &noTxn)
	reason := order.ReasonNone
	if m.ambiguous(a.echo) || m.what == kindTrade && m.maybeCutOut(a.echo) {
		reason = order.ReasonAmbiguousText
	}
	if m.what != kindTrade {
		a.wholeMessage(n, m, m.what, base, reason)
		return
	}
	t := m.readTrade()
	if reason == order.ReasonNone && !t.unknownState && (t.unreadable || base.OutTradeNo == "" || base.ProviderTxnID == "") {
		reason = order.ReasonUnreadableField
	}
	kind := t.kind(m)
	if base.OutTradeNo == "" {
		kind = order.KindOther // without an order there is nothing to be in conflict with
	}
	if reason != order.ReasonNone || t.unknownState {
		a.wholeMessage(n, m, kind, base, reason)
		return
	}
	n.Kind, n.Facts = kind, t.facts(base)
}

// wholeMessage records a message that moves no order as one fact, with all that
// it said: an unhandled kind, or a conflict as a whole.
func (a *Adapter) wholeMessage(n *order.Notification, m message, kind order.Kind, base order.Fact, reason order.Reason) {
	base.Kind, base.Conflict = kind, reason
	n.Kind, n.Facts = kind, []order.Fact{base}
	if reason != order.ReasonNone {
		// What was cut out of a genuine message carries its id; taken as its own,
		// the genuine one would be a number used twice when it comes.
		n.ProviderID = ""
	}
	n.Content = m.content(a.ring.Load().aes)
	n.Distinct = m.distinct()
}

// perDelivery are the fields that change when one message is sent again.
var perDelivery = []string{"notify_id=", "notify_time=", "utc_timestamp=", "sign_type="}

// distinct is what tells the message from others: its signed text without what
// changes from one delivery to the next. The text is cut at every '&', not at
// the fields: however a signed message is cut anew, it stays the same message,
// so whoever holds one cannot make many of it. Fields without a value are left
// out, because a rule that does not sign them lets anybody add them.
func (m message) distinct() []byte {
	kept := []byte{} // not nil: a message without a word is still told by its words
	for piece := range strings.SplitSeq(string(m.text(nil, rule{dropEmpty: true})), "&") {
		if strings.HasSuffix(piece, "=") && strings.Count(piece, "=") == 1 || changesPerDelivery(piece) {
			continue
		}
		kept = append(append(kept, piece...), '&')
	}
	return kept
}

func changesPerDelivery(piece string) bool {
	for _, prefix := range perDelivery {
		if strings.HasPrefix(piece, prefix) {
			return true
		}
	}
	return false
}
