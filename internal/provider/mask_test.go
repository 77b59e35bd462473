package provider

import (
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	t.Parallel()
	mask := NewMask(map[string]Sensitive{"who": SensitiveNames, "payer": SensitiveOpenID, "rate": SensitiveAmounts})
	for _, text := range []string{
		`<xml><openid><![CDATA[CANARY]]></openid><total_fee>1</total_fee></xml>`,
		`<xml><sub_openid>CANARY</sub_openid><total_fee>1</total_fee></xml>`,
		`appid=wx1&openid=CANARY&total_fee=1`,
		`buyer_id=CANARY`,
		`a=1&buyer_logon_id=CANARY+x%40y&total_fee=1`,
		`{"payer":{"openid":"CANARY"},"total":1}`,
		`{"payer":{"sp_openid" : "CAN\"ARY CANARY","sub_openid":"CANARY"},"total":1}`,
		`sub_order_list={"order_list":[{"openid":"CANARY","total_fee":1}]}&x=y`,
		`biz_content={\"user_id\":\"CANARY\",\"total_fee\":1}`,
		`biz_content={&quot;user_id&quot;:&quot;CANARY&quot;,&quot;total_fee&quot;:1}`,
		`biz_content=%7B%22alipay_user_id%22%3A%22CANARY%22%2C%22total_fee%22%3A1%7D`,
		`{"app_auth_token":"CANARY"`,
		`{"openid":"CANARY`,
		`{"user_id":2088CANARY,"a":1}`,
		"user_received_account=CANARY",
		// Of the table, in every form, also as a list or an object, and cut.
		"a=1&who=CANARY&total=1", "who=CANARY", "<who>CANARY</who>", `<xml><who_1><![CDATA[CANARY</b]]></who_1><total>1</total></xml>`,
		"<who>CANARY", "<who><![CDATA[CANARY", "<who><b>CANARY</b></who>",
		`{"who":{"name":"CANARY","of":["CANARY}",{"x":"CANARY\\"}]},"total":1}`, `{"who" : ["CANARY"],"total":1}`, `{"who":{"x":"CANARY`,
		`{"who":"CANARY\\","total":1}`, `{"who":'CANARY',"total":1}`, `b={\"who\":{\"x\":\"CANARY\\\"CANARY\"},\"total\":1}`,
		`b={&quot;who&quot;:{&quot;x&quot;:&quot;CANARY}CANARY&quot;},&quot;total&quot;:1}`, `b=%7B%22who%22%3A%7B%22x%22%3A%22CANARY%22%7D%2C%22total%22%3A1%7D`,
		`<root><refund_recv_accout><![CDATA[CANARY]]></refund_recv_accout></root>`,
	} {
		got := mask.Hide(text)
		if strings.Contains(got, "CANARY") || !strings.Contains(got, masked) {
			t.Errorf("%s is shown as %s", text, got)
		}
		if strings.Contains(text, "total") && !strings.Contains(got, "total") {
			t.Errorf("of %s nothing is left: %s", text, got)
		}
	}
	for _, text := range []string{`{"appid":"wx1","out_trade_no":"T1"}`, "app_id=1&seller_id=2&notify_id=3", "<mch_id>1</mch_id>", "",
		"payer_total=1&whose=2&rate=3", `{"payer_total":1,"rate":{"a":1}}`, "<rate>1</rate>"} {
		if got := mask.Hide(text); got != text {
			t.Errorf("%s has nothing personal and is shown as %s", text, got)
		}
	}
}
