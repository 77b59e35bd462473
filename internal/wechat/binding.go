package wechat

import "slices"

// party is whose order a message is about, in the words of order.Fact.
type party struct {
	merchant, sub string
	byTxn         bool
}

// own is the account's merchant itself.
func (a *Adapter) own() party { return party{merchant: a.env.Merchant} }

// subMerchant is a sub-merchant under the account's merchant.
func (a *Adapter) subMerchant(number []byte) party {
	merchant := a.env.Merchant + "/" + string(number)
	return party{merchant: merchant, sub: merchant[len(a.env.Merchant)+1:]}
}

func (a *Adapter) isPartner() bool { return len(a.options.SubMchIDs) > 0 }

func (a *Adapter) ourApp(id []byte) bool { return contains(a.options.AppIDs, id) }

func (a *Adapter) acceptsSub(number []byte) bool {
	return a.anySub && isNumber(number, maxProviderNumber) ||
		contains(a.options.SubMchIDs, number) && string(number) != anySubMerchant
}

func contains(list []string, b []byte) bool {
	return slices.ContainsFunc(list, func(s string) bool { return s == string(b) })
}

// identityNames says under which names a kind of message carries whose it is,
// and what it must carry. All that it does carry is compared.
type identityNames struct {
	mchids, appids        []string
	sub                   string
	needsMchID, needsApp  bool
	byTxnWhenSubIsMissing bool
}

// Apps of sub-merchants are not compared anywhere: they are not ours to list.
var (
	v3PaymentNames  = identityNames{mchids: []string{"mchid", "sp_mchid"}, appids: []string{"appid", "sp_appid"}, sub: "sub_mchid", needsMchID: true, needsApp: true}
	v3CombinedNames = identityNames{mchids: []string{"combine_mchid"}, appids: []string{"combine_appid"}, needsMchID: true, needsApp: true}
	v3RefundNames   = identityNames{mchids: []string{"mchid", "sp_mchid"}, appids: []string{"appid", "sp_appid"}, sub: "sub_mchid", needsMchID: true, byTxnWhenSubIsMissing: true}
	v3OtherNames    = identityNames{mchids: []string{"mchid", "sp_mchid", "mch_id", "combine_mchid"}, appids: []string{"appid", "sp_appid", "combine_appid"}, sub: "sub_mchid"}

	v2PaymentNames  = identityNames{mchids: []string{"mch_id"}, appids: []string{"appid"}, sub: "sub_mch_id", needsMchID: true, needsApp: true}
	v2CombinedNames = identityNames{mchids: []string{"combine_mch_id"}, appids: []string{"combine_appid"}, needsMchID: true, needsApp: true}
	v2RefundNames   = identityNames{mchids: []string{"mch_id"}, appids: []string{"appid"}, sub: "sub_mch_id", needsMchID: true, byTxnWhenSubIsMissing: true}
	v2InnerNames    = identityNames{mchids: []string{"mch_id"}, appids: []string{"appid"}, sub: "sub_mch_id", byTxnWhenSubIsMissing: true}
	v2OtherNames    = identityNames{mchids: []string{"mch_id", "combine_mch_id"}, appids: []string{"appid", "combine_appid"}, sub: "sub_mch_id"}
)

// bind compares what a message says about whose it is with the account. get
// reads a field: nil when it is absent.
func (a *Adapter) bind(get func(name string) []byte, names *identityNames) (party, error) {
	named := false
	for _, name := range names.mchids {
		if number := get(name); number != nil {
			if named = true; string(number) != a.options.MchID {
				return party{}, foreign(CodeForeignMchID, name, number)
			}
		}
	}
	if names.needsMchID && !named {
		return party{}, foreign(CodeForeignMchID, names.mchids[0], nil)
	}
	named = false
	for _, name := range names.appids {
		if id := get(name); id != nil {
			if named = true; !a.ourApp(id) {
				return party{}, foreign(CodeForeignAppID, name, id)
			}
		}
	}
	if names.needsApp && !named {
		return party{}, foreign(CodeForeignAppID, names.appids[0], nil)
	}
	if names.sub != "" {
		if number := get(names.sub); number != nil {
			if !a.acceptsSub(number) {
				return party{}, foreign(CodeForeignSubMchID, names.sub, number)
			}
			return a.subMerchant(number), nil
		}
	}
	p := a.own()
	p.byTxn = names.byTxnWhenSubIsMissing && a.isPartner()
	return p, nil
}
