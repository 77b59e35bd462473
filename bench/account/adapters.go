package account

import (
	"errors"
	"io/fs"

	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/wechat"
)

// Merchant owns all orders; it is the one that a configuration without
// merchants has.
const Merchant = "default"

// Adapters are notifyd's adapters of the merchant, by the account's name.
func Adapters() (map[string]provider.Provider, error) {
	files := map[string][]byte{"wechat.pem": forge.WechatPublicKey.PublicPEM(), "alipay.pem": forge.AlipayKey.PublicPEM()}
	env := func(name string) provider.Env {
		return provider.Env{Account: name, Merchant: Merchant, ReadFile: func(path string) ([]byte, error) {
			text, found := files[path]
			if !found {
				return nil, fs.ErrNotExist
			}
			return text, nil
		}}
	}
	w, errW := wechat.New(wechat.Options{
		MchID: MchID, AppIDs: []string{AppID}, APIv2Key: forge.WechatV2Key, APIv3Key: forge.WechatV3Key,
		PublicKeys: []wechat.PublicKeyFile{{ID: forge.WechatPublicKeyID, File: "wechat.pem"}},
	}, env("wechat"))
	a, errA := alipay.New(alipay.Options{
		AppID: AliAppID, SellerID: AliSeller, PublicKeys: []alipay.KeyFile{{File: "alipay.pem"}},
	}, env("alipay"))
	if err := errors.Join(errW, errA); err != nil {
		return nil, err
	}
	return map[string]provider.Provider{"wechat": w, "alipay": a}, nil
}
