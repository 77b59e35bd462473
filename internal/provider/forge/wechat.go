package forge

import (
	"encoding/json"
	"strconv"
	"time"
)

// What the throw-away account of WeChat Pay's side is configured with. TEST ONLY.
const (
	WechatSerial      = "7A1F3C5D9E0B2468ACE013579BDF02468ACE1357" // of WechatCertificatePEM
	Wechat2Serial     = "0B1F3C5D9E0B2468ACE013579BDF02468ACE1357" // of its successor
	WechatPublicKeyID = "PUB_KEY_ID_0000000000000001"              // of WechatPublicKey
	WechatV3Key       = "TestApiV3KeyForReceiver000000001"
	WechatV2Key       = "TestKeyForReceiver00000000000001"
)

// WechatPayment describes a payment; V3 and V2 write it as the two protocols do.
// Fields that are empty or zero are left out where the protocol allows.
type WechatPayment struct {
	MchID, AppID  string
	SubMchID      string // set: the payment of a sub-merchant under the service provider MchID
	OutTradeNo    string
	TransactionID string
	TotalFen      int64
	Currency      string // "" leaves it out
	State         string // v3 and deductions; "" is SUCCESS in v3 and left out in v2
	Attach        string
	PaidAt        time.Time
}

// WechatRefund describes a refund.
type WechatRefund struct {
	MchID, AppID          string
	SubMchID              string
	OutTradeNo            string
	TransactionID         string
	OutRefundNo, RefundID string
	TotalFen, RefundFen   int64
	Status                string // in the protocol's own words; "" is SUCCESS
	RefundedAt            time.Time
}

// WechatCombined describes a combined payment. The parts' MchID may differ.
type WechatCombined struct {
	MchID, AppID string
	OutTradeNo   string
	Parts        []WechatPayment
}

type wechatAmount struct {
	Total         int64  `json:"total"`
	Refund        int64  `json:"refund,omitempty"`
	PayerTotal    int64  `json:"payer_total"`
	PayerRefund   int64  `json:"payer_refund,omitempty"`
	Currency      string `json:"currency,omitempty"`
	PayerCurrency string `json:"payer_currency,omitempty"`
}

// wechatParty is how both sorts of v3 content name whose they are.
type wechatParty struct {
	MchID    string `json:"mchid,omitempty"`
	AppID    string `json:"appid,omitempty"`
	SpMchID  string `json:"sp_mchid,omitempty"`
	SpAppID  string `json:"sp_appid,omitempty"`
	SubMchID string `json:"sub_mchid,omitempty"`
}

func partyOf(mchID, appID, subMchID string) wechatParty {
	if subMchID == "" {
		return wechatParty{MchID: mchID, AppID: appID}
	}
	return wechatParty{SpMchID: mchID, SpAppID: appID, SubMchID: subMchID}
}

// V3 is the content of a TRANSACTION.SUCCESS resource.
// Source: WeChat Pay docs, v3, "payment notice".
func (p WechatPayment) V3() []byte {
	return encodeJSON(struct {
		wechatParty
		OutTradeNo    string            `json:"out_trade_no,omitempty"`
		TransactionID string            `json:"transaction_id,omitempty"`
		TradeType     string            `json:"trade_type"`
		TradeState    string            `json:"trade_state"`
		BankType      string            `json:"bank_type"`
		Attach        string            `json:"attach"`
		SuccessTime   string            `json:"success_time,omitempty"`
		Payer         map[string]string `json:"payer"`
		Amount        wechatAmount      `json:"amount"`
	}{
		partyOf(p.MchID, p.AppID, p.SubMchID), p.OutTradeNo, p.TransactionID, "NATIVE", orElse(p.State, "SUCCESS"),
		"OTHERS", p.Attach, rfc3339(p.PaidAt), map[string]string{"openid": wechatOpenID},
		wechatAmount{Total: p.TotalFen, PayerTotal: p.TotalFen, Currency: p.Currency, PayerCurrency: p.Currency},
	})
}

// V3 is the content of a REFUND.… resource.
// Source: WeChat Pay docs, v3, "refund result notice".
func (r WechatRefund) V3() []byte {
	party := partyOf(r.MchID, "", r.SubMchID) // the app is not named
	return encodeJSON(struct {
		wechatParty
		OutTradeNo          string       `json:"out_trade_no,omitempty"`
		TransactionID       string       `json:"transaction_id,omitempty"`
		OutRefundNo         string       `json:"out_refund_no,omitempty"`
		RefundID            string       `json:"refund_id,omitempty"`
		RefundStatus        string       `json:"refund_status"`
		SuccessTime         string       `json:"success_time,omitempty"`
		UserReceivedAccount string       `json:"user_received_account"`
		Amount              wechatAmount `json:"amount"`
	}{
		party, r.OutTradeNo, r.TransactionID, r.OutRefundNo, r.RefundID, orElse(r.Status, "SUCCESS"),
		rfc3339(r.RefundedAt), "支付用户零钱",
		wechatAmount{Total: r.TotalFen, Refund: r.RefundFen, PayerTotal: r.TotalFen, PayerRefund: r.RefundFen},
	})
}

