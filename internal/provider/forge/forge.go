// Package forge builds the messages that the payment providers send. It signs
// with keys that it is given, or else with throw-away keys of its own, which are
// for tests and for the captures under testdata. It stands beside the adapters and shares no code with them, so that
// an error of one is not hidden by the same error of the other.
//
// It imports provider and the standard library, never an adapter and never
// testing. Nothing that verifies for real may import it.
package forge

import (
	"net/http"
	"slices"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

// Message is one notification as its provider would send it.
type Message struct {
	Header http.Header
	Body   []byte
}

// At is the message as the edge hands it over when it came in at t. The request
// owns its bytes: what is done to it does not reach the message.
func (m Message) At(t time.Time) provider.Request {
	return provider.Request{Header: m.Header.Clone(), Body: slices.Clone(m.Body), ReceivedAt: t}
}
