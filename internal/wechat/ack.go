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
// around them, v3 looks at the status.
var (
	ackV3 = provider.Answer{Status: http.StatusOK, ContentType: "application/json", Body: []byte(`{"code":"SUCCESS","message":"OK"}`)}
	ackV2 = provider.Answer{Status: http.StatusOK, ContentType: "text/xml", Body: []byte(`<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>`)}

	failV3 = failures("application/json", `{"code":"FAIL","message":"`, `"}`)
	failV2 = failures("text/xml", `<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[`, `]]></return_msg></xml>`)
)

// failures words one answer for each status. 400 and 401 read the same: whoever
// tries keys or forms learns nothing from the text.
func failures(contentType, before, after string) map[int]provider.Answer {
	texts := map[int]string{
		http.StatusBadRequest:            "not verified",
		http.StatusUnauthorized:          "not verified",
		http.StatusMethodNotAllowed:      "POST only",
		http.StatusRequestEntityTooLarge: "body too large",
		http.StatusUnsupportedMediaType:  "content encoding not accepted",
		http.StatusServiceUnavailable:    "try again later",
	}
	answers := make(map[int]provider.Answer, len(texts))
	for status, text := range texts {
		answers[status] = provider.Answer{Status: status, ContentType: contentType, Body: []byte(before + text + after)}
	}
	return answers
}

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
	status := provider.Status(err)
	if v3 {
		return failV3[status]
	}
	return failV2[status]
}
