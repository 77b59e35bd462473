package simulator_test

import (
	"slices"
	"testing"

	"github.com/notifyd/notifyd/client/simulator"
)

// A notification names the orders that its receiver reads from it: in every
// scenario, every message that is about orders.
func TestNotificationsNameTheirOrders(t *testing.T) {
	several := map[string]bool{}
	told(t, func(t *testing.T, s *simulator.Simulator, c simulator.Scenario, story simulator.Story) {
		r := receiver(t, s.Protocol(), s.Account(), keysFor(t))
		for _, step := range story.Steps {
			read, err := parse(r, step.Notification.At(noon))
			if err != nil {
				continue // it says nothing that counts
			}
			var want []string
			for _, f := range read.Facts {
				if f.OutTradeNo != "" && !slices.Contains(want, f.OutTradeNo) {
					want = append(want, f.OutTradeNo)
				}
			}
			got := step.Notification.OutTradeNos()
			if len(want) > 0 && !slices.Equal(got, want) {
				t.Errorf("%s: names %q, %q is read", step.What, got, want)
			}
			several[c.Name] = several[c.Name] || len(got) > 1
		}
	})
	if !several["combined"] {
		t.Error("a combined payment names one order")
	}
}

// What is changed before signing names the changed order; what is about no order
// names none.
func TestChangedAndOrderlessNotifications(t *testing.T) {
	for p, edit := range map[simulator.Protocol]simulator.Edit{
		simulator.WechatV3: simulator.SetJSON("out_trade_no", "7"),
		simulator.WechatV2: simulator.Set("out_trade_no", "7"),
		simulator.Alipay:   simulator.Set("out_trade_no", "7"),
	} {
		n, err := newSimulator(t, p).Payment(testOrder()).With(edit)
		if err != nil || !slices.Equal(n.OutTradeNos(), []string{"7"}) {
			t.Errorf("%s: %q, %v", p, n.OutTradeNos(), err)
		}
		if n, err = n.With(simulator.Drop("out_trade_no")); err != nil || len(n.OutTradeNos()) != 0 {
			t.Errorf("%s: %q, %v", p, n.OutTradeNos(), err)
		}
	}
}
