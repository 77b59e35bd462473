package simulator

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// tellSigningRulesV2: what counts is what sign_type says, otherwise the length of
// sign, and in both cases only what the account accepts.
func tellSigningRulesV2(t *teller) {
	named := func(o Order, name string) Notification { return t.edited(t.Payment(o), Set("sign_type", name)) }
	by := func(n Notification, signType string) Notification {
		return n.v2(func(d *v2) { d.signer.SignType = signType })
	}
	for _, signType := range []string{signMD5, signHMAC} {
		bare, said := t.next(), t.next()
		if !slices.Contains(t.account.v2SignTypes(), signType) {
			t.refuses(signType+", which the account does not accept", bare, by(t.Payment(bare), signType), "wx.sign_type")
			continue
		}
		t.pays(signType+", not named", bare, by(t.Payment(bare), signType))
		t.pays(signType+", named in sign_type", said, by(named(said, signType), signType))
	}
	o := t.next()
	t.refuses("MD5 under the name of HMAC-SHA256", o, by(named(o, signHMAC), signMD5), "wx.sign_type")
	t.refuses("HMAC-SHA256 under the name of MD5", o, by(named(o, signMD5), signHMAC), "wx.sign_type")
	signature := func(make func(d v2, f forge.Form) string) Notification {
		return t.Payment(o).v2(func(d *v2) { as := *d; d.signature = func(f forge.Form) string { return make(as, f) } })
	}
	t.refuses("sign in small letters", o, signature(func(d v2, f forge.Form) string { return strings.ToLower(d.signer.Signature(f)) }), "wx.signature")
	t.refuses("sign made with SHA-1", o, signature(func(_ v2, f forge.Form) string {
		sum := sha1.Sum([]byte(f.Text(forge.Rule{KeepSignType: true})))
		return strings.ToUpper(hex.EncodeToString(sum[:]))
	}), "wx.signature")
	named2 := named(o, t.account.v2SignTypes()[0]).v2(func(d *v2) {
		signer := d.signer
		d.signature = func(f forge.Form) string { return signer.Signature(f.Without("sign_type")) }
	})
	t.refuses("sign_type there, but left out of what is signed", o, named2, "wx.signature")
}

// signedAs makes the body of a form with its own idea of what is signed.
func signedAs(n Notification, signType string, text func(f forge.Form) forge.Form, r forge.Rule) Notification {
	return n.form(func(d *form) {
		d.send = func(d form, f forge.Form) []byte {
			if signType != "" {
				f = f.With("sign_type", signType)
			}
			return d.signer.Send(f, d.signer.Signature(text(f).Text(r))).Body
		}
	})
}

func asItIs(f forge.Form) forge.Form { return f }

func tellSigningRulesAlipay(t *teller) {
	accepted := t.account.alipaySignTypes()
	usual := accepted[0]
	for _, c := range []struct {
		what string
		edit []Edit
		text func(f forge.Form) forge.Form
		rule forge.Rule
	}{
		{"sign_type signed as well", nil, asItIs, forge.Rule{KeepSignType: true}},
		{"a field without a value, signed", []Edit{Set("body", "")}, asItIs, forge.Rule{}},
		{"a field without a value, not signed", []Edit{Set("body", "")}, asItIs, forge.Rule{DropEmpty: true}},
	} {
		o := t.next()
		t.pays(c.what, o, signedAs(t.edited(t.Payment(o), c.edit...), usual, c.text, c.rule))
	}
	o := t.next()
	if slices.Contains(accepted, signRSA2) {
		t.pays("sign_type left out: RSA2", o, signedAs(t.Payment(o).form(byRSA2), "", asItIs, forge.Rule{}))
	}
	o = t.next()
	if slices.Contains(accepted, signRSA) {
		t.pays("RSA with SHA-1, which the account accepts", o, t.Payment(o).form(func(d *form) { d.signer.SignType = signRSA }))
	} else {
		t.refuses("RSA with SHA-1, which the account does not accept", o, t.Payment(o).form(func(d *form) { d.signer.SignType = signRSA }), "ali.sign_type")
	}
	o = t.next()
	code := "ali.sign_type"
	if slices.Contains(accepted, signRSA) {
		code = "ali.signature"
	}
	t.refuses("RSA2 under the name of RSA", o, signedAs(t.Payment(o).form(byRSA2), signRSA, asItIs, forge.Rule{}), code)
	t.refuses("an algorithm that Alipay does not use", o, signedAs(t.Payment(o), "MD5", asItIs, forge.Rule{}), "ali.sign_type")
}

func byRSA2(d *form) { d.signer.SignType = signRSA2 }
