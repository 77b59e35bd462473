package simulator

import (
	"crypto/sha256"
	"math/big"
	"strings"
	"time"
)

// Order is what a notification tells about. The same order number means the
// same transaction, today and tomorrow, unless TransactionID says another.
type Order struct {
	OutTradeNo    string
	AmountFen     int64
	TransactionID string // "": follows from OutTradeNo
	Currency      string // WeChat Pay; "": CNY
	Attach        string // WeChat Pay's attach, Alipay's passback_params
	SubMerchant   string // partner mode: whose order it is (sub_mchid, auth_app_id)
	PaidAt        time.Time
}

// Refund is one refund of an order.
type Refund struct {
	OutRefundNo string // "": follows from the order and the amounts
	RefundID    string // WeChat Pay's own number; "": follows from the same
	AmountFen   int64
	// TotalFen is what is refunded of the order with this refund: Alipay tells
	// the running total. 0: AmountFen, as of a first refund.
	TotalFen int64
	State    RefundState // "": RefundSuccess
	At       time.Time
}

// RefundState is how a refund ended. Alipay tells of successful ones alone.
type RefundState string

// The states, each with what WeChat Pay v3 and v2 call it.
const (
	RefundSuccess  RefundState = "SUCCESS"  // SUCCESS, SUCCESS
	RefundClosed   RefundState = "CLOSED"   // CLOSED, REFUNDCLOSE
	RefundAbnormal RefundState = "ABNORMAL" // ABNORMAL, CHANGE
)

func (o Order) currency() string {
	if o.Currency == "" {
		return "CNY"
	}
	return o.Currency
}

func (r Refund) total() int64 {
	if r.TotalFen == 0 {
		return r.AmountFen
	}
	return r.TotalFen
}

// identify fills in the numbers that follow from others.
func (r Refund) identify(o Order) Refund {
	told := big.NewInt(r.AmountFen).String() + "/" + big.NewInt(r.total()).String()
	if r.OutRefundNo == "" {
		r.OutRefundNo = "R" + digitsOf(15, "refund", o.OutTradeNo, told)
	}
	if r.RefundID == "" {
		r.RefundID = "5030" + digitsOf(24, "refund", o.OutTradeNo, r.OutRefundNo)
	}
	if r.State == "" {
		r.State = RefundSuccess
	}
	return r
}

// wechatTxn and alipayTxn are the provider's number of an order's payment, in
// the provider's form.
func (o Order) wechatTxn() string {
	if o.TransactionID != "" {
		return o.TransactionID
	}
	return "4200" + digitsOf(24, "wechat", o.SubMerchant, o.OutTradeNo)
}

func (o Order) alipayTxn() string {
	if o.TransactionID != "" {
		return o.TransactionID
	}
	return "2000010122001" + digitsOf(15, "alipay", o.SubMerchant, o.OutTradeNo)
}

// digitsOf is a number of n digits that follows from the words: the same words,
// the same number.
func digitsOf(n int, words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	text := new(big.Int).SetBytes(sum[:]).Text(10)
	return text[len(text)-n:]
}
