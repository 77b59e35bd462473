package main

import (
	"bytes"
	"errors"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/config"
)

// demoStep is one thing that happens in the demo: a message that is sent, or an
// order that the shop registers.
type demoStep struct {
	who, what string
	orders    []string
	message   simulator.Message
	expectFen int64 // instead of a message: register the order with this amount
}

const (
	v3Name, v2Name, aliName, shopName = "WeChat Pay v3", "WeChat Pay v2", "Alipay", "the shop"

	onWechat, onAlipay = "wechat", "alipay"
)

// cast are those who send the demo's messages.
type cast struct {
	v3, v2, alipay *simulator.Simulator
	publicKey      *simulator.Simulator // v3, signed with the public key
	stranger       *simulator.Simulator // v3, signed with a key that is not WeChat Pay's
}

func newCast(conf *config.Config, keys *simulator.Keys) (cast, error) {
	switched, wrong := *keys, *keys
	switched.Platform = simulator.Certificate{Serial: keys.PublicKey.ID, PEM: keys.Platform.PEM, Private: keys.PublicKey.Private}
	wrong.Platform.Private = keys.Alipay
	var c cast
	var faults []error
	for _, part := range []struct {
		into     **simulator.Simulator
		keys     *simulator.Keys
		account  string
		protocol simulator.Protocol
	}{
		{&c.v3, keys, onWechat, simulator.WechatV3}, {&c.v2, keys, onWechat, simulator.WechatV2}, {&c.alipay, keys, onAlipay, simulator.Alipay},
		{&c.publicKey, &switched, onWechat, simulator.WechatV3}, {&c.stranger, &wrong, onWechat, simulator.WechatV3},
	} {
		all, err := keyring{keys: part.keys}.simulators(conf, part.account, part.protocol)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		*part.into = all[0]
	}
	return c, errors.Join(faults...)
}

// story is what happens, in this order. Its messages are made at now.
func (c cast) story(now time.Time) ([]demoStep, error) {
	s := &storyteller{cast: c, now: now}
	s.wechat()
	s.alipayTrades()
	return s.steps, s.err
}

// storyteller gathers the steps.
type storyteller struct {
	cast
	now   time.Time
	steps []demoStep
	err   error
}

func (s *storyteller) order(number string, fen int64) simulator.Order {
	return simulator.Order{OutTradeNo: number, AmountFen: fen, PaidAt: s.now}
}

func (s *storyteller) expects(number string, fen int64, what string) {
	s.steps = append(s.steps, demoStep{who: shopName, what: what, orders: []string{number}, expectFen: fen})
}

func (s *storyteller) says(who, what string, n simulator.Notification, orders ...string) {
	s.steps = append(s.steps, demoStep{who: who, what: what, orders: orders, message: n.At(s.now)})
}

// must notes what could not be made.
func (s *storyteller) must(n simulator.Notification, err error) simulator.Notification {
	s.err = errors.Join(s.err, err)
	return n
}

func (s *storyteller) refund(by *simulator.Simulator, o simulator.Order, fen, totalFen int64) simulator.Notification {
	return s.must(by.Refund(o, simulator.Refund{AmountFen: fen, TotalFen: totalFen, At: s.now}))
}

func (s *storyteller) wechat() {
	first, second, third := s.order("T1001", 1000), s.order("T1002", 1000), s.order("T1003", 500)
	fifth, sixth := s.order("T1005", 1), s.order("T1006", 3000)
	seventh, eighth := s.order("T1007", 1200), s.order("T1008", 800)

	s.expects("T1001", 1000, "expects 10.00 yuan")
	s.says(v3Name, "paid 10.00", s.v3.Payment(first), "T1001")
	s.says(v3Name, "the same again, byte for byte", s.v3.Payment(first), "T1001")
	s.says(v3Name, "paid, signed by a stranger", s.stranger.Payment(second), "T1002")
	s.says(v3Name, "WeChat's own test of our check", s.v3.Payment(second).Probe(), "T1002")
	s.says(v3Name, "genuine, for another merchant", s.must(s.v3.Payment(second).With(simulator.Set("mchid", "1600000099"))), "T1002")
	s.says(v2Name, "paid 5.00", s.v2.Payment(third), "T1003")
	s.says(v2Name, "refunded 2.00 (encrypted)", s.refund(s.v2, third, 200, 0), "T1003")
	s.expects("T1005", 2000, "expects 20.00 yuan")
	s.says(v3Name, "paid 0.01 only", s.v3.Payment(fifth), "T1005")
	s.says(v3Name, "refunded 9.00, comes before paid", s.refund(s.v3, sixth, 900, 0), "T1006")
	s.says(v3Name, "paid 30.00, comes after its refund", s.v3.Payment(sixth), "T1006")
	s.says(v3Name, "two orders paid in one", s.must(s.publicKey.Combined("C1007", seventh, eighth)), "T1007", "T1008")
}

func (s *storyteller) alipayTrades() {
	fourth, ninth, tenth := s.order("T1004", 8800), s.order("T1009", 1800), s.order("T1010", 990000)

	s.says(aliName, "waits for the buyer", s.must(s.alipay.Waiting(fourth)), "T1004")
	s.says(aliName, "paid 88.00", s.alipay.Payment(fourth), "T1004")
	s.says(aliName, "refunded 30.00 of it", s.refund(s.alipay, fourth, 3000, 3000), "T1004")
	s.says(aliName, "refunded 88.00 in all, closed", s.refund(s.alipay, fourth, 5800, 8800), "T1004")
	s.says(aliName, "paid 18.00, in GBK", s.alipay.Payment(ninth).InGBK("GBK"), "T1009")
	s.says(aliName, "waits for the buyer, out of order", s.must(s.alipay.Waiting(ninth)), "T1009")
	s.says(aliName, "paid, amount changed on the way", s.alipay.Payment(tenth), "T1010")
	last := &s.steps[len(s.steps)-1].message
	last.Body = bytes.Replace(last.Body, []byte("total_amount=9900.00"), []byte("total_amount=9.90"), 1)
}
