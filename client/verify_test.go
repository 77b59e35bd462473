package client_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/notifyd/notifyd/client"
)

// Throw-away secrets of the tests.
var (
	hookSecret    = "whsec_" + base64.StdEncoding.EncodeToString([]byte("throw-away-secret-of-tests-0001!"))
	newHookSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("throw-away-secret-of-tests-0002!"))
)

var sentAt = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)

const paidEvent = `{"id":"evt_01","seq":42,"type":"order.paid","created_at":"2026-01-01T12:00:00+08:00","merchant":"default","order_version":2,
"order":{"merchant":"default","out_trade_no":"T1001","status":"paid","version":2,"amount_fen":1000,"paid_fen":1000},
"payment":{"provider":"wechat","provider_txn_id":"42T1001","amount_fen":1000,"role":"accepted"},"refund":null,"reason":"","notification_id":"ntf_01"}`

// delivery signs with the official library of the specification.
func delivery(t testing.TB, id, body string, at time.Time, secrets ...string) http.Header {
	t.Helper()
	var signatures []string
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := signer.Sign(id, at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, signature)
	}
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("webhook-signature", strings.Join(signatures, " "))
	return h
}

func TestDeliveryIsProvenAndRead(t *testing.T) {
	e, err := client.VerifyWebhook(delivery(t, "evt_01", paidEvent, sentAt, hookSecret), []byte(paidEvent), sentAt, hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	if e.ID != "evt_01" || e.Seq != 42 || e.Type != client.OrderPaid || e.OrderVersion != 2 || e.Order.OutTradeNo != "T1001" ||
		e.Order.Status != client.Paid || e.Payment.AmountFen != 1000 || e.Refund != nil || e.NotificationID != "ntf_01" || !e.CreatedAt.Equal(sentAt) {
		t.Errorf("it reads %+v", e)
	}
	const unhandled = `{"id":"evt_02","seq":null,"type":"notification.unhandled","created_at":"2026-01-01T12:00:00+08:00","merchant":"default",
"order_version":null,"order":null,"payment":null,"refund":null,"reason":"","notification_id":"ntf_02"}`
	e, err = client.VerifyWebhook(delivery(t, "evt_02", unhandled, sentAt, hookSecret), []byte(unhandled), sentAt, hookSecret)
	if err != nil || e.Type != client.NotificationUnhandled || e.Seq != 0 || e.OrderVersion != 0 || e.Order != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// While a secret is changed, the delivery is signed with both, or the receiver
// knows both; either way it is taken.
func TestRotation(t *testing.T) {
	for _, test := range []struct {
		signed, known []string
		proven        bool
	}{
		{[]string{hookSecret}, []string{hookSecret}, true},
		{[]string{hookSecret, newHookSecret}, []string{hookSecret}, true},
		{[]string{hookSecret, newHookSecret}, []string{newHookSecret}, true},
		{[]string{hookSecret}, []string{newHookSecret, hookSecret}, true},
		{[]string{hookSecret}, []string{newHookSecret}, false},
		{nil, []string{hookSecret}, false},
	} {
		_, err := client.VerifyWebhook(delivery(t, "evt_01", paidEvent, sentAt, test.signed...), []byte(paidEvent), sentAt, test.known...)
		if proven := err == nil; proven != test.proven || !proven && !errors.Is(err, client.ErrUnproven) {
			t.Errorf("signed with %d, known %d: %v", len(test.signed), len(test.known), err)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for _, test := range []struct {
		late   time.Duration
		proven bool
	}{
		{0, true}, {5 * time.Minute, true}, {-5 * time.Minute, true}, {5*time.Minute + time.Second, false}, {-5*time.Minute - time.Second, false}, {24 * time.Hour, false},
	} {
		_, err := client.VerifyWebhook(delivery(t, "evt_01", paidEvent, sentAt, hookSecret), []byte(paidEvent), sentAt.Add(test.late), hookSecret)
		if proven := err == nil; proven != test.proven || !proven && !errors.Is(err, client.ErrUnproven) {
			t.Errorf("%v late: %v", test.late, err)
		}
	}
	for _, text := range []string{"", "abc", "-1767240000", "+1767240000", "1767240000.0", " 1767240000", "0x69560000", "99999999999999999999", "9223372036854775807"} {
		h := delivery(t, "evt_01", paidEvent, sentAt, hookSecret)
		h["Webhook-Timestamp"] = []string{text}
		if _, err := client.VerifyWebhook(h, []byte(paidEvent), sentAt, hookSecret); !errors.Is(err, client.ErrUnproven) {
			t.Errorf("the timestamp %q: %v", text, err)
		}
	}
}

// Every bit of what is signed, and of the signature, counts.
func TestFlippedBits(t *testing.T) {
	refused := func(what string, h http.Header, body []byte) {
		t.Helper()
		if _, err := client.VerifyWebhook(h, body, sentAt, hookSecret); !errors.Is(err, client.ErrUnproven) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		value := delivery(t, "evt_01", paidEvent, sentAt, hookSecret).Get(name)
		for bit := range len(value) * 8 {
			flipped := []byte(value)
			flipped[bit/8] ^= 1 << (bit % 8)
			h := delivery(t, "evt_01", paidEvent, sentAt, hookSecret)
			h[http.CanonicalHeaderKey(name)] = []string{string(flipped)}
			refused(name+" "+strconv.Quote(string(flipped)), h, []byte(paidEvent))
		}
		h := delivery(t, "evt_01", paidEvent, sentAt, hookSecret)
		h.Add(name, value)
		refused(name+" twice", h, []byte(paidEvent))
		h.Del(name)
		refused(name+" missing", h, []byte(paidEvent))
	}
	for bit := range len(paidEvent) * 8 {
		flipped := []byte(paidEvent)
		flipped[bit/8] ^= 1 << (bit % 8)
		refused("body "+string(flipped), delivery(t, "evt_01", paidEvent, sentAt, hookSecret), flipped)
	}
	h := delivery(t, "evt_01", paidEvent, sentAt, hookSecret)
	refused("a body with more", h, []byte(paidEvent+" "))
	h.Set("webhook-signature", strings.Replace(h.Get("webhook-signature"), "v1,", "v1a,", 1))
	refused("another version", h, []byte(paidEvent))
}

// A good signature among others that mean nothing to us is enough.
func TestOtherSignaturesAreLeftAside(t *testing.T) {
	h := delivery(t, "evt_01", paidEvent, sentAt, hookSecret)
	h.Set("webhook-signature", "v1a,AAAA v1, junk "+h.Get("webhook-signature"))
	if _, err := client.VerifyWebhook(h, []byte(paidEvent), sentAt, hookSecret); err != nil {
		t.Error(err)
	}
}

func TestProvenButNoEvent(t *testing.T) {
	for _, body := range []string{"", "no JSON", "{}", "[]", `{"id":"evt_other"}`, `{"id":"evt_01","seq":"42"}`} {
		_, err := client.VerifyWebhook(delivery(t, "evt_01", body, sentAt, hookSecret), []byte(body), sentAt, hookSecret)
		if !errors.Is(err, client.ErrUnreadable) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestSecretsThatAreNone(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_c2hvcnQ="}, {"whsec_no base64 at all!"}, {strings.TrimPrefix(hookSecret, "whsec_")}, {hookSecret, "hunter2"}} {
		_, err := client.VerifyWebhook(delivery(t, "evt_01", paidEvent, sentAt, hookSecret), []byte(paidEvent), sentAt, secrets...)
		if !errors.Is(err, client.ErrSecret) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", secrets, err)
		}
	}
	if _, err := client.VerifyWebhook(delivery(t, "evt_01", paidEvent, sentAt, hookSecret), []byte(paidEvent), sentAt, hookSecret+"\n"); err != nil {
		t.Errorf("a secret as a file holds it: %v", err)
	}
}
