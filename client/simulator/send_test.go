package simulator_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/notifyd/notifyd/client/simulator"
)

// What is sent is what was made: header, body, path and query.
func TestSenderSendsWhatWasMade(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer server.Close()
	m := newSimulator(t, simulator.WechatV3).Payment(testOrder()).At(noon)
	m.Header.Set("Host", "pay.example.com")
	m.Path += "?s=1"
	for to, want := range map[string]string{
		server.URL: "/notify/pay?s=1", server.URL + "/": "/notify/pay?s=1",
		server.URL + "/my/receiver": "/my/receiver?s=1", server.URL + "/my/receiver?ch=7": "/my/receiver?ch=7&s=1",
	} {
		s, err := simulator.NewSender(to)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.Send(t.Context(), m)
		if err != nil || answer.Status != http.StatusFound || answer.Took <= 0 {
			t.Fatalf("%+v, %v: a redirect is an answer, and not followed", answer, err)
		}
		if got.RequestURI != want || got.Method != http.MethodPost || !bytes.Equal(body, m.Body) || got.Host != "pay.example.com" ||
			got.Header.Get("Wechatpay-Signature") != m.Header.Get("Wechatpay-Signature") {
			t.Errorf("%s: %s %s %v", to, got.Method, got.RequestURI, got.Header)
		}
	}
	for _, to := range []string{"127.0.0.1:8080", "ftp://a", "http://", "http://u:p@a", "http://a#b", "http://%zz"} {
		if _, err := simulator.NewSender(to); err == nil {
			t.Errorf("%s is taken for a server", to)
		}
	}
}

// People keep secrets in URLs; what goes wrong is told without them.
func TestErrorsOfSendersHoldNoSecret(t *testing.T) {
	for _, to := range []string{"http://u:secret@127.0.0.1:1", "http://u:secret@127.0.0.1:1%zz", "http://127.0.0.1:1/a#secret", "secret:8080"} {
		if _, err := simulator.NewSender(to); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", to, err)
		}
	}
	s, err := simulator.NewSender("http://127.0.0.1:1/notify?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	m := newSimulator(t, simulator.WechatV3).Payment(testOrder()).At(noon)
	if _, err := s.Send(t.Context(), m); err == nil || strings.Contains(err.Error(), "secret") || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody there: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Send(ended, m); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "secret") {
		t.Errorf("ended: %v", err)
	}
	m.Header.Set("X-Set", "a\nb")
	if _, err := s.Send(t.Context(), m); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a header that cannot be sent: %v", err)
	}
}

// What providers take for a yes, and nothing else.
func TestAckedIsWhatProvidersTakeForAYes(t *testing.T) {
	const yes = "<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>"
	for _, c := range []struct {
		p      simulator.Protocol
		status int
		body   string
		want   bool
	}{
		{simulator.WechatV3, 200, "", true},
		{simulator.WechatV3, 204, "", true},
		{simulator.WechatV3, 200, `{"code":"FAIL"}`, true}, // taken for a yes all the same
		{simulator.WechatV3, 201, "", false},
		{simulator.WechatV3, 302, "", false},
		{simulator.WechatV3, 500, "", false},
		{simulator.WechatV2, 200, yes, true},
		{simulator.WechatV2, 201, yes, false},
		{simulator.WechatV2, 200, "success", false},
		{simulator.WechatV2, 200, "<xml><return_code>FAIL</return_code></xml>", false},
		{simulator.WechatV2, 200, "<html><return_code>SUCCESS</return_code></html>", false},
		{simulator.Alipay, 200, "success", true},
		{simulator.Alipay, 200, "success\n", false},
		{simulator.Alipay, 200, `"success"`, false},
		{simulator.Alipay, 200, "failure", false},
		{simulator.Alipay, 204, "", false},
		{simulator.Alipay, 500, "success", false},
	} {
		if got := c.p.Acked(simulator.Answer{Status: c.status, Body: []byte(c.body)}); got != c.want {
			t.Errorf("%s %d %q: %v", c.p, c.status, c.body, got)
		}
	}
}
