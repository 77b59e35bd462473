package alipay

import (
	"slices"
	"strings"
)

// bound are the names that we or a sister protocol act on. The signed text joins
// name=value by '&' without escaping, so "&total_amount=0.01" inside a value
// can be cut out into a field of its own, and fields can be glued into one
// value, without touching the signature. A message whose values hold such a
// piece is therefore not trusted to mean what it seems to.
var bound = []string{
	"app_id", "appid", "auth_app_id", "charset", "combine_out_trade_no", "fee_type", "gmt_payment", "gmt_refund",
	"mch_id", "msg_method", "notify_type", "out_trade_no", "refund_fee", "refund_status", "req_info", "result_code",
	"return_code", "seller_id", "sub_mch_id", "sub_order_list", "time_end", "total_amount", "total_fee", "trade_no",
	"trade_state", "trade_status", "transaction_id",
}

// ambiguous says whether a value, other than of a field that only the merchant
// writes, holds "&NAME=" for a bound name.
func (m message) ambiguous(echo []string) bool {
	for _, p := range m.form {
		if !isSignature(p.name) && holdsBound(p.value) && !slices.Contains(echo, p.name) {
			return true
		}
	}
	return false
}

// maybeCutOut says whether refund_fee may have been cut out of passback_params:
// the merchant's text ends where refund_fee begins, and no gmt_refund, which
// every refund has and which cannot be cut out of that place, vouches for it.
// It is the one bound name that free text can stand before in a trade. A
// refund_fee of nothing, which some payments have, says what none would say.
func (m message) maybeCutOut(echo []string) bool {
	i, found := slices.BinarySearchFunc(m.form, "refund_fee", func(p field, name string) int { return strings.Compare(p.name, name) })
	if found {
		if refund, ok := fen(m.form[i].value); ok && refund == 0 {
			return false
		}
	}
	return found && i > 0 && m.form[i-1].name == "passback_params" &&
		m.get("gmt_refund") == "" && !slices.Contains(echo, "passback_params")
}

func holdsBound(value string) bool {
	for {
		_, after, found := strings.Cut(value, "&")
		if !found {
			return false
		}
		value = after
		if name, _, found := strings.Cut(after, "="); found {
			if _, is := slices.BinarySearch(bound, name); is {
				return true
			}
		}
	}
}
