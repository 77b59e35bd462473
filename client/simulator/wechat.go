package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// userAgent is what both providers call themselves.
const userAgent = "Mozilla/4.0"

func (s *Simulator) wechatPayment(o Order) forge.WechatPayment {
	return forge.WechatPayment{MchID: s.account.MchID, AppID: s.account.AppID, SubMchID: o.SubMerchant,
		OutTradeNo: o.OutTradeNo, TransactionID: o.wechatTxn(), TotalFen: o.AmountFen, Currency: o.currency(),
		Attach: o.Attach, PaidAt: o.PaidAt}
}

func (s *Simulator) wechatRefund(o Order, r Refund) forge.WechatRefund {
	state := string(r.State)
	if s.protocol == WechatV2 {
		switch r.State {
		case RefundClosed:
			state = "REFUNDCLOSE"
		case RefundAbnormal:
			state = "CHANGE"
		}
	}
	return forge.WechatRefund{MchID: s.account.MchID, AppID: s.account.AppID, SubMchID: o.SubMerchant,
		OutTradeNo: o.OutTradeNo, TransactionID: o.wechatTxn(), OutRefundNo: r.OutRefundNo, RefundID: r.RefundID,
		TotalFen: o.AmountFen, RefundFen: r.AmountFen, Status: state, RefundedAt: r.At}
}

func (s *Simulator) wechatCombined(outTradeNo string, parts []Order) forge.WechatCombined {
	c := forge.WechatCombined{MchID: s.account.MchID, AppID: s.account.AppID, OutTradeNo: outTradeNo}
	for _, o := range parts {
		c.Parts = append(c.Parts, s.wechatPayment(o))
	}
	return c
}

// v3 is a message of API v3: an event whose content is encrypted.
type v3 struct {
	event  forge.WechatEvent
	signer forge.WechatV3Signer
	edits  []Edit              // of the body around the content
	body   func([]byte) []byte // set: another body than the plain one, before it is signed
	shift  time.Duration       // between the clock of the signature and the sending
	// timestamp, when set, stands in place of the time.
	timestamp string
}

func (s *Simulator) event(kind, original string, at time.Time, content []byte) v3 {
	return v3{
		event: forge.WechatEvent{Type: kind, OriginalType: original, Summary: summaries[kind], CreatedAt: at, Content: content},
		signer: forge.WechatV3Signer{Private: s.keys.Platform.Private, Serial: s.keys.Platform.Serial,
			APIKey: string(s.account.APIv3Key)},
	}
}

// summaries are WeChat Pay's words for people.
var summaries = map[string]string{
	"TRANSACTION.SUCCESS": "支付成功", "REFUND.SUCCESS": "退款成功", "REFUND.ABNORMAL": "退款异常", "REFUND.CLOSED": "退款关闭",
}

func (d v3) sign(t time.Time) forge.Message {
	if d.event.ID == "" {
		// As live ones look; it follows from what the message says.
		sum := sha256.Sum256(append([]byte(d.event.Type), d.event.Content...))
		id := hex.EncodeToString(sum[:16])
		d.event.ID = strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
	}
	body := d.envelope()
	if d.body != nil {
		body = d.body(body)
	}
	m := d.signer.Sign(body, t.Add(d.shift))
	if d.timestamp != "" {
		m = d.signer.SignWith(body, d.timestamp, m.Header.Get("Wechatpay-Nonce"))
	}
	m.Header.Set("User-Agent", userAgent)
	return m
}

// v2 is a signed message of API v2: one flat XML document.
type v2 struct {
	form      forge.Form
	signer    forge.WechatV2Signer
	signature func(forge.Form) string                // set: instead of the signer's
	write     func(f forge.Form, sign string) []byte // set: another document of the same fields
}

func (s *Simulator) signed(f forge.Form) v2 {
	return v2{form: withNonce(f), signer: s.v2Signer()}
}

func (s *Simulator) v2Signer() forge.WechatV2Signer {
	return forge.WechatV2Signer{APIKey: string(s.account.APIv2Key), SignType: s.account.v2SignTypes()[0]}
}

// withNonce gives a message a nonce that follows from what it says: v2 repeats
// are the same bytes.
func withNonce(f forge.Form) forge.Form {
	sum := sha256.Sum256([]byte(f.Text(forge.Rule{})))
	return f.With("nonce_str", strings.ToUpper(hex.EncodeToString(sum[:16])))
}

func (d v2) sign(time.Time) forge.Message {
	sign := ""
	if d.signature != nil {
		sign = d.signature(d.form)
	} else {
		sign = d.signer.Signature(d.form)
	}
	write := d.write
	if write == nil {
		write = func(f forge.Form, sign string) []byte { return f.With("sign", sign).XML("xml") }
	}
	return asWechat(forge.SendXML(write(d.form, sign)))
}

func asWechat(m forge.Message) forge.Message {
	m.Header.Set("User-Agent", userAgent)
	return m
}

// v2Refund is a refund of API v2: nothing is signed, what counts is encrypted.
type v2Refund struct {
	outer, inner forge.Form
	signer       forge.WechatV2Signer
	reqInfo      func(string) string // set: what becomes of req_info
}

func (s *Simulator) sealed(r forge.WechatRefund) v2Refund {
	outer, inner := r.V2()
	return v2Refund{outer: withNonce(outer), inner: inner, signer: s.v2Signer()}
}

func (d v2Refund) sign(time.Time) forge.Message {
	info := d.signer.ReqInfo(d.inner.XML("root"))
	if d.reqInfo != nil {
		info = d.reqInfo(info)
	}
	return asWechat(forge.SendXML(d.outer.With("req_info", info).XML("xml")))
}
