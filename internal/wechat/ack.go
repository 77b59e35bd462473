package wechat

import (
	"net/http"

	"github.com/notifyd/notifyd/internal/provider"
)

// headerSignature makes a message a v3 one.
const headerSignature = "Wechatpay-Signature"

func isV3(h http.Header) bool {
	_, ok := h[headerSignature]
	return ok
}

// The answers are written out once. WeChat Pay compares them with nothing but
// its own documentation: v2 wants these two elements with not one character
// around them, v3 looks at the status. A failure reads the same whatever its
// cause: whoever tries keys or forms learns nothing from the text.
var (
	ackV3 = provider.Answer{Status: http.StatusOK, ContentType: "application/json", Body: []byte(`{"code":"SUCCESS","message":"OK"}`)}
	ackV2 = provider.Answer{Status: http.StatusOK, ContentType: "text/xml", Body: []byte(`<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>`)}

	failV3 = []byte(`{"code":"FAIL","message":"not accepted"}`)
	failV2 = []byte(`<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[not accepted]]></return_msg></xml>`)
)

// Ack words the answer: in the v3 form when the request has a
// Wechatpay-Signature header, otherwise in the v2 form. The body is shared
// between answers and must not be changed.
//
// Source: WeChat Pay docs, v3 "payment notice", section "answering"; v2 "payment
// result notification", section "answer".
func (a *Adapter) Ack(req provider.Request, err error) provider.Answer {
	v3 := isV3(req.Header)
	if err == nil {
		if v3 {
			return ackV3
		}
		return ackV2
	}
	if v3 {
		return provider.Answer{Status: provider.Status(err), ContentType: ackV3.ContentType, Body: failV3}
	}
	return provider.Answer{Status: provider.Status(err), ContentType: ackV2.ContentType, Body: failV2}
}
