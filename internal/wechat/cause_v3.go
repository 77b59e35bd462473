package wechat

import (
	"errors"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

// proofOf decodes the signature header, as it is or with the damage undone that
// headers suffer.
func (e *examination) proofOf(header string) (proof []byte, damage mend.Damage) {
	if proof, ok := decodeBase64(nil, []byte(header)); ok {
		return proof, mend.None
	}
	for damage, before := range mend.Undone(header) {
		if !e.search.Try(len(before)) {
			break
		}
		if proof, ok := decodeBase64(nil, []byte(before)); ok && len(proof) > 0 {
			return proof, damage
		}
	}
	return nil, mend.None
}

// signatureCause says why a signature does not hold, or would not over what can
// be read of the body.
func (e *examination) signatureCause(ev *evidence) provider.Cause {
	proof, damaged := e.proofOf(ev.header.signature)
	if len(proof) < minKeyBits/8 {
		return e.AsParseSays() // nothing that any key can have made
	}
	m, found := e.whoSigned(ev.key, proof)
	switch {
	case !found:
		return e.nobodySigned(ev)
	case m.key == nil:
		return provider.Because(CodeWrongKey, "a key that was given to try made the signature, and none that is loaded")
	case m.owner != e.a:
		return provider.Because(CodeOtherAccount, "%s %s of account %q made the signature", m.key.kind, m.key.id, m.owner.env.Account)
	case m.key != ev.key:
		return provider.Because(CodeKeyUnderOtherID, "the loaded %s %s made the signature, and the message names %s", m.key.kind, m.key.id, quoted64(ev.header.serial))
	case e.overBody(&ev.header, m.digest)(e.Request.Body):
		if code := ofDamage[damaged]; code != "" {
			return provider.Because(code, "%s is over exactly this body, but was changed itself on its way", headerSignature)
		}
		return e.AsParseSays() // genuine, in a shape that is not accepted
	}
	return e.bodyCause(ev, m.digest)
}

// nobodySigned: no key that we know made the signature.
func (e *examination) nobodySigned(ev *evidence) provider.Cause {
	if provider.Code(e.Err) != CodeSignature {
		return e.unreadableCause()
	}
	if detail := e.ownKey(ev.key); detail != "" {
		return provider.Because(CodeOwnKey, "%s", detail)
	}
	if ev.opens {
		return provider.Because(CodeWrongKey, "the resource opens under the API v3 key, but no loaded key made the signature; under %s stands a %s that is not the one WeChat Pay signs with, or the sender is not WeChat Pay and knows the API v3 key",
			ev.key.id, ev.key.kind)
	}
	if o := e.opener(); o != nil {
		return provider.Because(CodeOtherAccount, "the resource opens under the API v3 key of account %q", o.env.Account)
	}
	cause := e.AsParseSays()
	cause.Detail += "; no loaded key made this signature, and the resource does not open either: it was made up, or both keys are other ones now"
	return cause
}

// ownKey says, when it can be known, that a loaded key is the merchant's own: a
// merchant's certificate bears a merchant number, and a private key that was given
// to try has the same public half.
func (e *examination) ownKey(k *platformKey) string {
	if k == nil {
		return ""
	}
	if k.subject != "" && isDigits(k.subject) {
		return "certificate " + k.id + " is issued to merchant " + k.subject + ": a merchant's own, not WeChat Pay's"
	}
	for _, content := range e.Tries {
		for _, tried := range mend.KeysIn(content) {
			if tried.Own && tried.Public.Equal(k.public) {
				return "the " + k.kind + " " + k.id + " is the public half of the private key that was given to try"
			}
		}
	}
	return ""
}

func isDigits(s string) bool {
	_, ok := parseDigits([]byte(s))
	return ok
}

// unreadableCause goes by the looks of a body that is no envelope.
func (e *examination) unreadableCause() provider.Cause {
	if fault := e.envelope.read(e.Request.Body, maxEnvelopeNodes); fault != nil && strings.HasPrefix(string(e.Request.Body), "{") && endsEarly(fault, len(e.Request.Body)) {
		return provider.Because(CodeBodyCut, "the JSON ends early, after %d bytes", len(e.Request.Body))
	}
	for damage, before := range mend.Undone(string(e.Request.Body)) {
		if code := ofDamage[damage]; code != "" && e.isEnvelope(before) {
			return provider.Because(code, "undone, the body is an envelope; the signature was made with no key that is loaded")
		}
	}
	return e.AsParseSays()
}

func (e *examination) isEnvelope(text string) bool {
	return strings.HasPrefix(text, "{") && e.search.Try(parseCost*len(text)) && e.envelope.read([]byte(text), maxEnvelopeNodes) == nil && e.envelope.isObject(e.envelope.member(root, "resource"))
}

// endsEarly says whether a reader met the end of the text.
func endsEarly(fault *formFault, length int) bool {
	return fault.code == CodeMalformedJSON && (fault.at >= length || strings.Contains(fault.text, "without an end"))
}

// bodyCause: the named key signed, and not this body. Which one, then?
func (e *examination) bodyCause(ev *evidence, d mend.Digest) provider.Cause {
	body := string(e.Request.Body)
	signs := e.overBody(&ev.header, d)
	for damage, before := range mend.Undone(body) {
		if e.search.Over() {
			break
		}
		if signs([]byte(before)) {
			return provider.Because(ofDamage[damage], "undone, the signature holds (%d bytes then, %d now)", len(before), len(body))
		}
	}
	// A resource that opens came through whole: then it is the envelope that was
	// written anew, and its order is worth every trial.
	if cause := e.reencodedCause(body, signs, ev.opens || e.opensInSnakeCase(body)); cause.Code != "" {
		return cause
	}
	for damage, before := range mend.Undone(body) {
		if e.search.Over() {
			break
		}
		if damage == mend.LineEnds || damage == mend.DecodedTwice {
			continue // what is no JSON any more, and blanks that encoding drops
		}
		if cause := e.reencodedCause(before, signs, false); cause.Code != "" {
			return cause
		}
	}
	if fault := e.envelope.read(e.Request.Body, maxEnvelopeNodes); fault != nil && endsEarly(fault, len(body)) {
		return provider.Because(CodeBodyCut, "the signature is genuine and over a longer body: this one ends after %d bytes", len(body))
	}
	return provider.Because(CodeBodyChanged, "%s %s made the signature, over another text than these %d bytes; the known mistakes do not lead back to it",
		ev.key.kind, ev.key.id, len(body))
}

func (e *examination) reencodedCause(text string, signs func([]byte) bool, thorough bool) provider.Cause {
	original, found := reencoded(text, signs, thorough, e.search)
	if !found {
		return provider.Cause{}
	}
	return provider.Because(CodeReencoded, "the signature holds over the body as WeChat Pay wrote it (%d bytes then, %d now); changed since: %s",
		len(original), len(e.Request.Body), orSomething(mend.Differences(text, original)))
}

// opensInSnakeCase says whether the resource came through whole, under names that
// typed fields of another language gave it.
func (e *examination) opensInSnakeCase(text string) bool {
	v, err := mend.ReadJSON(text)
	if err != nil || e.keys.v3 == nil {
		return false
	}
	return e.opensBody(v.SnakeCase().Append(nil, mend.Style{}), e.keys)
}

// overBody says of a body whether the digest is that of its signed text.
func (e *examination) overBody(h *v3Header, d mend.Digest) func(body []byte) bool {
	text := make([]byte, 0, 2*len(e.Request.Body))
	return func(body []byte) bool {
		text = append(append(text[:0], h.timestamp...), '\n')
		text = append(append(text, h.nonce...), '\n')
		text = append(append(text, body...), '\n')
		return e.search.Try(len(text)) && d.Signs(text)
	}
}

func orSomething(words []string) string {
	if len(words) == 0 {
		return "how values are written"
	}
	return strings.Join(words, ", ")
}

// serialCause: the key that the message names is not loaded.
func (e *examination) serialCause(ev *evidence) provider.Cause {
	if proof, _ := e.proofOf(ev.header.signature); proof != nil {
		switch m, found := e.whoSigned(nil, proof); {
		case found && m.key == nil:
			cause := e.AsParseSays()
			cause.Detail += "; a key that was given to try made the signature: configure that one under this id"
			return cause
		case found && m.owner == e.a:
			return provider.Because(CodeKeyUnderOtherID, "the loaded %s %s made the signature, and the message names %s", m.key.kind, m.key.id, quoted64(ev.header.serial))
		case found:
			return provider.Because(CodeOtherAccount, "%s %s of account %q made the signature", m.key.kind, m.key.id, m.owner.env.Account)
		}
	}
	serial := quoted64(ev.header.serial)
	public, certificates, ended := 0, 0, 0
	for _, k := range e.keys.order {
		switch {
		case k.kind == kindPublicKey:
			public++
		case k.notAfter.Before(e.Request.ReceivedAt):
			ended++
			certificates++
		default:
			certificates++
		}
	}
	switch isPublic := strings.HasPrefix(ev.header.serial, publicKeyIDPrefix); {
	case isPublic && public == 0:
		return provider.Because(CodePublicKeyMode, "the message is signed with %s, and only certificates are loaded: %s", serial, loaded(e.keys))
	case !isPublic && certificates == 0:
		return provider.Because(CodeCertificateMode, "the message is signed with the certificate %s, and only public keys are loaded: %s", serial, loaded(e.keys))
	case !isPublic && ended == certificates:
		return provider.Because(CodeCertificateExpired, "the message is signed with the certificate %s; loaded: %s", serial, loaded(e.keys))
	}
	for _, k := range e.keys.order {
		if detail := e.ownKey(k); detail != "" {
			return provider.Because(CodeOwnKey, "%s", detail)
		}
	}
	return e.AsParseSays()
}

// decryptCause: the signature holds, so the message is WeChat Pay's to the byte.
// What does not fit is the key.
func (e *examination) decryptCause() provider.Cause {
	if err := e.open(); err == nil || !errors.Is(err, errSealed) {
		return e.AsParseSays()
	}
	if e.keys.v2 != nil {
		if as, err := newV3Key(e.keys.v2.secret()); err == nil && (e.keys.v2Print == e.keys.v3Print || e.opensUnder(&keySet{v3: as})) {
			return provider.Because(CodeAPIKeysSwapped, "the API v2 key stands where the API v3 key belongs")
		}
	}
	if o := e.opener(); o != nil {
		return provider.Because(CodeOtherAccount, "the resource opens under the API v3 key of account %q: the notify_url of this order names the wrong account", o.env.Account)
	}
	if e.opensWithOtherData() {
		cause := e.AsParseSays()
		cause.Detail += "; it opens with other associated_data than the message has, so the key is right"
		return cause
	}
	return provider.Because(CodeAPIKeyChanged, "the signature holds, so the message is WeChat Pay's and whole; it was sealed with another API v3 key than %s", e.keys.v3Print)
}

// opener is another account under whose API v3 key the resource opens.
func (e *examination) opener() *Adapter {
	for _, o := range e.siblings {
		if ks := o.keys.Load(); ks.v3 != nil && e.opensUnder(ks) {
			return o
		}
	}
	return nil
}

func (e *examination) opensUnder(ks *keySet) bool { return e.opensBody(e.Request.Body, ks) }

func (e *examination) opensBody(body []byte, ks *keySet) bool {
	m := message{a: e.a, req: e.req, keys: ks, scratch: newScratch()}
	return m.envelope.read(body, maxEnvelopeNodes) == nil && m.open() == nil
}

// opensWithOtherData tries what stands for associated_data elsewhere.
func (e *examination) opensWithOtherData() bool {
	resource := e.envelope.member(root, "resource")
	sealed, ok := decodeBase64(nil, e.envelope.text(resource, "ciphertext"))
	nonce := e.envelope.text(resource, "nonce")
	if !ok || len(nonce) != e.keys.v3.NonceSize() {
		return false
	}
	for _, data := range [][]byte{nil, e.envelope.text(resource, "original_type"), []byte("transaction"), []byte("refund")} {
		if _, err := e.keys.v3.Open(nil, nonce, sealed, data); err == nil {
			return true
		}
	}
	return false
}
