package wechat

import (
	"bytes"
	"crypto/aes"
	"crypto/subtle"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

// formCauseV2: the body is no v2 document. What is it?
func (e *examination) formCauseV2() provider.Cause {
	body := e.Request.Body
	if len(body) == 0 {
		return provider.Because(CodeBodyEmpty, "the body has no byte")
	}
	var v3 document
	if v3.read(body, maxEnvelopeNodes) == nil && v3.isObject(v3.member(root, "resource")) {
		return provider.Because(CodeHeadersLost, "the body is a v3 message, but the header %s is not there", headerSignature)
	}
	for damage, before := range mend.Undone(string(body)) {
		if e.search.Over() {
			break
		}
		if code := ofDamage[damage]; code != "" && e.holdsFor(e.a, before) {
			return provider.Because(code, "undone, the message is genuine (%d bytes then, %d now)", len(before), len(body))
		}
	}
	if provider.Code(e.Err) == CodeMalformedXML && bytes.HasPrefix(bytes.TrimSpace(body), []byte("<xml>")) && !bytes.Contains(body, []byte("</xml>")) {
		return provider.Because(CodeBodyCut, "the XML ends early, after %d bytes", len(body))
	}
	return e.AsParseSays()
}

// causeV2 looks for the mistake behind the symptom.
func (e *examination) causeV2() provider.Cause {
	switch provider.Code(e.Err) {
	case CodeSignature, CodeSignType:
		return e.signCause()
	case CodeDecrypt:
		return e.reqInfoCause()
	case CodeForeignMchID, CodeForeignAppID, CodeForeignSubMchID:
		return e.ForeignCause()
	}
	return e.AsParseSays()
}

// signCause tries what may have happened to a signed message, the likely first.
func (e *examination) signCause() provider.Cause {
	fields := e.fieldsNow()
	for _, try := range []func([]field) provider.Cause{
		e.trySignType, e.tryKeys, e.tryDamages, e.tryExtraFields, // the last two try as much as a stranger makes them
	} {
		if cause := try(fields); cause.Code != "" {
			return cause
		}
	}
	return e.AsParseSays()
}

func valueOf(fields []field, name string) string {
	for _, f := range fields {
		if string(f.name) == name {
			return string(f.value)
		}
	}
	return ""
}

func withValue(fields []field, name, value string) []field {
	fields = slices.Clone(fields)
	for i := range fields {
		if string(fields[i].name) == name {
			fields[i].value = []byte(value)
			return fields
		}
	}
	return append(fields, field{[]byte(name), []byte(value)})
}

func without(fields []field, name string) []field {
	return slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return string(f.name) == name })
}

// trySignType: the algorithm, its name, and whether the name was signed.
func (e *examination) trySignType(fields []field) provider.Cause {
	named, sign := valueOf(fields, "sign_type"), valueOf(fields, "sign")
	if strings.ContainsAny(sign, "abcdef") && e.holds(withValue(fields, "sign", strings.ToUpper(sign))) {
		return provider.Because(CodeHexCase, "in capitals, sign holds")
	}
	both := e.a.options
	both.V2SignTypes = nil
	lenient := e.withKeys(e.keys, both)
	if provider.Code(e.Err) == CodeSignType && e.holdsFor(lenient, xmlOf(fields)) {
		byLength := signMD5
		if len(sign) > 2*16 {
			byLength = signHMAC
		}
		if byLength == signHMAC && named == "" {
			return provider.Because(CodeHMACWithoutSignType, "sign has 64 characters and holds by HMAC-SHA256, sign_type is absent, and v2_sign_types lists %s alone", strings.Join(e.a.options.V2SignTypes, ", "))
		}
		cause := e.AsParseSays()
		cause.Detail += "; by that algorithm sign holds"
		return cause
	}
	if named != "" && e.holdsFor(lenient, xmlOf(without(fields, "sign_type"))) {
		return provider.Because(CodeSignTypeKept, "without sign_type in the text, sign holds")
	}
	for _, name := range []string{signMD5, signHMAC} {
		changed := xmlOf(withValue(fields, "sign_type", name))
		switch {
		case named == "" && e.holdsFor(lenient, changed):
			return provider.Because(CodeSignTypeDropped, "with sign_type %s in the text, sign holds", name)
		case named != "" && named != name && e.holdsFor(lenient, changed):
			return provider.Because(CodeSignTypeWrong, "with sign_type %s, sign holds", name)
		}
	}
	return e.tryNamedOtherwise(fields, named, lenient)
}

