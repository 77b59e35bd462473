package alipay

import "github.com/notifyd/notifyd/internal/provider"

// Sensitive are the fields of Alipay's messages that a redacted capture must not
// show. biz_content is JSON, or ciphertext where the application encrypts.
func Sensitive() map[string]provider.Sensitive {
	return map[string]provider.Sensitive{
		"buyer_open_id": provider.SensitiveOpenID, "open_id": provider.SensitiveOpenID, "user_open_id": provider.SensitiveOpenID,
		"payer_open_id": provider.SensitiveOpenID,

		"buyer_id": provider.SensitiveBuyer, "buyer_logon_id": provider.SensitiveBuyer, "buyer_user_id": provider.SensitiveBuyer,
		"buyer_uid": provider.SensitiveBuyer, "buyer_email": provider.SensitiveBuyer, "user_id": provider.SensitiveBuyer,
		"payer_user_id": provider.SensitiveBuyer, "payer_logon_id": provider.SensitiveBuyer, "alipay_user_id": provider.SensitiveBuyer,

		"buyer_user_name": provider.SensitiveNames, "buyer_name": provider.SensitiveNames, "user_name": provider.SensitiveNames,
		"real_name": provider.SensitiveNames, "cert_no": provider.SensitiveNames, "seller_email": provider.SensitiveNames,
		"mobile": provider.SensitiveNames, "phone": provider.SensitiveNames, "address": provider.SensitiveNames,
		"receiver_name": provider.SensitiveNames, "payee_info": provider.SensitiveNames, "payer_info": provider.SensitiveNames,

		"total_amount": provider.SensitiveAmounts, "receipt_amount": provider.SensitiveAmounts, "invoice_amount": provider.SensitiveAmounts,
		"buyer_pay_amount": provider.SensitiveAmounts, "point_amount": provider.SensitiveAmounts, "refund_fee": provider.SensitiveAmounts,
		"send_back_fee": provider.SensitiveAmounts, "refund_amount": provider.SensitiveAmounts, "total_fee": provider.SensitiveAmounts,
		"trans_amount": provider.SensitiveAmounts, "amount": provider.SensitiveAmounts, "real_amount": provider.SensitiveAmounts,
		"price": provider.SensitiveAmounts, "discount": provider.SensitiveAmounts, "discount_amount": provider.SensitiveAmounts,
		"mdiscount_amount": provider.SensitiveAmounts, "merchant_contribute": provider.SensitiveAmounts, "other_contribute": provider.SensitiveAmounts,
		"fund_bill_list": provider.SensitiveAmounts, "voucher_detail_list": provider.SensitiveAmounts,
		"refund_detail_item_list": provider.SensitiveAmounts, "settle_amount": provider.SensitiveAmounts,

		"subject": provider.SensitiveTexts, "body": provider.SensitiveTexts, "passback_params": provider.SensitiveTexts,
		"extra_common_param": provider.SensitiveTexts, "memo": provider.SensitiveTexts, "remark": provider.SensitiveTexts,
		"refund_reason": provider.SensitiveTexts, "goods_detail": provider.SensitiveTexts,

		"biz_content": provider.SensitiveEncrypted,

		"app_auth_token": provider.SensitiveToken, "app_refresh_token": provider.SensitiveToken, "app_auth_code": provider.SensitiveToken,
		"auth_token": provider.SensitiveToken, "access_token": provider.SensitiveToken, "refresh_token": provider.SensitiveToken,
		"auth_code": provider.SensitiveToken,

		"sign": provider.SensitiveProof,
	}
}
