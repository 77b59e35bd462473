package alipay

import "github.com/notifyd/notifyd/internal/provider"

// The bodies that Alipay understands: exactly "success" ends the repeats of a
// notification, anything else asks for the next one.
// Source: Alipay docs, asynchronous notifications, "page the notification points to".
const (
	ackSuccess     = "success"
	ackFailure     = "failure"
	ackContentType = "text/plain"
)

// Ack words the answer: `success` for nil, otherwise `failure`, whatever the cause.
func (a *Adapter) Ack(_ provider.Request, err error) provider.Answer {
	words := ackSuccess
	if err != nil {
		words = ackFailure
	}
	return provider.Answer{Status: provider.Status(err), ContentType: ackContentType, Body: []byte(words)}
}
