package order

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

// Hashes in fact keys are kept: one that changed would make every copy of what is
// durable news again. These are of the first version; they hold however little or
// much a notification says.
func TestHashesOfFactKeysNeverChange(t *testing.T) {
	paid := Fact{Kind: KindPaid, Merchant: "default/1900000109", SubMerchant: "1900000109", OutTradeNo: "T1", Provider: "wechat", Account: "shop",
		ProviderTxnID: "4200000000202601010000000001", AmountFen: 1000, Currency: "CNY", At: time.Unix(1767240000, 0)}
	refund := Fact{Kind: KindRefund, OutTradeNo: "T1", ProviderTxnID: "42", AmountFen: -1, Currency: "CNY", ByTxn: true, Implied: true,
		OutRefundNo: "R1", ProviderRefundID: "503", RunningTotalFen: 1 << 40, Conflict: ReasonUnreadableField}
	many := make([]Fact, 50)
	for i := range many {
		many[i] = paid
		many[i].AmountFen = int64(i)
	}
	for name, c := range map[string]struct {
		n    Notification
		want string
	}{
		"payment":        {Notification{Provider: "wechat", Scope: "1600000001", Kind: KindPaid, Facts: []Fact{paid}}, "3ac786090de04e3bd0512377d6c0a442"},
		"refund":         {Notification{Provider: "alipay", Scope: "2021", Kind: KindRefund, Facts: []Fact{refund}}, "3090b5fd91ceb2103b7a54fb9cf20aee"},
		"two facts":      {Notification{Provider: "wechat", Scope: "1600000001", Kind: KindPaid, Facts: []Fact{paid, refund}}, "d0a1d4992635357c6028696d6bf1f8fa"},
		"fifty facts":    {Notification{Provider: "wechat", Scope: "1600000001", Kind: KindPaid, Facts: many}, "acf4b09824b40e53e7f2521343016dfc"},
		"distinct":       {Notification{Provider: "wechat", Scope: "1600000001", Kind: KindOther, Facts: []Fact{paid}, Distinct: []byte("ENTRUST\n{}")}, "f6438940290cb8db429d2d806d43bf1d"},
		"distinct, long": {Notification{Provider: "wechat", Kind: KindOther, Facts: []Fact{paid}, Distinct: []byte(strings.Repeat("支", 9000))}, "b1596a0fb66697a4c4c748d91f9b6a70"},
		"said nothing":   {Notification{Distinct: []byte{}, Facts: []Fact{{}}}, "66687aadf862bd776c8fc18b8e9f8e20"},
	} {
		key := c.n.FactKey()
		if got := hex.EncodeToString(key[placeLen:]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func BenchmarkFactKey(b *testing.B) {
	n := notify("ntf_1", wx("T202601010001", "4200000000202601010000000001", KindPaid, 1000))
	b.ReportAllocs()
	for b.Loop() {
		n.FactKey()
	}
}
