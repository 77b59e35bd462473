package wechat

import (
	"crypto/rsa"
	"net/http"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

// evidence is what the steps of a v3 message brought to light.
type evidence struct {
	header  v3Header
	key     *platformKey // under the serial that is named; nil when there is none
	opens   bool         // the resource opens under the API v3 key
	headers bool         // the headers are whole
}

// examineV3 takes the steps of parseV3 and goes on where it stops.
func (e *examination) examineV3() provider.Cause {
	e.Result.Protocol = "WeChat Pay v3"
	var ev evidence
	fault := e.envelope.read(e.Request.Body, maxEnvelopeNodes)
	var err error
	if ev.header, err = readV3Header(e.Request.Header); err == nil {
		ev.headers = true
	}
	switch at := skipSpace(e.Request.Body, 0); {
	case at == len(e.Request.Body) || e.Request.Body[at] != '{':
		e.Add(provider.StepProtocol, provider.StepFailed, "v3, for there is a %s header; but the body is not a JSON object", headerSignature)
	case fault != nil:
		e.Add(provider.StepProtocol, provider.StepFailed, "v3, for there is a %s header; but the body cannot be read: %s", headerSignature, provider.DetailOf(fault.refusal()))
	default:
		e.Add(provider.StepProtocol, provider.StepOK, "v3, for there is a %s header; event_type %s", headerSignature, quoted(e.envelope.text(root, "event_type")))
	}
	if !ev.headers {
		e.Add(provider.StepTime, provider.StepFailed, "%s%s", provider.DetailOf(err), missing(e.Request.Header))
		e.Skip("the headers say too little", provider.StepKey, provider.StepText, provider.StepSignature)
	} else {
		e.signatureSteps(&ev)
	}
	e.contentSteps(&ev, fault)
	return e.causeV3(&ev)
}

func missing(h http.Header) string {
	var names []string
	for _, name := range []string{headerTimestamp, headerNonce, headerSerial, headerSignature} {
		if first(h, name) == "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (missing here: " + strings.Join(names, ", ") + ")"
}

// signatureSteps are those that need the headers: time, key, text, signature.
func (e *examination) signatureSteps(ev *evidence) {
	age := e.Request.ReceivedAt.Unix() - ev.header.seconds
	signed := time.Unix(ev.header.seconds, 0).UTC().Add(beijing).Format(time.DateTime)
	e.Check(provider.StepTime, age <= maxAgeSeconds && age >= -maxAgeSeconds,
		"signed at %s, received %s; at most %d s are accepted, both ways", signed, aged(age), maxAgeSeconds)

	ev.key = e.keys.platform[string(normalSerial(nil, ev.header.serial))]
	serial := quoted64(ev.header.serial)
	switch {
	case e.keys.v3 == nil:
		e.Add(provider.StepKey, provider.StepFailed, "the account has no API v3 key; of WeChat Pay's keys are loaded: %s", loaded(e.keys))
	case ev.key == nil:
		e.Add(provider.StepKey, provider.StepFailed, "%s names %s, which is not loaded; loaded: %s", headerSerial, serial, loaded(e.keys))
	default:
		e.Add(provider.StepKey, provider.StepOK, "%s names %s, a loaded %s; loaded: %s", headerSerial, serial, ev.key.kind, listed(e.keys, provider.ShortID))
	}
	e.ShowSigned(e.signedV3(&ev.header, e.Request.Body), mask, "")
	if ev.key == nil {
		e.Add(provider.StepSignature, provider.StepSkipped, "there is no key to verify it with")
		return
	}
	e.Tell(provider.StepSignature, e.verifyV3(&ev.header, ev.key), "holds under "+ev.key.kind+" "+ev.key.id)
}

func (e *examination) signedV3(h *v3Header, body []byte) []byte {
	text := append([]byte(h.timestamp+"\n"+h.nonce+"\n"), body...)
	return append(text, '\n')
}

func aged(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	if d < 0 {
		return (-d).String() + " before that"
	}
	return d.String() + " later"
}

func quoted64(s string) string {
	s = provider.Clip(s, maxSerial)
	for _, c := range s {
		if c <= ' ' || c > '~' {
			return quoted([]byte(s))
		}
	}
	return s
}

// contentSteps are those that need the body alone: decryption and binding.
func (e *examination) contentSteps(ev *evidence, fault *formFault) {
	if fault != nil || e.keys.v3 == nil {
		e.Add(provider.StepDecryption, provider.StepSkipped, "there is nothing to open, or no key to open it with")
		e.Skip(notReached, provider.StepBinding)
		return
	}
	err := e.open()
	ev.opens = err == nil
	e.Tell(provider.StepDecryption, err, "the resource opens under the API v3 key "+e.keys.v3Print)
	if err != nil {
		e.Skip(notReached, provider.StepBinding)
		return
	}
	_, err = e.factsV3()
	e.bindingStep(err)
}

// causeV3 looks for the mistake behind the symptom.
func (e *examination) causeV3(ev *evidence) provider.Cause {
	switch code := provider.Code(e.Err); code {
	case CodeMalformedJSON, CodeJSONShape, CodeDuplicateField, CodeSignature:
		if len(e.Request.Body) == 0 {
			return provider.Because(CodeBodyEmpty, "the body has no byte")
		}
		if ev.headers {
			return e.signatureCause(ev)
		}
	case CodeUnknownSerial:
		return e.serialCause(ev)
	case CodeDecrypt:
		return e.decryptCause()
	case CodeForeignMchID, CodeForeignAppID, CodeForeignSubMchID:
		return e.ForeignCause()
	case CodeStale:
		return e.staleCause(ev)
	}
	return e.AsParseSays()
}

func (e *examination) staleCause(ev *evidence) provider.Cause {
	cause := e.AsParseSays()
	if ev.key != nil && e.verifyV3(&ev.header, ev.key) == nil {
		cause.Detail += "; the signature holds, so the message is genuine and the time is the only fault"
	}
	return cause
}

// maker is a key that made a signature.
type maker struct {
	key    *platformKey // nil: it is of a tried file
	owner  *Adapter
	digest mend.Digest
}

// whoSigned finds the key that made the signature, whatever text it is over: the
// one that is named, any other of the account, one of another account, a tried one.
func (e *examination) whoSigned(named *platformKey, proof []byte) (maker, bool) {
	if named != nil {
		if d, made := mend.DigestOf(named.public, proof); made {
			return maker{named, e.a, d}, true
		}
	}
	for _, a := range append([]*Adapter{e.a}, e.siblings...) {
		for _, k := range a.keys.Load().order {
			if d, made := mend.DigestOf(k.public, proof); made {
				return maker{k, a, d}, true
			}
		}
	}
	for _, public := range e.tried() {
		if d, made := mend.DigestOf(public, proof); made {
			return maker{digest: d}, true
		}
	}
	return maker{}, false
}

func (e *examination) tried() (keys []*rsa.PublicKey) {
	for _, content := range e.Tries {
		for _, tried := range mend.KeysIn(content) {
			keys = append(keys, tried.Public)
		}
	}
	return keys
}
