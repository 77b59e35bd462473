package alipay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

var _ provider.Examiner = (*Adapter)(nil)

// Examine says, step by step, why Parse judged a request as it did.
func (a *Adapter) Examine(ctx context.Context, x provider.Exhibit) provider.Examination {
	e := &examination{Examining: provider.Examining{Exhibit: x}, a: a, ring: a.ring.Load(), search: mend.NewSearch(ctx)}
	for _, other := range x.Others {
		if o, ok := other.(*Adapter); ok && o != a {
			e.siblings = append(e.siblings, o)
		}
	}
	e.Result.Protocol = "Alipay"
	e.steps()
	e.Conclude(e.cause(), e.search.Unfinished())
	return e.Result
}

// examination is one request under examination.
type examination struct {
	provider.Examining
	a        *Adapter
	siblings []*Adapter // the other accounts of this provider
	ring     *keyring
	form     form
	search   *mend.Search
}

// mask hides who paid in what is shown.
var mask = provider.NewMask(Sensitive())

// notReached is why a step was skipped.
const notReached = "not reached"

// steps are those of Parse, with the functions of Parse.
func (e *examination) steps() {
	f, _, err := readForm(e.Request.Body)
	if err != nil {
		e.Add(provider.StepProtocol, provider.StepFailed, "the body is no form that Alipay sends: %s", provider.DetailOf(err))
		e.Skip(notReached, provider.StepTime, provider.StepKey, provider.StepText, provider.StepSignature, provider.StepDecryption, provider.StepBinding)
		return
	}
	e.form = f
	e.Add(provider.StepProtocol, provider.StepOK, "a form of %d fields, %s", len(f), about(f))
	e.timeStep(f)
	e.Add(provider.StepKey, provider.StepOK, "Alipay names no key; loaded: %s", loaded(e.ring))
	e.ShowSigned(f.text(nil, rule{}), mask, " (all fields but sign and sign_type)")
	switch err := e.a.verify(f, nil); {
	case err != nil:
		e.Add(provider.StepSignature, provider.StepFailed, "%s", provider.DetailOf(err))
	default:
		e.Add(provider.StepSignature, provider.StepOK, "holds under a loaded key (%s)", orText(f.get("sign_type"), signRSA2+", for sign_type is absent"))
	}
	e.decryptionStep(f)
	switch {
	case e.Err == nil:
		e.Add(provider.StepBinding, provider.StepOK, "it is this account's: app_id %s%s", e.a.options.AppID, e.alsoOurs())
	case errors.Is(e.Err, provider.ErrForeign):
		e.Add(provider.StepBinding, provider.StepFailed, "%s", provider.DetailOf(e.Err))
	default:
		e.Skip(notReached, provider.StepBinding)
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
		e.Add(provider.StepTime, provider.StepNote, "it does not say when it was sent; Alipay sets no limit")
		return
	}
	e.Add(provider.StepTime, provider.StepNote, "sent at %s, received %s after that; Alipay sets no limit",
		sent.In(beijing).Format(time.DateTime), e.Request.ReceivedAt.Sub(sent).Round(time.Second))
}

func (e *examination) decryptionStep(f form) {
	switch {
	case f.get("encrypt_type") == "":
		e.Add(provider.StepDecryption, provider.StepNote, "nothing is encrypted")
	case e.ring.aes == nil:
		e.Add(provider.StepDecryption, provider.StepNote, "biz_content is encrypted, and there is no aes_key: it is kept as it is")
	default:
		if _, ok := decryptCBC(e.ring.aes, f.get("biz_content")); ok {
			e.Add(provider.StepDecryption, provider.StepOK, "biz_content opens under aes_key")
		} else {
			e.Add(provider.StepDecryption, provider.StepNote, "biz_content does not open under aes_key: it is kept as it is; compare aes_key with the console")
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

// cause looks for the mistake behind the symptom.
func (e *examination) cause() provider.Cause {
	switch provider.Code(e.Err) {
	case codeNoSignature:
		if len(e.Request.Body) == 0 {
			return provider.Because(codeBodyEmpty, "the body has no byte")
		}
	case codeFormSyntax, codeFieldName, codeTooManyFields, codeDuplicateField:
		return e.formCause()
	case codeSignType, codeSignature, codeSignatureForm, codePlusLost, codeEncodedTwice, codeHTMLEscaped, codeBackslashed, codeTranscoded:
		return e.signatureCause()
	case codeForeignApp, codeForeignAuthApp, codeForeignSeller:
		return e.ForeignCause()
	}
	return e.AsParseSays()
}

// isGenuine says whether Parse would take another body.
func (e *examination) isGenuine(body string) bool {
	if !e.search.Try(parseCost * len(body)) {
		return false
	}
	req := e.Request
	req.Body = []byte(body)
	_, err := e.a.Parse(req)
	return provider.IsProven(err)
}

// parseCost is what it costs to read and sort a form, as the number of times that
// its bytes could be hashed instead.
const parseCost = 8

// formCause: the body is no form, or one that Alipay does not send.
func (e *examination) formCause() provider.Cause {
	body := string(e.Request.Body)
	for damage, before := range mend.Undone(body) {
		if e.search.Over() {
			break
		}
		if code := ofDamage[damage]; code != "" && e.isGenuine(before) {
			return provider.Because(code, "undone, the message is genuine (%d bytes then, %d now)", len(before), len(body))
		}
	}
	if e.isGenuine(strings.ReplaceAll(body, ";", "&")) {
		cause := e.AsParseSays()
		cause.Detail += "; with & in place of the semicolons the message is genuine"
		return cause
	}
	if v, err := mend.ReadJSON(body); err == nil && v.Kind == mend.Object {
		return e.jsonCause(v)
	}
	return e.extraCause()
}
