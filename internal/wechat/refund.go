package wechat

import (
	"crypto/aes"
	"crypto/cipher"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// refundKind says what a refund's status means; "" for one that moves nothing.
// v2 says REFUNDCLOSE and CHANGE for v3's CLOSED (older tables: CLOSE) and
// ABNORMAL.
func refundKind(status []byte) order.Kind {
	switch string(status) {
	case "SUCCESS":
		return order.KindRefund
	case "CLOSED", "CLOSE", "REFUNDCLOSE":
		return order.KindRefundClosed
	case "ABNORMAL", "CHANGE":
		return order.KindRefundAbnormal
	}
	return ""
}

// refundV3 reads a refund. It is signed and names the payment with its amount,
// so that it implies the payment, which may not have been notified yet. The
// status in the content decides, not the event's name.
//
// Source: WeChat Pay docs, v3, "refund result notice".
func (m *message) refundV3() (order.Notification, error) {
	c := &m.content
	p, err := m.a.bind(m.contentText, &v3RefundNames)
	if err != nil {
		return order.Notification{}, err
	}
	amount := c.member(root, "amount")
	var r reading
	f := m.fact(refundKind(c.text(root, "refund_status")), p)
	f.OutTradeNo = r.number(c.text(root, "out_trade_no"), maxOrderNumber)
	f.ProviderTxnID = r.number(c.text(root, "transaction_id"), maxProviderNumber)
	f.OutRefundNo = r.number(c.text(root, "out_refund_no"), maxOrderNumber)
	f.ProviderRefundID = r.number(c.text(root, "refund_id"), maxProviderNumber)
	f.AmountFen = r.fen(c.number(amount, "refund"))
	f.Currency = r.currency(c.text(amount, "currency"), "")
	f.At = r.at(c.text(root, "success_time"), parseTime)

	implied := m.fact(order.KindPaid, p)
	implied.Implied = true
	implied.OutTradeNo, implied.ProviderTxnID, implied.Currency = f.OutTradeNo, f.ProviderTxnID, f.Currency
	implied.AmountFen = r.fen(c.number(amount, "total"))
	if r.unreadable {
		return m.conflict(m.notification(f.Kind, f), order.ReasonUnreadableField), nil
	}
	return m.notification(f.Kind, implied, f), nil
}

// errReqInfo is the one answer to every req_info that cannot be opened: whoever
// changes bytes of it learns nothing about where it failed.
var errReqInfo error = provider.Refuse(provider.ErrSignature, CodeDecrypt, "req_info does not open under the API v2 key")

// refundV2 reads a refund. The message has no sign: what proves it is that
// req_info opens under our key, and nothing outside req_info is proven. The outer
// numbers must be ours all the same, and a sub-merchant that only they name is
// not believed: the order is then found by the transaction.
//
// Source: WeChat Pay docs, v2, "refund result notification".
func (m *message) refundV2(reqInfo []byte) (order.Notification, error) {
	if err := m.openReqInfo(reqInfo); err != nil {
		return order.Notification{}, err
	}
	outer, inner := &m.xml, &m.inner
	if _, err := m.a.bind(outer.get, &v2RefundNames); err != nil {
		return order.Notification{}, err
	}
	p, err := m.a.bind(inner.get, &v2InnerNames)
	if err != nil {
		return order.Notification{}, err
	}
	if sub := outer.get("sub_mch_id"); sub != nil && p.sub != "" && string(sub) != p.sub {
		return order.Notification{}, foreign(CodeForeignSubMchID, "sub_mch_id outside req_info", sub)
	}
	kind := refundKind(inner.get("refund_status"))
	if kind == "" {
		n := m.unhandled(order.KindOther, p, inner.get("out_trade_no"))
		n.Content = fieldsJSON(inner.fields)
		n.Distinct = n.Content
		return n, nil
	}
	var r reading
	f := m.fact(kind, p)
	f.OutTradeNo = r.number(inner.get("out_trade_no"), maxOrderNumber)
	f.ProviderTxnID = r.number(inner.get("transaction_id"), maxProviderNumber)
	f.OutRefundNo = r.number(inner.get("out_refund_no"), maxOrderNumber)
	f.ProviderRefundID = r.number(inner.get("refund_id"), maxProviderNumber)
	f.AmountFen = r.fen(inner.get("refund_fee"))
	f.At = r.at(inner.get("success_time"), parseRefundTime)
	if total := inner.get("total_fee"); total != nil {
		r.fen(total)
	}
	n := m.notification(kind, f)
	if r.unreadable {
		n = m.conflict(n, order.ReasonUnreadableField)
		n.Content = fieldsJSON(inner.fields)
		n.Distinct = n.Content
	}
	return n, nil
}

// openReqInfo decrypts req_info and reads the document in it into m.inner.
func (m *message) openReqInfo(reqInfo []byte) error {
	text, ok := unwrapBase64(reqInfo)
	if !ok {
		return errReqInfo
	}
	sealed, ok := decodeBase64(m.plain[:0], text)
	m.plain = sealed
	if !ok {
		return errReqInfo
	}
	plain, ok := openECB(m.keys.v2.ecb, sealed)
	if !ok || m.inner.read(plain, "root") != nil {
		return errReqInfo
	}
	return nil
}

// openECB decrypts in place AES-256-ECB with PKCS#7 padding. This format has no
// chaining and no MAC: blocks can be moved about, which is why the readers after
// it are strict and a v2 refund moves nothing before its payment is known.
func openECB(block cipher.Block, sealed []byte) ([]byte, bool) {
	if len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return nil, false
	}
	for i := 0; i < len(sealed); i += aes.BlockSize {
		block.Decrypt(sealed[i:i+aes.BlockSize], sealed[i:i+aes.BlockSize])
	}
	padding := int(sealed[len(sealed)-1])
	if padding == 0 || padding > aes.BlockSize {
		return nil, false
	}
	end := len(sealed) - padding
	for _, c := range sealed[end:] {
		if int(c) != padding {
			return nil, false
		}
	}
	return sealed[:end], true
}
