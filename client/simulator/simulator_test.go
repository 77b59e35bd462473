package simulator_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/provider"
)

func testOrder() simulator.Order {
	return simulator.Order{OutTradeNo: "T1", AmountFen: 1000, TransactionID: "4200000000202601010000000001", PaidAt: noon}
}

// What is made is what an account reads, word by word.
func TestNotificationsAreReadAsTheyAreMeant(t *testing.T) {
	o := testOrder()
	paid := "paid default T1 4200000000202601010000000001 1000 0 "
	second := o
	second.OutTradeNo, second.TransactionID, second.AmountFen = "T2", "4200000000202601010000000002", 500
	sub := o
	sub.SubMerchant = "1900000109"
	isv := o
	isv.SubMerchant = "2021000000000900"
	refund := simulator.Refund{OutRefundNo: "R1", AmountFen: 300, At: noon}
	full := simulator.Refund{OutRefundNo: "R2", AmountFen: 700, TotalFen: 1000, At: noon}
	closed, abnormal := refund, refund
	closed.State, abnormal.State = simulator.RefundClosed, simulator.RefundAbnormal
	must := func(n simulator.Notification, err error) simulator.Notification {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	refundSaid := "%s default T1 4200000000202601010000000001 300 0 R1"
	v3, v2, ali := newSimulator(t, simulator.WechatV3), newSimulator(t, simulator.WechatV2), newSimulator(t, simulator.Alipay)
	for _, c := range []struct {
		name string
		by   *simulator.Simulator
		n    simulator.Notification
		want string
	}{
		{"payment", v3, v3.Payment(o), "paid | " + paid},
		{"payment", v2, v2.Payment(o), "paid | " + paid},
		{"payment", ali, ali.Payment(o), "paid | " + paid},
		{"partner", v3, v3.Payment(sub), "paid | paid default/1900000109 T1 4200000000202601010000000001 1000 0 "},
		{"partner", v2, v2.Payment(sub), "paid | paid default/1900000109 T1 4200000000202601010000000001 1000 0 "},
		{"partner", ali, ali.Payment(isv), "paid | paid default/2021000000000900 T1 4200000000202601010000000001 1000 0 "},
		{"refund", v3, must(v3.Refund(o, refund)), "refund | " + paid + " | " + fmt.Sprintf(refundSaid, "refund")},
		{"refund", v2, must(v2.Refund(o, refund)), "refund | " + fmt.Sprintf(refundSaid, "refund")},
		{"refund", ali, must(ali.Refund(o, refund)), "refund | " + paid + " | refund default T1 4200000000202601010000000001 0 300 R1"},
		{"rest", ali, must(ali.Refund(o, full)), "refund | " + paid + " | refund default T1 4200000000202601010000000001 0 1000 R2 | closed default T1 4200000000202601010000000001 0 0 "},
		{"closed refund", v3, must(v3.Refund(o, closed)), "refund_closed | " + paid + " | " + fmt.Sprintf(refundSaid, "refund_closed")},
		{"closed refund", v2, must(v2.Refund(o, closed)), "refund_closed | " + fmt.Sprintf(refundSaid, "refund_closed")},
		{"abnormal refund", v3, must(v3.Refund(o, abnormal)), "refund_abnormal | " + paid + " | " + fmt.Sprintf(refundSaid, "refund_abnormal")},
		{"abnormal refund", v2, must(v2.Refund(o, abnormal)), "refund_abnormal | " + fmt.Sprintf(refundSaid, "refund_abnormal")},
		{"waiting", ali, must(ali.Waiting(o)), "paying | paying default T1 4200000000202601010000000001 0 0 "},
		{"closed", ali, must(ali.Closed(o)), "closed | closed default T1 4200000000202601010000000001 0 0 "},
		{"finished", ali, must(ali.Finished(o)), "finished | " + paid + " | finished default T1 4200000000202601010000000001 0 0 "},
		{"combined", v3, must(v3.Combined("C1", o, second)), "paid | " + paid + " | paid default T2 4200000000202601010000000002 500 0 "},
		{"combined", v2, must(v2.Combined("C1", o, second)), "paid | " + paid + " | paid default T2 4200000000202601010000000002 500 0 "},
	} {
		t.Run(string(c.by.Protocol())+" "+c.name, func(t *testing.T) {
			got, err := parse(receiver(t, c.by.Protocol(), c.by.Account(), keysFor(t)), c.n.At(noon))
			if err != nil || said(got) != c.want {
				t.Errorf("%s, %v\nwant %s", said(got), err, c.want)
			}
		})
	}
}

// A provider that repeats a notification keeps its id and signs it anew.
func TestRepeatsKeepTheirID(t *testing.T) {
	for _, p := range simulator.Protocols() {
		s := newSimulator(t, p)
		n := s.Payment(testOrder())
		first, later := n.At(noon), n.At(noon.Add(time.Hour))
		r := receiver(t, p, s.Account(), keysFor(t))
		a, err1 := parse(r, first)
		b, err2 := parse(r, later)
		if err1 != nil || err2 != nil || a.ProviderID != b.ProviderID || said(a) != said(b) {
			t.Errorf("%s: %q and %q, %v %v", p, a.ProviderID, b.ProviderID, err1, err2)
		}
		if same := bytes.Equal(first.Body, later.Body) && slices.Equal(first.Header["Wechatpay-Signature"], later.Header["Wechatpay-Signature"]); same != (p == simulator.WechatV2) {
			t.Errorf("%s: the same bytes: %v", p, same)
		}
		other := testOrder()
		other.OutTradeNo = "T2"
		if c, err := parse(r, s.Payment(other).At(noon)); err != nil || p != simulator.WechatV2 && c.ProviderID == a.ProviderID {
			t.Errorf("%s: another order has the id %q as well, %v", p, c.ProviderID, err)
		}
	}
}

// One order number is one transaction, and the numbers have the providers' form.
func TestNumbersFollowFromTheOrder(t *testing.T) {
	for _, p := range simulator.Protocols() {
		s := newSimulator(t, p)
		r := receiver(t, p, s.Account(), keysFor(t))
		o := simulator.Order{OutTradeNo: "T1", AmountFen: 1000, PaidAt: noon}
		refund, err := s.Refund(o, simulator.Refund{AmountFen: 1, At: noon})
		if err != nil {
			t.Fatal(err)
		}
		var txns []string
		for _, n := range []simulator.Notification{s.Payment(o), refund} {
			got, err := parse(r, n.At(noon))
			if err != nil || len(got.Facts[0].ProviderTxnID) != 28 {
				t.Fatalf("%s: %s, %v", p, said(got), err)
			}
			txns = append(txns, got.Facts[0].ProviderTxnID)
		}
		if txns[0] != txns[1] {
			t.Errorf("%s: the payment is %s, of the refund %s", p, txns[0], txns[1])
		}
	}
}

// What these keys sign proves nothing to an account with other keys.
func TestOtherKeysProveNothing(t *testing.T) {
	others, err := simulator.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	for p, code := range map[simulator.Protocol]string{simulator.WechatV3: "wx.unknown_serial", simulator.Alipay: "ali.signature"} {
		s := newSimulator(t, p)
		_, err := parse(receiver(t, p, s.Account(), others), s.Payment(testOrder()).At(noon))
		if provider.Code(err) != code {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestSimulatorNeedsWhatMessagesShow(t *testing.T) {
	k := keysFor(t)
	for _, c := range []struct {
		p      simulator.Protocol
		k      *simulator.Keys
		change func(*simulator.Account)
		want   string
	}{
		{simulator.WechatV3, k, func(a *simulator.Account) { a.APIv3Key = "" }, "has no API v3 key"},
		{simulator.WechatV3, k, func(a *simulator.Account) { a.APIv3Key = "short" }, "has 5 bytes, not 32"},
		{simulator.WechatV2, k, func(a *simulator.Account) { a.APIv2Key = "" }, "has no API v2 key"},
		{simulator.WechatV2, k, func(a *simulator.Account) { a.MchID = "" }, "has no merchant number"},
		{simulator.WechatV3, k, func(a *simulator.Account) { a.AppID = "" }, "has no app id"},
		{simulator.Alipay, k, func(a *simulator.Account) { a.AlipayAppID = "" }, "has no app id at Alipay"},
		{simulator.Alipay, k, func(a *simulator.Account) { a.AESKey = "?" }, "is not the base64 of 16, 24 or 32 bytes"},
		{simulator.Alipay, k, func(a *simulator.Account) { a.AESKey = "YQ==" }, "is not the base64 of 16, 24 or 32 bytes"},
		{simulator.Alipay, k, func(a *simulator.Account) { a.Name = "" }, "has no name"},
		{simulator.WechatV3, nil, func(*simulator.Account) {}, "needs keys"},
		{simulator.Alipay, &simulator.Keys{}, func(*simulator.Account) {}, "needs keys"},
		{"unionpay", k, func(*simulator.Account) {}, `no protocol "unionpay"`},
	} {
		a := testAccount()
		c.change(&a)
		if _, err := simulator.New(c.p, a, c.k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := newSimulator(t, simulator.WechatV3).Finished(testOrder()); !errors.Is(err, simulator.ErrNever) {
		t.Errorf("WeChat Pay finishes an order: %v", err)
	}
}

func TestSecretsPrintAsMasks(t *testing.T) {
	a := testAccount()
	for _, text := range []string{fmt.Sprint(a), fmt.Sprintf("%v %+v %#v %s %q %x", a, a, a, a.APIv3Key, a.APIv2Key, a.AESKey)} {
		if strings.Contains(text, "TestApiV3Key") || strings.Contains(text, "TestKeyFor") || strings.Contains(text, aesKey) || strings.Contains(text, "5647") {
			t.Errorf("a key is shown: %s", text)
		}
	}
}

// A message is a request, and a capture that is read back as it was.
func TestMessageIsRequestAndCapture(t *testing.T) {
	m := newSimulator(t, simulator.WechatV3).Payment(testOrder()).At(noon)
	r, err := m.Request(t.Context(), "http://127.0.0.1:1"+m.Path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Method != http.MethodPost || r.URL.Path != "/notify/pay" || r.ContentLength != int64(len(m.Body)) || r.Header.Get("Wechatpay-Serial") == "" {
		t.Errorf("%+v", r)
	}
	var file bytes.Buffer
	if err := m.WriteCapture(&file); err != nil {
		t.Fatal(err)
	}
	c, err := provider.ReadCapture(&file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Account() != "pay" || !c.At.Equal(noon) || !bytes.Equal(c.Body, m.Body) || c.Header.Get("Wechatpay-Signature") != m.Header.Get("Wechatpay-Signature") {
		t.Errorf("%+v", c)
	}
}
