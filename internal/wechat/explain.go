package wechat

import "github.com/notifyd/notifyd/internal/provider"

// Explanations are the texts for people of every code of this package: what it
// means, and what to do.
func Explanations() []provider.Explanation {
	return append(explanations(), finerExplanations()...)
}

// say is a pair of sentences: what it means, and what to do.
type say = [2]string

func explanations() []provider.Explanation {
	explain := provider.Explain
	return []provider.Explanation{
		explain(CodeNoV3Key,
			say{"A v3 message came, and the account has no API v3 key.", "Set `api_v3_key` and a public key or certificate."},
			say{"收到 v3 通知，但该账户没有配置 APIv3 密钥。", "配置 `api_v3_key`，并配置微信支付公钥或平台证书。"}),
		explain(CodeNoV2Key,
			say{"A v2 message came, and the account has no API v2 key.", "Set `api_v2_key`, or move the product to v3."},
			say{"收到 v2 通知，但该账户没有配置 APIv2 密钥。", "配置 `api_v2_key`，或把该产品升级到 v3。"}),
		explain(CodeMalformedJSON,
			say{"The body is not one JSON object.", "Something in front changed it, or it is not from WeChat Pay. `notifyd verify` says which."},
			say{"请求体不是一个 JSON 对象。", "前面的环节改动了它，或它并非来自微信支付；`notifyd verify` 会指出是哪一种。"}),
		explain(CodeJSONShape,
			say{"JSON that is nested deeper, is longer or has other names than any message.", "Nothing: it is not from WeChat Pay."},
			say{"JSON 的嵌套、长度或字段名超出任何真实通知。", "无需处理：它并非来自微信支付。"}),
		explain(CodeMalformedXML,
			say{"The body is not one XML document with the root `xml`.", "Something in front changed it, or it is not from WeChat Pay. `notifyd verify` says which."},
			say{"请求体不是以 `xml` 为根的 XML 文档。", "前面的环节改动了它，或它并非来自微信支付；`notifyd verify` 会指出是哪一种。"}),
		explain(CodeXMLShape,
			say{"A DOCTYPE, comment, attribute, prefix, nested element, or too many elements.", "Nothing: it is not from WeChat Pay."},
			say{"XML 含 DOCTYPE、注释、属性、前缀、嵌套元素，或元素过多。", "无需处理：它并非来自微信支付。"}),
		explain(CodeDuplicateField,
			say{"A field stands in the message twice, in JSON also when only its case differs.", "Look for a gateway that adds fields to bodies; otherwise somebody built it by hand."},
			say{"同一字段出现两次（JSON 中仅大小写不同也算）。", "检查是否有网关往请求体里加字段；否则它是人为构造的。"}),
		explain(CodeMissingHeader,
			say{"A `Wechatpay-…` header is missing or empty.", "Let the proxy pass all of them."},
			say{"缺少某个 `Wechatpay-…` 请求头，或其值为空。", "让反向代理原样转发全部 `Wechatpay-…` 请求头。"}),
		explain(CodeRepeatedHeader,
			say{"A `Wechatpay-…` header came twice.", "Look for a proxy that adds what is there already."},
			say{"某个 `Wechatpay-…` 请求头出现了两次。", "检查是否有代理重复添加了请求头。"}),
		explain(CodeSignatureType,
			say{"Another algorithm than RSA with SHA-256.", "The SM variant is not supported: ask WeChat Pay for the RSA one."},
			say{"签名算法不是 RSA-SHA256。", "不支持国密（SM）算法：请在微信支付使用 RSA。"}),
		explain(CodeTimestamp,
			say{"`Wechatpay-Timestamp` is not ten digits.", "Nothing: it is not from WeChat Pay."},
			say{"`Wechatpay-Timestamp` 不是十位数字。", "无需处理：它并非来自微信支付。"}),
		explain(CodeStale,
			say{"Signed more than five minutes before or after it was received.", "Set the clock of this machine (NTP); look for a queue or a retry in front. A capture is judged at its own `X-Captured-At`."},
			say{"签名时间与接收时间相差超过五分钟。", "校准本机时钟（NTP）；检查前面是否有队列或重放。抓包文件按自己的 `X-Captured-At` 判断。"}),
		explain(CodeUnknownSerial,
			say{"No key with the serial that the message names is loaded.", "Download that certificate or public key from the WeChat Pay console and add it; keep the old one until the switch is over."},
			say{"通知所指的证书序列号或公钥 ID 没有加载。", "在微信支付商户平台下载该证书或公钥并添加；切换结束前保留旧的。"}),
		explain(CodeProbe,
			say{"WeChat Pay's deliberately wrong signature, with which it tests whether signatures are checked.", "Nothing: refusing it is right, and the real message follows."},
			say{"微信支付的签名探测流量：故意给出错误签名，检验商户是否验签。", "无需处理：拒绝是正确的，真实通知随后会到。"}),
		explain(CodeSignature,
			say{"The signature does not fit body and key.", "The body was changed on its way, or the key under this id is wrong. `notifyd verify` tries the known mistakes."},
			say{"签名与请求体、公钥不符。", "请求体在途中被改动，或该 ID 下的公钥不对；`notifyd verify` 会逐一尝试已知的错误。"}),
		explain(CodeResource,
			say{"A signed v3 message without a resource that can be opened.", "Look at the product's documents: this kind of message is not a v3 notification."},
			say{"v3 通知签名正确，但没有可解密的 resource。", "查看该产品的文档：这类消息不是 v3 通知。"}),
		explain(CodeAlgorithm,
			say{"Encrypted with something else than AEAD_AES_256_GCM.", "The SM variant is not supported: ask WeChat Pay for AES."},
			say{"加密算法不是 AEAD_AES_256_GCM。", "不支持国密（SM）算法：请在微信支付使用 AES。"}),
		explain(CodeDecrypt,
			say{"The message does not open under the API key.", "When the detail names `nonce` or `ciphertext`, no key opens it: the sender built it wrongly; keep the capture and ask who sends. Otherwise compare the API key with the console; `notifyd verify` tells a changed key from a swapped or foreign one."},
			say{"用 API 密钥无法解密。", "若详情指向 `nonce` 或 `ciphertext`，任何密钥都解不开：是发送方构造有误，请保留抓包文件并询问发送方。否则与商户平台核对 API 密钥；`notifyd verify` 能区分密钥已更换、填反、或属于其他账户。"}),
		explain(CodeNoSignature,
			say{"A v2 message without `sign`.", "Nothing: it is not from WeChat Pay."},
			say{"v2 通知没有 `sign`。", "无需处理：它并非来自微信支付。"}),
		explain(CodeSignType,
			say{"`sign_type`, or the length of `sign`, is an algorithm that `v2_sign_types` does not list.", "List it, or ask for the other one when ordering."},
			say{"`sign_type`（或 `sign` 的长度）对应的算法不在 `v2_sign_types` 中。", "把它加入 `v2_sign_types`，或下单时指定另一种算法。"}),
		explain(CodeReturnFail,
			say{"`return_code` is not SUCCESS; such a message carries no signature.", "Read its `return_msg` in the raw body: it says what WeChat Pay misses in your request."},
			say{"`return_code` 不是 SUCCESS；这种消息没有签名。", "查看原始报文里的 `return_msg`：它说明微信支付认为你的请求缺什么。"}),
		explain(CodeMissingField,
			say{"`return_code` or `result_code` is missing.", "Nothing: it is not from WeChat Pay."},
			say{"缺少 `return_code` 或 `result_code`。", "无需处理：它并非来自微信支付。"}),
		explain(CodeForeignMchID,
			say{"The message is of another merchant number, or names none.", "Compare `mchid` with the console, and the `notify_url` of your orders with the account's."},
			say{"通知属于另一个商户号，或没有商户号。", "核对 `mchid` 与商户平台是否一致，以及下单时的 `notify_url` 是否指向正确的账户。"}),
		explain(CodeForeignAppID,
			say{"The message is of another app, or names none.", "Add the app to `appids` if it is yours."},
			say{"通知属于另一个应用，或没有 appid。", "如果该应用是你的，把它加入 `appids`。"}),
		explain(CodeForeignSubMchID,
			say{"The message is of a sub-merchant that `sub_mchids` does not list.", "Add it if it is yours."},
			say{"通知属于 `sub_mchids` 未列出的特约商户。", "如果是你的特约商户，把它加入 `sub_mchids`。"}),
	}
}
