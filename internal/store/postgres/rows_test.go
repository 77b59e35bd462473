package postgres_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// A request of a usual size stays in its row: in the table for long values each of
// its columns would be a row of its own, with an index entry.
func TestANotificationIsOneRow(t *testing.T) {
	url := pgtest.Database(t)
	db := open(t, url)
	at := time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	n := order.Row{ID: "ntf_1", ReceivedAt: at, Provider: "wechat", Account: "wechat", Merchant: "default", OutTradeNo: "T1",
		Kind: order.KindPaid, Outcome: order.Applied, Copies: 1,
		Results: []order.FactResult{{Merchant: "default", OutTradeNo: "T1", Kind: order.KindPaid, Outcome: order.Applied}},
		Capture: order.Capture{RequestLine: "POST / HTTP/1.1", Header: bytes.Repeat([]byte("A: b\r\n"), 200), Body: bytes.Repeat([]byte("b"), 2000)}}
	want := order.Want{FactKeys: []order.FactKey{n.FactKey}}
	err := db.Transact(t.Context(), want, func(*order.Found) (*order.Changes, error) {
		return &order.Changes{Notifications: []order.Row{n}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var bytesBeside int64
	const beside = `select pg_relation_size(reltoastrelid) from pg_class where relname = 'notifications'`
	if err := raw(t, url).QueryRow(t.Context(), beside).Scan(&bytesBeside); err != nil {
		t.Fatal(err)
	}
	if bytesBeside != 0 {
		t.Errorf("%d bytes are kept beside the row", bytesBeside)
	}
}
