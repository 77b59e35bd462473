package forge

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

var wechatNoon = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)

func wechatPayment() WechatPayment {
	return WechatPayment{MchID: "1600000001", AppID: "wxtest0000000001", OutTradeNo: "T202601010001",
		TransactionID: "4200000000202601010000000001", TotalFen: 1000, Currency: "CNY", PaidAt: wechatNoon}
}

// TestWechatV3SignsAndSeals reads a message back with nothing but the standard library.
func TestWechatV3SignsAndSeals(t *testing.T) {
	event := WechatEvent{Type: "TRANSACTION.SUCCESS", OriginalType: "transaction", CreatedAt: wechatNoon, Content: wechatPayment().V3()}
	m := WechatV3Signer{}.Notify(event, wechatNoon)
	block, _ := pem.Decode(WechatCertificatePEM())
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if serial := m.Header.Get("Wechatpay-Serial"); !strings.EqualFold(serial, cert.SerialNumber.Text(16)) {
		t.Errorf("serial %s, the certificate has %x", serial, cert.SerialNumber)
	}
	digest := sha256.Sum256([]byte(m.Header.Get("Wechatpay-Timestamp") + "\n" + m.Header.Get("Wechatpay-Nonce") + "\n" + string(m.Body) + "\n"))
	signature, err := base64.StdEncoding.DecodeString(m.Header.Get("Wechatpay-Signature"))
	if err != nil {
		t.Fatal(err)
	}
	if err := rsa.VerifyPKCS1v15(cert.PublicKey.(*rsa.PublicKey), crypto.SHA256, digest[:], signature); err != nil {
		t.Error(err)
	}

	var envelope struct {
		Resource struct {
			Ciphertext     []byte
			Nonce          string
			AssociatedData string `json:"associated_data"`
		}
	}
	if err := json.Unmarshal(m.Body, &envelope); err != nil {
		t.Fatal(err)
	}
	aesBlock, err := aes.NewCipher([]byte(WechatV3Key))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(aesBlock)
	if err != nil {
		t.Fatal(err)
	}
	r := envelope.Resource
	plain, err := aead.Open(nil, []byte(r.Nonce), r.Ciphertext, []byte(r.AssociatedData))
	if err != nil || !bytes.Equal(plain, event.Content) {
		t.Errorf("opens to %q, %v", plain, err)
	}
	if again := (WechatV3Signer{}).Notify(event, wechatNoon); !bytes.Equal(again.Body, m.Body) || again.Header.Get("Wechatpay-Signature") != m.Header.Get("Wechatpay-Signature") {
		t.Error("the same event was sealed or signed differently")
	}
}

// TestWechatV2CheckValues: the digests were computed elsewhere for these fields.
func TestWechatV2CheckValues(t *testing.T) {
	f := wechatPayment().V2()
	for _, c := range []struct {
		signer WechatV2Signer
		fields Form
		want   string
	}{
		{WechatV2Signer{}, f, "468886951A95FD4C3417B15FEABC3D87"},
		{WechatV2Signer{SignType: "HMAC-SHA256"}, f, "D0F8A54F9A7DF58A6A55F604037A48622A8B395DCC58EF2CA4F2508B71B96D1F"},
		{WechatV2Signer{}, f.With("sign_type", "MD5"), "EB1A738FEF8403212AA64BAA09F46F6F"},
	} {
		if got := c.signer.Signature(c.fields); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestXMLIsReadBack(t *testing.T) {
	f := NewForm("a", "<b>&c]]>d", "e", "茶", "f", "")
	var read struct {
		A string `xml:"a"`
		E string `xml:"e"`
		F string `xml:"f"`
	}
	if err := xml.Unmarshal(f.XML("xml"), &read); err != nil {
		t.Fatal(err)
	}
	if read.A != "<b>&c]]>d" || read.E != "茶" || read.F != "" {
		t.Errorf("%+v", read)
	}
}

func TestReqInfoIsECB(t *testing.T) {
	_, inner := WechatRefund{OutTradeNo: "T1", RefundID: "5", RefundFen: 300, TotalFen: 1000}.V2()
	sealed, err := base64.StdEncoding.DecodeString(WechatV2Signer{}.ReqInfo(inner.XML("root")))
	if err != nil {
		t.Fatal(err)
	}
	key, _ := hex.DecodeString("3434613238623739373738346562663930363966366261616539333965346466") // the hex text of the MD5, not the MD5
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, aes.BlockSize)
	block.Decrypt(first, sealed)
	if string(first) != "<root><out_trade" {
		t.Errorf("first block %q", first)
	}
}
