package alipay

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

var _ provider.Examiner = (*Adapter)(nil)

// Examine says, step by step, why Parse judged a request as it did.
func (a *Adapter) Examine(x provider.Exhibit) provider.Examination {
	e := &examination{a: a, x: x, ring: a.ring.Load()}
	for _, other := range x.Others {
		if o, ok := other.(*Adapter); ok && o != a {
			e.others = append(e.others, o)
		}
	}
	e.result.Protocol = "Alipay"
	e.steps()
	e.result.Cause = e.cause()
	return e.result
}

// examination is one request under examination.
type examination struct {
	a      *Adapter
	x      provider.Exhibit
	others []*Adapter
	ring   *keyring
	form   form
	result provider.Examination
}

func (e *examination) add(name provider.StepName, state provider.StepState, format string, args ...any) {
	e.result.Steps = append(e.result.Steps, provider.Step{Name: name, State: state, Text: fmt.Sprintf(format, args...)})
}

func (e *examination) skip(names ...provider.StepName) {
	for _, name := range names {
		e.add(name, provider.StepSkipped, "not reached")
	}
}

// steps are those of Parse, with the functions of Parse.
func (e *examination) steps() {
	f, _, err := readForm(e.x.Request.Body)
	if err != nil {
		e.add(provider.StepProtocol, provider.StepFailed, "the body is no form that Alipay sends: %s", detailOf(err))
		e.skip(provider.StepTime, provider.StepKey, provider.StepText, provider.StepSignature, provider.StepDecryption, provider.StepBinding)
		return
	}
	e.form = f
	e.add(provider.StepProtocol, provider.StepOK, "a form of %d fields, %s", len(f), about(f))
	e.timeStep(f)
	e.add(provider.StepKey, provider.StepOK, "Alipay names no key; loaded: %s", loaded(e.ring))
	e.showSigned(f.text(nil, rule{}))
	switch err := e.a.verify(f, nil); {
	case err != nil:
		e.add(provider.StepSignature, provider.StepFailed, "%s", detailOf(err))
	default:
		e.add(provider.StepSignature, provider.StepOK, "holds under a loaded key (%s)", orText(f.get("sign_type"), signRSA2+", for sign_type is absent"))
	}
	e.decryptionStep(f)
	switch {
	case e.x.Err == nil:
		e.add(provider.StepBinding, provider.StepOK, "it is this account's: app_id %s%s", e.a.options.AppID, e.alsoOurs())
	case errors.Is(e.x.Err, provider.ErrForeign):
		e.add(provider.StepBinding, provider.StepFailed, "%s", detailOf(e.x.Err))
	default:
		e.skip(provider.StepBinding)
	}
}

func (e *examination) alsoOurs() (text string) {
	if len(e.a.options.AuthAppIDs) > 0 {
		text += ", auth_app_id also " + strings.Join(e.a.options.AuthAppIDs, ", ")
	}
	if e.a.options.SellerID != "" {
		text += ", seller_id " + e.a.options.SellerID
	}
	return text
}

// about is what a form says it is, before anything is proven.
func about(f form) string {
	for _, name := range []string{"msg_method", "notify_type"} {
		if value := f.get(name); value != "" {
			return fmt.Sprintf("%s %q", name, provider.Clip(value, maxNameLength))
		}
	}
	return "without notify_type and msg_method"
}

// timeStep shows when it was sent. Nothing depends on it: Alipay sets no window.
func (e *examination) timeStep(f form) {
	sent, ok := instant(f.get("notify_time"))
	if !ok {
		e.add(provider.StepTime, provider.StepNote, "it does not say when it was sent; Alipay sets no limit")
		return
	}
	e.add(provider.StepTime, provider.StepNote, "sent at %s, received %s after that; Alipay sets no limit",
		sent.In(beijing).Format(time.DateTime), e.x.Request.ReceivedAt.Sub(sent).Round(time.Second))
}

func (e *examination) showSigned(text []byte) {
	sum := sha256.Sum256(text)
	e.result.Signed = &provider.Signed{Bytes: len(text), SHA256: hex.EncodeToString(sum[:]), Text: provider.Mask(string(text))}
	e.add(provider.StepText, provider.StepOK, "%d bytes, sha256 %s (all fields but sign and sign_type)", len(text), e.result.Signed.SHA256)
}

func (e *examination) decryptionStep(f form) {
	switch {
	case f.get("encrypt_type") == "":
		e.add(provider.StepDecryption, provider.StepNote, "nothing is encrypted")
	case e.ring.aes == nil:
		e.add(provider.StepDecryption, provider.StepNote, "biz_content is encrypted, and there is no aes_key: it is kept as it is")
	default:
		if _, ok := decryptCBC(e.ring.aes, f.get("biz_content")); ok {
			e.add(provider.StepDecryption, provider.StepOK, "biz_content opens under aes_key")
		} else {
			e.add(provider.StepDecryption, provider.StepNote, "biz_content does not open under aes_key: it is kept as it is; compare aes_key with the console")
		}
	}
}

func loaded(ring *keyring) string {
	var all []string
	for _, k := range ring.keys {
		text := k.info.Kind + " " + k.info.ID
		if !k.info.NotAfter.IsZero() {
			text += " until " + k.info.NotAfter.Format(time.DateOnly)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return provider.Clip(s, maxNamed)
}

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

// cause looks for the mistake behind the symptom.
func (e *examination) cause() provider.Cause {
	switch provider.Code(e.x.Err) {
	case codeNoSignature:
		if len(e.x.Request.Body) == 0 {
			return because(codeBodyEmpty, "the body has no byte")
		}
	case codeFormSyntax, codeFieldName, codeTooManyFields, codeDuplicateField:
		return e.formCause()
	case codeSignType, codeSignature, codeSignatureForm, codePlusLost, codeEncodedTwice, codeHTMLEscaped, codeBackslashed, codeTranscoded:
		return e.signatureCause()
	case codeForeignApp, codeForeignAuthApp, codeForeignSeller:
		return e.foreignCause()
	}
	return e.asParseSays()
}

func (e *examination) foreignCause() provider.Cause {
	cause := e.asParseSays()
	for _, o := range e.others {
		if _, err := o.Parse(e.x.Request); err == nil {
			cause.Detail += fmt.Sprintf("; account %q takes it: the notify_url of this order names the wrong account", o.env.Account)
			return cause
		}
	}
	return cause
}

// isGenuine says whether Parse would take another body.
func (e *examination) isGenuine(body string) bool {
	req := e.x.Request
	req.Body = []byte(body)
	_, err := e.a.Parse(req)
	return err == nil || errors.Is(err, provider.ErrForeign)
}

// formCause: the body is no form, or one that Alipay does not send.
func (e *examination) formCause() provider.Cause {
	body := string(e.x.Request.Body)
	for damage, before := range mend.Undone(body) {
		if code := ofDamage[damage]; code != "" && e.isGenuine(before) {
			return because(code, "undone, the message is genuine (%d bytes then, %d now)", len(before), len(body))
		}
	}
	if e.isGenuine(strings.ReplaceAll(body, ";", "&")) {
		cause := e.asParseSays()
		cause.Detail += "; with & in place of the semicolons the message is genuine"
		return cause
	}
	if v, err := mend.ReadJSON(body); err == nil && v.Kind == mend.Object {
		return e.jsonCause(v)
	}
	return e.extraCause()
}
