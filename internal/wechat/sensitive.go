package wechat

import "github.com/notifyd/notifyd/internal/provider"

// Sensitive are the fields of WeChat Pay's messages, v2 and v3, that a redacted
// capture must not show. A number behind a name (coupon_fee_0) is no part of it.
func Sensitive() map[string]provider.Sensitive {
	return map[string]provider.Sensitive{
		"openid": provider.SensitiveOpenID, "sub_openid": provider.SensitiveOpenID, "payer": provider.SensitiveOpenID,
		"unionid": provider.SensitiveOpenID, "combine_payer_info": provider.SensitiveOpenID,

		"user_name": provider.SensitiveNames, "re_user_name": provider.SensitiveNames, "real_name": provider.SensitiveNames,
		"nick_name": provider.SensitiveNames, "contract_display_account": provider.SensitiveNames,
		"refund_recv_accout": provider.SensitiveNames, // as WeChat Pay spells it
		"refund_account":     provider.SensitiveNames, "user_received_account": provider.SensitiveNames,
		"phone": provider.SensitiveNames, "mobile": provider.SensitiveNames,

		"total_fee": provider.SensitiveAmounts, "settlement_total_fee": provider.SensitiveAmounts, "cash_fee": provider.SensitiveAmounts,
		"coupon_fee": provider.SensitiveAmounts, "refund_fee": provider.SensitiveAmounts, "settlement_refund_fee": provider.SensitiveAmounts,
		"cash_refund_fee": provider.SensitiveAmounts, "coupon_refund_fee": provider.SensitiveAmounts, "amount": provider.SensitiveAmounts,
		"total": provider.SensitiveAmounts, "payer_total": provider.SensitiveAmounts, "refund": provider.SensitiveAmounts,
		"payer_refund": provider.SensitiveAmounts, "total_amount": provider.SensitiveAmounts, "payer_amount": provider.SensitiveAmounts,
		"settlement_refund": provider.SensitiveAmounts, "settlement_total": provider.SensitiveAmounts, "discount_refund": provider.SensitiveAmounts,
		"wechatpay_contribute": provider.SensitiveAmounts, "merchant_contribute": provider.SensitiveAmounts, "other_contribute": provider.SensitiveAmounts,
		"unit_price": provider.SensitiveAmounts, "discount_amount": provider.SensitiveAmounts, "price": provider.SensitiveAmounts,

		"attach": provider.SensitiveTexts, "body": provider.SensitiveTexts, "detail": provider.SensitiveTexts,
		"description": provider.SensitiveTexts, "goods_name": provider.SensitiveTexts, "goods_remark": provider.SensitiveTexts,
		"remark": provider.SensitiveTexts, "reason": provider.SensitiveTexts,
		"summary": provider.SensitiveTexts, // WeChat Pay's own, as long as it is WeChat Pay who wrote it

		"req_info": provider.SensitiveEncrypted, "ciphertext": provider.SensitiveEncrypted,

		"sign": provider.SensitiveProof, "paySign": provider.SensitiveProof,
	}
}
