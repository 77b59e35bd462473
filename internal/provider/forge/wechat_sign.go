package forge

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WechatCertificatePEM is the platform certificate under WechatSerial.
func WechatCertificatePEM() []byte { return PlatformKey.wechatCertificate(WechatSerial) }

// Wechat2CertificatePEM is the platform certificate that follows it.
func Wechat2CertificatePEM() []byte { return Platform2Key.wechatCertificate(Wechat2Serial) }

func (k Key) wechatCertificate(serial string) []byte {
	return k.CertificatePEM(Cert{
		Subject:   pkix.Name{CommonName: "WeChat Pay platform (throw-away, test only)"},
		Issuer:    pkix.Name{CommonName: "throw-away root, test only"},
		SerialHex: serial,
	})
}

// WechatV3Signer seals and signs v3 messages in WeChat Pay's place. The zero value
// signs with the platform certificate's key and seals with WechatV3Key.
type WechatV3Signer struct {
	Key     Key             // "" is PlatformKey
	Private *rsa.PrivateKey // set: signs with it, and Key is not looked at
	Serial  string          // "" is the one that belongs to Key
	APIKey  string          // "" is WechatV3Key
}

// WechatEvent is a v3 notification before it is sealed and signed.
type WechatEvent struct {
	ID                string // "EV-…"; "" is made of the content
	Type              string // "TRANSACTION.SUCCESS"
	OriginalType      string // "transaction"
	Summary           string
	CreatedAt         time.Time
	Content           []byte // JSON, what the resource decrypts to
	NoAssociatedData  bool   // leave associated_data out, as some products do
	Algorithm         string // "" is AEAD_AES_256_GCM, whatever it is sealed with
	AssociatedDataToo string // put in associated_data after sealing, which breaks it
}

// Notify is the whole message, sent at t.
func (s WechatV3Signer) Notify(e WechatEvent, t time.Time) Message { return s.Sign(s.Envelope(e), t) }

// Envelope is the body of a message.
func (s WechatV3Signer) Envelope(e WechatEvent) []byte {
	type resource struct {
		OriginalType   string  `json:"original_type,omitempty"`
		Algorithm      string  `json:"algorithm"`
		Ciphertext     string  `json:"ciphertext"`
		AssociatedData *string `json:"associated_data,omitempty"`
		Nonce          string  `json:"nonce"`
	}
	digest := sha256.Sum256(append([]byte(e.ID+e.Type), e.Content...))
	nonce := hex.EncodeToString(digest[:])[:12]
	r := resource{OriginalType: e.OriginalType, Algorithm: orElse(e.Algorithm, "AEAD_AES_256_GCM"), Nonce: nonce}
	associated := ""
	if !e.NoAssociatedData {
		associated = e.OriginalType
		r.AssociatedData = &associated
	}
	r.Ciphertext = s.Seal(e.Content, nonce, associated)
	if e.AssociatedDataToo != "" {
		r.AssociatedData = &e.AssociatedDataToo
	}
	return encodeJSON(struct {
		ID           string   `json:"id"`
		CreateTime   string   `json:"create_time"`
		ResourceType string   `json:"resource_type"`
		EventType    string   `json:"event_type"`
		Summary      string   `json:"summary"`
		Resource     resource `json:"resource"`
	}{orElse(e.ID, "EV-"+hex.EncodeToString(digest[:16])), rfc3339(e.CreatedAt), "encrypt-resource", e.Type, orElse(e.Summary, "支付成功"), r})
}

// Seal encrypts content as a resource's ciphertext, in base64. A nonce of
// another length than 12 bytes is sealed under its own rules, for tests.
func (s WechatV3Signer) Seal(content []byte, nonce, associatedData string) string {
	block, err := aes.NewCipher([]byte(orElse(s.APIKey, WechatV3Key)))
	if err != nil {
		panic(err) // a test's own key
	}
	aead, err := cipher.NewGCMWithNonceSize(block, len(nonce))
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(aead.Seal(nil, []byte(nonce), content, []byte(associatedData)))
}

// Sign signs a body as it is, sent at t.
func (s WechatV3Signer) Sign(body []byte, t time.Time) Message {
	timestamp := strconv.FormatInt(t.Unix(), 10)
	digest := sha256.Sum256(append([]byte(timestamp), body...))
	nonce := hex.EncodeToString(digest[:16])
	return s.SignWith(body, timestamp, nonce)
}

