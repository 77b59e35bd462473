package wechat

import "github.com/notifyd/notifyd/internal/provider"

// finerExplanations are those of the codes that an examination finds.
func finerExplanations() []provider.Explanation {
	return append(damageExplanations(), keyExplanations()...)
}

func damageExplanations() []provider.Explanation {
	explain := provider.ExplainFiner
	return []provider.Explanation{
		explain(CodeHeadersLost,
			say{"A v3 message whose `Wechatpay-Signature` header is gone, so that it looks like v2.", "Let the proxy, gateway or function runtime pass every `Wechatpay-…` header."},
			say{"v3 通知丢失了 `Wechatpay-Signature` 请求头，因此被当作 v2。", "让代理、网关或云函数原样转发全部 `Wechatpay-…` 请求头。"}),
		explain(CodeBodyEmpty,
			say{"The body is empty: something in front has read it and not passed it on.", "Look for a logger, a body parser or a filter before notifyd; pass the request on with its bytes."},
			say{"请求体为空：前面的环节读走了它而没有转发。", "检查 notifyd 之前的日志、解析或过滤组件；按原始字节转发请求。"}),
		explain(CodeBodyCut,
			say{"The body ends early.", "Look for a size limit in the proxy, a column or log field that cuts, or a copy from a terminal."},
			say{"请求体不完整，提前结束。", "检查代理的大小限制、会截断的日志或数据库字段，或从终端复制时的截断。"}),
		explain(CodeBodyChanged,
			say{"WeChat Pay's key made the signature, over another text: the body, or the timestamp or nonce header, was changed on its way.", "Compare the body's length and SHA-256 before and behind each proxy; pass the bytes on as they are."},
			say{"签名确由微信支付的密钥生成，但对应另一段文本：请求体（或时间戳、随机串请求头）在途中被改动。", "在每一跳前后比较请求体的长度和 SHA-256；按原始字节转发。"}),
		explain(CodeReencoded,
			say{"The JSON was decoded and encoded again: other key order, blanks, escapes or names, the same content.", "Pass on the raw bytes of the body, never a decoded object: turn off body parsing in the gateway or framework."},
			say{"JSON 被解析后重新序列化：键顺序、空白、转义或字段名不同，内容相同。", "转发请求体的原始字节，不要转发解析后的对象：关闭网关或框架的请求体解析。"}),
		explain(CodeWrapped,
			say{"The body was put into a JSON string, or got a byte order mark.", "Pass on the bytes themselves, not a text that holds them."},
			say{"请求体被包进了 JSON 字符串，或前面多了 BOM。", "转发字节本身，而不是包含它的字符串。"}),
		explain(CodeLineEnds,
			say{"Line ends or outer blanks of the body were changed.", "Pass bodies on in binary, never line by line; save captures without an editor."},
			say{"请求体的换行或首尾空白被改动。", "以二进制方式转发请求体，不要逐行读取；保存抓包时不要用编辑器改写。"}),
		explain(CodeHTMLEscaped,
			say{"An input filter has escaped HTML (`&quot;` for a quote).", "Turn the filter off for this path."},
			say{"输入过滤器做了 HTML 转义（引号变成 `&quot;`）。", "对该路径关闭此过滤器。"}),
		explain(CodeBackslashed,
			say{"An input filter has put backslashes before quotes.", "Turn the filter off for this path."},
			say{"输入过滤器在引号前加了反斜杠。", "对该路径关闭此过滤器。"}),
		explain(CodeEncodedTwice,
			say{"Something on the way percent-encoded what needs no encoding.", "Pass body and headers on as they are."},
			say{"途中有环节多做了一次百分号编码。", "原样转发请求体和请求头。"}),
		explain(CodeDecodedTwice,
			say{"Something on the way percent-decoded what was not encoded for it.", "Pass body and headers on as they are."},
			say{"途中有环节多做了一次百分号解码。", "原样转发请求体和请求头。"}),
		explain(CodeTranscoded,
			say{"The characters are the same, the bytes are not: something converted the charset.", "Read and write bodies as bytes; set the charset of the runtime to UTF-8."},
			say{"字符相同而字节不同：途中转换了字符集。", "按字节读写请求体；把运行环境的字符集设为 UTF-8。"}),
		explain(CodePlusLost,
			say{"A plus sign became a blank: something decoded as a form what is none.", "Pass body and headers on as they are."},
			say{"加号变成了空格：途中有环节把它当表单解码。", "原样转发请求体和请求头。"}),
		explain(CodeExtraField,
			say{"There are fields that WeChat Pay did not sign: of a query string, a route or a gateway.", "Keep `notify_url` free of a query string, and let nothing add fields to the body."},
			say{"含有微信支付没有签名的字段：来自查询串、路由或网关。", "`notify_url` 不要带查询串，任何环节都不要往请求体里加字段。"}),
	}
}

