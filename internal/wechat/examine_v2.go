package wechat

import (
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
)

// examineV2 takes the steps of parseV2.
func (e *examination) examineV2() provider.Cause {
	e.result.Protocol = "WeChat Pay v2"
	x := &e.xml
	if fault := x.read(e.x.Request.Body, "xml"); fault != nil {
		e.add(provider.StepProtocol, provider.StepFailed, "v2, for there is no %s header; but the body cannot be read: %s", headerSignature, detailOf(fault.refusal()))
		for _, name := range []provider.StepName{provider.StepTime, provider.StepKey, provider.StepText, provider.StepSignature, provider.StepDecryption, provider.StepBinding} {
			e.add(name, provider.StepSkipped, "not reached")
		}
		return e.formCauseV2()
	}
	kind := "a payment or the like"
	if x.get("req_info") != nil {
		kind = "a refund, for there is a req_info"
	}
	if err := e.envelopeFault(); err != nil {
		e.add(provider.StepProtocol, provider.StepFailed, "v2, for there is no %s header; %s", headerSignature, detailOf(err))
	} else {
		e.add(provider.StepProtocol, provider.StepOK, "v2, for there is no %s header; %s; %d fields", headerSignature, kind, len(x.fields))
	}
	e.add(provider.StepTime, provider.StepNote, "v2 signs no time: a copy of a genuine message is genuine")
	if e.keys.v2 == nil {
		e.add(provider.StepKey, provider.StepFailed, "the account has no API v2 key")
		for _, name := range []provider.StepName{provider.StepText, provider.StepSignature, provider.StepDecryption, provider.StepBinding} {
			e.add(name, provider.StepSkipped, "there is no key")
		}
		return e.asParseSays()
	}
	e.add(provider.StepKey, provider.StepOK, "the API v2 key is loaded: %s", e.keys.v2Print)
	e.proofStepsV2()
	return e.causeV2()
}

// envelopeFault is what parseV2 finds before any proof.
func (e *examination) envelopeFault() error {
	switch err := e.x.Err; provider.Code(err) {
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
		e.showSigned([]byte(strings.TrimSuffix(string(e.text[:len(e.text)-len(e.keys.v2.tail)]), "&")))
		e.result.Signed.Text += "&" + keyTail + "***"
		e.told(provider.StepSignature, e.verifyV2(), "sign holds under the API v2 key ("+signType+")")
	} else {
		e.add(provider.StepText, provider.StepNote, "a refund is not signed")
		e.add(provider.StepSignature, provider.StepNote, "a refund is not signed: what proves it is that req_info opens")
	}
	if reqInfo == nil {
		e.add(provider.StepDecryption, provider.StepNote, "nothing is encrypted")
	} else {
		e.told(provider.StepDecryption, e.openReqInfo(reqInfo), "req_info opens under the API v2 key")
	}
	if proven(e.x.Err) {
		e.bindingStep(e.x.Err)
		return
	}
	e.add(provider.StepBinding, provider.StepSkipped, "not reached")
}

// fieldsNow are the fields of the body as they came.
func (e *examination) fieldsNow() []field {
	var x flatXML
	if x.read(e.x.Request.Body, "xml") != nil {
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
	req := e.x.Request
	req.Body = []byte(body)
	_, err := a.Parse(req)
	return proven(err)
}

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
