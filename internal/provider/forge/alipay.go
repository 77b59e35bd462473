package forge

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// AlipaySigner signs forms in Alipay's place. The zero value signs with
// AlipayKey, RSA2 and the ordinary rule.
type AlipaySigner struct {
	Key      Key
	Private  *rsa.PrivateKey // set: signs with it, and Key is not looked at
	SignType string          // "RSA2" (SHA-256) or "RSA" (SHA-1)
	Rule     Rule
}

// AlipayContentType is what Alipay really sends: no valid media type.
const AlipayContentType = "application/x-www-form-urlencoded; text/html; charset=UTF-8"

// Sign adds sign_type and sign and makes the message.
func (s AlipaySigner) Sign(f Form) Message {
	f = f.With("sign_type", s.signType())
	return s.Send(f, s.Signature(f.Text(s.Rule)))
}

// Send makes the message of a form with a signature that need not be its own.
func (s AlipaySigner) Send(f Form, signature string) Message {
	header := http.Header{}
	header.Set("Content-Type", AlipayContentType)
	header.Set("User-Agent", "Mozilla/4.0")
	return Message{Header: header, Body: f.With("sign", signature).Encode()}
}

// Signature is the base64 signature of a text.
func (s AlipaySigner) Signature(text string) string {
	hash, digest := crypto.SHA256, sha256.Sum256([]byte(text))
	sum := digest[:]
	if s.signType() == "RSA" {
		weak := sha1.Sum([]byte(text))
		hash, sum = crypto.SHA1, weak[:]
	}
	signature, err := rsa.SignPKCS1v15(nil, s.private(), hash, sum)
	if err != nil {
		panic(fmt.Sprintf("signing in Alipay's place: %v", err)) // cannot happen with 2048 bits
	}
	return base64.StdEncoding.EncodeToString(signature)
}

func (s AlipaySigner) private() *rsa.PrivateKey {
	switch {
	case s.Private != nil:
		return s.Private
	case s.Key == "":
		return AlipayKey.Private()
	}
	return s.Key.Private()
}

func (s AlipaySigner) signType() string {
	if s.SignType == "" {
		return "RSA2"
	}
	return s.SignType
}

// AlipayTrade describes a trade_status_sync notification. Fields that are empty
// or zero are left out of the form.
type AlipayTrade struct {
	AppID, AuthAppID, SellerID   string
	OutTradeNo, TradeNo          string
	Status                       string // "TRADE_SUCCESS"
	TotalFen, RefundFen          int64  // RefundFen is the running total of all refunds
	OutBizNo                     string // the refund's number
	Subject                      string // UTF-8
	Created, Paid, Refunded, End time.Time
	NotifyID                     string
	NotifiedAt                   time.Time
}

// Form is the notification before it is signed, in UTF-8.
func (t AlipayTrade) Form() Form {
	var f Form
	add := func(name, value string) {
		if value != "" {
			f = append(f, Field{name, value})
		}
	}
	total := Yuan(t.TotalFen)
	add("gmt_create", beijing(t.Created, ""))
	add("charset", "utf-8")
	add("gmt_payment", beijing(t.Paid, ""))
	add("notify_time", beijing(t.NotifiedAt, ""))
	add("subject", t.Subject)
	add("buyer_id", "2088000000000009")
	add("invoice_amount", total)
	add("version", "1.0")
	add("notify_id", t.NotifyID)
	add("fund_bill_list", `[{"amount":"`+total+`","fundChannel":"ALIPAYACCOUNT"}]`)
	add("notify_type", "trade_status_sync")
	add("out_trade_no", t.OutTradeNo)
	add("total_amount", total)
	add("trade_status", t.Status)
	add("trade_no", t.TradeNo)
	add("auth_app_id", t.AuthAppID)
	add("receipt_amount", total)
	add("point_amount", "0.00")
	add("app_id", t.AppID)
	add("buyer_pay_amount", total)
	add("seller_id", t.SellerID)
	if t.RefundFen > 0 {
		add("refund_fee", Yuan(t.RefundFen))
	}
	add("out_biz_no", t.OutBizNo)
	add("gmt_refund", beijing(t.Refunded, ".000"))
	add("gmt_close", beijing(t.End, ""))
	return f
}

// AlipayMessage describes a message of Alipay's message service, version 1.1.
type AlipayMessage struct {
	AppID, Method, NotifyID string
	SentAt                  time.Time
	BizContent              string // JSON
	AESKey                  []byte // when set, the content is encrypted
}

// Form is the message before it is signed.
func (m AlipayMessage) Form() Form {
	f := Form{
		{"app_id", m.AppID}, {"biz_content", m.BizContent}, {"charset", "UTF-8"}, {"msg_method", m.Method},
		{"notify_id", m.NotifyID}, {"utc_timestamp", strconv.FormatInt(m.SentAt.UnixMilli(), 10)}, {"version", "1.1"},
	}
	if m.AESKey == nil {
		return f
	}
	return f.With("biz_content", encryptCBC(m.AESKey, m.BizContent)).With("encrypt_type", "AES")
}

// encryptCBC is AES-CBC with PKCS #7 padding and a zero IV, as base64: how
// Alipay encrypts biz_content.
func encryptCBC(key []byte, text string) string {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // a test's own key
	}
	pad := aes.BlockSize - len(text)%aes.BlockSize
	plain := []byte(text)
	for range pad {
		plain = append(plain, byte(pad))
	}
	cipher.NewCBCEncrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(plain, plain)
	return base64.StdEncoding.EncodeToString(plain)
}

// Yuan writes fen as Alipay does: 1000 is "10.00".
func Yuan(fen int64) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }

var china = time.FixedZone("+08:00", 8*60*60)

func beijing(t time.Time, fraction string) string {
	if t.IsZero() {
		return ""
	}
	return t.In(china).Format("2006-01-02 15:04:05" + fraction)
}
