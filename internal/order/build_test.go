package order

import (
	"context"
	"testing"
	"time"
)

// A small language for facts and notifications, so that a test reads like the
// story it tells.

const shop = "default"

var t1 = Key{shop, "T1"}

func wx(no, txn string, k Kind, fen int64) Fact {
	return Fact{Kind: k, Merchant: shop, OutTradeNo: no, Provider: "wechat", Account: "wechat", ProviderTxnID: txn, AmountFen: fen, Currency: "CNY", At: noon}
}

func ali(no, txn string, k Kind, fen int64) Fact {
	f := wx(no, txn, k, fen)
	f.Provider, f.Account = "alipay", "alipay"
	return f
}

// wxRefund is a refund of WeChat Pay v3: it implies its payment.
func wxRefund(no, txn, refundID string, total, fen int64) []Fact {
	implied := wx(no, txn, KindPaid, total)
	implied.Implied, implied.At, implied.Currency = true, time.Time{}, ""
	return []Fact{implied, bareRefund(no, txn, refundID, KindRefund, fen)}
}

// bareRefund is a refund that implies nothing, as WeChat Pay v2 sends it.
func bareRefund(no, txn, refundID string, k Kind, fen int64) Fact {
	f := wx(no, txn, k, fen)
	f.ProviderRefundID, f.OutRefundNo, f.Currency = refundID, "R"+refundID, ""
	return f
}

func aliRefund(no, txn string, total, running int64) []Fact {
	f := ali(no, txn, KindRefund, 0)
	f.RunningTotalFen, f.OutRefundNo, f.Currency = running, "O"+itoa(running), ""
	return []Fact{ali(no, txn, KindPaid, total), f}
}

func notify(id string, facts ...Fact) Notification {
	return Notification{ID: id, ReceivedAt: noon, Provider: facts[0].Provider, Account: facts[0].Account, Scope: "1900000001",
		Merchant: shop, Kind: facts[len(facts)-1].Kind, Facts: facts}
}

// desk is a Recorder and the Commands over one memory.
type desk struct {
	t     *testing.T
	store *memory
	rec   *Recorder
	cmd   *Commands
	n     int
}

func newDesk(t *testing.T, require bool) *desk {
	m := newMemory()
	newID := ids()
	d := &desk{t: t, store: m,
		rec: NewRecorder(RecorderOptions{Store: m, Now: clock, NewID: newID, Committers: 2, RequireRegistration: require,
			Failed: func(err error) { t.Log("failed:", err) }}),
		cmd: &Commands{Store: m, Now: clock, NewID: newID, RequireRegistration: require},
	}
	t.Cleanup(func() {
		if err := d.rec.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// send records one notification of these facts under a fresh id.
func (d *desk) send(facts ...Fact) Receipt {
	d.t.Helper()
	d.n++
	return d.sendAs(notify("ntf_"+string(rune('a'+d.n/26))+string(rune('a'+d.n%26)), facts...))
}

func (d *desk) sendAs(n Notification) Receipt {
	d.t.Helper()
	r, err := d.rec.Record(context.Background(), n)
	if err != nil {
		d.t.Fatalf("Record: %v", err)
	}
	return r
}

func (d *desk) register(key Key, fen int64) {
	d.t.Helper()
	if _, err := d.cmd.Register(context.Background(), Registration{Key: key, AmountFen: fen}); err != nil {
		d.t.Fatalf("Register: %v", err)
	}
}

func (d *desk) do(key Key, k Kind) {
	d.t.Helper()
	if err := d.cmd.Do(context.Background(), key, k); err != nil {
		d.t.Fatalf("%s: %v", k, err)
	}
}

func (d *desk) expect(r Receipt, o Outcome, reason Reason) {
	d.t.Helper()
	if r.Outcome != o || r.Reason != reason {
		d.t.Fatalf("outcome %s %q, want %s %q", r.Outcome, r.Reason, o, reason)
	}
}

// stands checks status and sums of an order.
func (d *desk) stands(key Key, s Status, paid, refunded int64) Story {
	d.t.Helper()
	st := d.store.story(key)
	if st.Status != s || st.PaidFen != paid || st.RefundedFen != refunded {
		d.t.Fatalf("order %s: %s paid %d refunded %d, want %s %d %d", key.OutTradeNo, st.Status, st.PaidFen, st.RefundedFen, s, paid, refunded)
	}
	if int64(len(st.Events)) != st.Version {
		d.t.Fatalf("order %s: version %d but %d events", key.OutTradeNo, st.Version, len(st.Events))
	}
	for i, e := range st.Events {
		if e.OrderVersion != int64(i+1) || i > 0 && e.From != st.Events[i-1].To {
			d.t.Fatalf("order %s: event %d is %+v", key.OutTradeNo, i, e)
		}
	}
	return st
}
