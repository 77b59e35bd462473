package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// twoShops is a configuration with two WeChat Pay accounts of one app, each
// with keys and a merchant of its own.
func twoShops(t *testing.T) shop {
	t.Helper()
	s := newShop(t, "sqlite:./data/notifyd.db")
	s.write(t, "platform.pem", forge.WechatCertificatePEM())
	account := `
  - {name: w%d, provider: wechat, merchant: m%d, mchid: "160000000%d", appids: [wxtest0000000001],
     api_v2_key: TestKeyForReceiver0000000000000%d, api_v3_key: TestApiV3KeyForReceiver00000000%d, certificates: [{file: platform.pem}]}`
	s.write(t, "notifyd.yaml", []byte(`
listen: "127.0.0.1:0"
admin: {listen: "127.0.0.1:0", token: throw-away-token}
store: "sqlite:./data/notifyd.db"
merchants: [{name: m1}, {name: m2}]
accounts:`+fmt.Sprintf(account, 1, 1, 1, 1, 1)+fmt.Sprintf(account, 2, 2, 2, 2, 2)+"\n"))
	return s
}

func wechatPayment(shop, number int) forge.WechatPayment {
	return forge.WechatPayment{MchID: fmt.Sprintf("160000000%d", shop), AppID: "wxtest0000000001",
		OutTradeNo: fmt.Sprintf("T%06d", number), TransactionID: fmt.Sprintf("42000000002026010100%02d%06d", shop, number),
		TotalFen: int64(1000*shop + number), PaidAt: time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)}
}

func wechatV2(shop, number int) forge.Message {
	signer := forge.WechatV2Signer{APIKey: fmt.Sprintf("TestKeyForReceiver0000000000000%d", shop)}
	return signer.Sign(wechatPayment(shop, number).V2())
}

func wechatV3(shop, number int, at time.Time) forge.Message {
	signer := forge.WechatV3Signer{APIKey: fmt.Sprintf("TestApiV3KeyForReceiver00000000%d", shop)}
	return signer.Notify(forge.WechatEvent{ID: fmt.Sprintf("EV-%d-%d", shop, number), Type: "TRANSACTION.SUCCESS",
		OriginalType: "transaction", CreatedAt: at, Content: wechatPayment(shop, number).V3()}, at)
}

// oneShot gives each message a connection of its own, as providers do.
var oneShot = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a message; it may be called from any goroutine.
func post(url string, m forge.Message) (int, string, error) {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(m.Body))
	if err != nil {
		return 0, "", err
	}
	req.Header = m.Header.Clone()
	res, err := oneShot.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// together calls f with 0 to n-1, all at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() { <-start; f(i) })
	}
	close(start)
	all.Wait()
}

// P39: copies at the same moment on many connections, and again after a
// restart: each is acked, the order moves once.
func TestP39CopiesAtTheSameMoment(t *testing.T) {
	const copies = 50
	s := twoShops(t)
	r := s.serve(t)
	now := time.Now()
	sendAll := func() {
		t.Helper()
		together(copies, func(i int) {
			// The same event, each time signed anew as for a repeat: v3 under
			// another timestamp and nonce, v2 to the byte.
			for path, m := range map[string]forge.Message{"/notify/w1": wechatV3(1, 1, now.Add(time.Duration(i)*time.Second)), "/notify/w2": wechatV2(2, 2)} {
				if status, body, err := post(r.public+path, m); err != nil || status != 200 || !strings.Contains(body, "SUCCESS") {
					t.Errorf("%s, copy %d: %d %q %v", path, i, status, body, err)
				}
			}
		})
	}
	for range 2 {
		sendAll()
	}
	r.stop(t)
	r = s.serve(t)
	sendAll()
	for _, url := range []string{"/admin/v1/orders/T000001?merchant=m1", "/admin/v1/orders/T000002?merchant=m2"} {
		_, body := get(t, "GET", r.private+url, "")
		if strings.Count(body, `"kind":"paid","reason":""`) != 1 || !strings.Contains(body, `"version":1,`) || strings.Count(body, `"outcome":`) != 1 {
			t.Errorf("%s: not moved exactly once: %s", url, body)
		}
	}
	r.stop(t)
	for _, stopped := range []string{`"outcome":"conflict"`, `"level":"ERROR"`} {
		if strings.Contains(r.err.String(), stopped) {
			t.Errorf("%s in the log:\n%s", stopped, r.err)
		}
	}
}

// P45: two merchant numbers of one app, interleaved and in parallel: every
// message is booked under its own account, and refused under the other.
func TestP45SeveralMerchantsAtOnce(t *testing.T) {
	const orders, workers = 1000, 32
	r := twoShops(t).serve(t)
	now := time.Now()
	together(workers, func(worker int) {
		for number := worker; number < orders; number += workers {
			for shop := 1; shop <= 2; shop++ {
				m := wechatV2(shop, number)
				if number%10 == 0 {
					m = wechatV3(shop, number, now)
				}
				if status, body, err := post(fmt.Sprintf("%s/notify/w%d", r.public, shop), m); err != nil || status != 200 {
					t.Errorf("shop %d, order %d: %d %q %v", shop, number, status, body, err)
				}
				if status, body, err := post(fmt.Sprintf("%s/notify/w%d", r.public, 3-shop), m); err != nil || status != 401 {
					t.Errorf("shop %d, order %d at the other's URL: %d %q %v", shop, number, status, body, err)
				}
			}
		}
	})
	_, metrics := get(t, "GET", r.private+"/metrics", "")
	for shop := 1; shop <= 2; shop++ {
		for _, want := range []string{
			fmt.Sprintf(`notifyd_notifications_total{account="w%d",outcome="applied",verdict="accepted"} %d`, shop, orders),
			fmt.Sprintf(`notifyd_notifications_total{account="w%d",outcome="",verdict="refused"} %d`, shop, orders),
		} {
			if !strings.Contains(metrics, want) {
				t.Errorf("not in the metrics: %s", want)
			}
		}
		for _, number := range []int{0, 1, orders - 1} {
			p := wechatPayment(shop, number)
			_, body := get(t, "GET", fmt.Sprintf("%s/admin/v1/orders/%s?merchant=m%d", r.private, p.OutTradeNo, shop), "")
			if !strings.Contains(body, fmt.Sprintf(`"paid_fen":%d,`, p.TotalFen)) || !strings.Contains(body, p.TransactionID) {
				t.Errorf("shop %d, order %d: %s", shop, number, body)
			}
		}
	}
	r.stop(t)
}
