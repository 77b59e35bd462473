// Package account is the throw-away merchant of the benchmark: the numbers and
// keys under which every system takes the same messages, and notifyd's adapters
// for them. It imports the adapters and the forge, whose keys these are.
package account

import (
	"fmt"
	"strings"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// The merchant at WeChat Pay and at Alipay. TEST ONLY.
const (
	MchID     = "1600000001"
	AppID     = "wxbench000000001"
	AliAppID  = "2021000000000001"
	AliSeller = "2088000000000001"
	Currency  = "CNY"
)

// Paths to which the messages are posted, the same at every system.
const (
	WechatPath = "/notify/wechat"
	AlipayPath = "/notify/alipay"
)

// WechatV3 signs as WeChat Pay does for a merchant with its public key, the way
// that new merchants are given.
func WechatV3() forge.WechatV3Signer { return forge.WechatV3Signer{Key: forge.WechatPublicKey} }

// Numbers of the n-th order. They are digits of one width, so that the messages
// of all orders have one length.
func OrderNo(n int) string   { return fmt.Sprintf("T%015d", n) }
func WechatTxn(n int) string { return fmt.Sprintf("4200000000%018d", n) }
func AlipayTxn(n int) string { return fmt.Sprintf("2026010122001%015d", n) }
func RefundNo(n int) string  { return fmt.Sprintf("R%015d", n) }
func RefundID(n int) string  { return fmt.Sprintf("5030000000%018d", n) }

// AmountFen is what the n-th order costs.
func AmountFen(n int) int64 { return 1000 + int64(n%9000) }

// AmountSQL is AmountFen of the number that expression gives.
func AmountSQL(expression string) string { return "1000 + (" + expression + ") % 9000" }

// OrderNoSQL is OrderNo of the number that expression gives, in PostgreSQL.
func OrderNoSQL(expression string) string {
	return "'T' || lpad((" + expression + ")::text, 15, '0')"
}

// OwnKeyPEM is the merchant's own private key, as its console lets it download
// it: the peers' libraries want one, although nothing here is signed by it.
func OwnKeyPEM() string {
	text := string(forge.MerchantKey.PrivatePEM())
	return text[strings.Index(text, "-----BEGIN"):] // before it stands a warning
}
