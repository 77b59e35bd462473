package wechat

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

const (
	mchID   = "1600000001"
	appID   = "wxtest0000000001"
	subID   = "1900000109"
	orderNo = "T202601010001"
	txnID   = "4200000000202601010000000001"
	account = "wechat"
)

// noon is the time of payment in every test: 2026-01-01 12:00:00 in Beijing.
// Messages come in two seconds later.
var (
	noon     = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	received = noon.Add(2 * time.Second)
)

// files is an account's folder.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, ok := f[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func keyFiles() files {
	return files{
		"cert.pem":     string(forge.WechatCertificatePEM()),
		"cert2.pem":    string(forge.Wechat2CertificatePEM()),
		"pub.pem":      string(forge.WechatPublicKey.PublicPEM()),
		"stranger.pem": string(forge.StrangerKey.PublicPEM()),
		"v2.key":       forge.WechatV2Key + "\n",
		"v3.key":       forge.WechatV3Key + "\n",
	}
}

func options() Options {
	return Options{
		MchID: mchID, AppIDs: []string{"wxother", appID},
		APIv2Key: forge.WechatV2Key, APIv3Key: forge.WechatV3Key,
		PublicKeys:   []PublicKeyFile{{forge.WechatPublicKeyID, "pub.pem"}},
		Certificates: []CertificateFile{{"cert.pem"}, {"cert2.pem"}},
	}
}

func env(f files) provider.Env {
	return provider.Env{Account: account, Merchant: "default", ReadFile: f.read}
}

// newAdapter makes an adapter, with changes to the ordinary options.
func newAdapter(t testing.TB, change ...func(*Options)) *Adapter {
	t.Helper()
	o := options()
	for _, c := range change {
		c(&o)
	}
	a, err := New(o, env(keyFiles()))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func asPartner(subs ...string) func(*Options) { return func(o *Options) { o.SubMchIDs = subs } }

// payment is the baseline: an ordinary payment of 10.00 yuan.
func payment() forge.WechatPayment {
	return forge.WechatPayment{
		MchID: mchID, AppID: appID, OutTradeNo: orderNo, TransactionID: txnID,
		TotalFen: 1000, Currency: "CNY", PaidAt: noon,
	}
}

func refund() forge.WechatRefund {
	return forge.WechatRefund{
		MchID: mchID, AppID: appID, OutTradeNo: orderNo, TransactionID: txnID,
		OutRefundNo: "R1", RefundID: "50300000002026010100000001", TotalFen: 1000, RefundFen: 300, RefundedAt: noon,
	}
}

// paidFact is what the baseline says.
func paidFact() order.Fact {
	return order.Fact{
		Kind: order.KindPaid, Merchant: "default", OutTradeNo: orderNo,
		Provider: Name, Account: account, ProviderTxnID: txnID,
		AmountFen: 1000, Currency: "CNY", At: noon,
	}
}

// refundFact is what refund says.
func refundFact() order.Fact {
	f := paidFact()
	f.Kind, f.AmountFen, f.Currency = order.KindRefund, 300, ""
	f.OutRefundNo, f.ProviderRefundID = "R1", "50300000002026010100000001"
	return f
}

// impliedFact is the payment that refund implies.
func impliedFact() order.Fact {
	f := paidFact()
	f.Implied, f.Currency, f.At = true, "", time.Time{}
	return f
}

func event(eventType, originalType string, content []byte) forge.WechatEvent {
	return forge.WechatEvent{Type: eventType, OriginalType: originalType, CreatedAt: noon, Content: content}
}

func paidEvent(content []byte) forge.WechatEvent { return event(eventPaid, "transaction", content) }

// v3 is the request of an event, sealed and signed as WeChat Pay does.
func v3(e forge.WechatEvent) provider.Request {
	return forge.WechatV3Signer{}.Notify(e, received).At(received)
}

// v3Body is the request of any body, signed as it is.
func v3Body(body []byte) provider.Request {
	return forge.WechatV3Signer{}.Sign(body, received).At(received)
}

// v2 is the request of signed fields.
func v2(f forge.Form) provider.Request { return forge.WechatV2Signer{}.Sign(f).At(received) }

// v2XML is the request of any v2 body.
func v2XML(body string) provider.Request { return forge.SendXML([]byte(body)).At(received) }

func v2Refund(outer, inner forge.Form) provider.Request {
	return forge.WechatV2Signer{}.Seal(outer, inner).At(received)
}

// accept parses a request that must verify.
func accept(t testing.TB, a *Adapter, req provider.Request) order.Notification {
	t.Helper()
	n, err := a.Parse(req)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return n
}

// refuse parses a request that must not verify, and checks why not.
func refuse(t testing.TB, a *Adapter, req provider.Request, class error, code string) {
	t.Helper()
	n, err := a.Parse(req)
	if err == nil {
		t.Fatalf("accepted: %+v", n.Facts)
	}
	if !errors.Is(err, class) || provider.Code(err) != code {
		t.Errorf("refused with %v (%v), want %v (%s)", err, errors.Unwrap(err), class, code)
	}
}

// says checks a notification's kind and facts.
func says(t testing.TB, n order.Notification, kind order.Kind, facts ...order.Fact) {
	t.Helper()
	if n.Kind != kind {
		t.Errorf("kind %s, want %s", n.Kind, kind)
	}
	if diff := cmp.Diff(facts, n.Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// movesNothing checks that the notification is told and handed on, and no more.
func movesNothing(t testing.TB, n order.Notification, kind order.Kind, outTradeNo string) {
	t.Helper()
	says(t, n, kind, order.Fact{Kind: kind, Merchant: "default", OutTradeNo: outTradeNo, Provider: Name, Account: account})
	if n.Distinct == nil || n.Content == nil {
		t.Error("an unhandled notification needs Distinct and Content")
	}
}

// isConflicted checks that the whole message is a conflict about one order.
func isConflicted(t testing.TB, n order.Notification, kind order.Kind, reason order.Reason) {
	t.Helper()
	if len(n.Facts) != 1 || n.Facts[0].Conflict != reason || n.Facts[0].Kind != kind || n.Kind != kind {
		t.Fatalf("kind %s, facts %+v, want one %s with conflict %s", n.Kind, n.Facts, kind, reason)
	}
	if n.Distinct == nil || n.Content == nil {
		t.Error("a conflict as a whole needs Distinct and Content")
	}
}

func factKey(t testing.TB, a *Adapter, req provider.Request) order.FactKey {
	t.Helper()
	n := accept(t, a, req)
	return n.FactKey()
}
