package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// The accounts of the demo. No real ones: WeChat Pay and Alipay know nothing of
// these numbers.
const (
	demoMchID    = "1600000001"
	demoAppID    = "wxdemo0000000001"
	demoAliApp   = "2021000000000001"
	demoSellerID = "2088000000000001"
)

// demoConfig is the file that a reader of the demo's folder finds. The addresses
// are put in once the system has given free ports.
const demoConfig = `# Written by notifyd demo. The keys are throw-away keys that everybody has: never
# put them into a configuration of your own.
listen: %q
admin:
  listen: %q
  token_file: keys/admin_token
store: "sqlite:data/notifyd.db"
accounts:
  - name: wechat                         # POST /notify/wechat, v2 and v3
    provider: wechat
    mchid: %q
    appids: [%q]
    api_v2_key_file: keys/api_v2_key
    api_v3_key_file: keys/api_v3_key
    public_keys:
      - {id: %s, file: keys/wechatpay_pub.pem}
    certificates:
      - {file: keys/wechatpay_cert.pem}
  - name: alipay                         # POST /notify/alipay
    provider: alipay
    app_id: %q
    seller_id: %q
    public_keys:
      - {file: keys/alipay_public_key.pem}
`

// writeShop fills the folder and returns the token of its admin API.
func (d *demo) writeShop() (config.Secret, error) {
	token := rand.Text()
	for name, text := range map[string][]byte{
		"keys/admin_token":           []byte(token + "\n"),
		"keys/api_v2_key":            []byte(forge.WechatV2Key + "\n"),
		"keys/api_v3_key":            []byte(forge.WechatV3Key + "\n"),
		"keys/wechatpay_pub.pem":     forge.WechatPublicKey.PublicPEM(),
		"keys/wechatpay_cert.pem":    forge.WechatCertificatePEM(),
		"keys/alipay_public_key.pem": forge.AlipayKey.PublicPEM(),
	} {
		if err := d.write(name, text); err != nil {
			return "", err
		}
	}
	return config.Secret(token), d.writeConfig("127.0.0.1:0", "127.0.0.1:0")
}

// writeConfig writes the configuration with the addresses of the listeners: the
// commands that the reader tries next look there.
func (d *demo) writeConfig(public, private string) error {
	return d.write("notifyd.yaml", fmt.Appendf(nil, demoConfig, public, private,
		demoMchID, demoAppID, forge.WechatPublicKeyID, demoAliApp, demoSellerID))
}

func (d *demo) write(name string, text []byte) error {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