// tryNamedOtherwise: sign was made by the algorithm of its length over the text
// with the other algorithm's name in it.
func (e *examination) tryNamedOtherwise(fields []field, named string, lenient *Adapter) provider.Cause {
	sign := []byte(valueOf(fields, "sign"))
	for _, signType := range []string{signMD5, signHMAC} {
		m := message{a: lenient, keys: e.keys, scratch: newScratch()}
		m.xml.fields = fields
		m.digestV2(signType, false)
		if claimed, ok := decodeUpperHex(nil, sign); ok && named != "" && subtle.ConstantTimeCompare(m.sum, claimed) == 1 {
			return provider.Because(CodeSignTypeWrong, "sign_type says %s, sign holds by %s", quoted([]byte(named)), signType)
		}
	}
	return provider.Cause{}
}

func (e *examination) tryDamages(fields []field) provider.Cause {
	values := make([]string, len(fields))
	for i, f := range fields {
		values[i] = string(f.value)
	}
	for damage, before := range mend.UndoneAll(values) {
		if e.search.Over() {
			break
		}
		mended := slices.Clone(fields)
		var names []string
		for i := range mended {
			if before[i] != values[i] {
				mended[i].value = []byte(before[i])
				names = append(names, string(mended[i].name))
			}
		}
		if code := ofDamage[damage]; code != "" && e.holds(mended) {
			return provider.Because(code, "undone in %s, sign holds", strings.Join(names, ", "))
		}
	}
	return provider.Cause{}
}

// tryExtraFields leaves fields out, one and two at a time.
func (e *examination) tryExtraFields(fields []field) provider.Cause {
	for i, f := range fields {
		one := without(fields, string(f.name))
		if e.holds(one) {
			return provider.Because(CodeExtraField, "without %s, sign holds", quoted(f.name))
		}
		for _, g := range fields[i+1:] {
			if e.search.Over() {
				return provider.Cause{}
			}
			if e.holds(without(one, string(g.name))) {
				return provider.Because(CodeExtraField, "without %s and %s, sign holds", quoted(f.name), quoted(g.name))
			}
		}
	}
	return provider.Cause{}
}

// tryKeys tries the account's other key and the keys of the other accounts.
func (e *examination) tryKeys([]field) provider.Cause {
	body := string(e.Request.Body)
	if v3 := e.keys.v3Secret; v3 != "" && e.holdsFor(e.under(v3.Reveal()), body) {
		return provider.Because(CodeAPIKeysSwapped, "the message is proven by the API v3 key: it stands where the API v2 key belongs, or the other way round")
	}
	for _, o := range e.siblings {
		if ks := o.keys.Load(); ks.v2 != nil && e.holdsFor(e.withKeys(ks, e.a.options), body) {
			return provider.Because(CodeOtherAccount, "the message is proven by the API v2 key of account %q: the notify_url of this order names the wrong account", o.env.Account)
		}
	}
	return provider.Cause{}
}

// reqInfoCause: req_info does not open.
func (e *examination) reqInfoCause() provider.Cause {
	fields := e.fieldsNow()
	reqInfo := valueOf(fields, "req_info")
	for damage, before := range mend.Undone(reqInfo) {
		if e.search.Over() {
			break
		}
		if code := ofDamage[damage]; code != "" && e.holds(withValue(fields, "req_info", before)) {
			return provider.Because(code, "undone, req_info opens")
		}
	}
	if cause := e.tryKeys(fields); cause.Code != "" {
		return cause
	}
	text, wrapped := unwrapBase64([]byte(reqInfo))
	sealed, ok := decodeBase64(nil, text)
	if !wrapped || !ok || len(sealed)%aes.BlockSize != 0 {
		return provider.Because(CodeBodyCut, "req_info of %d characters is not the base64 of whole blocks: it was cut or changed", len(reqInfo))
	}
	return provider.Because(CodeAPIKeyChanged, "req_info is whole, and was sealed with another API v2 key than %s, or is not WeChat Pay's", e.keys.v2Print)
}
