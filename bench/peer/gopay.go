package peer

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-pay/gopay"
	"github.com/go-pay/gopay/alipay"
	wechatv2 "github.com/go-pay/gopay/wechat"
	wechat "github.com/go-pay/gopay/wechat/v3"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// gopayLibrary reads all three protocols by go-pay/gopay, as its documents show:
// doc/wechat_v3.md section 4, doc/wechat_v2.md section 4, doc/alipay.md section 3.
type gopayLibrary struct {
	client       *wechat.ClientV3
	aliPublicKey string
}

func newGopay() (*gopayLibrary, error) {
	client, err := wechat.NewClientV3(account.MchID, "throw-away", forge.WechatV3Key, account.OwnKeyPEM())
	if err != nil {
		return nil, err
	}
	err = client.AutoVerifySignByPublicKey(forge.WechatPublicKey.PublicPEM(), forge.WechatPublicKeyID)
	return &gopayLibrary{client, forge.AlipayKey.PublicBase64()}, err
}

func (l *gopayLibrary) wechatV3(r *http.Request) (fact, error) {
	n, err := wechat.V3ParseNotify(r)
	if err != nil {
		return fact{}, err
	}
	if err := n.VerifySignByPKMap(l.client.WxPublicKeyMap()); err != nil {
		return fact{}, err
	}
	if n.EventType == "REFUND.SUCCESS" {
		return l.wechatV3Refund(n)
	}
	p, err := n.DecryptPayCipherText(forge.WechatV3Key)
	if err != nil {
		return fact{}, err
	}
	if p.Mchid != account.MchID || p.Appid != account.AppID || p.TradeState != gopay.SUCCESS || p.Amount == nil {
		return fact{}, errNotProven
	}
	at, err := time.Parse(time.RFC3339, p.SuccessTime)
	return fact{Provider: "wechat", Key: "paid/" + p.TransactionId, OutTradeNo: p.OutTradeNo, TxnID: p.TransactionId,
		AmountFen: int64(p.Amount.Total), At: at}, err
}

func (l *gopayLibrary) wechatV3Refund(n *wechat.V3NotifyReq) (fact, error) {
	p, err := n.DecryptRefundCipherText(forge.WechatV3Key)
	if err != nil {
		return fact{}, err
	}
	if p.Mchid != account.MchID || p.RefundStatus != gopay.SUCCESS || p.Amount == nil {
		return fact{}, errNotProven
	}
	at, err := time.Parse(time.RFC3339, p.SuccessTime)
	return fact{Provider: "wechat", Key: "refund/" + p.RefundId, OutTradeNo: p.OutTradeNo, TxnID: p.TransactionId,
		AmountFen: int64(p.Amount.Refund), Refund: true, At: at}, err
}

func (l *gopayLibrary) wechatV2(r *http.Request) (fact, error) {
	n, err := wechatv2.ParseNotifyToBodyMap(r)
	if err != nil {
		return fact{}, err
	}
	if sealed := n.GetString("req_info"); sealed != "" {
		return l.wechatV2Refund(n.GetString("mch_id"), sealed)
	}
	ok, err := wechatv2.VerifySign(forge.WechatV2Key, wechatv2.SignType_MD5, n)
	if err != nil {
		return fact{}, err
	}
	if !ok || n.GetString("mch_id") != account.MchID || n.GetString("appid") != account.AppID ||
		n.GetString("return_code") != gopay.SUCCESS || n.GetString("result_code") != gopay.SUCCESS {
		return fact{}, errNotProven
	}
	fen, err := strconv.ParseInt(n.GetString("total_fee"), 10, 64)
	if err != nil {
		return fact{}, err
	}
	at, err := time.ParseInLocation("20060102150405", n.GetString("time_end"), beijing)
	txn := n.GetString("transaction_id")
	return fact{Provider: "wechat", Key: "paid/" + txn, OutTradeNo: n.GetString("out_trade_no"), TxnID: txn, AmountFen: fen, At: at}, err
}

func (l *gopayLibrary) wechatV2Refund(mchID, sealed string) (fact, error) {
	p, err := wechatv2.DecryptRefundNotifyReqInfo(sealed, forge.WechatV2Key)
	if err != nil {
		return fact{}, err
	}
	if mchID != account.MchID || p.RefundStatus != gopay.SUCCESS {
		return fact{}, errNotProven
	}
	fen, err := strconv.ParseInt(p.RefundFee, 10, 64)
	if err != nil {
		return fact{}, err
	}
	at, err := time.ParseInLocation(time.DateTime, p.SuccessTime, beijing)
	return fact{Provider: "wechat", Key: "refund/" + p.RefundId, OutTradeNo: p.OutTradeNo, TxnID: p.TransactionId,
		AmountFen: fen, Refund: true, At: at}, err
}

func (l *gopayLibrary) alipay(r *http.Request) (fact, error) {
	readableForm(r)
	n, err := alipay.ParseNotifyToBodyMap(r)
	if err != nil {
		return fact{}, err
	}
	ok, err := alipay.VerifySign(l.aliPublicKey, n)
	if err != nil {
		return fact{}, err
	}
	if !ok {
		return fact{}, errNotProven
	}
	return alipayFact(n.GetString)
}

func (l *gopayLibrary) ackWechatV2(w http.ResponseWriter) {
	answer := wechatv2.NotifyResponse{ReturnCode: gopay.SUCCESS, ReturnMsg: gopay.OK}
	_, _ = io.WriteString(w, answer.ToXmlString())
}

func (l *gopayLibrary) ackAlipay(w http.ResponseWriter) { _, _ = io.WriteString(w, "success") }
