package order

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Kind says what a notification is about.
type Kind string

// The kinds that move orders, and those that are recorded, acked and handed on.
const (
	KindPaying         Kind = "paying"
	KindPaid           Kind = "paid"
	KindClosed         Kind = "closed"
	KindFinished       Kind = "finished"
	KindRefund         Kind = "refund"
	KindRefundClosed   Kind = "refund_closed"
	KindRefundAbnormal Kind = "refund_abnormal"

	KindContract      Kind = "contract"
	KindFundAuth      Kind = "fund_auth"
	KindAgreement     Kind = "agreement"
	KindProfitSharing Kind = "profit_sharing"
	KindTransfer      Kind = "transfer"
	KindMessage       Kind = "message"
	KindOther         Kind = "other"
)

// The kinds under which a merchant's commands stand in an order's history.
const (
	KindRegister Kind = "register"
	KindShip     Kind = "ship"
	KindComplete Kind = "complete"
	KindCancel   Kind = "cancel"
)

// Kinds lists every kind a notification can have.
func Kinds() []Kind {
	return []Kind{KindPaying, KindPaid, KindClosed, KindFinished, KindRefund, KindRefundClosed, KindRefundAbnormal,
		KindContract, KindFundAuth, KindAgreement, KindProfitSharing, KindTransfer, KindMessage, KindOther}
}

// Moves says whether facts of this kind are decided by the table. The others
// are recorded as unhandled.
func (k Kind) Moves() bool {
	switch k {
	case KindPaying, KindPaid, KindClosed, KindFinished, KindRefund, KindRefundClosed, KindRefundAbnormal:
		return true
	}
	return false
}

func (k Kind) isRefund() bool {
	return k == KindRefund || k == KindRefundClosed || k == KindRefundAbnormal
}

// Outcome is what a fact did.
type Outcome string

// The outcomes.
const (
	Applied   Outcome = "applied"
	Duplicate Outcome = "duplicate"
	Stale     Outcome = "stale"
	Conflict  Outcome = "conflict"
	Unmatched Outcome = "unmatched"
	Unhandled Outcome = "unhandled"
)

// Outcomes lists the outcomes from the worst to the mildest: a notification's
// outcome is the first of these that one of its facts has.
func Outcomes() []Outcome {
	return []Outcome{Conflict, Unmatched, Applied, Stale, Duplicate, Unhandled}
}

// Reason says why a fact is a conflict.
type Reason string

// The reasons.
const (
	ReasonNone              Reason = ""
	ReasonAmountMismatch    Reason = "amount_mismatch"
	ReasonCurrencyMismatch  Reason = "currency_mismatch"
	ReasonSurplusPayment    Reason = "surplus_payment"
	ReasonClosedAfterPaid   Reason = "closed_after_paid"
	ReasonPaidAfterCancel   Reason = "paid_after_cancel"
	ReasonRefundExceedsPaid Reason = "refund_exceeds_paid"
	ReasonNumberReused      Reason = "number_reused"
	ReasonUnreadableField   Reason = "unreadable_field"
	ReasonAmbiguousText     Reason = "ambiguous_text"
)

// Reasons lists them, without ReasonNone.
func Reasons() []Reason {
	return []Reason{ReasonAmountMismatch, ReasonCurrencyMismatch, ReasonSurplusPayment, ReasonClosedAfterPaid, ReasonPaidAfterCancel,
		ReasonRefundExceedsPaid, ReasonNumberReused, ReasonUnreadableField, ReasonAmbiguousText}
}

// Fact is what a verified notification says about one order, in our words.
type Fact struct {
	Kind Kind

	// Merchant and OutTradeNo name the order. SubMerchant is the part of
	// Merchant after the slash ("" outside partner mode). With ByTxn the message
	// did not say which sub-merchant: Merchant is then the account's own, and
	// the order is found by the transaction.
	Merchant, SubMerchant, OutTradeNo string
	ByTxn                             bool

	Provider, Account, ProviderTxnID string

	// AmountFen and Currency are the payment's for paid, the refund's for the
	// refund kinds. Currency "" means that the message did not say.
	AmountFen int64
	Currency  string
	At        time.Time // when it happened at the provider; zero: the message did not say
	Implied   bool      // a paid that follows from a refund

	OutRefundNo      string
	ProviderRefundID string // WeChat Pay's refund_id; "" for Alipay
	RunningTotalFen  int64  // Alipay: refund_fee, the sum of all refunds so far; then AmountFen is not used

	// Conflict, when set, is the fact's fate before the table is asked: the
	// message is genuine but cannot be understood (unreadable_field) or cannot
	// be trusted to mean what it seems to (ambiguous_text).
	Conflict Reason
}

