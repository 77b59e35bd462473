package alipay

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

func BenchmarkParse(b *testing.B) {
	a := newAdapter(b, func(o *Options) { o.PublicKeys = []KeyFile{{"alipay.pem"}} })
	for name, form := range map[string]forge.Form{"paid": baseline(), "refund": refundTrade().Form(), "GBK": baseline().GBK("gbk")} {
		req := sign(form)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(req.Body)))
			for b.Loop() {
				if _, err := a.Parse(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParseForged is what a stranger's message costs: bad signatures of the
// right shape, and messages that no key needs to see.
func BenchmarkParseForged(b *testing.B) {
	a := newAdapter(b, func(o *Options) { o.PublicKeys = []KeyFile{{"alipay.pem"}} })
	for name, req := range map[string][]byte{
		"stranger's key": at(forge.AlipaySigner{Key: forge.StrangerKey}.Sign(baseline())).Body,
		"no signature":   baseline().Encode(),
		"wrong type":     forge.AlipaySigner{SignType: signRSA}.Sign(baseline()).Body,
	} {
		r := body(string(req))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Parse(r); err == nil {
					b.Fatal("accepted")
				}
			}
		})
	}
}

// BenchmarkOracle is the SDK's verification of the same bytes, to compare with.
func BenchmarkOracle(b *testing.B) {
	verify := oracle(b)
	req := sign(baseline())
	b.ReportAllocs()
	b.SetBytes(int64(len(req.Body)))
	for b.Loop() {
		if err := verify(req.Body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRSAAlone is the floor: the one verification that no reader can save.
func BenchmarkRSAAlone(b *testing.B) {
	text := []byte(baseline().Text(forge.Rule{}))
	proof, err := base64.StdEncoding.DecodeString(forge.AlipaySigner{}.Signature(string(text)))
	if err != nil {
		b.Fatal(err)
	}
	public := &forge.AlipayKey.Private().PublicKey
	b.ReportAllocs()
	for b.Loop() {
		digest := sha256.Sum256(text)
		if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], proof); err != nil {
			b.Fatal(err)
		}
	}
}
