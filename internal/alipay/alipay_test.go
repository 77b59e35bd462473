package alipay

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

const (
	appID    = "2021000000000001"
	authApp  = "2021000000000077"
	sellerID = "2088000000000001"
	orderNo  = "T202601010001"
	tradeNo  = "2026010122001400000000000001"
	aesKey   = "Y2FuYXJ5Y2FuYXJ5MTIzNA==" // canarycanary1234
)

// noon is the time of payment in every test: 2026-01-01 12:00:00 in Beijing.
var noon = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)

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
		"alipay.pem":   string(forge.AlipayKey.PublicPEM()),
		"alipay2.pem":  string(forge.Alipay2Key.PublicPEM()),
		"stranger.pem": string(forge.StrangerKey.PublicPEM()),
	}
}

func options() Options {
	return Options{
		AppID: appID, SellerID: sellerID, AuthAppIDs: []string{authApp},
		PublicKeys: []KeyFile{{"alipay2.pem"}, {"alipay.pem"}}, AESKey: aesKey,
	}
}

func env(f files) provider.Env {
	return provider.Env{Account: "alipay", Merchant: "default", ReadFile: f.read}
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

// paidTrade is the baseline: an ordinary payment of 10.00 yuan.
func paidTrade() forge.AlipayTrade {
	return forge.AlipayTrade{
		AppID: appID, AuthAppID: appID, SellerID: sellerID, OutTradeNo: orderNo, TradeNo: tradeNo,
		Status: tradeSuccess, TotalFen: 1000, Subject: "green tea 绿茶 100% + more", Created: noon.Add(-time.Minute), Paid: noon,
		NotifyID: "2026010100222120000000000000000001", NotifiedAt: noon.Add(time.Second),
	}
}

func refundTrade() forge.AlipayTrade {
	t := paidTrade()
	t.RefundFen, t.OutBizNo, t.Refunded, t.NotifyID = 300, "R1", noon.Add(time.Hour), "n-refund"
	return t
}

func baseline() forge.Form { return paidTrade().Form() }

// sign makes the request of a form, signed as Alipay does.
func sign(f forge.Form) provider.Request { return at(forge.AlipaySigner{}.Sign(f)) }

func at(m forge.Message) provider.Request { return m.At(noon.Add(2 * time.Second)) }

// accept parses a request that must verify.
func accept(t rapid.TB, a *Adapter, req provider.Request) order.Notification {
	t.Helper()
	n, err := a.Parse(req)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return n
}

// refuse parses a request that must not, and checks why not.
func refuse(t testing.TB, a *Adapter, req provider.Request, class error, code string) {
	t.Helper()
	n, err := a.Parse(req)
	if err == nil {
		t.Fatalf("accepted: %+v", n.Facts)
	}
	if !errors.Is(err, class) || provider.Code(err) != code {
		t.Errorf("refused with %v (%s), want %v (%s)", err, provider.Code(err), class, code)
	}
	answer := a.Ack(req, err)
	if string(answer.Body) != "failure" || answer.ContentType != "text/plain" || answer.Status != provider.Status(class) {
		t.Errorf("answer %d %s %q", answer.Status, answer.ContentType, answer.Body)
	}
}

// conflict parses a request that must be a conflict as a whole.
func conflict(t testing.TB, a *Adapter, req provider.Request, reason order.Reason) order.Notification {
	t.Helper()
	n := accept(t, a, req)
	if len(n.Facts) != 1 || n.Facts[0].Conflict != reason {
		t.Fatalf("facts %+v, want one conflict %s", n.Facts, reason)
	}
	if n.Distinct == nil || n.Content == nil {
		t.Error("a conflict needs Distinct and Content")
	}
	if n.ProviderID != "" {
		t.Errorf("a conflict claims the id %q", n.ProviderID)
	}
	return n
}

func kinds(n order.Notification) string {
	var words []string
	for _, f := range n.Facts {
		words = append(words, string(f.Kind))
	}
	return string(n.Kind) + ": " + strings.Join(words, " ")
}

// genuineForms are ordinary messages of every shape.
func genuineForms() map[string]forge.Form {
	closed, refunded, finished, waiting := paidTrade(), refundTrade(), refundTrade(), paidTrade()
	closed.Status, closed.Paid = tradeClosed, time.Time{}
	refunded.Status, refunded.RefundFen, refunded.End = tradeClosed, 1000, noon.Add(time.Hour)
	finished.Status = tradeFinished
	waiting.Status, waiting.Paid = waitBuyerPay, time.Time{}
	return map[string]forge.Form{
		"paid":             baseline(),
		"paid in GBK":      baseline().GBK("GBK"),
		"partial refund":   refundTrade().Form(),
		"refunded":         refunded.Form(),
		"finished":         finished.Form(),
		"closed":           closed.Form(),
		"waiting":          waiting.Form(),
		"another app's":    baseline().With("auth_app_id", authApp),
		"unreadable":       baseline().With("total_amount", "1e1"),
		"without an order": baseline().Without("out_trade_no"),
		"agreement": forge.NewForm("notify_type", "dut_user_sign", "status", "NORMAL", "app_id", appID,
			"notify_id", "a1", "notify_time", "2026-01-01 12:00:00", "agreement_no", "20260101", "charset", "utf-8"),
		"authorisation": forge.NewForm("notify_type", "open_app_auth_notify", "app_id", appID, "notify_id", "o1",
			"notify_time", "2026-01-01 12:00:00", "biz_content", `{"detail":{"app_auth_token":"token-canary-1"}}`),
	}
}

func TestAckBytes(t *testing.T) {
	a := newAdapter(t)
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{nil, http.StatusOK, "success"},
		{provider.ErrSignature, http.StatusUnauthorized, "failure"},
		{provider.ErrUnavailable, http.StatusServiceUnavailable, "failure"},
	} {
		got := a.Ack(provider.Request{}, c.err)
		if got.Status != c.status || string(got.Body) != c.body || got.ContentType != "text/plain" {
			t.Errorf("%v: %d %q %q", c.err, got.Status, got.ContentType, got.Body)
		}
	}
}
