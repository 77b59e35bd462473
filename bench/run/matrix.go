package run

import (
	"fmt"

	"github.com/notifyd/notifyd/bench/message"
)

// refundOf is the message that refunds what a kind of message paid.
func refundOf(k message.Kind) message.Kind {
	switch k {
	case message.V2Paid:
		return message.V2Refund
	case message.AliPaid:
		return message.AliRefund
	}
	return message.V3Refund
}

// matrix is the rest of the whole: every kind of load at every number of
// connections to every system that knows the protocol.
func (b *bench) matrix() (all []group) {
	add := func(name string, build func() ([]measurement, error)) {
		all = append(all, group{name: name, build: plain(build)})
	}
	for _, k := range []message.Kind{message.V3Paid, message.V2Paid, message.AliPaid} {
		peers := []string{gopay, sdk}
		if k == message.V2Paid {
			peers = peers[:1] // the other one does not know v2
		}
		for _, conns := range []int{1, 16, 64, 256} {
			if k != message.V3Paid || conns == 16 {
				add(fmt.Sprintf("unique %s, %d", k, conns), func() ([]measurement, error) {
					return b.uniques(k, conns, append([]string{notifyd, notifydSQLite}, peers...)...)
				})
			}
			add(fmt.Sprintf("repeats %s, %d", k, conns), func() ([]measurement, error) {
				return b.repeats(k, conns, append([]string{notifyd}, peers...)...)
			})
			add(fmt.Sprintf("refunds %s, %d", k, conns), func() ([]measurement, error) {
				return b.refunds(k, conns, append([]string{notifyd}, peers...)...)
			})
		}
	}
	for _, conns := range []int{1, 16, 64, 256} {
		add(fmt.Sprintf("mix v3, %d", conns), func() ([]measurement, error) { return b.mixes(conns, notifyd, gopay, sdk) })
	}
	add("half of the peers' best", b.halfOfPeers)
	return all
}

// refunds refund whole orders that are paid.
func (b *bench) refunds(k message.Kind, conns int, systems ...string) (all []measurement, err error) {
	for _, s := range systems {
		t := trial{system: s, pool: b.unique(refundOf(k), b.repeatable()), conns: conns, status: "refunded"}
		if s == notifyd {
			t.template, err = b.paid(k)
		} else {
			t.template, err = b.peersPaid(k)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b.over(fmt.Sprintf("refunds %s, %s, %d", k, s, conns), t))
	}
	return all, nil
}

// mixes are 70 % unique payments, 25 % repeats, 5 % bad signatures.
func (b *bench) mixes(conns int, systems ...string) (all []measurement, err error) {
	for _, s := range systems {
		t, err := b.uniqueTrial(s, message.V3Paid, conns)
		if err != nil {
			return nil, err
		}
		t.pool, t.status = b.mixed, ""
		all = append(all, b.over(fmt.Sprintf("mix v3, %s, %d", s, conns), t))
	}
	return all, nil
}

// halfOfPeers is the open loop for each peer at half of its own best.
func (b *bench) halfOfPeers() (all []measurement, err error) {
	for _, s := range []string{gopay, sdk} {
		best := b.book.Speed(b.book.Fastest(fmt.Sprintf("unique v3, %s, 64", s), fmt.Sprintf("unique v3, %s, 256", s))).Median
		if best == 0 {
			return nil, fmt.Errorf("it needs the throughput of %s at 64 or 256 connections first", s)
		}
		t, err := b.uniqueTrial(s, message.V3Paid, 256)
		if err != nil {
			return nil, err
		}
		t.rate, t.measure = best/2, 2*b.Measure
		all = append(all, b.over("half of the best, "+s, t))
	}
	return all, nil
}
