package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/config"
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
      - {id: %s, file: simulator/wechat_public_key.pem}
    certificates:
      - {file: simulator/wechat_platform_cert.pem}
      - {file: simulator/wechat_platform_next_cert.pem}
  - name: alipay                         # POST /notify/alipay
    provider: alipay
    app_id: %q
    seller_id: %q
    public_keys:
      - {file: simulator/alipay_public_key.pem}
`

// apiKeyLength is that of both of WeChat Pay's API keys.
const apiKeyLength = 32

// writeShop fills the folder and returns the token of its admin API.
func (d *demo) writeShop() (config.Secret, error) {
	var err error
	if d.keys, err = simulator.NewKeys(); err == nil {
		err = d.keys.Save(d.path(simulatorFolder))
	}
	if err != nil {
		return "", err
	}
	token := rand.Text()
	for name, text := range map[string]string{
		"keys/admin_token": token,
		"keys/api_v2_key":  (rand.Text() + rand.Text())[:apiKeyLength],
		"keys/api_v3_key":  (rand.Text() + rand.Text())[:apiKeyLength],
	} {
		if err := d.write(name, []byte(text+"\n")); err != nil {
			return "", err
		}
	}
	return config.Secret(token), d.writeConfig("127.0.0.1:0", "127.0.0.1:0")
}

// writeConfig writes the configuration with the addresses of the listeners: the
// commands that the reader tries next look there.
func (d *demo) writeConfig(public, private string) error {
	return d.write("notifyd.yaml", fmt.Appendf(nil, demoConfig, public, private,
		demoMchID, demoAppID, d.keys.PublicKey.ID, demoAliApp, demoSellerID))
}

func (d *demo) write(name string, text []byte) error {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
