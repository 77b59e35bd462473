package message

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// notifyd takes what the benchmark sends, as long as Window says, and refuses
// what should be refused.
func TestMessagesAreTaken(t *testing.T) {
	adapters, err := account.Adapters()
	if err != nil {
		t.Fatal(err)
	}
	made := time.Now()
	for _, c := range []struct {
		kind    Kind
		account string
		last    order.Kind
	}{
		{V3Paid, "wechat", order.KindPaid}, {V2Paid, "wechat", order.KindPaid}, {AliPaid, "alipay", order.KindPaid},
		{V3Refund, "wechat", order.KindRefund}, {V2Refund, "wechat", order.KindRefund}, {AliRefund, "alipay", order.KindRefund},
	} {
		const n = 7
		header, body := Unwire(Wire(c.kind, Make(c.kind, n, made)))
		for _, at := range []time.Time{made, made.Add(Window)} {
			got, err := adapters[c.account].Parse(provider.Request{Header: header, Body: body, ReceivedAt: at})
			if err != nil {
				t.Errorf("%s is refused after %v: %v", c.kind, at.Sub(made), err)
				continue
			}
			if f := got.Facts[len(got.Facts)-1]; f.Kind != c.last || f.OutTradeNo != account.OrderNo(n) || f.Conflict != "" {
				t.Errorf("%s says %+v", c.kind, f)
			}
		}
	}
	header, body := Unwire(Wire(V3Unproven, Make(V3Unproven, 7, made)))
	if got, err := adapters["wechat"].Parse(provider.Request{Header: header, Body: body, ReceivedAt: made}); err == nil {
		t.Errorf("a bad signature is taken: %+v", got)
	}
}

func TestMix(t *testing.T) {
	var unique [][]byte
	for n := range 20_000 {
		unique = append(unique, fmt.Append(nil, n))
	}
	bad := []byte("bad")
	mixed := Mix(unique, [][]byte{bad})
	seen := map[string]int{}
	repeats, refused := 0, 0
	for at, m := range mixed {
		switch earlier, again := seen[string(m)]; {
		case bytes.Equal(m, bad):
			refused++
		case again && at-earlier < 2048:
			t.Fatalf("%s is repeated after %d messages", m, at-earlier)
		case again:
			repeats++
		default:
			seen[string(m)] = at
		}
	}
	if len(seen) != len(unique) {
		t.Errorf("%d of %d unique messages are sent", len(seen), len(unique))
	}
	total := float64(len(mixed))
	if r, f := float64(repeats)/total, float64(refused)/total; r < 0.2 || r > 0.27 || f < 0.04 || f > 0.06 {
		t.Errorf("%.3f are repeats and %.3f have bad signatures", r, f)
	}
}
