package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Examining is an examination under way: what there is to look at, and what is
// written down of it. The sentences that every adapter needs stand here, so that
// they say the same in all.
type Examining struct {
	Exhibit
	Result Examination
}

// Add writes down a step.
func (e *Examining) Add(name StepName, state StepState, format string, args ...any) {
	e.Result.Steps = append(e.Result.Steps, Step{Name: name, State: state, Text: fmt.Sprintf(format, args...)})
}

// Check writes down a step that holds or does not.
func (e *Examining) Check(name StepName, ok bool, format string, args ...any) {
	state := StepFailed
	if ok {
		state = StepOK
	}
	e.Add(name, state, format, args...)
}

// Tell writes down a step whose fault Parse words as well.
func (e *Examining) Tell(name StepName, err error, well string) {
	if err == nil {
		e.Add(name, StepOK, "%s", well)
		return
	}
	e.Add(name, StepFailed, "%s", DetailOf(err))
}

// Skip writes down steps that are not taken.
func (e *Examining) Skip(why string, names ...StepName) {
	for _, name := range names {
		e.Add(name, StepSkipped, "%s", why)
	}
}

// ShowSigned writes down the text to be verified. A secret that belongs to it is
// left out by the caller.
func (e *Examining) ShowSigned(text []byte, mask *Mask, about string) {
	sum := sha256.Sum256(text)
	e.Result.Signed = &Signed{Bytes: len(text), SHA256: hex.EncodeToString(sum[:]), Text: mask.Hide(string(text))}
	e.Add(StepText, StepOK, "%d bytes, sha256 %s%s", len(text), e.Result.Signed.SHA256, about)
}

// Conclude writes down the cause. unfinished is why a finer one may have been
// missed; "" when everything was tried.
func (e *Examining) Conclude(c Cause, unfinished string) {
	switch {
	case c.Code == "" || unfinished == "":
	case c.Detail == "":
		c.Detail = unfinished
	default:
		c.Detail += "; " + unfinished
	}
	e.Result.Cause = c
}

// AsParseSays is the code of Parse with its words: the cause when nothing finer
// is found.
func (e *Examining) AsParseSays() Cause {
	if e.Err == nil {
		return Cause{}
	}
	cause := Cause{Code: Code(e.Err)}
	var refusal *Refusal
	if errors.As(e.Err, &refusal) {
		cause.Detail = refusal.Detail
	}
	return cause
}

// ForeignCause names the account that the message is for, where there is one.
func (e *Examining) ForeignCause() Cause {
	cause := e.AsParseSays()
	for _, other := range e.Others {
		if n, err := other.Parse(e.Request); err == nil {
			cause.Detail += fmt.Sprintf("; account %q takes it: the notify_url of this order names the wrong account", n.Account)
			return cause
		}
	}
	return cause
}

// DetailOf is what a refusal says of itself, for people.
func DetailOf(err error) string {
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Detail != "" {
		return refusal.Detail
	}
	return "refused with " + Code(err)
}

// Because is a cause with what was found.
func Because(code, format string, args ...any) Cause {
	return Cause{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// IsProven says whether an error of Parse leaves the proof standing: what is
// genuine and for somebody else is genuine.
func IsProven(err error) bool { return err == nil || errors.Is(err, ErrForeign) }
