package wechat

import (
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

// notReached is why a step was skipped, in the words of every protocol.
const notReached = "not reached"

// examineV2 takes the steps of parseV2.
func (e *examination) examineV2() provider.Cause {
	e.Result.Protocol = "WeChat Pay v2"
	x := &e.xml
	if fault := x.read(e.Request.Body, "xml"); fault != nil {
		e.Add(provider.StepProtocol, provider.StepFailed, "v2, for there is no %s header; but the body cannot be read: %s", headerSignature, provider.DetailOf(fault.refusal()))
		e.Skip(notReached, provider.StepTime, provider.StepKey, provider.StepText, provider.StepSignature, provider.StepDecryption, provider.StepBinding)
		return e.formCauseV2()
	}
	kind := "a payment or the like"
	if x.get("req_info") != nil {
		kind = "a refund, for there is a req_info"
	}
	if err := e.envelopeFault(); err != nil {
		e.Add(provider.StepProtocol, provider.StepFailed, "v2, for there is no %s header; %s", headerSignature, provider.DetailOf(err))
	} else {
		e.Add(provider.StepProtocol, provider.StepOK, "v2, for there is no %s header; %s; %d fields", headerSignature, kind, len(x.fields))
	}
	e.Add(provider.StepTime, provider.StepNote, "v2 signs no time: a copy of a genuine message is genuine")
	if e.keys.v2 == nil {
		e.Add(provider.StepKey, provider.StepFailed, "the account has no API v2 key")
		e.Skip("there is no key", provider.StepText, provider.StepSignature, provider.StepDecryption, provider.StepBinding)
		return e.AsParseSays()
	}
	e.Add(provider.StepKey, provider.StepOK, "the API v2 key is loaded: %s", e.keys.v2Print)
	e.proofStepsV2()
	return e.causeV2()
}

// envelopeFault is what parseV2 finds before any proof.
func (e *examination) envelopeFault() error {
	switch err := e.Err; provider.Code(err) {
	case CodeRepeatedHeader, CodeMissingField, CodeReturnFail:
		return err
	}
	return nil
}

func (e *examination) proofStepsV2() {
	x := &e.xml
	reqInfo := x.get("req_info")
	if reqInfo == nil || x.get("sign") != nil {
		signType := signMD5
		if len(x.get("sign")) > 2*16 {
			signType = signHMAC
		}
		e.digestV2(signType, false)
		// Without the key and the & before it.
		e.ShowSigned([]byte(strings.TrimSuffix(string(e.text[:len(e.text)-len(e.keys.v2.tail)]), "&")), mask, "")
		e.Result.Signed.Text += "&" + keyTail + "***"
		e.Tell(provider.StepSignature, e.verifyV2(), "sign holds under the API v2 key ("+signType+")")
	} else {
		e.Add(provider.StepText, provider.StepNote, "a refund is not signed")
		e.Add(provider.StepSignature, provider.StepNote, "a refund is not signed: what proves it is that req_info opens")
	}
	if reqInfo == nil {
		e.Add(provider.StepDecryption, provider.StepNote, "nothing is encrypted")
	} else {
		e.Tell(provider.StepDecryption, e.openReqInfo(reqInfo), "req_info opens under the API v2 key")
	}
	if provider.IsProven(e.Err) {
		e.bindingStep(e.Err)
		return
	}
	e.Skip(notReached, provider.StepBinding)
}

// fieldsNow are the fields of the body as they came.
func (e *examination) fieldsNow() []field {
	var x flatXML
	if x.read(e.Request.Body, "xml") != nil {
		return nil
	}
	return slices.Clone(x.fields)
}

// holds says whether Parse would take the message with other fields: the one
// question of every trial, asked of the one reader that counts.
func (e *examination) holds(fields []field) bool {
	return e.holdsFor(e.a, xmlOf(fields))
}

func (e *examination) holdsFor(a *Adapter, body string) bool {
	if a == nil || !e.search.Try(parseCost*len(body)) {
		return false
	}
	req := e.Request
	req.Body = []byte(body)
	_, err := a.Parse(req)
	return provider.IsProven(err)
}

// parseCost is what it costs to read, sort and hash a message, as the number of
// times that its bytes could be hashed instead.
const parseCost = 8

// under is this account with another API v2 key.
func (e *examination) under(secret string) *Adapter {
	v2, err := newV2Key(secret)
	if err != nil {
		return nil
	}
	return e.withKeys(&keySet{v2: v2}, e.a.options)
}

func (e *examination) withKeys(ks *keySet, o Options) *Adapter {
	a := &Adapter{options: o, env: e.a.env, identity: e.a.identity, anySub: e.a.anySub}
	a.scratch.New = func() any { return newScratch() }
	a.keys.Store(ks)
	return a
}

// xmlOf writes fields as a document that reads back as them.
func xmlOf(fields []field) string {
	var b strings.Builder
	b.WriteString("<xml>")
	for _, f := range fields {
		b.WriteString("<" + string(f.name) + "><![CDATA[")
		b.WriteString(strings.ReplaceAll(string(f.value), "]]>", "]]]]><![CDATA[>"))
		b.WriteString("]]></" + string(f.name) + ">")
	}
	b.WriteString("</xml>")
	return b.String()
}