func keyExplanations() []provider.Explanation {
	explain := provider.ExplainFiner
	return []provider.Explanation{
		explain(CodeWrongKey,
			say{"No loaded key made the signature, though the sender knows the API v3 key: the key under this serial is not WeChat Pay's.", "Take the platform certificate or public key from the WeChat Pay console, not `apiclient_cert.pem` and not the public half of your own key. `--try-key FILE` tells whether a file fits."},
			say{"没有任何已加载的密钥能对应该签名，但发送方知道 APIv3 密钥：该序列号下配置的不是微信支付的密钥。", "从商户平台下载平台证书或微信支付公钥，而不是 `apiclient_cert.pem`，也不是自己私钥对应的公钥。可用 `--try-key 文件` 检验某个文件是否正确。"}),
		explain(CodeOwnKey,
			say{"The merchant's own certificate or public key is loaded where WeChat Pay's belongs.", "Replace it by the platform certificate or public key from the WeChat Pay console. Your own key signs what you send; it never verifies what comes."},
			say{"在微信支付密钥的位置加载了商户自己的证书或公钥。", "换成商户平台提供的平台证书或微信支付公钥。自己的密钥只用于签名自己的请求，不能验证收到的通知。"}),
		explain(CodeKeyUnderOtherID,
			say{"The key that made the signature is loaded, but under another id or serial than the message names.", "Compare `public_keys[].id` and files with the console: an id is mistyped, or two files are exchanged."},
			say{"生成签名的密钥已加载，但其 ID 或序列号与通知所指不同。", "与商户平台核对 `public_keys[].id` 和文件：ID 填错了，或两个文件放反了。"}),
		explain(CodePublicKeyMode,
			say{"WeChat Pay signs with a public key (`PUB_KEY_ID_…`) for this merchant, and only certificates are loaded.", "Download the WeChat Pay public key from the console and add it under `public_keys` with its id; keep the certificates while the switch lasts."},
			say{"微信支付已对该商户使用公钥模式（`PUB_KEY_ID_…`）签名，而只加载了平台证书。", "在商户平台下载微信支付公钥，连同 ID 加入 `public_keys`；切换期间保留平台证书。"}),
		explain(CodeCertificateMode,
			say{"WeChat Pay signs with a platform certificate for this merchant, and only public keys are loaded.", "Add the platform certificate under `certificates`: while a switch lasts, both come."},
			say{"微信支付对该商户使用平台证书签名，而只加载了公钥。", "把平台证书加入 `certificates`：切换期间两种签名都会出现。"}),
		explain(CodeCertificateExpired,
			say{"WeChat Pay signs with a new platform certificate, and the loaded one has ended.", "Download the new certificate from the console and add it, or switch to the WeChat Pay public key, which does not end."},
			say{"微信支付已使用新的平台证书，而加载的证书已过期。", "在商户平台下载新的平台证书并添加，或改用不会过期的微信支付公钥。"}),
		explain(CodeOtherAccount,
			say{"The message fits the keys of another account of this configuration.", "Give the order, or the refund, the `notify_url` of that account."},
			say{"通知与本配置中另一个账号的密钥相符。", "下单或退款时使用那个账号的 `notify_url`。"}),
		explain(CodeAPIKeyChanged,
			say{"The message is whole, and it was sealed with another API key than the loaded one.", "Copy the API key again from the console: it was changed there, mistyped here, or is another merchant's. Messages of before a change stay sealed with the old key."},
			say{"通知完整，但加密所用的 API 密钥与已加载的不同。", "重新从商户平台核对 API 密钥：可能已在平台更换、此处填错，或属于其他商户。更换前的通知仍用旧密钥加密。"}),
		explain(CodeAPIKeysSwapped,
			say{"The API v2 key stands where the API v3 key belongs, or the other way round.", "They are two keys, set in two places of the console: put each under its own option."},
			say{"APIv2 密钥与 APIv3 密钥填反了，或填成了同一个。", "两者是商户平台上分别设置的两个密钥：各自填入对应的选项。"}),
		explain(CodeHMACWithoutSignType,
			say{"Signed with HMAC-SHA256 without saying so, for an account that lists MD5 alone.", "Add HMAC-SHA256 to `v2_sign_types`."},
			say{"通知用 HMAC-SHA256 签名但没有 `sign_type`，而账号只接受 MD5。", "把 HMAC-SHA256 加入 `v2_sign_types`。"}),
		explain(CodeSignTypeWrong,
			say{"`sign` holds by the other algorithm than `sign_type` names.", "Look for what writes `sign_type` on the way: pass fields on as they are."},
			say{"`sign` 用另一种算法可以通过，与 `sign_type` 不符。", "检查途中是谁改写了 `sign_type`：原样转发各字段。"}),
		explain(CodeSignTypeDropped,
			say{"`sign_type` was signed and is not in the message any more.", "Pass every field on: in v2, `sign_type` is an ordinary signed field."},
			say{"`sign_type` 参与了签名，但已不在报文中。", "转发全部字段：在 v2 中 `sign_type` 是参与签名的普通字段。"}),
		explain(CodeSignTypeKept,
			say{"`sign_type` is in the message and was not signed.", "Look for what adds it on the way; a signer that leaves it out is not WeChat Pay."},
			say{"报文中有 `sign_type`，但它没有参与签名。", "检查途中是谁添加了它；不把它计入签名的不是微信支付。"}),
		explain(CodeHexCase,
			say{"`sign` holds in capitals and came in small letters.", "Pass `sign` on as it is: WeChat Pay writes capitals."},
			say{"`sign` 转成大写后可以通过，收到的是小写。", "原样转发 `sign`：微信支付使用大写。"}),
	}
}
