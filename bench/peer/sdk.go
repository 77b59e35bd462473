package peer

import (
	"errors"
	"net/http"
	"time"

	"github.com/smartwalle/alipay/v3"
	"github.com/wechatpay-apiv3/wechatpay-go/core/auth/verifiers"
	"github.com/wechatpay-apiv3/wechatpay-go/core/notify"
	"github.com/wechatpay-apiv3/wechatpay-go/services/payments"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// sdkLibrary reads WeChat Pay's v3 by wechatpay-go and Alipay by
// smartwalle/alipay, as their READMEs show. Neither knows WeChat Pay's v2.
type sdkLibrary struct {
	handler *notify.Handler
	client  *alipay.Client
}

func newSDK() (*sdkLibrary, error) {
	verifier := verifiers.NewSHA256WithRSAPubkeyVerifier(forge.WechatPublicKeyID, forge.WechatPublicKey.Private().PublicKey)
	handler, err := notify.NewRSANotifyHandler(forge.WechatV3Key, verifier)
	if err != nil {
		return nil, err
	}
	client, err := alipay.New(account.AliAppID, account.OwnKeyPEM(), true)
	if err != nil {
		return nil, err
	}
	return &sdkLibrary{handler, client}, client.LoadAliPayPublicKey(forge.AlipayKey.PublicBase64())
}

// content is payments.Transaction and what a refund says beside it: the event's
// type is known only when the content is read.
type content struct {
	payments.Transaction
	RefundID     *string `json:"refund_id"`
	RefundStatus *string `json:"refund_status"`
	Amount       *struct {
		Total  *int64 `json:"total"`
		Refund *int64 `json:"refund"`
	} `json:"amount"`
}

func (l *sdkLibrary) wechatV3(r *http.Request) (fact, error) {
	c := new(content)
	n, err := l.handler.ParseNotifyRequest(r.Context(), r, c)
	if err != nil {
		return fact{}, err
	}
	if text(c.Mchid) != account.MchID || c.Amount == nil {
		return fact{}, errNotProven
	}
	f := fact{Provider: "wechat", OutTradeNo: text(c.OutTradeNo), TxnID: text(c.TransactionId)}
	fen := c.Amount.Total
	if f.Refund = n.EventType == "REFUND.SUCCESS"; f.Refund {
		fen = c.Amount.Refund
		f.Key = "refund/" + text(c.RefundID)
	} else {
		f.Key = "paid/" + f.TxnID
	}
	isOurs := f.Refund && text(c.RefundStatus) == "SUCCESS" || text(c.Appid) == account.AppID && text(c.TradeState) == "SUCCESS"
	if !isOurs || fen == nil {
		return fact{}, errNotProven
	}
	f.AmountFen = *fen
	f.At, err = time.Parse(time.RFC3339, text(c.SuccessTime))
	return f, err
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var errNoV2 = errors.New("this library does not know WeChat Pay's v2")

func (l *sdkLibrary) wechatV2(*http.Request) (fact, error) { return fact{}, errNoV2 }

func (l *sdkLibrary) ackWechatV2(http.ResponseWriter) {}

func (l *sdkLibrary) alipay(r *http.Request) (fact, error) {
	readableForm(r)
	if err := r.ParseForm(); err != nil {
		return fact{}, err
	}
	n, err := l.client.DecodeNotification(r.Context(), r.Form)
	if err != nil {
		return fact{}, err
	}
	return alipayFact(func(name string) string {
		switch name {
		case "app_id":
			return n.AppId
		case "seller_id":
			return n.SellerId
		case "trade_status":
			return string(n.TradeStatus)
		case "trade_no":
			return n.TradeNo
		case "out_trade_no":
			return n.OutTradeNo
		case "total_amount":
			return n.TotalAmount
		case "gmt_payment":
			return n.GmtPayment
		case "refund_fee":
			return n.RefundFee
		case "gmt_refund":
			return n.GmtRefund
		}
		return ""
	})
}

func (l *sdkLibrary) ackAlipay(w http.ResponseWriter) { l.client.ACKNotification(w) }