// Key is the order that the fact names.
func (f *Fact) Key() Key { return Key{f.Merchant, f.OutTradeNo} }

// Txn is the payment that the fact names.
func (f *Fact) Txn() TxnKey { return TxnKey{f.Provider, f.ProviderTxnID} }

// RefundKey is the refund that the fact names; empty for other kinds.
func (f *Fact) RefundKey() RefundKey {
	switch {
	case !f.Kind.isRefund():
		return RefundKey{}
	case f.RunningTotalFen > 0:
		return RefundKey{f.Provider, f.ProviderTxnID + "/" + itoa(f.RunningTotalFen)}
	}
	return RefundKey{f.Provider, f.ProviderRefundID}
}

// Capture is a request as it came: what replay needs to run it again.
type Capture struct {
	RequestLine string // "POST /notify/wechat HTTP/1.1"
	Header      []byte // header lines as "Name: value\r\n", those that replay and diagnosis need; never cookies or credentials
	Body        []byte
}

// Notification is one verified inbound POST: the unit of queue, retry and ack.
type Notification struct {
	ID         string // ntf_…, given by the edge
	ReceivedAt time.Time
	Capture    Capture

	Provider, Account string
	// Scope is the number under which the provider knows the account (mchid,
	// app_id): with it ProviderID is unique, and it stands in the fact key in
	// place of the account's name.
	Scope      string
	ProviderID string // the provider's own id of the notification; "" when it has none
	Merchant   string // the account's merchant
	Kind       Kind   // what the message is about, in one word
	Facts      []Fact // in the order in which they are decided; at least one

	// Distinct, when set, is what tells this message from others: the content
	// without id, time and signature. Set for messages that move no order and
	// for those that are a conflict as a whole. Otherwise the facts' numbers do.
	Distinct []byte
	// Content is what an unhandled message said, decrypted, as UTF-8 text or
	// JSON; kept for the merchant. nil where the facts say it all.
	Content []byte
}

// FactKey tells notifications apart by what they say: two notifications with
// one key are copies of each other. It is the hash of that, behind a place.
type FactKey [placeLen + hashLen]byte

// placeLen bytes of a key are its place: the beginning of the first order's
// number. Numbers are mostly given in order of time, so that what comes together
// stands together in the index, and a batch writes a few of its pages; by their
// hashes alone notifications would fall on a page each. The place decides nothing.
const (
	placeLen = 16
	hashLen  = 16
)

// FactKey hashes what the notification says: provider, the provider's number of
// the account, kinds, numbers, amounts, and whether a time is known; not the
// account's name, times, ids, signatures.
func (n *Notification) FactKey() FactKey {
	var k FactKey
	var room [512]byte // for what payments and refunds say
	b := text(text(room[:0], n.Provider), n.Scope)
	if n.Distinct != nil {
		// The place stays zero: a message that was cut anew may name another order,
		// and is the same message. Only what is hashed may be a place.
		b = text(text(b, string(n.Kind)), n.Distinct)
	} else {
		for i := range n.Facts {
			b = n.Facts[i].appendTo(b)
		}
		if len(n.Facts) > 0 {
			copy(k[:placeLen], n.Facts[0].OutTradeNo)
		}
	}
	sum := sha256.Sum256(b)
	copy(k[placeLen:], sum[:])
	return k
}

func (f *Fact) appendTo(b []byte) []byte {
	b = text(b, string(f.Kind))
	b = text(b, f.SubMerchant)
	b = text(b, f.OutTradeNo)
	b = text(b, f.ProviderTxnID)
	b = number(b, f.AmountFen)
	b = text(b, f.Currency)
	b = text(b, f.OutRefundNo)
	b = text(b, f.ProviderRefundID)
	b = number(b, f.RunningTotalFen)
	b = text(b, string(f.Conflict))
	flags := int64(0)
	if f.Implied {
		flags |= 1
	}
	if f.ByTxn {
		flags |= 2
	}
	// A message that brings a time which an earlier one lacked is news.
	if !f.At.IsZero() {
		flags |= 4
	}
	return number(b, flags)
}

// text writes a length before the bytes, so that neighbours cannot run together.
func text[T string | []byte](b []byte, s T) []byte { return append(number(b, int64(len(s))), s...) }

func number(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }
