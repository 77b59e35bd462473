package simulator

import "slices"

// foreign are genuine messages that are somebody else's.
func foreign() []Scenario {
	return []Scenario{
		scenario("wrong-merchant", "signed by the provider, for another merchant or app", "P07 P45", plot{v3: tellWrongMerchantV3, v2: tellWrongMerchantV2, ali: tellWrongMerchantAlipay}),
		scenario("wrong-sub-merchant", "of a sub-merchant that the account does not list", "P45", plot{wechat: tellWrongSubMerchant}),
	}
}

// Numbers of somebody else: no account has them, nor should it.
const (
	nobodyMchID  = "1699999999"
	nobodyAppID  = "wx0000000000000000"
	nobodySubID  = "1999999999"
	nobodyApp    = "2021999999999999"
	nobodySeller = "2088999999999999"
)

func tellWrongMerchantV3(t *teller) {
	o := t.order
	t.say("the merchant number of another", t.edited(t.Payment(o), Set(t.party("mchid"), nobodyMchID)), refused("wx.foreign_mchid"))
	t.say("the app of another", t.edited(t.Payment(o), Set(t.party("appid"), nobodyAppID)), refused("wx.foreign_appid"))
	t.say("encrypted with the API v3 key of another", t.Payment(o).v3(func(d *v3) { d.signer.APIKey = otherV3Key }), refused("wx.decrypt"))
	t.say("a refund of another", t.edited(t.refunds(o, t.part(), 0, ""), Set(t.party("mchid"), nobodyMchID)), refused("wx.foreign_mchid"))
	t.end(o, "", 0, 0)
}

// party is how the content names whose it is: a service provider's differs.
func (t *teller) party(name string) string {
	if t.order.SubMerchant != "" {
		return "sp_" + name
	}
	return name
}

func tellWrongMerchantV2(t *teller) {
	o := t.order
	t.say("the merchant number of another", t.edited(t.Payment(o), Set("mch_id", nobodyMchID)), refused("wx.foreign_mchid"))
	t.say("the app of another", t.edited(t.Payment(o), Set("appid", nobodyAppID)), refused("wx.foreign_appid"))
	t.say("a refund of another", t.edited(t.refunds(o, t.part(), 0, ""), Set("envelope.mch_id", nobodyMchID)), refused("wx.foreign_mchid"))
	t.end(o, "", 0, 0)
}

func tellWrongMerchantAlipay(t *teller) {
	o := t.order
	t.say("the application of another", t.edited(t.Payment(o), Set("app_id", nobodyApp)), refused("ali.foreign_app"))
	t.say("authorised by somebody else", t.edited(t.Payment(o), Set("auth_app_id", nobodyApp)), refused("ali.foreign_auth_app"))
	if t.account.SellerID != "" {
		t.say("the seller is another", t.edited(t.Payment(o), Set("seller_id", nobodySeller)), refused("ali.foreign_seller"))
	}
	t.end(o, "", 0, 0)
}

func tellWrongSubMerchant(t *teller) {
	if slices.Contains(t.account.SubMchIDs, anySubMerchant) {
		t.must(Notification{}, errAnySubMerchant)
		return
	}
	o := t.order
	o.SubMerchant = nobodySubID
	t.refuses("paid to a sub-merchant that is not listed", o, t.Payment(o), "wx.foreign_sub_mchid")
}
