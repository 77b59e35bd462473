package alipay

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

func valuesOf(f form) []string {
	values := make([]string, len(f))
	for i, p := range f {
		values[i] = p.value
	}
	return values
}

// withValues is the form with other values, and the names of those that differ.
func withValues(f form, values []string) (changed form, names string) {
	var all []string
	changed = slices.Clone(f)
	for i := range changed {
		if changed[i].value != values[i] {
			changed[i].value = values[i]
			all = append(all, changed[i].name)
		}
	}
	return changed, strings.Join(all, ", ")
}

// unsigned is the form without the fields that stand outside of the signed text:
// their damage is another matter.
func unsigned(f form) form {
	return slices.DeleteFunc(slices.Clone(f), func(p field) bool { return p.name == "sign" })
}

// tryDamages undoes what filters, proxies and frameworks do to values.
func (e *examination) tryDamages(holds func(form) bool) provider.Cause {
	f := unsigned(e.form)
	for damage, before := range mend.UndoneAll(valuesOf(f)) {
		if e.search.Over() {
			break
		}
		mended, names := withValues(f, before)
		if code := ofDamage[damage]; code != "" && holds(mended) {
			return provider.Because(code, "undone in %s, sign holds", provider.Clip(names, maxListed))
		}
	}
	return provider.Cause{}
}

// maxListed bounds a list of names in a sentence.
const maxListed = 120

// tryRewritten undoes what typed fields do: amounts as numbers, JSON in a value
// written anew.
func (e *examination) tryRewritten(holds func(form) bool) provider.Cause {
	f := unsigned(e.form)
	values, byField := valuesOf(f), make([][]string, len(f))
	for i, p := range f {
		byField[i] = rewritten(p)
	}
	for way := range maxRewritings {
		all := slices.Clone(values)
		for i := range f {
			if way < len(byField[i]) {
				all[i] = byField[i][way]
			}
		}
		if mended, names := withValues(f, all); names != "" && holds(mended) {
			return provider.Because(codeReencoded, "as Alipay writes them, sign holds: %s", provider.Clip(names, maxListed))
		}
		for i := range f {
			if e.search.Over() {
				return provider.Cause{}
			}
			if way >= len(byField[i]) {
				continue
			}
			one := slices.Clone(values)
			one[i] = byField[i][way]
			if mended, names := withValues(f, one); names != "" && holds(mended) {
				return provider.Because(codeReencoded, "as Alipay writes it, sign holds: %s", names)
			}
		}
	}
	return provider.Cause{}
}

// maxRewritings is how many forms rewritten gives at most.
const maxRewritings = 8

// rewritten are the forms that a value may have had before a typed field, or an
// encoder, wrote it anew.
func rewritten(p field) []string {
	value := p.value
	if strings.HasSuffix(p.name, "_amount") || strings.HasSuffix(p.name, "_fee") {
		amount, err := strconv.ParseFloat(value, 64)
		if err != nil || len(value) > maxYuanLength {
			return nil
		}
		return []string{strconv.FormatFloat(amount, 'f', 2, 64)}
	}
	if !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") {
		return nil
	}
	v, err := mend.ReadJSON(value)
	if err != nil {
		return nil
	}
	var all []string
	for _, s := range mend.Styles {
		all = append(all, string(v.Append(nil, s)))
	}
	return all[:min(len(all), maxRewritings)]
}

