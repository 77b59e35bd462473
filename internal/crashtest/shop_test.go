package crashtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

const (
	mchID    = "1600000001"
	appID    = "wxtest0000000001"
	aliAppID = "2021000000000001"
	sellerID = "2088000000000001"
)

// newShop is a site with one account of each provider on a store.
func newShop(t testing.TB, store, options string) *site {
	t.Helper()
	s := newSite(t)
	s.write(t, "keys/platform.pem", forge.WechatCertificatePEM())
	s.write(t, "keys/alipay.pem", forge.AlipayKey.PublicPEM())
	s.configure(t, store, options)
	return s
}

// configure writes the shop's configuration, for the next process that starts.
func (s *site) configure(t testing.TB, store, options string) {
	t.Helper()
	s.write(t, "notifyd.yaml", fmt.Appendf(nil, `listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: %s}
store: %q
%s
accounts:
  - {name: wechat, provider: wechat, mchid: %q, appids: [%s], api_v2_key: %s, api_v3_key: %s, certificates: [{file: keys/platform.pem}]}
  - {name: alipay, provider: alipay, app_id: %q, seller_id: %q, public_keys: [{file: keys/alipay.pem}]}
`, adminToken, store, options, mchID, appID, forge.WechatV2Key, forge.WechatV3Key, aliAppID, sellerID))
}

// stores are the databases that a test visits, each fresh.
func stores() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{
		"SQLite":     func(testing.TB) string { return "sqlite:n.db" },
		"PostgreSQL": pgtest.Database,
	}
}

// protocol is one way in which providers speak.
type protocol string

const (
	v3  protocol = "WeChat Pay v3"
	v2  protocol = "WeChat Pay v2"
	ali protocol = "Alipay"
)

func protocols() []protocol { return []protocol{v3, v2, ali} }

// path is where messages of the protocol go.
func (p protocol) path() string {
	if p == ali {
		return "/notify/alipay"
	}
	return "/notify/wechat"
}

// The answers, byte for byte. Source: section 3 of the outside contract.
func (p protocol) ack() string {
	return map[protocol]string{
		v3:  `{"code":"SUCCESS","message":"OK"}`,
		v2:  `<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>`,
		ali: `success`,
	}[p]
}

// payment is an order that somebody pays.
type payment struct {
	protocol
	number string
	fen    int64
}

// message is the notification of the payment, the same bytes every time.
func (p payment) message(now time.Time) forge.Message {
	switch p.protocol {
	case v3:
		return forge.WechatV3Signer{}.Sign(p.envelope(), now)
	case v2:
		return forge.WechatV2Signer{}.Sign(p.wechat().V2())
	}
	return forge.AlipaySigner{}.Sign(p.alipay().Form())
}

// copy is the n-th copy as the provider makes it: a v3 message with a fresh
// time, nonce and signature under its old id, an Alipay message with another
// notify_time. v2 has nothing that changes.
func (p payment) copy(n int, now time.Time) forge.Message {
	switch p.protocol {
	case v3:
		return forge.WechatV3Signer{}.SignWith(p.envelope(), fmt.Sprint(now.Unix()-int64(n)), fmt.Sprintf("nonce%027d", n))
	case ali:
		trade := p.alipay()
		trade.NotifiedAt = trade.NotifiedAt.Add(time.Duration(n) * time.Second)
		return forge.AlipaySigner{}.Sign(trade.Form())
	}
	return p.message(now)
}

// paidAt is when all payments were made.
func paidAt() time.Time { return time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC) }

func (p payment) wechat() forge.WechatPayment {
	return forge.WechatPayment{MchID: mchID, AppID: appID, OutTradeNo: p.number, TransactionID: "42" + p.number, TotalFen: p.fen, Currency: "CNY", PaidAt: paidAt()}
}

func (p payment) envelope() []byte {
	return forge.WechatV3Signer{}.Envelope(forge.WechatEvent{ID: "EV-" + p.number, Type: "TRANSACTION.SUCCESS",
		OriginalType: "transaction", CreatedAt: paidAt(), Content: p.wechat().V3()})
}

func (p payment) alipay() forge.AlipayTrade {
	return forge.AlipayTrade{AppID: aliAppID, AuthAppID: aliAppID, SellerID: sellerID, OutTradeNo: p.number, TradeNo: "2026" + p.number,
		Status: "TRADE_SUCCESS", TotalFen: p.fen, Subject: "茶 + 100%", Created: paidAt(), Paid: paidAt(), NotifyID: "n" + p.number, NotifiedAt: paidAt()}
}
