package play

import (
	"errors"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// What a plan calls a probe is the simulator's, and a provider that sends none is
// not made to: its message would be a true one.
func TestProbesAreTheSimulators(t *testing.T) {
	keys, err := simulator.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	account := simulator.Account{Name: "pay", MchID: "1600000001", AppID: "wxtest0000000001", APIv3Key: "ThrowAwayKeyForTests000000000002",
		APIv2Key: "ThrowAwayKeyForTests000000000001", AlipayAppID: "2021000000000001"}
	for _, p := range simulator.Protocols() {
		s, err := simulator.New(p, account, keys)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewTeller(s, "default").Message(Notice{Kind: Probe, OutTradeNo: "T1", AmountFen: 1, PaidAt: at}, at)
		if p != simulator.WechatV3 {
			if !errors.Is(err, simulator.ErrNever) {
				t.Errorf("%s sends probes: %v", p, err)
			}
			continue
		}
		want := s.Payment(simulator.Order{OutTradeNo: "T1", AmountFen: 1, PaidAt: at}).Probe().At(at)
		const signature = "Wechatpay-Signature"
		if err != nil || got.Header.Get(signature) != want.Header.Get(signature) || want.Header.Get(signature) == "" {
			t.Errorf("%v: %q, want %q", err, got.Header.Get(signature), want.Header.Get(signature))
		}
	}
}
