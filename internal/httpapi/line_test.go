package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
)

// T22: whatever stands in a request, it makes one log line, which is JSON, and no
// value of it is longer than its bound. T33: addresses in headers are claims.
func TestLogCannotBeForged(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	public, _ := b.Addrs()
	hostile := []string{"\x1b[2J\x1b[31m", "\u2028\u2029", "\xff\xfe", `"},{"msg":"notification"`, `\n\r\u0000`, "%0d%0a", "'; --", "${x}",
		"<script>", strings.Repeat("A", 9000), "\u202e", "\t\t", "level=ERROR", "\u0085", strings.Repeat("支", 1000)}
	headers := []string{"Request-Id", "X-Forwarded-For", "User-Agent", "Wechatpay-Serial", "Cookie", "Authorization", "Content-Type", "Host",
		"Wechatpay-Signature", "X-Request-Id", "Origin", "Referer"}
	sent := 0
	for i, value := range hostile {
		for _, name := range headers {
			body := []string{"unknown serial", "forged", "ok", value}[i%4]
			conn := dialTCP(t, public)
			host := "Host: x\r\n"
			if name == "Host" {
				host = ""
			}
			request := fmt.Sprintf("POST /notify/shop?%d HTTP/1.1\r\n%s%s: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
				sent, host, name, value, len(body), body)
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			if !strings.HasPrefix(string(all), "HTTP/1.1 400 Bad Request") || strings.Contains(string(all), "failure") {
				sent++ // not refused by net/http itself, as a host of these is
			}
		}
	}
	b.end()
	if err := <-b.ended; err != nil {
		t.Fatal(err)
	}
	b.ended <- nil
	lines := b.log.lines(t, "notification")
	if len(lines) != sent || sent < 150 {
		t.Errorf("%d lines for %d requests", len(lines), sent)
	}
	for _, line := range lines {
		for name, value := range line {
			if text, ok := value.(string); ok && len(text) > maxClaimBytes {
				t.Errorf("%s has %d bytes", name, len(text))
			}
		}
	}
	if got := b.log.text(); strings.ContainsAny(got, "\x1b\x00\u2028\u0085") {
		t.Error("a control character is in the log")
	}
}

func TestLogHoldsNoSecretsOfARequest(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	canary := func(where string) string { return "CANARY-" + where }
	for _, body := range []string{"ok " + canary("body"), "forged", "panic"} {
		b.send(t, "POST", "/notify/shop?q="+canary("query"), body, "Authorization", "Bearer "+canary("auth"), "Cookie", "c="+canary("cookie"),
			"Wechatpay-Signature", canary("signature"), "User-Agent", canary("agent"))
	}
	b.send(t, "GET", "/admin/v1/orders/T1", "", "Authorization", "Bearer "+canary("token"))
	b.send(t, "GET", "/admin/v1/orders/T1", "", "Authorization", "Bearer "+testToken)
	metrics := b.send(t, "GET", "/metrics", "")
	if text := b.log.text() + metrics.body; strings.Contains(text, "CANARY-") || strings.Contains(text, testToken) {
		t.Error("the log or the metrics hold a secret")
	}
}

// A notify URL with a slip in it shows in the log, however long it is.
func TestLogNamesTheAccountThatIsNot(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	b.send(t, "POST", "/notify/nobody", "ok")
	b.send(t, "POST", "/notify/"+strings.Repeat("n", 4*maxClaimBytes), "ok")
	b.send(t, "GET", "/healthz", "")
	lines := b.log.lines(t, "request")
	for i, want := range []any{"nobody", strings.Repeat("n", maxClaimBytes)} {
		if lines[i]["account_claim"] != want || lines[i]["reason"] != codeNoAccount || lines[i]["status"] != 404. {
			t.Errorf("%v", lines[i])
		}
	}
	if _, claimed := lines[2]["account_claim"]; claimed {
		t.Errorf("%v", lines[2])
	}
}

func TestAlarmsAndMetrics(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	b.metrics.Queue(func() int { return 7 })
	b.metrics.Batch(3)
	b.metrics.Committed(b.opt.Log, []order.Event{
		{Type: order.EventPaid}, {Type: order.EventPaid},
		{Type: order.EventConflict, Reason: order.ReasonSurplusPayment, ID: "evt_1", Key: order.Key{Merchant: "default", OutTradeNo: "T1"}},
	})
	b.send(t, "POST", "/notify/shop", "ok")
	b.send(t, "POST", "/notify/shop", "forged")
	b.send(t, "POST", "/notify/shop", "unknown serial", "Wechatpay-Serial", "PUB_KEY_ID_0117")
	b.send(t, "POST", "/notify/shop", "not now")
	b.send(t, "POST", "/notify/nobody", "ok")
	got := b.send(t, "GET", "/metrics", "")
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %s", got.status, got.header.Get("Content-Type"))
	}
	for _, want := range []string{
		`notifyd_notifications_total{account="shop",outcome="applied",verdict="accepted"} 1`,
		`notifyd_notifications_total{account="shop",outcome="",verdict="refused"} 2`,
		`notifyd_notifications_total{account="shop",outcome="",verdict="unavailable"} 1`,
		`notifyd_refusals_total{account="shop",code="tp.bad_signature"} 1`,
		`notifyd_refusals_total{account="shop",code="tp.unknown_serial"} 1`,
		`notifyd_alarms_total{reason="tp.unknown_serial"} 1`,
		`notifyd_alarms_total{reason="surplus_payment"} 1`,
		`notifyd_events_total{type="order.paid"} 2`,
		`notifyd_ack_seconds_count 1`,
		`notifyd_ack_seconds_bucket{le="5"} 1`,
		`notifyd_commit_batch_size_sum 3`,
		`notifyd_queue_length 7`,
		`notifyd_build_info{go="`,
	} {
		if !strings.Contains(got.body, "\n"+want) {
			t.Errorf("missing %s", want)
		}
	}
	if strings.Contains(got.body, "nobody") {
		t.Error("a stranger made a series")
	}
	alarm := b.log.lines(t, "alarm")
	if len(alarm) != 1 || alarm[0]["level"] != "ERROR" || alarm[0]["out_trade_no"] != "T1" {
		t.Errorf("the conflict's alarm: %v", alarm)
	}
	b.end()
	<-b.ended
	b.ended <- nil
	for _, line := range b.log.lines(t, "notification") {
		if line["reason"] == "tp.unknown_serial" && (line["level"] != "ERROR" || !strings.Contains(fmt.Sprint(line["detail"]), "PUB_KEY_ID_0117")) {
			t.Errorf("the unknown key's alarm: %v", line)
		}
	}
}

// The bound holds after everything that cannot be shown was replaced.
func TestClaimIsBounded(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"short":                     "short",
		strings.Repeat("A", 257):    strings.Repeat("A", 256),
		strings.Repeat("\xff", 300): strings.Repeat("\uFFFD", 85),
		strings.Repeat("支", 100):    strings.Repeat("支", 85),
		"a\nb":                      "a\uFFFDb",
	} {
		if got := claim(value); got != want {
			t.Errorf("claim(%q) is %q (%d bytes)", value, got, len(got))
		}
	}
}
