package row

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/order"
)

// MaxKeyBytes bounds what stands in a key. Providers' numbers have 64 bytes at
// most; PostgreSQL's index entries hold about 2,700 bytes for up to three texts.
const MaxKeyBytes = 512

// ErrText: a text cannot be stored as it is. It is no ErrUnavailable, for
// trying later does not help, and nothing is changed to make it fit: a number
// stored in another form than it was sent would be another number.
var ErrText = errors.New("a text cannot be stored: it holds a NUL, is not UTF-8, or is too long for a key")

// IsKey says whether all texts can stand in a key.
func IsKey(texts ...string) bool {
	for _, s := range texts {
		if len(s) > MaxKeyBytes || !isText(s) {
			return false
		}
	}
	return true
}

func isText(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

func areTexts(texts ...string) bool {
	for _, s := range texts {
		if !isText(s) {
			return false
		}
	}
	return true
}

// CheckWant is ErrText when the Want names something that no column can hold.
func CheckWant(w *order.Want) error {
	ok := true
	for _, k := range w.Orders {
		ok = ok && IsKey(k.Merchant, k.OutTradeNo)
	}
	for _, k := range w.Stories {
		ok = ok && IsKey(k.Merchant, k.OutTradeNo)
	}
	for _, k := range w.Txns {
		ok = ok && IsKey(k.Provider, k.ProviderTxnID)
	}
	for _, k := range w.Refunds {
		ok = ok && IsKey(k.Provider, k.Ref)
	}
	for _, k := range w.ProviderKeys {
		ok = ok && IsKey(k.Provider, k.Scope, k.ProviderID)
	}
	return textError(ok)
}

// CheckChanges is ErrText when one of the rows holds a text that no column can
// hold.
func CheckChanges(c *order.Changes) error {
	ok := true
	for i := range c.Orders {
		o := &c.Orders[i]
		ok = ok && IsKey(o.Merchant, o.OutTradeNo) &&
			areTexts(string(o.Status), o.Currency, o.Provider, o.Account, o.ProviderTxnID)
	}
	for i := range c.Payments {
		p := &c.Payments[i]
		ok = ok && IsKey(p.Provider, p.ProviderTxnID, p.Order.Merchant, p.Order.OutTradeNo) &&
			areTexts(p.Account, p.Currency, string(p.Role))
	}
	for i := range c.Refunds {
		r := &c.Refunds[i]
		ok = ok && IsKey(r.Provider, r.Ref, r.Order.Merchant, r.Order.OutTradeNo) &&
			areTexts(r.ProviderTxnID, r.OutRefundNo, r.ProviderRefundID, string(r.Status))
	}
	for i := range c.Notifications {
		n := &c.Notifications[i]
		if !isOwnClaim(n) {
			return errClaim
		}
		ok = ok && IsKey(n.ID, n.Merchant, n.OutTradeNo, n.ProviderID, n.Claim.Scope, n.Provider) && areResults(n.Results) &&
			areTexts(n.Account, string(n.Kind), string(n.Outcome), string(n.Reason), n.Numbers)
	}
	for i := range c.Resolutions {
		r := &c.Resolutions[i]
		ok = ok && IsKey(r.NotificationID, r.Merchant, r.OutTradeNo) && areResults(r.Results)
	}
	for i := range c.Wait {
		w := &c.Wait[i]
		ok = ok && IsKey(w.NotificationID, w.Fact.Merchant, w.Fact.OutTradeNo, w.Fact.Provider, w.Fact.ProviderTxnID) &&
			areTexts(w.Fact.Account, w.Fact.Currency, w.Fact.OutRefundNo, w.Fact.ProviderRefundID)
	}
	for i := range c.Done {
		ok = ok && IsKey(c.Done[i].NotificationID)
	}
	for i := range c.Events {
		e := &c.Events[i]
		ok = ok && IsKey(e.ID, e.NotificationID, e.Key.Merchant, e.Key.OutTradeNo) &&
			areTexts(string(e.Type), string(e.Kind), string(e.Reason), string(e.Snapshot))
	}
	if s := c.Seal; s != nil {
		ok = ok && IsKey(s.Merchant, s.Key, s.Token) && areTexts(s.ContentType)
	}
	return textError(ok)
}

var errClaim = errors.New("a notification claims another provider's id than its own")

// isOwnClaim: a claim is stored as the row's own columns and a scope.
func isOwnClaim(n *order.Row) bool {
	return n.Claim == (order.ProviderKey{}) || n.Claim.Provider == n.Provider && n.Claim.ProviderID == n.ProviderID
}

func areResults(results []order.FactResult) bool {
	for i := range results {
		if r := &results[i]; !IsKey(r.Merchant, r.OutTradeNo) {
			return false
		}
	}
	return true
}

func textError(ok bool) error {
	if ok {
		return nil
	}
	return ErrText
}
