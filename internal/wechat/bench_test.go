package wechat

import (
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// benchmark parses one request over and over: proof, decryption and facts.
func benchmark(b *testing.B, req provider.Request) {
	a := newAdapter(b)
	if _, err := a.Parse(req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(req.Body)))
	for b.Loop() {
		if _, err := a.Parse(req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseV3(b *testing.B) { benchmark(b, v3(paidEvent(payment().V3()))) }
func BenchmarkParseV3Refund(b *testing.B) {
	benchmark(b, v3(event("REFUND.SUCCESS", "refund", refund().V3())))
}
func BenchmarkParseV2MD5(b *testing.B) { benchmark(b, v2(fields())) }
func BenchmarkParseV2HMAC(b *testing.B) {
	benchmark(b, forge.WechatV2Signer{SignType: signHMAC}.Sign(fields()).At(received))
}
func BenchmarkParseV2Refund(b *testing.B) {
	outer, inner := refund().V2()
	benchmark(b, v2Refund(outer, inner))
}

// BenchmarkRefuseUnknownSerial is what a flood of forged messages costs.
func BenchmarkRefuseUnknownSerial(b *testing.B) {
	a := newAdapter(b)
	req := v3(paidEvent(payment().V3()))
	req.Header.Set("Wechatpay-Serial", "0123456789ABCDEF")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Parse(req); err == nil {
			b.Fatal("accepted")
		}
	}
}
