package alipay

import (
	"net/url"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

// jsonCause: something turned the form into a JSON object.
func (e *examination) jsonCause(v mend.Value) provider.Cause {
	var f form
	for _, m := range v.Members {
		value := m.Value.Text
		if m.Value.Kind != mend.Text {
			value = string(m.Value.Append(nil, mend.Style{}))
		}
		f = append(f, field{m.Name, value})
	}
	if e.isGenuine(encode(f)) {
		return provider.Because(codeBodyJSON, "as a form again, the message is genuine")
	}
	return provider.Because(codeBodyJSON, "the body is a JSON object of %d members; as a form again, it is not genuine either", len(f))
}

func encode(f form) string {
	pairs := make([]string, len(f))
	for i, p := range f {
		pairs[i] = url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value)
	}
	return strings.Join(pairs, "&")
}

// extraCause: fields stand twice or have names that Alipay does not send. What
// is left without them?
func (e *examination) extraCause() provider.Cause {
	pairs := strings.Split(string(e.Request.Body), "&")
	if len(pairs) > 2*maxFields {
		return e.AsParseSays()
	}
	for i := range pairs {
		if e.search.Over() {
			break
		}
		if e.isGenuine(strings.Join(slices.Delete(slices.Clone(pairs), i, i+1), "&")) {
			name, _, _ := strings.Cut(pairs[i], "=")
			return provider.Because(codeExtraField, "without the field %d, %q, the message is genuine", i+1, provider.Clip(name, maxNamed))
		}
	}
	return e.AsParseSays()
}

// maker is a key that made a signature.
type maker struct {
	key    key
	owner  *Adapter // nil: it is of a tried file
	digest mend.Digest
}

// whoSigned finds the key that made the signature, whatever text it is over.
func (e *examination) whoSigned(proof []byte) (maker, bool) {
	for _, a := range append([]*Adapter{e.a}, e.siblings...) {
		for _, k := range a.ring.Load().keys {
			if d, made := mend.DigestOf(k.public, proof); made {
				return maker{k, a, d}, true
			}
		}
	}
	for _, content := range e.Tries {
		for _, tried := range mend.KeysIn(content) {
			if d, made := mend.DigestOf(tried.Public, proof); made {
				return maker{digest: d}, true
			}
		}
	}
	return maker{}, false
}

// proofOf decodes sign, as it is or with the damage undone.
func (e *examination) proofOf(given string) (proof []byte, damage mend.Damage) {
	if proof, err := decodeSignature(nil, given); err == nil {
		return proof, mend.None
	}
	for damage, before := range mend.Undone(given) {
		if !e.search.Try(len(before)) {
			break
		}
		if proof, err := decodeSignature(nil, before); err == nil && len(proof) > 0 {
			return proof, damage
		}
	}
	return nil, mend.None
}

// signatureCause says why a signature does not hold.
func (e *examination) signatureCause() provider.Cause {
	proof, damaged := e.proofOf(e.form.get("sign"))
	if len(proof) == 0 {
		return e.AsParseSays()
	}
	m, found := e.whoSigned(proof)
	switch {
	case !found:
		return e.nobodySigned()
	case m.owner == nil:
		return provider.Because(codeWrongKey, "a key that was given to try made the signature, and none that is loaded")
	case m.owner != e.a:
		return provider.Because(codeOtherAccount, "%s %s of account %q made the signature", m.key.info.Kind, m.key.info.ID, m.owner.env.Account)
	}
	if cause := e.textCause(m.digest, damaged); cause.Code != "" {
		return cause
	}
	if code := provider.Code(e.Err); code == codeSignType {
		return e.AsParseSays()
	}
	return provider.Because(codeBodyChanged, "%s %s made the signature, over another text than these %d bytes; the known mistakes do not lead back to it",
		m.key.info.Kind, m.key.info.ID, len(e.form.text(nil, rule{})))
}

// nobodySigned: no key that we know made the signature.
func (e *examination) nobodySigned() provider.Cause {
	if code := provider.Code(e.Err); code == codeSignType || code == codeSignatureForm || code == codePlusLost || code == codeEncodedTwice {
		return e.AsParseSays()
	}
	for _, content := range e.Tries {
		for _, tried := range mend.KeysIn(content) {
			for _, k := range e.ring.keys {
				if tried.Own && tried.Public.Equal(k.public) {
					return provider.Because(codeOwnKey, "the %s %s is the public half of the private key that was given to try", k.info.Kind, k.info.ID)
				}
			}
		}
	}
	ended := 0
	for _, k := range e.ring.keys {
		if !k.info.NotAfter.IsZero() && k.info.NotAfter.Before(e.Request.ReceivedAt) {
			ended++
		}
	}
	if ended == len(e.ring.keys) {
		return provider.Because(codeCertificateExpired, "no loaded key made the signature; loaded: %s", loaded(e.ring))
	}
	return provider.Because(codeWrongKey, "no loaded key made the signature; loaded: %s", loaded(e.ring))
}

// textCause: a loaded key signed. Which text, then?
func (e *examination) textCause(d mend.Digest, damaged mend.Damage) provider.Cause {
	var text []byte
	signs := func(f form, r rule) bool {
		text = f.text(text[:0], r)
		return e.search.Try(len(text)) && d.Signs(text)
	}
	documented := func(f form) bool {
		return slices.ContainsFunc(rules[:], func(r rule) bool { return signs(f, r) })
	}
	if documented(e.form) {
		madeBy := map[string]string{"SHA-256": signRSA2, "SHA-1": signRSA}[d.Hash]
		switch {
		case ofDamage[damaged] != "":
			return provider.Because(ofDamage[damaged], "sign is over exactly these fields, but was changed itself on its way")
		case provider.Code(e.Err) == codeSignType && e.form.get("sign_type") != madeBy && slices.Contains(e.a.signTypes, madeBy):
			return provider.Because(codeSignTypeWrong, "sign was made by %s, which the account accepts; sign_type says %q", madeBy, provider.Clip(e.form.get("sign_type"), maxNamed))
		case provider.Code(e.Err) == codeSignType:
			cause := e.AsParseSays()
			cause.Detail += "; sign holds by RSA with " + d.Hash
			return cause
		}
		return provider.Because(codeSignTypeWrong, "sign holds by RSA with %s; sign_type says %s", d.Hash, orText(e.form.get("sign_type"), "nothing"))
	}
	if signs(e.form, rule{keepSignType: true, dropEmpty: true}) {
		return provider.Because(codeSigningRule, "sign is over the fields with sign_type and without empty ones")
	}
	for _, name := range []string{signRSA2, signRSA} {
		if e.form.get("sign_type") == "" && signs(withField(e.form, "sign_type", name), rule{keepSignType: true}) {
			return provider.Because(codeSignTypeDropped, "with sign_type %s among the fields, sign holds", name)
		}
	}
	for _, try := range []func(func(form) bool) provider.Cause{e.tryDamages, e.tryRewritten, e.tryFields, e.tryBoth} {
		if cause := try(documented); cause.Code != "" {
			return cause
		}
	}
	return provider.Cause{}
}

// withField is the form with one more field, in order.
func withField(f form, name, value string) form {
	more := append(slices.Clone(f), field{name, value})
	slices.SortFunc(more, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return more
}
