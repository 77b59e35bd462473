package captures

import (
	"crypto/x509/pkix"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// The accounts of testdata/notifyd.yaml, which says their numbers once more.
const (
	wechat        = "wechat"         // a merchant of its own
	wechatPartner = "wechat-partner" // a service provider with two sub-merchants
	wechatHMAC    = "wechat-hmac"    // takes HMAC-SHA256 alone, in v2
	alipay        = "alipay"
	alipayCert    = "alipay-cert" // certificate mode
	alipayOld     = "alipay-old"  // RSA with SHA-1 allowed

	mchID        = "1600000001"
	partnerMchID = "1600000002"
	hmacMchID    = "1600000003"
	nobodyMchID  = "1699999999"
	subMchID     = "1900000109"
	otherSubID   = "1900000110"
	unlistedSub  = "1900000199"
	wechatApp    = "wxtest0000000001"
	partnerApp   = "wxtest0000000002"

	alipayApp     = "2021000000000001"
	alipayCertApp = "2021000000000002"
	alipayOldApp  = "2021000000000003"
	nobodyApp     = "2021000000000999"
	isvMerchant   = "2021000000000900"
	sellerID      = "2088000000000001"
	nobodySeller  = "2088000000000999"

	// partnerV2Key has an MD5 that begins with a zero, which careless hex loses.
	partnerV2Key = "TestKeyForReceiver00000000000019"
	partnerV3Key = "TestApiV3KeyForReceiver000000002"
	// AESKey is the content key of encrypted messages; its base64 stands in the
	// configuration.
	AESKey = "ThrowAwayAESKey!"
)

// mark stands above every key file.
const mark = "THROW-AWAY, TEST ONLY: its private half lies open in the source and protects nothing.\n"

func keyFiles() []File {
	name := func(cn string) pkix.Name { return pkix.Name{CommonName: cn + " (throw-away, test only)"} }
	cert := forge.Cert{Subject: name("Alipay"), Issuer: name("Root"), SerialHex: "2026010100000000000000000001"}
	files := []File{
		{"keys/alipay.pem", forge.AlipayKey.PublicPEM()},
		{"keys/alipay_cert.pem", forge.AlipayKey.CertificatePEM(cert)},
		{"keys/alipay_next.pem", forge.Alipay2Key.PublicPEM()},
		{"keys/wechatpay_cert.pem", forge.WechatCertificatePEM()},
		{"keys/wechatpay_cert_next.pem", forge.Wechat2CertificatePEM()},
		{"keys/wechatpay_pub.pem", forge.WechatPublicKey.PublicPEM()},
	}
	for i := range files {
		files[i].Content = append([]byte(mark), files[i].Content...)
	}
	return files
}
