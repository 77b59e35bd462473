package peer

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/bench/message"
)

const orderNumber = 42

// Both peers read what the benchmark sends, and say the same of it.
func TestPeersReadTheMessages(t *testing.T) {
	ours, err := newGopay()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := newSDK()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		kind   message.Kind
		parse  func(*http.Request) (fact, error)
		refund bool
	}{
		{"gopay", message.V3Paid, ours.wechatV3, false},
		{"gopay", message.V3Refund, ours.wechatV3, true},
		{"gopay", message.V2Paid, ours.wechatV2, false},
		{"gopay", message.V2Refund, ours.wechatV2, true},
		{"gopay", message.AliPaid, ours.alipay, false},
		{"gopay", message.AliRefund, ours.alipay, true},
		{"sdk", message.V3Paid, theirs.wechatV3, false},
		{"sdk", message.V3Refund, theirs.wechatV3, true},
		{"sdk", message.AliPaid, theirs.alipay, false},
		{"sdk", message.AliRefund, theirs.alipay, true},
	} {
		f, err := c.parse(request(c.kind))
		if err != nil {
			t.Errorf("%s refuses %s: %v", c.name, c.kind, err)
			continue
		}
		if f.OutTradeNo != account.OrderNo(orderNumber) || f.AmountFen != account.AmountFen(orderNumber) || f.Refund != c.refund || f.At.IsZero() || f.Key == "" {
			t.Errorf("%s reads of %s: %+v", c.name, c.kind, f)
		}
	}
	for name, parse := range map[string]func(*http.Request) (fact, error){"gopay": ours.wechatV3, "sdk": theirs.wechatV3} {
		if f, err := parse(request(message.V3Unproven)); err == nil {
			t.Errorf("%s takes a bad signature: %+v", name, f)
		}
	}
}

func request(k message.Kind) *http.Request {
	m := message.Make(k, orderNumber, time.Now())
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(m.Body))
	for name := range m.Header {
		r.Header.Set(name, m.Header.Get(name))
	}
	return r
}

func TestDecide(t *testing.T) {
	now := time.Now()
	open := order{OutTradeNo: "T1", AmountFen: 1000, Status: "created"}
	paid := open
	paid.Status, paid.ProviderTxnID = statusPaid, "4200"
	for name, c := range map[string]struct {
		order  order
		known  bool
		fact   fact
		event  string
		status string
	}{
		"paid":           {open, true, fact{AmountFen: 1000, TxnID: "4200"}, eventPaid, statusPaid},
		"another amount": {open, true, fact{AmountFen: 999, TxnID: "4200"}, eventConflict, "created"},
		"unknown":        {order{}, false, fact{AmountFen: 1000, TxnID: "4200"}, eventConflict, ""},
		"paid twice":     {paid, true, fact{AmountFen: 1000, TxnID: "4201"}, eventConflict, statusPaid},
		"part refunded":  {paid, true, fact{AmountFen: 300, TxnID: "4200", Refund: true}, eventRefunded, statusPaid},
		"all refunded":   {paid, true, fact{AmountFen: 1000, TxnID: "4200", Refund: true}, eventRefunded, statusRefunded},
		"too much":       {paid, true, fact{AmountFen: 1001, TxnID: "4200", Refund: true}, eventConflict, statusPaid},
		"another's":      {paid, true, fact{AmountFen: 10, TxnID: "4201", Refund: true}, eventConflict, statusPaid},
	} {
		d, err := decide(c.order, c.known, c.fact, now)
		if err != nil || d.event != c.event || d.order.Status != c.status || d.changed != (c.event != eventConflict) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}