// SignWith signs a body with any timestamp and nonce, for tests.
func (s WechatV3Signer) SignWith(body []byte, timestamp, nonce string) Message {
	digest := sha256.Sum256([]byte(timestamp + "\n" + nonce + "\n" + string(body) + "\n"))
	signature, err := rsa.SignPKCS1v15(nil, s.private(), crypto.SHA256, digest[:])
	if err != nil {
		panic(fmt.Sprintf("signing as %s: %v", s.serial(), err)) // cannot happen with 2048 bits
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Wechatpay-Timestamp", timestamp)
	header.Set("Wechatpay-Nonce", nonce)
	header.Set("Wechatpay-Serial", s.serial())
	header.Set("Wechatpay-Signature-Type", "WECHATPAY2-SHA256-RSA2048")
	header.Set("Wechatpay-Signature", base64.StdEncoding.EncodeToString(signature))
	return Message{Header: header, Body: slices.Clone(body)}
}

func (s WechatV3Signer) private() *rsa.PrivateKey {
	if s.Private != nil {
		return s.Private
	}
	return s.key().Private()
}

func (s WechatV3Signer) key() Key {
	if s.Key == "" {
		return PlatformKey
	}
	return s.Key
}

func (s WechatV3Signer) serial() string {
	if s.Serial != "" {
		return s.Serial
	}
	switch s.key() {
	case WechatPublicKey:
		return WechatPublicKeyID
	case Platform2Key:
		return Wechat2Serial
	}
	return WechatSerial
}

// WechatV2Signer signs and seals v2 messages in WeChat Pay's place. The zero
// value uses WechatV2Key and MD5.
type WechatV2Signer struct {
	APIKey   string
	SignType string // "MD5" or "HMAC-SHA256"; not sent by itself
}

// Sign adds sign and makes the message.
func (s WechatV2Signer) Sign(f Form) Message {
	return SendXML(f.With("sign", s.Signature(f)).XML("xml"))
}

// Signature is sign for the fields: all but sign and the empty ones, sorted by
// name, values as they are.
// Source: WeChat Pay docs, v2, "signature algorithm".
func (s WechatV2Signer) Signature(f Form) string {
	key := orElse(s.APIKey, WechatV2Key)
	text := f.filled().Without("sign").Text(Rule{KeepSignType: true}) + "&key=" + key
	if s.SignType == "HMAC-SHA256" {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		return strings.ToUpper(hex.EncodeToString(mac.Sum(nil)))
	}
	sum := md5.Sum([]byte(text))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// Seal encrypts the inner fields into req_info and makes the message.
func (s WechatV2Signer) Seal(outer, inner Form) Message {
	return SendXML(outer.With("req_info", s.ReqInfo(inner.XML("root"))).XML("xml"))
}

// ReqInfo encrypts a document as req_info: AES-256-ECB under the small hex MD5
// of the API key, PKCS #7 padding, base64.
// Source: WeChat Pay docs, v2, "refund result notification".
func (s WechatV2Signer) ReqInfo(document []byte) string {
	sum := md5.Sum([]byte(orElse(s.APIKey, WechatV2Key)))
	return base64.StdEncoding.EncodeToString(EncryptECB([]byte(hex.EncodeToString(sum[:])), document))
}

// EncryptECB is AES-ECB with PKCS #7 padding, under any AES key.
func EncryptECB(key, document []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // a test's own key
	}
	pad := aes.BlockSize - len(document)%aes.BlockSize
	sealed := append(slices.Clone(document), slices.Repeat([]byte{byte(pad)}, pad)...)
	for i := 0; i < len(sealed); i += aes.BlockSize {
		block.Encrypt(sealed[i:], sealed[i:])
	}
	return sealed
}

// SendXML makes the message of a v2 body.
func SendXML(body []byte) Message {
	return Message{Header: http.Header{"Content-Type": {"text/xml"}}, Body: body}
}

// XML is the form as one document, in its order, values in CDATA.
func (f Form) XML(rootName string) []byte {
	var b strings.Builder
	b.WriteString("<" + rootName + ">")
	for _, p := range f {
		// A value that ends a CDATA piece is split over two.
		value := strings.ReplaceAll(p.Value, "]]>", "]]]]><![CDATA[>")
		b.WriteString("<" + p.Name + "><![CDATA[" + value + "]]></" + p.Name + ">")
	}
	b.WriteString("</" + rootName + ">")
	return []byte(b.String())
}
