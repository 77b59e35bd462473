package simulator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// A receiver of your own is told of a payment, and answers as the provider
// expects.
func Example() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Verify with keys.AlipayPEM(), take the payment, and then:
		fmt.Fprint(w, "success")
	}))
	defer receiver.Close()

	keys, err := simulator.NewKeys()
	if err != nil {
		panic(err)
	}
	account := simulator.Account{Name: "alipay", AlipayAppID: "2021000000000001", SellerID: "2088000000000001"}
	alipay, err := simulator.New(simulator.Alipay, account, keys)
	if err != nil {
		panic(err)
	}
	paid := alipay.Payment(simulator.Order{OutTradeNo: "T1001", AmountFen: 1000, PaidAt: time.Now()})
	sender, err := simulator.NewSender(receiver.URL)
	if err != nil {
		panic(err)
	}
	answer, err := sender.Send(context.Background(), paid.At(time.Now()))
	if err != nil {
		panic(err)
	}
	fmt.Println(simulator.Alipay.Acked(answer))
	// Output: true
}

// A receiver that takes everything fails the scenarios of what proves nothing.
func ExampleSimulator_Tell() {
	gullible := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // 200, unseen
	defer gullible.Close()
	keys, err := simulator.NewKeys()
	if err != nil {
		panic(err)
	}
	wechat, err := simulator.New(simulator.WechatV3, simulator.Account{Name: "wechat", MchID: "1600000001", AppID: "wxtest0000000001",
		APIv3Key: "ThrowAwayKeyForTests000000000002"}, keys)
	if err != nil {
		panic(err)
	}
	sender, err := simulator.NewSender(gullible.URL)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"payment", "probe", "bad-signature"} {
		scenario, _ := simulator.ScenarioNamed(name)
		story, err := wechat.Tell(scenario, simulator.Order{OutTradeNo: "T1001", AmountFen: 1000, PaidAt: time.Now()})
		if err != nil {
			panic(err)
		}
		for _, step := range story.Steps {
			answer, err := sender.Send(context.Background(), step.Notification.At(time.Now()))
			if err != nil {
				panic(err)
			}
			if simulator.WechatV3.Acked(answer) != step.Want.Acked {
				fmt.Printf("%s: %s: must be refused (%s)\n", name, step.What, step.Want.Code)
			}
		}
	}
	// Output:
	// probe: a probe: must be refused (wx.probe)
	// bad-signature: encrypted with the right key, signed with a wrong one: must be refused (wx.signature)
}

// Any field can be changed before the message is signed.
func ExampleNotification_With() {
	wechat, err := simulator.New(simulator.WechatV2, simulator.Account{Name: "wechat", MchID: "1600000001", AppID: "wxtest0000000001",
		APIv2Key: "ThrowAwayKeyForTests000000000001"}, nil)
	if err != nil {
		panic(err)
	}
	paid := wechat.Payment(simulator.Order{OutTradeNo: "T1001", AmountFen: 1000, PaidAt: time.Now()})
	free, err := paid.With(simulator.Set("total_fee", "0"), simulator.Drop("attach"))
	fmt.Println(err)
	free, err = paid.With(simulator.Set("total_fee", "0"))
	fmt.Println(len(free.At(time.Now()).Body) > 0, err)
	// Output:
	// cannot leave out attach: it is not there
	// true <nil>
}
