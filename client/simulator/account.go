package simulator

import (
	"crypto/aes"
	"encoding/base64"
	"errors"
	"fmt"
)

// Protocol is how a provider notifies.
type Protocol string

// The protocols.
const (
	WechatV3 Protocol = "wechat-v3" // WeChat Pay, API v3: JSON, signed with RSA, content encrypted
	WechatV2 Protocol = "wechat-v2" // WeChat Pay, API v2: XML, signed with the API key
	Alipay   Protocol = "alipay"    // Alipay: a form, signed with RSA
)

// Protocols lists all of them.
func Protocols() []Protocol { return []Protocol{WechatV3, WechatV2, Alipay} }

// Secret is a key that prints as a mask.
type Secret string

const mask = "***"

func (s Secret) String() string               { return mask }
func (s Secret) GoString() string             { return mask }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(mask)) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// Account is whose notifications are simulated: what the receiver's
// configuration says of the account, as far as messages show it.
type Account struct {
	Name string // the last part of the notify URL

	// At WeChat Pay.
	MchID       string // the merchant number; in partner mode the service provider's
	AppID       string
	SubMchIDs   []string // partner mode: sub-merchants that are accepted
	APIv3Key    Secret   // 32 bytes; WechatV3 needs it
	APIv2Key    Secret   // WechatV2 needs it
	V2SignTypes []string // accepted, of MD5 and HMAC-SHA256; none: both. The first one signs

	// At Alipay.
	AlipayAppID string
	SellerID    string   // "" is a made-up one
	AuthAppIDs  []string // merchants that authorised the application
	SignTypes   []string // accepted, of RSA2 and RSA; none: RSA2. The first one signs
	AESKey      Secret   // base64; for encrypted messages of the message service
}

const (
	apiV3KeyBytes = 32
	// signMD5 and signHMAC are the two ways in which v2 signs, signRSA2 and signRSA
	// those of Alipay.
	signMD5, signHMAC = "MD5", "HMAC-SHA256"
	signRSA2, signRSA = "RSA2", "RSA"
)

func (a Account) v2SignTypes() []string {
	if len(a.V2SignTypes) == 0 {
		return []string{signMD5, signHMAC}
	}
	return a.V2SignTypes
}

func (a Account) alipaySignTypes() []string {
	if len(a.SignTypes) == 0 {
		return []string{signRSA2}
	}
	return a.SignTypes
}

// aesKey is the key of encrypted messages; nil when the account has none.
func (a Account) aesKey() ([]byte, error) {
	if a.AESKey == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(string(a.AESKey))
	if err == nil {
		_, err = aes.NewCipher(key)
	}
	if err != nil { // which is not told: it could show a part of the key
		return nil, fmt.Errorf("the AES key of the account %s is not the base64 of 16, 24 or 32 bytes", a.Name)
	}
	return key, nil
}

// errNoKeys is what a simulator without keys would be: it must never fall back
// to keys that others have as well.
var errNoKeys = errors.New("a simulator needs keys: NewKeys makes them, LoadKeys reads them")

// check says what of the account is missing for the protocol.
func (a Account) check(p Protocol, k *Keys) error {
	missing := func(what string) error {
		return fmt.Errorf("the account %s has no %s, and %s needs one", a.Name, what, p)
	}
	switch {
	case a.Name == "":
		return errors.New("the account has no name")
	case p == Alipay && a.AlipayAppID == "":
		return missing("app id at Alipay")
	case p == Alipay:
		if _, err := a.aesKey(); err != nil {
			return err
		}
		return require(k != nil && k.Alipay != nil)
	case p != WechatV3 && p != WechatV2:
		return fmt.Errorf("there is no protocol %q: choose among %v", p, Protocols())
	case a.MchID == "":
		return missing("merchant number (mchid)")
	case a.AppID == "":
		return missing("app id (appids)")
	case p == WechatV2 && a.APIv2Key == "":
		return missing("API v2 key")
	case p == WechatV2:
		return nil // signs with the API key alone
	case a.APIv3Key == "":
		return missing("API v3 key")
	case len(a.APIv3Key) != apiV3KeyBytes:
		return fmt.Errorf("the API v3 key of the account %s has %d bytes, not %d", a.Name, len(a.APIv3Key), apiV3KeyBytes)
	}
	return require(k != nil && k.Platform.Private != nil && k.NextPlatform.Private != nil && k.PublicKey.Private != nil)
}

func require(keys bool) error {
	if !keys {
		return errNoKeys
	}
	return nil
}
