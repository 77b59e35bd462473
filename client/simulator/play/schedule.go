package play

import (
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// WechatRetries are the pauses after which WeChat Pay tells a notice again that
// was not acked: 15 times within 24 h 4 m.
// Source: WeChat Pay docs, "payment notice", v2 and v3 alike.
func WechatRetries() []time.Duration {
	const s, m, h = time.Second, time.Minute, time.Hour
	return []time.Duration{15 * s, 15 * s, 30 * s, 3 * m, 10 * m, 20 * m, 30 * m, 30 * m, 30 * m, 60 * m, 3 * h, 3 * h, 3 * h, 6 * h, 6 * h}
}

// AlipayRetries are those of Alipay: 7 times, 8 deliveries in all, within 25 h.
// Source: Alipay docs, "asynchronous notification".
func AlipayRetries() []time.Duration {
	const m, h = time.Minute, time.Hour
	return []time.Duration{4 * m, 10 * m, 10 * m, 1 * h, 2 * h, 6 * h, 15 * h}
}

// retries are the pauses of a protocol in this plan.
func (p Plan) retries(of simulator.Protocol) []time.Duration {
	switch {
	case of == simulator.Alipay && p.Retries.Alipay != nil:
		return p.Retries.Alipay
	case of == simulator.Alipay:
		return AlipayRetries()
	case p.Retries.Wechat != nil:
		return p.Retries.Wechat
	}
	return WechatRetries()
}
