package wechat

import (
	"errors"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

// proofOf decodes the signature header, as it is or with the damage undone that
// headers suffer.
func proofOf(header string) (proof []byte, damage mend.Damage) {
	if proof, ok := decodeBase64(nil, []byte(header)); ok {
		return proof, mend.None
	}
	for damage, before := range mend.Undone(header) {
		if proof, ok := decodeBase64(nil, []byte(before)); ok && len(proof) > 0 {
			return proof, damage
		}
	}
	return nil, mend.None
}

// signatureCause says why a signature does not hold, or would not over what can
// be read of the body.
func (e *examination) signatureCause(ev *evidence) provider.Cause {
	proof, damaged := proofOf(ev.header.signature)
	if len(proof) < minKeyBits/8 {
		return e.asParseSays() // nothing that any key can have made
	}
	m, found := e.whoSigned(ev.key, proof)
	switch {
	case !found:
		return e.nobodySigned(ev)
	case m.key == nil:
		return because(CodeWrongKey, "a key that was given to try made the signature, and none that is loaded")
	case m.owner != e.a:
		return because(CodeOtherAccount, "%s %s of account %q made the signature", m.key.kind, m.key.id, m.owner.env.Account)
	case m.key != ev.key:
		return because(CodeKeyUnderOtherID, "the loaded %s %s made the signature, and the message names %s", m.key.kind, m.key.id, quoted64(ev.header.serial))
	case e.overBody(&ev.header, m.digest)(e.x.Request.Body):
		if code := ofDamage[damaged]; code != "" {
			return because(code, "%s is over exactly this body, but was changed itself on its way", headerSignature)
		}
		return e.asParseSays() // genuine, in a shape that is not accepted
	}
	return e.bodyCause(ev, m.digest)
}

// nobodySigned: no key that we know made the signature.
func (e *examination) nobodySigned(ev *evidence) provider.Cause {
	if provider.Code(e.x.Err) != CodeSignature {
		return e.unreadableCause()
	}
	if detail := e.ownKey(ev.key); detail != "" {
		return because(CodeOwnKey, "%s", detail)
	}
	if ev.opens {
		return because(CodeWrongKey, "the resource opens under the API v3 key, but no loaded key made the signature; under %s stands a %s that is not the one WeChat Pay signs with, or the sender is not WeChat Pay and knows the API v3 key",
			ev.key.id, ev.key.kind)
	}
	if o := e.opener(); o != nil {
		return because(CodeOtherAccount, "the resource opens under the API v3 key of account %q", o.env.Account)
	}
	cause := e.asParseSays()
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
	for _, content := range e.x.Tries {
		keys, own := mend.PublicKeys(content)
		for _, public := range keys {
			if own && public.Equal(k.public) {
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
	if fault := e.envelope.read(e.x.Request.Body, maxEnvelopeNodes); fault != nil && strings.HasPrefix(string(e.x.Request.Body), "{") && endsEarly(fault, len(e.x.Request.Body)) {
		return because(CodeBodyCut, "the JSON ends early, after %d bytes", len(e.x.Request.Body))
	}
	for damage, before := range mend.Undone(string(e.x.Request.Body)) {
		if code := ofDamage[damage]; code != "" && e.isEnvelope(before) {
			return because(code, "undone, the body is an envelope; the signature was made with no key that is loaded")
		}
	}
	return e.asParseSays()
}

func (e *examination) isEnvelope(text string) bool {
	return strings.HasPrefix(text, "{") && e.envelope.read([]byte(text), maxEnvelopeNodes) == nil && e.envelope.isObject(e.envelope.member(root, "resource"))
}

// endsEarly says whether a reader met the end of the text.
func endsEarly(fault *formFault, length int) bool {
	return fault.code == CodeMalformedJSON && (fault.at >= length || strings.Contains(fault.text, "without an end"))
}

// bodyCause: the named key signed, and not this body. Which one, then?
func (e *examination) bodyCause(ev *evidence, d mend.Digest) provider.Cause {
	body := string(e.x.Request.Body)
	signs := e.overBody(&ev.header, d)
	candidates := []string{body}
	for damage, before := range mend.Undone(body) {
		if signs([]byte(before)) {
			return because(ofDamage[damage], "undone, the signature holds (%d bytes then, %d now)", len(before), len(body))
		}
		if damage != mend.LineEnds && damage != mend.DecodedTwice {
			candidates = append(candidates, before)
		}
	}
	for i, text := range candidates {
		// A resource that opens came through whole: then it is the envelope that
		// was written anew, and its order is worth every trial.
		if original, found := reencoded(text, signs, i == 0 && (ev.opens || e.opensInSnakeCase(text))); found {
			return because(CodeReencoded, "the signature holds over the body as WeChat Pay wrote it (%d bytes then, %d now); changed since: %s",
				len(original), len(body), orSomething(mend.Differences(text, original)))
		}
	}
	if fault := e.envelope.read(e.x.Request.Body, maxEnvelopeNodes); fault != nil && endsEarly(fault, len(body)) {
		return because(CodeBodyCut, "the signature is genuine and over a longer body: this one ends after %d bytes", len(body))
	}
	return because(CodeBodyChanged, "%s %s made the signature, over another text than these %d bytes; the known mistakes do not lead back to it",
		ev.key.kind, ev.key.id, len(body))
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
	text := make([]byte, 0, 2*len(e.x.Request.Body))
	return func(body []byte) bool {
		text = append(append(text[:0], h.timestamp...), '\n')
		text = append(append(text, h.nonce...), '\n')
		text = append(append(text, body...), '\n')
		return d.Signs(text)
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
	if proof, _ := proofOf(ev.header.signature); proof != nil {
		switch m, found := e.whoSigned(nil, proof); {
		case found && m.key == nil:
			cause := e.asParseSays()
			cause.Detail += "; a key that was given to try made the signature: configure that one under this id"
			return cause
		case found && m.owner == e.a:
			return because(CodeKeyUnderOtherID, "the loaded %s %s made the signature, and the message names %s", m.key.kind, m.key.id, quoted64(ev.header.serial))
		case found:
			return because(CodeOtherAccount, "%s %s of account %q made the signature", m.key.kind, m.key.id, m.owner.env.Account)
		}
	}
	serial := quoted64(ev.header.serial)
	public, certificates, ended := 0, 0, 0
	for _, k := range e.keys.order {
		switch {
		case k.kind == kindPublicKey:
			public++
		case k.notAfter.Before(e.x.Request.ReceivedAt):
			ended++
			certificates++
		default:
			certificates++
		}
	}
	switch isPublic := strings.HasPrefix(ev.header.serial, publicKeyIDPrefix); {
	case isPublic && public == 0:
		return because(CodePublicKeyMode, "the message is signed with %s, and only certificates are loaded: %s", serial, loaded(e.keys))
	case !isPublic && certificates == 0:
		return because(CodeCertificateMode, "the message is signed with the certificate %s, and only public keys are loaded: %s", serial, loaded(e.keys))
	case !isPublic && ended == certificates:
		return because(CodeCertificateExpired, "the message is signed with the certificate %s; loaded: %s", serial, loaded(e.keys))
	}
	for _, k := range e.keys.order {
		if detail := e.ownKey(k); detail != "" {
			return because(CodeOwnKey, "%s", detail)
		}
	}
	return e.asParseSays()
}

// decryptCause: the signature holds, so the message is WeChat Pay's to the byte.
// What does not fit is the key.
func (e *examination) decryptCause() provider.Cause {
	if err := e.open(); err == nil || !errors.Is(err, errSealed) {
		return e.asParseSays()
	}
	if e.keys.v2 != nil {
		if as, err := newV3Key(e.keys.v2.secret()); err == nil && (e.keys.v2Print == e.keys.v3Print || e.opensUnder(&keySet{v3: as})) {
			return because(CodeAPIKeysSwapped, "the API v2 key stands where the API v3 key belongs")
		}
	}
	if o := e.opener(); o != nil {
		return because(CodeOtherAccount, "the resource opens under the API v3 key of account %q: the notify_url of this order names the wrong account", o.env.Account)
	}
	if e.opensWithOtherData() {
		cause := e.asParseSays()
		cause.Detail += "; it opens with other associated_data than the message has, so the key is right"
		return cause
	}
	return because(CodeAPIKeyChanged, "the signature holds, so the message is WeChat Pay's and whole; it was sealed with another API v3 key than %s", e.keys.v3Print)
}

// opener is another account under whose API v3 key the resource opens.
func (e *examination) opener() *Adapter {
	for _, o := range e.others {
		if ks := o.keys.Load(); ks.v3 != nil && e.opensUnder(ks) {
			return o
		}
	}
	return nil
}

func (e *examination) opensUnder(ks *keySet) bool { return e.opensBody(e.x.Request.Body, ks) }

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