// V3 is the content of a combined payment's resource.
// Source: WeChat Pay docs, v3, "combined payment notice".
func (c WechatCombined) V3() []byte {
	type amount struct {
		TotalAmount int64  `json:"total_amount"`
		PayerAmount int64  `json:"payer_amount"`
		Currency    string `json:"currency,omitempty"`
	}
	type part struct {
		MchID         string `json:"mchid"`
		SubMchID      string `json:"sub_mchid,omitempty"`
		TradeType     string `json:"trade_type"`
		TradeState    string `json:"trade_state"`
		OutTradeNo    string `json:"out_trade_no,omitempty"`
		TransactionID string `json:"transaction_id,omitempty"`
		SuccessTime   string `json:"success_time,omitempty"`
		Amount        amount `json:"amount"`
	}
	parts := []part{}
	for _, p := range c.Parts {
		parts = append(parts, part{p.MchID, p.SubMchID, "NATIVE", orElse(p.State, "SUCCESS"), p.OutTradeNo,
			p.TransactionID, rfc3339(p.PaidAt), amount{p.TotalFen, p.TotalFen, p.Currency}})
	}
	return encodeJSON(struct {
		CombineAppID      string            `json:"combine_appid"`
		CombineMchID      string            `json:"combine_mchid"`
		CombineOutTradeNo string            `json:"combine_out_trade_no"`
		CombinePayerInfo  map[string]string `json:"combine_payer_info"`
		SubOrders         []part            `json:"sub_orders"`
	}{c.AppID, c.MchID, c.OutTradeNo, map[string]string{"openid": wechatOpenID}, parts})
}

// V2 are the fields of a payment result, without sign.
// Source: WeChat Pay docs, v2, "payment result notification".
func (p WechatPayment) V2() Form {
	total := strconv.FormatInt(p.TotalFen, 10)
	f := NewForm("appid", p.AppID, "mch_id", p.MchID, "sub_mch_id", p.SubMchID, "nonce_str", wechatNonce,
		"openid", wechatOpenID, "out_trade_no", p.OutTradeNo, "transaction_id", p.TransactionID, "trade_type", "NATIVE",
		"trade_state", p.State, "bank_type", "OTHERS", "total_fee", total, "cash_fee", total, "fee_type", p.Currency,
		"is_subscribe", "N", "attach", p.Attach, "time_end", stamp(p.PaidAt, "20060102150405"),
		"return_code", "SUCCESS", "result_code", "SUCCESS")
	return f.filled()
}

// V2 are the outer and the inner fields of a refund result; Seal joins them.
// Source: WeChat Pay docs, v2, "refund result notification".
func (r WechatRefund) V2() (outer, inner Form) {
	outer = NewForm("return_code", "SUCCESS", "appid", r.AppID, "mch_id", r.MchID, "sub_mch_id", r.SubMchID,
		"nonce_str", wechatNonce).filled()
	refund := strconv.FormatInt(r.RefundFen, 10)
	inner = NewForm("out_refund_no", r.OutRefundNo, "out_trade_no", r.OutTradeNo, "refund_account", "REFUND_SOURCE_RECHARGE_FUNDS",
		"refund_fee", refund, "refund_id", r.RefundID, "refund_recv_accout", "支付用户零钱", "refund_request_source", "API",
		"refund_status", orElse(r.Status, "SUCCESS"), "settlement_refund_fee", refund,
		"success_time", stamp(r.RefundedAt, "2006-01-02 15:04:05"), "total_fee", strconv.FormatInt(r.TotalFen, 10),
		"transaction_id", r.TransactionID).filled()
	return outer, inner
}

// V2 are the fields of a combined payment result, without sign.
// Source: WeChat Pay docs, v2, "combined payment result notification".
func (c WechatCombined) V2() Form {
	type part struct {
		AppID         string `json:"appid"`
		MchID         string `json:"mch_id"`
		SubMchID      string `json:"sub_mch_id,omitempty"`
		TotalFee      int64  `json:"total_fee"`
		CashFee       int64  `json:"cash_fee"`
		TransactionID string `json:"transaction_id,omitempty"`
		OutTradeNo    string `json:"out_trade_no,omitempty"`
		Attach        string `json:"attach,omitempty"`
		TimeEnd       string `json:"time_end,omitempty"`
	}
	list := struct {
		OrderNum  int    `json:"order_num"`
		OrderList []part `json:"order_list"`
	}{len(c.Parts), []part{}}
	for _, p := range c.Parts {
		list.OrderList = append(list.OrderList, part{p.AppID, p.MchID, p.SubMchID, p.TotalFen, p.TotalFen,
			p.TransactionID, p.OutTradeNo, p.Attach, stamp(p.PaidAt, "20060102150405")})
	}
	return NewForm("return_code", "SUCCESS", "result_code", "SUCCESS", "combine_appid", c.AppID, "combine_mch_id", c.MchID,
		"nonce_str", wechatNonce, "combine_openid", wechatOpenID, "combine_out_trade_no", c.OutTradeNo, "trade_type", "NATIVE",
		"bank_type", "OTHERS", "sub_order_list", string(encodeJSON(list)))
}

const (
	wechatOpenID = "o_test_1"
	wechatNonce  = "N0000000000000001"
)

// filled is the form without the fields that have no value.
func (f Form) filled() Form {
	var kept Form
	for _, p := range f {
		if p.Value != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func rfc3339(t time.Time) string { return stamp(t, time.RFC3339) }

// stamp writes a time as it is in Beijing; "" for none.
func stamp(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.In(china).Format(layout)
}

func encodeJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return text
}
