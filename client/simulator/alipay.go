package simulator

import (
	"net/http"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// The values of trade_status.
const (
	waitBuyerPay  = "WAIT_BUYER_PAY"
	tradeSuccess  = "TRADE_SUCCESS"
	tradeFinished = "TRADE_FINISHED"
	tradeClosed   = "TRADE_CLOSED"
)

// madeUpSeller stands where the account does not say whose it is.
const madeUpSeller = "2088000000000000"

// form is a message of Alipay.
type form struct {
	fields forge.Form // UTF-8, without notify_time, which is the time of sending
	signer forge.AlipaySigner
	gbk    string                               // set: charset under which the text is sent in GB 18030
	send   func(f form, sent forge.Form) []byte // set: another body than the signed form
}

func (s *Simulator) alipaySigner() forge.AlipaySigner {
	return forge.AlipaySigner{Private: s.keys.Alipay, SignType: s.account.alipaySignTypes()[0]}
}

func (s *Simulator) alipayTrade(o Order, status string) forge.AlipayTrade {
	t := forge.AlipayTrade{AppID: s.account.AlipayAppID, AuthAppID: s.account.AlipayAppID, SellerID: s.account.SellerID,
		OutTradeNo: o.OutTradeNo, TradeNo: o.alipayTxn(), Status: status, TotalFen: o.AmountFen,
		Subject: "订单 " + o.OutTradeNo, Created: o.PaidAt}
	if t.SellerID == "" {
		t.SellerID = madeUpSeller
	}
	if o.SubMerchant != "" {
		t.AuthAppID = o.SubMerchant
	}
	return t
}

// trade is a notification of a trade without a refund. at is when the last
// thing happened to it.
func (s *Simulator) trade(o Order, status string, at time.Time) form {
	t := s.alipayTrade(o, status)
	switch status {
	case tradeSuccess, tradeFinished:
		t.Paid = at
	case tradeClosed:
		t.End = at
	}
	return s.fill(t, o)
}

// refunded is the notification of a refund: a trade that is refunded in full
// closes.
func (s *Simulator) refunded(o Order, r Refund) form {
	t := s.alipayTrade(o, tradeSuccess)
	t.Paid, t.Refunded, t.OutBizNo, t.RefundFen = o.PaidAt, r.At, r.OutRefundNo, r.total()
	if r.total() >= o.AmountFen {
		t.Status, t.End = tradeClosed, r.At
	}
	return s.fill(t, o)
}

func (s *Simulator) fill(t forge.AlipayTrade, o Order) form {
	fields := t.Form()
	if o.Attach != "" {
		fields = fields.With("passback_params", o.Attach)
	}
	return s.form(fields)
}

// form is the message of fields; its notify_id follows from what they say.
func (s *Simulator) form(fields forge.Form) form {
	fields = fields.Without("notify_time", "notify_id")
	fields = fields.With("notify_id", "2000010100222"+digitsOf(21, "notify", fields.Text(forge.Rule{})))
	return form{fields: fields, signer: s.alipaySigner()}
}

func (d form) sign(t time.Time) forge.Message {
	f := d.fields
	if f.Get("utc_timestamp") == "" && f.Get("notify_time") == "" {
		f = f.With("notify_time", t.In(beijing).Format("2006-01-02 15:04:05"))
	}
	if d.gbk != "" {
		f = f.GBK(d.gbk)
	}
	if d.send == nil {
		return d.signer.Sign(f)
	}
	m := forge.Message{Header: http.Header{}, Body: d.send(d, f)}
	m.Header.Set("Content-Type", forge.AlipayContentType)
	m.Header.Set("User-Agent", userAgent)
	return m
}

var beijing = time.FixedZone("+08:00", 8*60*60)
