package wechat

import (
	"net/http"
	"strconv"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

var _ provider.Prober = (*Adapter)(nil)

// Probes are a v3 message with the signature that WeChat Pay's own tests have and
// a v2 message without a sign, each where the account has the keys for its form:
// a filter may spoil one and let the other through. See provider.Prober.
func (a *Adapter) Probes(mark string, now time.Time) (probes []provider.Request) {
	ks := a.keys.Load()
	if ks.v3 != nil && len(ks.order) > 0 {
		probes = append(probes, probeV3(mark, ks.order[0].id, now))
	}
	if ks.v2 != nil {
		probes = append(probes, provider.Request{Header: http.Header{"Content-Type": {"text/xml"}}, Body: probeXML(mark), ReceivedAt: now})
	}
	return probes
}

func probeV3(mark, serial string, now time.Time) provider.Request {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set(headerTimestamp, strconv.FormatInt(now.Unix(), 10))
	header.Set(headerNonce, mark)
	header.Set(headerSerial, serial)
	header.Set(headerSignature, probePrefix+mark)
	header.Set(headerSignatureType, signatureType)
	return provider.Request{Header: header, Body: probeJSON(mark), ReceivedAt: now}
}

// What programs change that read JSON and write it again: the order of the
// names, blanks, escapes, numbers, line ends.
func probeJSON(mark string) []byte {
	return []byte(`{"summary":"支付成功 \u652f\/ a+b & <c> 'd' \"e\" %2B",` + "\r\n  " +
		`"id" : "` + mark + `", "event_type":"NOTIFYD.DOCTOR","create_time":"2026-01-01T12:00:00+08:00","amount":1.0,"a":1}` + "\n")
}

// The same for XML: CDATA, references, blanks and line ends.
func probeXML(mark string) []byte {
	return []byte("<xml>\r\n  <return_code><![CDATA[SUCCESS]]></return_code>\n" +
		"<result_code>SUCCESS</result_code><out_trade_no>" + mark + "</out_trade_no>\n" +
		"<attach><![CDATA[支付 a+b & <c> 'd' \"e\" %2B]]></attach><total_fee>1</total_fee>\n</xml>\n")
}
