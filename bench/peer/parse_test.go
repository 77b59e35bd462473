package peer

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/bench/message"
	"github.com/notifyd/notifyd/internal/provider"
)

// BenchmarkParse is what one notification costs from its bytes to what it says:
// read, verify, decrypt and map, for every protocol and library, on the same
// bytes. The libraries take a whole *http.Request, which is made once.
func BenchmarkParse(b *testing.B) {
	adapters, err := account.Adapters()
	if err != nil {
		b.Fatal(err)
	}
	first, err := newGopay()
	if err != nil {
		b.Fatal(err)
	}
	second, err := newSDK()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		kind    message.Kind
		adapter provider.Provider
		gopay   func(*http.Request) (fact, error)
		other   string
		sdk     func(*http.Request) (fact, error)
	}{
		{message.V3Paid, adapters["wechat"], first.wechatV3, "wechatpay-go", second.wechatV3},
		{message.V2Paid, adapters["wechat"], first.wechatV2, "", nil},
		{message.AliPaid, adapters["alipay"], first.alipay, "smartwalle", second.alipay},
	} {
		m := message.Make(c.kind, orderNumber, time.Now())
		b.Run(string(c.kind)+"/notifyd", func(b *testing.B) {
			req := m.At(time.Now())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.adapter.Parse(req); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(string(c.kind)+"/gopay", func(b *testing.B) { benchmarkLibrary(b, m.Header, m.Body, c.gopay) })
		if c.sdk != nil {
			b.Run(string(c.kind)+"/"+c.other, func(b *testing.B) { benchmarkLibrary(b, m.Header, m.Body, c.sdk) })
		}
	}
}

func benchmarkLibrary(b *testing.B, header http.Header, body []byte, parse func(*http.Request) (fact, error)) {
	reader := bytes.NewReader(body)
	r, err := http.NewRequest(http.MethodPost, "http://bench.test/", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header = header.Clone()
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		r.Body, r.Form, r.PostForm = io.NopCloser(reader), nil, nil
		if _, err := parse(r); err != nil {
			b.Fatal(err)
		}
	}
}
