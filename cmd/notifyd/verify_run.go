package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// The third verdict beside refused and unavailable: verify commits nothing, so
// nothing is accepted.
const verdictVerified = "verified"

// verified is what verify finds out about a capture. Unknown values are null.
type verified struct {
	File       string       `json:"file"`
	Account    string       `json:"account"`
	Provider   string       `json:"provider"`
	Protocol   *string      `json:"protocol"`
	ReceivedAt order.Moment `json:"received_at"`
	Verdict    string       `json:"verdict"`
	Code       *string      `json:"code"`   // the server's, of a refusal
	Detail     *string      `json:"detail"` // the server's
	Cause      *cause       `json:"cause"`
	Signed     *signedText  `json:"signed_text"`
	Keys       []keyShown   `json:"keys"`
	Steps      []stepShown  `json:"steps"`
	Facts      []factShown  `json:"facts"`
	Order      *wouldDo     `json:"order"`
}

// cause names the mistake behind a refusal.
type cause struct {
	Code   string             `json:"code"` // the server's own, or a finer one
	Detail string             `json:"detail"`
	Means  provider.Bilingual `json:"means"`
	Fix    provider.Bilingual `json:"fix"`
	Anchor string             `json:"anchor"`
}

type signedText struct {
	Bytes  int     `json:"bytes"`
	SHA256 string  `json:"sha256"`
	Text   *string `json:"text"` // with --show-text
}

type keyShown = keyOverview

type stepShown struct {
	Name  provider.StepName  `json:"name"`
	State provider.StepState `json:"state"`
	Text  string             `json:"text"`
}

func (r *verified) step(name provider.StepName, state provider.StepState, format string, args ...any) {
	r.Steps = append(r.Steps, stepShown{name, state, fmt.Sprintf(format, args...)})
}

// verify asks Parse, as the server does, and lets the adapter explain.
func (v *verifying) verify(ctx context.Context, c captured, tries [][]byte) verified {
	a := v.accounts[v.account]
	result := verified{File: c.path, Account: a.Name, Provider: a.Account.Provider, ReceivedAt: order.Moment(c.At),
		Verdict: verdictVerified, Keys: keysOf(a.Provider), Facts: []factShown{}}
	n, err := v.judge(c)
	result.requestStep(c, err)
	examiner, can := a.Provider.(provider.Examiner)
	if can && !isEdge(err) {
		result.examined(examiner.Examine(ctx, provider.Exhibit{Request: requestOf(c), Err: err, Others: v.others(a.Name), Tries: tries}))
	}
	if err != nil {
		result.refuse(err)
		result.step(provider.StepFact, provider.StepSkipped, "what is not proven says nothing")
		result.step(provider.StepOrder, provider.StepSkipped, "nothing: a refused message touches no order")
		return result
	}
	n.ID, n.ReceivedAt = newID("ntf_"), c.At
	result.factSteps(&n)
	v.orderStep(ctx, &result, n)
	return result
}

// judge is the verdict: what the edge says of a request before it asks an
// adapter, and then the adapter, with the functions of the server.
func (v *verifying) judge(c captured) (order.Notification, error) {
	if err := httpapi.Sendable(c.Header); err != nil {
		return order.Notification{}, err
	}
	if err := httpapi.Admit(c.request()); err != nil {
		return order.Notification{}, err
	}
	return v.accounts[v.account].Provider.Parse(requestOf(c))
}

func requestOf(c captured) provider.Request {
	return provider.Request{Header: c.Header, Body: c.Body, ReceivedAt: c.At}
}

func (r *verified) requestStep(c captured, err error) {
	text := fmt.Sprintf("%s to account %q, %d bytes, received %s", c.Method, r.Account, len(c.Body), clockTime(r.ReceivedAt))
	if isEdge(err) {
		r.step(provider.StepRequest, provider.StepFailed, "%s; the edge answers %d: %v", text, provider.Status(err), err)
		return
	}
	r.step(provider.StepRequest, provider.StepOK, "%s", text)
}

// isEdge says whether the edge refused, so that no adapter was asked.
func isEdge(err error) bool {
	_, edge := explanationOf(httpapi.Explanations(), provider.Code(err))
	return edge
}

func (r *verified) examined(e provider.Examination) {
	r.Protocol = &e.Protocol
	for _, s := range e.Steps {
		r.step(s.Name, s.State, "%s", shown(s.Text))
	}
	if e.Signed != nil {
		text := e.Signed.Text
		r.Signed = &signedText{e.Signed.Bytes, e.Signed.SHA256, &text}
	}
	if e.Cause.Code != "" {
		r.Cause = causeOf(e.Cause)
	}
}

func (r *verified) refuse(err error) {
	r.Verdict = verdictRefused
	code, detail := provider.Code(err), ""
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		detail = shown(refusal.Detail)
	}
	r.Code, r.Detail = &code, &detail
	if r.Cause == nil {
		r.Cause = causeOf(provider.Cause{Code: code, Detail: detail})
	}
}

func causeOf(c provider.Cause) *cause {
	e, _ := explanationOf(allExplanations(), c.Code)
	return &cause{Code: c.Code, Detail: shown(c.Detail), Means: e.Means, Fix: e.Fix, Anchor: anchorOf(c.Code)}
}
