package order

import (
	"testing"
	"time"
)

func TestEventJSON(t *testing.T) {
	at := time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	o := Order{Key: Key{"default", "T1"}, Version: 2, Status: Paid, Provider: "wechat", Account: "wechat", ProviderTxnID: "42",
		PaidFen: 1000, PaidAt: at, CreatedAt: at, UpdatedAt: at}
	p := Payment{TxnKey: TxnKey{"wechat", "42"}, Order: o.Key, Account: "wechat", AmountFen: 1000, RefundedFen: 300, Role: Accepted, PaidAt: at}
	r := Refund{RefundKey: RefundKey{"wechat", "50"}, ProviderTxnID: "42", OutRefundNo: "R1", ProviderRefundID: "50", AmountFen: 300, Status: RefundSuccess}
	for name, c := range map[string]struct {
		event Event
		want  string
	}{
		"whole": {
			Event{ID: "evt_1", Seq: 42, Type: EventRefunded, Key: o.Key, OrderVersion: 2, NotificationID: "ntf_1", CreatedAt: at, Snapshot: snapshot(&o, &p, &r)},
			`{"id":"evt_1","seq":42,"type":"order.refunded","created_at":"2026-01-01T12:00:00+08:00","merchant":"default","order_version":2,` +
				`"order":{"merchant":"default","out_trade_no":"T1","status":"paid","version":2,"amount_fen":1000,"expected_fen":null,"amount_verified":false,` +
				`"currency":"CNY","paid_fen":1000,"refunded_fen":0,"provider":"wechat","account":"wechat","provider_txn_id":"42","late":false,"finished":false,` +
				`"paid_at":"2026-01-01T12:00:00+08:00","created_at":"2026-01-01T12:00:00+08:00","updated_at":"2026-01-01T12:00:00+08:00"},` +
				`"payment":{"provider":"wechat","account":"wechat","provider_txn_id":"42","amount_fen":1000,"refunded_fen":300,"role":"accepted","paid_at":"2026-01-01T12:00:00+08:00"},` +
				`"refund":{"provider":"wechat","provider_txn_id":"42","out_refund_no":"R1","provider_refund_id":"50","amount_fen":300,"total_fen":null,"status":"success","refunded_at":null,"role":"accepted"},` +
				`"reason":"","notification_id":"ntf_1"}`,
		},
		"about no order, without a place": {
			Event{ID: "evt_2", Type: EventUnhandled, Key: Key{Merchant: "default"}, Reason: ReasonUnreadableField, NotificationID: "ntf_2", CreatedAt: at, Snapshot: snapshot(nil, nil, nil)},
			`{"id":"evt_2","seq":null,"type":"notification.unhandled","created_at":"2026-01-01T12:00:00+08:00","merchant":"default","order_version":null,` +
				`"order":null,"payment":null,"refund":null,"reason":"unreadable_field","notification_id":"ntf_2"}`,
		},
		"a command, its snapshot lost": {
			Event{ID: "evt_3", Seq: 1, Type: EventShipped, Key: o.Key, OrderVersion: 3, CreatedAt: at, Snapshot: []byte("{")},
			`{"id":"evt_3","seq":1,"type":"order.shipped","created_at":"2026-01-01T12:00:00+08:00","merchant":"default","order_version":3,` +
				`"order":null,"payment":null,"refund":null,"reason":"","notification_id":null}`,
		},
	} {
		if got := string(c.event.JSON()); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}

func TestBaseMerchant(t *testing.T) {
	for merchant, want := range map[string]string{"default": "default", "default/1900000109": "default", "": ""} {
		if got := BaseMerchant(merchant); got != want {
			t.Errorf("%q: %q, want %q", merchant, got, want)
		}
	}
}
