package wechat

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

var _ provider.Examiner = (*Adapter)(nil)

// Examine says, step by step, why Parse judged a request as it did. It takes the
// steps of Parse with the functions of Parse, but goes on where Parse stops: what
// is stale may be genuine all the same.
func (a *Adapter) Examine(x provider.Exhibit) provider.Examination {
	e := &examination{message: message{a: a, req: &x.Request, keys: a.keys.Load(), scratch: newScratch()}, x: x}
	for _, other := range x.Others {
		if o, ok := other.(*Adapter); ok && o != a {
			e.others = append(e.others, o)
		}
	}
	cause := e.examineV2
	if isV3(x.Request.Header) {
		cause = e.examineV3
	}
	e.result.Cause = cause()
	return e.result
}

// examination is one request under examination.
type examination struct {
	message
	x      provider.Exhibit
	others []*Adapter
	result provider.Examination
}

func (e *examination) step(name provider.StepName, ok bool, format string, args ...any) {
	state := provider.StepFailed
	if ok {
		state = provider.StepOK
	}
	e.add(name, state, format, args...)
}

func (e *examination) add(name provider.StepName, state provider.StepState, format string, args ...any) {
	e.result.Steps = append(e.result.Steps, provider.Step{Name: name, State: state, Text: fmt.Sprintf(format, args...)})
}

// told is the step of a fault that Parse words as well.
func (e *examination) told(name provider.StepName, err error, well string) {
	if err == nil {
		e.add(name, provider.StepOK, "%s", well)
		return
	}
	e.add(name, provider.StepFailed, "%s", detailOf(err))
}

// code is Parse's own, and detail its words: the cause when nothing finer is found.
func (e *examination) asParseSays() provider.Cause {
	if e.x.Err == nil {
		return provider.Cause{}
	}
	cause := provider.Cause{Code: provider.Code(e.x.Err)}
	var refusal *provider.Refusal
	if errors.As(e.x.Err, &refusal) {
		cause.Detail = refusal.Detail
	}
	return cause
}

func detailOf(err error) string {
	var refusal *provider.Refusal
	if errors.As(err, &refusal) && refusal.Detail != "" {
		return refusal.Detail
	}
	return "refused with " + provider.Code(err)
}

func because(code, format string, args ...any) provider.Cause {
	return provider.Cause{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// showSigned describes the text to verify; secret, when it belongs to the text,
// is left out of everything.
func (e *examination) showSigned(text []byte) {
	sum := sha256Hex(text)
	e.result.Signed = &provider.Signed{Bytes: len(text), SHA256: sum, Text: provider.Mask(string(text))}
	e.add(provider.StepText, provider.StepOK, "%d bytes, sha256 %s", len(text), sum)
}

// proven says whether err leaves the proof standing: what is genuine and for
// somebody else is genuine.
func proven(err error) bool { return err == nil || errors.Is(err, provider.ErrForeign) }

// bindingStep says whose the message is. err is that of the facts.
func (e *examination) bindingStep(err error) {
	if !proven(err) {
		e.add(provider.StepBinding, provider.StepFailed, "%s", detailOf(err))
		return
	}
	own := "mchid " + e.a.options.MchID + ", an app of " + strings.Join(e.a.options.AppIDs, ", ")
	if e.a.isPartner() {
		own += ", a sub-merchant of " + strings.Join(e.a.options.SubMchIDs, ", ")
	}
	e.told(provider.StepBinding, err, "it is this account's: "+own)
}

// foreignCause names the account that the message is for, where there is one.
func (e *examination) foreignCause() provider.Cause {
	cause := e.asParseSays()
	for _, o := range e.others {
		if again, err := o.Parse(e.x.Request); err == nil {
			cause.Detail += fmt.Sprintf("; account %q takes it: the notify_url of this order names the wrong account", again.Account)
			return cause
		}
	}
	return cause
}

// loaded lists the keys in use, for people.
func loaded(ks *keySet) string {
	if len(ks.order) == 0 {
		return "none"
	}
	var all []string
	for _, k := range ks.order {
		text := k.kind + " " + k.id
		if !k.notAfter.IsZero() {
			text += " until " + k.notAfter.UTC().Format(time.DateOnly)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
