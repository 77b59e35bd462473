package forge

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestAlipaySignsWhatItSends(t *testing.T) {
	at := time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)
	form := AlipayTrade{
		AppID: "2021000000000000", OutTradeNo: "T1", TradeNo: "2026010122001400000000000001", Status: "TRADE_SUCCESS",
		TotalFen: 1000, Subject: "a b+c=d&e 茶", Paid: at, NotifyID: "n1", NotifiedAt: at,
	}.Form()
	m := AlipaySigner{}.Sign(form)
	// Read back by other code than what wrote it.
	values, err := url.ParseQuery(string(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got := values.Get("subject"); got != "a b+c=d&e 茶" {
		t.Errorf("subject %q", got)
	}
	if got := values.Get("gmt_payment"); got != "2026-01-01 12:00:00" {
		t.Errorf("gmt_payment %q, want Beijing time", got)
	}
	signature, err := base64.StdEncoding.DecodeString(values.Get("sign"))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(form.Text(Rule{})))
	if err := rsa.VerifyPKCS1v15(&AlipayKey.Private().PublicKey, crypto.SHA256, digest[:], signature); err != nil {
		t.Error(err)
	}
	if again := (AlipaySigner{}).Sign(form); !bytes.Equal(again.Body, m.Body) {
		t.Error("the same form was signed differently")
	}
}

func TestTextFollowsTheRule(t *testing.T) {
	f := Form{{"b", "2"}, {"sign_type", "RSA2"}, {"a", ""}, {"sign", "x"}}
	for rule, want := range map[Rule]string{
		{}:                   "a=&b=2",
		{DropEmpty: true}:    "b=2",
		{KeepSignType: true}: "a=&b=2&sign_type=RSA2",
	} {
		if got := f.Text(rule); got != want {
			t.Errorf("%+v: %q, want %q", rule, got, want)
		}
	}
}

func TestGBKChangesTheBytes(t *testing.T) {
	f := Form{{"subject", "茶"}}.GBK("GBK")
	if !strings.Contains(string(f.Encode()), "subject=%B2%E8") || f.Get("charset") != "GBK" {
		t.Errorf("%s", f.Encode())
	}
}
