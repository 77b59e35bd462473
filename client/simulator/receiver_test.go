package simulator_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/wechat"
)

var noon = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)

const aesKey = "VGhyb3dBd2F5QUVTS2V5IQ==" // ThrowAwayAESKey!

// testAccount is one account with everything, at both providers.
func testAccount() simulator.Account {
	return simulator.Account{Name: "pay", MchID: "1600000001", AppID: "wxtest0000000001", SubMchIDs: []string{"1900000109"},
		APIv3Key: "TestApiV3KeyForSimulator00000001", APIv2Key: "TestKeyForSimulator0000000000001",
		AlipayAppID: "2021000000000001", SellerID: "2088000000000001", AuthAppIDs: []string{"2021000000000900"}, AESKey: aesKey}
}

// receiver is the adapter of the account: what really receives.
func receiver(t testing.TB, p simulator.Protocol, a simulator.Account, k *simulator.Keys) provider.Provider {
	t.Helper()
	files := map[string][]byte{"cert": k.Platform.PEM, "next": k.NextPlatform.PEM, "public": k.PublicKey.PEM(), "alipay": k.AlipayPEM()}
	env := provider.Env{Account: a.Name, Merchant: "default", ReadFile: func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return text, nil
		}
		return nil, fs.ErrNotExist
	}}
	var made provider.Provider
	var err error
	if p == simulator.Alipay {
		made, err = alipay.New(alipay.Options{AppID: a.AlipayAppID, SellerID: a.SellerID, AuthAppIDs: a.AuthAppIDs,
			PublicKeys: []alipay.KeyFile{{File: "alipay"}}, AESKey: provider.Secret(a.AESKey)}, env)
	} else {
		made, err = wechat.New(wechat.Options{MchID: a.MchID, AppIDs: []string{a.AppID}, SubMchIDs: a.SubMchIDs,
			APIv2Key: provider.Secret(a.APIv2Key), APIv3Key: provider.Secret(a.APIv3Key),
			PublicKeys:   []wechat.PublicKeyFile{{ID: k.PublicKey.ID, File: "public"}},
			Certificates: []wechat.CertificateFile{{File: "cert"}, {File: "next"}}}, env)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func newSimulator(t testing.TB, p simulator.Protocol) *simulator.Simulator {
	t.Helper()
	s, err := simulator.New(p, testAccount(), keysFor(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(p provider.Provider, m simulator.Message) (order.Notification, error) {
	header := http.Header{}
	for name, values := range m.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return p.Parse(provider.Request{Header: header, Body: m.Body, ReceivedAt: m.SentAt})
}

// said is what a notification says, in few words.
func said(n order.Notification) string {
	text := string(n.Kind)
	for _, f := range n.Facts {
		text += fmt.Sprintf(" | %s %s %s %s %d %d %s", f.Kind, f.Merchant, f.OutTradeNo, f.ProviderTxnID, f.AmountFen, f.RunningTotalFen, f.OutRefundNo)
	}
	return text
}
