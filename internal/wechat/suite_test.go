package wechat

import (
	"maps"
	"regexp"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
	"github.com/notifyd/notifyd/internal/provider/providertest"
)

// genuineEvents are v3 messages of every shape.
func genuineEvents() map[string]forge.WechatEvent {
	partner, broken, unpaid := payment(), payment(), part(2)
	partner.SubMchID = subID
	broken.TransactionID = ""
	unpaid.State = "NOTPAY"
	closed := refund()
	closed.Status = "CLOSED"
	return map[string]forge.WechatEvent{
		"paid":           paidEvent(payment().V3()),
		"paid, partner":  paidEvent(partner.V3()),
		"unreadable":     paidEvent(broken.V3()),
		"combined":       paidEvent(combination(part(1), unpaid, part(3)).V3()),
		"refund":         event("REFUND.SUCCESS", "refund", refund().V3()),
		"refund, closed": event("REFUND.CLOSED", "refund", closed.V3()),
		"profit sharing": event(eventPaid, "profitsharing", []byte(`{"mchid":"`+mchID+`","order_id":"30","out_order_no":"P1"}`)),
		"transfer":       event("MCHTRANSFER.BILL.FINISHED", "mch_payment", []byte(`{"mch_id":"`+mchID+`","out_bill_no":"B1"}`)),
		"no object":      paidEvent([]byte(`[]`)),
	}
}

// genuineFieldsV2 are signed v2 messages of every shape.
func genuineFieldsV2() map[string]forge.Form {
	return map[string]forge.Form{
		"paid":       fields(),
		"with blank": fields().With("attach", " blank "),
		"deduction":  fields().With("trade_state", "PAY_FAIL"),
		"failed":     fields().With("result_code", "FAIL").With("err_code", "X"),
		"ambiguous":  fields().With("device_info", "x&total_fee=1"),
		"combined":   combination(part(1), part(2)).V2(),
		"contract": forge.NewForm("return_code", "SUCCESS", "result_code", "SUCCESS", "mch_id", mchID, "change_type", "ADD",
			"contract_id", "1", "openid", "o_test_1"),
	}
}

var signOf = regexp.MustCompile(`<(?:sign|req_info)><!\[CDATA\[(.*?)\]\]></(?:sign|req_info)>`)

// bodyPart is the part of a v2 message that proves it.
func bodyPart(req provider.Request) providertest.Part {
	m := signOf.FindSubmatch(req.Body)
	return providertest.Part{Body: string(m[0]), Value: string(m[1])}
}

func TestAdapterPassesTheSuite(t *testing.T) {
	partner := asPartner(subID)
	a := newAdapter(t, partner)
	o := options()
	partner(&o)
	renamed := env(keyFiles())
	renamed.Account = "wechat-renamed"
	twin, err := New(o, renamed)
	if err != nil {
		t.Fatal(err)
	}
	foreign := newAdapter(t, func(o *Options) {
		o.MchID, o.AppIDs = "1600000002", []string{"wxtest0000000002"}
		o.APIv2Key, o.APIv3Key = "AnotherApiV2KeyOfAnotherMerchant", "AnotherApiV3KeyOfAnotherMerchant"
	})

	genuine := map[string]providertest.Genuine{}
	headers := []providertest.Part{{Header: "Wechatpay-Signature"}, {Header: "Wechatpay-Timestamp"}, {Header: "Wechatpay-Nonce"}, {Header: "Wechatpay-Serial"}}
	for name, e := range maps.All(genuineEvents()) {
		again := e
		again.ID, again.CreatedAt = "EV-another", e.CreatedAt.Add(time.Minute)
		second := forge.WechatV3Signer{Key: forge.WechatPublicKey}.Notify(again, received.Add(time.Minute)).At(received.Add(time.Minute))
		genuine["v3 "+name] = providertest.Genuine{Request: v3(e), Again: &second, Proof: headers}
	}
	for name, f := range maps.All(genuineFieldsV2()) {
		req := v2(f)
		second := forge.WechatV2Signer{SignType: signHMAC}.Sign(f.With("nonce_str", "another").With("sign_type", signHMAC)).At(received.Add(time.Minute))
		genuine["v2 "+name] = providertest.Genuine{Request: req, Again: &second, Proof: []providertest.Part{bodyPart(req)}}
	}
	outer, inner := refund().V2()
	req := v2Refund(outer, inner)
	second := v2Refund(outer.With("nonce_str", "another"), inner)
	genuine["v2 refund"] = providertest.Genuine{Request: req, Again: &second, Proof: []providertest.Part{bodyPart(req)}, Unsigned: true}

	providertest.Run(t, providertest.Kit{
		Provider: a, Env: a.env, Twin: twin, Foreign: foreign, Genuine: genuine,
		Secrets:      []string{forge.WechatV2Key, forge.WechatV3Key, "o_test_1", "支付用户零钱"},
		KeyIDHeaders: []string{"Wechatpay-Serial"},
	})
}
