package crashtest

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// neighbour is one of two merchants with the same app and the same platform key,
// and keys of their own.
type neighbour struct{ name, mchID, v2Key, v3Key string }

// The two number their orders alike, and are paid differently.
func neighbours() []neighbour {
	return []neighbour{
		{"m1", "1600000001", "TestKeyForReceiver00000000000001", "TestApiV3KeyForReceiver000000001"},
		{"m2", "1600000002", "TestKeyForReceiver00000000000002", "TestApiV3KeyForReceiver000000002"},
	}
}

func (n neighbour) path() string { return "/notify/wechat-" + n.name }

// paid is the payment of the i-th order: every third is told in v3.
func (n neighbour) paid(i int) payment {
	kind := v2
	if i%3 == 0 {
		kind = v3
	}
	return payment{kind, fmt.Sprintf("N%04d", i), int64(1000+i) * int64(n.mchID[len(n.mchID)-1]-'0')}
}

func (n neighbour) message(p payment, now time.Time) forge.Message {
	w := p.wechat()
	w.MchID, w.TransactionID = n.mchID, w.TransactionID+n.name
	if p.protocol == v3 {
		return forge.WechatV3Signer{APIKey: n.v3Key}.Notify(forge.WechatEvent{ID: "EV-" + w.TransactionID, Type: "TRANSACTION.SUCCESS",
			OriginalType: "transaction", CreatedAt: paidAt(), Content: w.V3()}, now)
	}
	return forge.WechatV2Signer{APIKey: n.v2Key}.Sign(w.V2())
}

func (n neighbour) refund(p payment) forge.Message {
	w := p.wechat()
	outer, inner := forge.WechatRefund{MchID: n.mchID, AppID: appID, OutTradeNo: p.number, TransactionID: w.TransactionID + n.name,
		OutRefundNo: "R" + p.number, RefundID: "50" + p.number + n.name, TotalFen: p.fen, RefundFen: p.fen, RefundedAt: paidAt()}.V2()
	return forge.WechatV2Signer{APIKey: n.v2Key}.Seal(outer, inner)
}

// P45: a thousand notifications of two merchants in turns, at once, each on its
// merchant's path: none is taken for the other's. What is posted to the
// neighbour's path is refused.
func TestP45Merchants(t *testing.T) {
	s := newSite(t)
	s.write(t, "keys/platform.pem", forge.WechatCertificatePEM())
	text := fmt.Appendf(nil, "listen: \"127.0.0.1:0\"\nadmin: {listen: \"127.0.0.1:0\", token: %s}\nstore: \"sqlite:n.db\"\nmerchants: [{name: m1}, {name: m2}]\naccounts:\n", adminToken)
	for _, n := range neighbours() {
		text = fmt.Appendf(text, "  - {name: wechat-%s, merchant: %s, provider: wechat, mchid: %q, appids: [%s], api_v2_key: %s, api_v3_key: %s, certificates: [{file: keys/platform.pem}]}\n",
			n.name, n.name, n.mchID, appID, n.v2Key, n.v3Key)
	}
	s.write(t, "notifyd.yaml", text)
	p := s.start(t)
	client, now := newClient(t), time.Now()

	const turns = 1000
	orders := turns / len(neighbours())
	next := make(chan int)
	var work sync.WaitGroup
	for range 32 {
		work.Go(func() {
			for i := range next {
				n := neighbours()[i%2]
				x := n.paid(i / 2)
				if a := post(client, p.public+n.path(), n.message(x, now)); !a.acked(x.protocol) {
					t.Errorf("%s, order %s: %s", n.name, x.number, a)
				}
			}
		})
	}
	for i := range turns {
		next <- i
	}
	close(next)
	work.Wait()

	for i, n := range neighbours() {
		other := neighbours()[1-i]
		for number := range orders {
			x := n.paid(number)
			wantPaidOnce(t, p.story(t, client, x.number+"?merchant="+n.name), x.fen)
		}
		for _, kind := range []payment{{v2, "X1", 1}, {v3, "X2", 1}, n.paid(1), n.paid(3)} {
			if a := post(client, p.public+other.path(), n.message(kind, now)); a.status != http.StatusUnauthorized {
				t.Errorf("%s of %s on the path of %s: %s", kind.number, n.name, other.name, a)
			}
		}
		if a := post(client, p.public+other.path(), n.refund(n.paid(1))); a.status != http.StatusUnauthorized {
			t.Errorf("a refund of %s on the path of %s: %s", n.name, other.name, a)
		}
	}
	for _, n := range neighbours() {
		if found := p.count(t, client, "/admin/v1/orders?status="+string(order.Paid)+"&merchant="+n.name); found != orders {
			t.Errorf("%s has %d paid orders, %d were paid", n.name, found, orders)
		}
		if found := p.count(t, client, "/admin/v1/notifications?merchant="+n.name); found != orders {
			t.Errorf("%s has %d notifications, %d were sent to it", n.name, found, orders)
		}
		// On its own path the refund is good.
		if a := post(client, p.public+n.path(), n.refund(n.paid(1))); !a.acked(v2) {
			t.Errorf("a refund of %s on its own path: %s", n.name, a)
		}
	}
	p.stop(t)
}