// tryFields leaves fields out, one and two at a time, and puts back empty ones.
func (e *examination) tryFields(holds func(form) bool) provider.Cause {
	for i, p := range e.form {
		one := without(e.form, p.name)
		if holds(one) {
			return provider.Because(codeExtraField, "without %q, sign holds", provider.Clip(p.name, maxNamed))
		}
		for _, q := range e.form[i+1:] {
			if e.search.Over() {
				return provider.Cause{}
			}
			if holds(without(one, q.name)) {
				return provider.Because(codeExtraField, "without %q and %q, sign holds", provider.Clip(p.name, maxNamed), provider.Clip(q.name, maxNamed))
			}
		}
	}
	for mixed := range withoutStrangers(e.form) {
		if holds(mixed) {
			return provider.Because(codeExtraField, "without %d fields that Alipay does not send, sign holds", len(e.form)-len(mixed))
		}
	}
	for i, name := range oftenEmpty {
		if e.form.names(name) {
			continue
		}
		one := withField(e.form, name, "")
		if holds(one) {
			return provider.Because(codeFieldLost, "with an empty %s, sign holds", name)
		}
		for _, second := range oftenEmpty[i+1:] {
			if !e.form.names(second) && holds(withField(one, second, "")) {
				return provider.Because(codeFieldLost, "with empty %s and %s, sign holds", name, second)
			}
		}
	}
	return provider.Cause{}
}

// tryBoth: fields mixed in, and one of the damages besides.
func (e *examination) tryBoth(holds func(form) bool) provider.Cause {
	f := unsigned(onlyKnown(e.form))
	if len(f) == len(unsigned(e.form)) {
		return provider.Cause{}
	}
	for damage, before := range mend.UndoneAll(valuesOf(f)) {
		if e.search.Over() {
			break
		}
		mended, names := withValues(f, before)
		if code := ofDamage[damage]; code != "" && holds(mended) {
			return provider.Because(code, "undone in %s, and without the fields that Alipay does not send, sign holds", provider.Clip(names, maxListed))
		}
	}
	return provider.Cause{}
}

func without(f form, name string) form {
	return slices.DeleteFunc(slices.Clone(f), func(p field) bool { return p.name == name })
}

// oftenEmpty are fields that Alipay sends without a value, and frameworks drop.
var oftenEmpty = []string{"body", "passback_params", "fund_bill_list", "voucher_detail_list", "out_biz_no", "buyer_logon_id", "gmt_close", "gmt_refund", "refund_fee", "subject"}

// known are the fields of trade notifications and messages. What is not among them
// was mixed in on the way, or is new.
// Source: Alipay docs, asynchronous notification parameters; message service 1.1.
var known = []string{
	"agreement_no", "alipay_logon_id", "alipay_open_id", "alipay_user_id", "app_id", "auth_app_id", "biz_content", "body", "buyer_id",
	"buyer_logon_id", "buyer_open_id", "buyer_pay_amount", "charset", "encrypt_type", "external_agreement_no", "fund_bill_list",
	"gmt_close", "gmt_create", "gmt_payment", "gmt_refund", "invoice_amount", "merchant_app_id", "msg_app_id", "msg_method", "msg_type",
	"msg_uid", "notify_id", "notify_time", "notify_type", "open_id", "out_biz_no", "out_trade_no", "passback_params",
	"personal_product_code", "point_amount", "receipt_amount", "refund_fee", "seller_email", "seller_id", "send_back_fee", "sign",
	"sign_scene", "sign_time", "sign_type", "status", "subject", "total_amount", "trade_no", "trade_status", "unsign_time",
	"utc_timestamp", "vendor_id", "version", "voucher_detail_list",
}

// maxStrangers bounds the unknown fields of which every choice is tried: one of
// them may be new and genuine.
const maxStrangers = 8

// withoutStrangers yields the form without some of the fields that are not known.
func withoutStrangers(f form) iter.Seq[form] {
	var strangers []string
	for _, p := range f {
		if !slices.Contains(known, p.name) {
			strangers = append(strangers, p.name)
		}
	}
	return func(yield func(form) bool) {
		if len(strangers) > maxStrangers {
			yield(onlyKnown(f))
			return
		}
		for choice := 1<<len(strangers) - 1; choice > 0; choice-- {
			kept := slices.DeleteFunc(slices.Clone(f), func(p field) bool {
				i := slices.Index(strangers, p.name)
				return i >= 0 && choice>>i&1 == 1
			})
			if !yield(kept) {
				return
			}
		}
	}
}

func onlyKnown(f form) form {
	return slices.DeleteFunc(slices.Clone(f), func(p field) bool { return !slices.Contains(known, p.name) })
}
