package captures

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// wechatV3Refused are v3 messages that prove nothing, and the true copy of the
// one that is only a test.
func wechatV3Refused() []capture {
	return append(refusedByHeader(), refusedByContent()...)
}

func refusedByHeader() []capture {
	probe := byPlatform.Notify(payment3(521), at(521))
	probe.Header.Set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/"+strings.Repeat("MTIzNDU2Nzg5MA", 3)[:40])
	unnamed := byPlatform.Notify(payment3(535), at(535))
	unnamed.Header.Del("Wechatpay-Serial")
	national := byPlatform.Notify(payment3(539), at(539))
	national.Header.Set("Wechatpay-Signature-Type", "WECHATPAY2-SM2-WITH-SM3")
	milliseconds := byPlatform.SignWith(byPlatform.Envelope(payment3(540)), "1767258000000", "0123456789abcdef0123456789abcdef")
	unknown := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: "1111111111111111111111111111111111111111"}
	unknownID := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: "PUB_KEY_ID_0000000000000009"}
	mixed := forge.WechatV3Signer{Key: forge.WechatPublicKey, Serial: forge.WechatSerial}
	stranger := forge.WechatV3Signer{Key: forge.StrangerKey, Serial: forge.WechatSerial}
	retried := payment3(522)
	retried.ID, retried.CreatedAt, retried.Content = id3(521), paid(521), v2Payment(521).V3()
	return []capture{
		{number: 521, name: "refused-v3-probe", account: wechat, message: probe},
		{number: 522, name: "v3-payment-after-probe", account: wechat, message: byPlatform.Notify(retried, at(522))},
		{number: 523, name: "refused-v3-stale", account: wechat, message: byPlatform.Notify(payment3(523), at(523).Add(-301*time.Second))},
		{number: 524, name: "refused-v3-from-the-future", account: wechat, message: byPlatform.Notify(payment3(524), at(524).Add(301*time.Second))},
		{number: 525, name: "refused-v3-unknown-serial", account: wechat, message: unknown.Notify(payment3(525), at(525))},
		{number: 526, name: "refused-v3-unknown-public-key", account: wechat, message: unknownID.Notify(payment3(526), at(526))},
		{number: 527, name: "refused-v3-serial-of-another-key", account: wechat, message: mixed.Notify(payment3(527), at(527))},
		{number: 535, name: "refused-v3-no-serial", account: wechat, message: unnamed},
		{number: 536, name: "refused-v3-claims-localhost", account: wechat, message: stranger.Notify(payment3(536), at(536)), header: []string{"Host: localhost", "X-Forwarded-For: 127.0.0.1"}},
		{number: 539, name: "refused-v3-national-signature", account: wechat, message: national},
		{number: 540, name: "refused-v3-milliseconds", account: wechat, message: milliseconds},
	}
}

func refusedByContent() []capture {
	otherKey := forge.WechatV3Signer{APIKey: "TestApiV3KeyForReceiver000000009"}
	short := regexp.MustCompile(`"nonce":"(.{11}).`).ReplaceAll(byPlatform.Envelope(payment3(529)), []byte(`"nonce":"$1`))
	national := payment3(530)
	national.Algorithm = "AEAD_SM4_GCM"
	twice := bytes.Replace(byPlatform.Envelope(payment3(537)), []byte("{"), []byte(`{"event_type":"TRANSACTION.SUCCESS",`), 1)
	bound := payment3(538)
	bound.AssociatedDataToo = "transaction2"
	return []capture{
		{number: 528, name: "refused-v3-other-api-key", account: wechat, message: otherKey.Notify(payment3(528), at(528))},
		{number: 529, name: "refused-v3-short-nonce", account: wechat, message: byPlatform.Sign(short, at(529))},
		{number: 530, name: "refused-v3-national-cipher", account: wechat, message: byPlatform.Notify(national, at(530))},
		{number: 531, name: "refused-v3-foreign-merchant", account: wechat, message: byPlatform.Notify(with3(531, mchID, nobodyMchID), at(531))},
		{number: 532, name: "refused-v3-foreign-app", account: wechat, message: byPlatform.Notify(with3(532, wechatApp, "wxtest0000000999"), at(532))},
		{number: 533, name: "refused-v3-unlisted-sub-merchant", account: wechatPartner, message: byPartner3.Notify(event3(533, "TRANSACTION.SUCCESS", "transaction", subPayment(533, unlistedSub).V3()), at(533))},
		{number: 534, name: "refused-v3-encoded-again", account: wechat, message: encodedAgain(byPlatform.Notify(payment3(534), at(534)))},
		{number: 537, name: "refused-v3-member-twice", account: wechat, message: byPlatform.Sign(twice, at(537))},
		{number: 538, name: "refused-v3-associated-data-changed", account: wechat, message: byPlatform.Notify(bound, at(538))},
		{number: 541, name: "refused-v3-no-json", account: wechat, message: byPlatform.Sign([]byte(`"a text"`), at(541))},
		{number: 542, name: "refused-v3-of-another-account", account: wechatPartner, message: byPlatform.Notify(payment3(542), at(542))},
	}
}

// encodedAgain is a message whose body something in front has decoded and
// encoded: the same JSON, other bytes.
func encodedAgain(m forge.Message) forge.Message {
	var members map[string]any
	if err := json.Unmarshal(m.Body, &members); err != nil {
		panic(err) // our own envelope
	}
	body, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	m.Body = body
	return m
}
