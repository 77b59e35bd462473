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
		return because(codeBodyJSON, "as a form again, the message is genuine")
	}
	return because(codeBodyJSON, "the body is a JSON object of %d members; as a form again, it is not genuine either", len(f))
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
	pairs := strings.Split(string(e.x.Request.Body), "&")
	if len(pairs) > 2*maxFields {
		return e.asParseSays()
	}
	for i := range pairs {
		if e.isGenuine(strings.Join(slices.Delete(slices.Clone(pairs), i, i+1), "&")) {
			name, _, _ := strings.Cut(pairs[i], "=")
			return because(codeExtraField, "without the field %d, %q, the message is genuine", i+1, provider.Clip(name, maxNamed))
		}
	}
	return e.asParseSays()
}

// maker is a key that made a signature.
type maker struct {
	key    key
	owner  *Adapter // nil: it is of a tried file
	digest mend.Digest
}

// whoSigned finds the key that made the signature, whatever text it is over.
func (e *examination) whoSigned(proof []byte) (maker, bool) {
	for _, a := range append([]*Adapter{e.a}, e.others...) {
		for _, k := range a.ring.Load().keys {
			if d, made := mend.DigestOf(k.public, proof); made {
				return maker{k, a, d}, true
			}
		}
	}
	for _, content := range e.x.Tries {
		keys, _ := mend.PublicKeys(content)
		for _, public := range keys {
			if d, made := mend.DigestOf(public, proof); made {
				return maker{digest: d}, true
			}
		}
	}
	return maker{}, false
}

// proofOf decodes sign, as it is or with the damage undone.
func proofOf(given string) (proof []byte, damage mend.Damage) {
	if proof, err := decodeSignature(nil, given); err == nil {
		return proof, mend.None
	}
	for damage, before := range mend.Undone(given) {
		if proof, err := decodeSignature(nil, before); err == nil && len(proof) > 0 {
			return proof, damage
		}
	}
	return nil, mend.None
}

// signatureCause says why a signature does not hold.
func (e *examination) signatureCause() provider.Cause {
	proof, damaged := proofOf(e.form.get("sign"))
	if len(proof) == 0 {
		return e.asParseSays()
	}
	m, found := e.whoSigned(proof)
	switch {
	case !found:
		return e.nobodySigned()
	case m.owner == nil:
		return because(codeWrongKey, "a key that was given to try made the signature, and none that is loaded")
	case m.owner != e.a:
		return because(codeOtherAccount, "%s %s of account %q made the signature", m.key.info.Kind, m.key.info.ID, m.owner.env.Account)
	}
	if cause := e.textCause(m.digest, damaged); cause.Code != "" {
		return cause
	}
	if code := provider.Code(e.x.Err); code == codeSignType {
		return e.asParseSays()
	}
	return because(codeBodyChanged, "%s %s made the signature, over another text than these %d bytes; the known mistakes do not lead back to it",
		m.key.info.Kind, m.key.info.ID, len(e.form.text(nil, rule{})))
}

// nobodySigned: no key that we know made the signature.
func (e *examination) nobodySigned() provider.Cause {
	if code := provider.Code(e.x.Err); code == codeSignType || code == codeSignatureForm || code == codePlusLost || code == codeEncodedTwice {
		return e.asParseSays()
	}
	for _, content := range e.x.Tries {
		keys, own := mend.PublicKeys(content)
		for _, public := range keys {
			for _, k := range e.ring.keys {
				if own && public.Equal(k.public) {
					return because(codeOwnKey, "the %s %s is the public half of the private key that was given to try", k.info.Kind, k.info.ID)
				}
			}
		}
	}
	ended := 0
	for _, k := range e.ring.keys {
		if !k.info.NotAfter.IsZero() && k.info.NotAfter.Before(e.x.Request.ReceivedAt) {
			ended++
		}
	}
	if ended == len(e.ring.keys) {
		return because(codeCertificateExpired, "no loaded key made the signature; loaded: %s", loaded(e.ring))
	}
	return because(codeWrongKey, "no loaded key made the signature; loaded: %s", loaded(e.ring))
}

// textCause: a loaded key signed. Which text, then?
func (e *examination) textCause(d mend.Digest, damaged mend.Damage) provider.Cause {
	signs := func(f form, r rule) bool { return d.Signs(f.text(nil, r)) }
	documented := func(f form) bool {
		return slices.ContainsFunc(rules[:], func(r rule) bool { return signs(f, r) })
	}
	if documented(e.form) {
		madeBy := map[string]string{"SHA-256": signRSA2, "SHA-1": signRSA}[d.Hash]
		switch {
		case ofDamage[damaged] != "":
			return because(ofDamage[damaged], "sign is over exactly these fields, but was changed itself on its way")
		case provider.Code(e.x.Err) == codeSignType && e.form.get("sign_type") != madeBy && slices.Contains(e.a.signTypes, madeBy):
			return because(codeSignTypeWrong, "sign was made by %s, which the account accepts; sign_type says %q", madeBy, provider.Clip(e.form.get("sign_type"), maxNamed))
		case provider.Code(e.x.Err) == codeSignType:
			cause := e.asParseSays()
			cause.Detail += "; sign holds by RSA with " + d.Hash
			return cause
		}
		return because(codeSignTypeWrong, "sign holds by RSA with %s; sign_type says %s", d.Hash, orText(e.form.get("sign_type"), "nothing"))
	}
	if signs(e.form, rule{keepSignType: true, dropEmpty: true}) {
		return because(codeSigningRule, "sign is over the fields with sign_type and without empty ones")
	}
	for _, name := range []string{signRSA2, signRSA} {
		if e.form.get("sign_type") == "" && signs(withField(e.form, "sign_type", name), rule{keepSignType: true}) {
			return because(codeSignTypeDropped, "with sign_type %s among the fields, sign holds", name)
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
