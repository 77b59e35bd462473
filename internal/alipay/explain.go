package alipay

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
		explain(codeFormSyntax,
			say{"The body is no form.", "Something in front rewrites bodies (an input filter that turns `&` into `&amp;`, a gateway that speaks JSON): pass them on as they are."},
			say{"请求体不是合法表单。", "前面的环节改写了请求体（把 `&` 变成 `&amp;` 的过滤器，或转成 JSON 的网关）：请原样转发。"}),
		explain(codeFieldName,
			say{"A field has a name that Alipay does not send.", "Nothing, if nothing in front adds fields: it is not from Alipay."},
			say{"出现支付宝不会使用的字段名。", "如果前面没有环节添加字段，则无需处理：它并非来自支付宝。"}),
		explain(codeTooManyFields,
			say{"More than 200 fields; Alipay sends about 30.", "Nothing: it is not from Alipay."},
			say{"字段超过 200 个；支付宝大约只有 30 个。", "无需处理：它并非来自支付宝。"}),
		explain(codeDuplicateField,
			say{"A field stands twice.", "A proxy must not add parameters to the body."},
			say{"同一字段出现两次。", "代理不得往请求体里添加参数。"}),
		explain(codeNoSignature,
			say{"There is no `sign`.", "Nothing, unless a proxy drops or cuts bodies: it is not from Alipay."},
			say{"没有 `sign`。", "除非代理丢失或截断了请求体，否则无需处理：它并非来自支付宝。"}),
		explain(codeSignType,
			say{"`sign_type` is none of the account's `sign_types`.", "Set the application to RSA2 in the console; list RSA only for an old application that cannot change."},
			say{"`sign_type` 不在账号的 `sign_types` 中。", "在开放平台把应用设为 RSA2；只有无法更换的老应用才列出 RSA。"}),
		explain(codeCharset,
			say{"`charset` is none of utf-8, gbk, gb2312, gb18030.", "Order with one of these."},
			say{"`charset` 不是 utf-8、gbk、gb2312、gb18030 之一。", "下单时使用其中之一。"}),
		explain(codeSignatureForm,
			say{"`sign` is not the base64 of a signature.", "It was cut by a column or a log, or made up."},
			say{"`sign` 不是签名的 base64。", "它被字段长度或日志截断，或是编造的。"}),
		explain(codePlusLost,
			say{"Blanks stand where plus signs were.", "Something decoded the form and encoded it again without `%2B`: pass the body on as it is."},
			say{"加号变成了空格。", "途中解码后重新编码时没有使用 `%2B`：请原样转发请求体。"}),
		explain(codeEncodedTwice,
			say{"Values are still percent-encoded after decoding.", "The body was encoded a second time on its way: pass it on as it is."},
			say{"解码后仍是百分号编码。", "途中多编码了一次：请原样转发请求体。"}),
		explain(codeSignature,
			say{"The signature does not hold.", "Configure the *Alipay public key* of the console, not the application's own; after a change of keys, both. `notifyd verify` tells a wrong key from a changed body."},
			say{"验签不通过。", "配置开放平台上的“支付宝公钥”，而不是应用公钥；更换密钥期间两个都要配置。`notifyd verify` 能区分密钥不对和请求体被改。"}),
		explain(codeHTMLEscaped,
			say{"An input filter has escaped HTML (`&quot;` for a quote).", "Turn the filter off for this path."},
			say{"输入过滤器做了 HTML 转义（引号变成 `&quot;`）。", "对该路径关闭此过滤器。"}),
		explain(codeBackslashed,
			say{"An input filter has put backslashes before quotes.", "Turn the filter off for this path."},
			say{"输入过滤器在引号前加了反斜杠。", "对该路径关闭此过滤器。"}),
		explain(codeTranscoded,
			say{"The characters are the same, the bytes are not: something converted the charset.", "Turn off the conversion of charsets in front; the signed `charset` says which bytes were signed."},
			say{"字符相同而字节不同：途中转换了字符集。", "关闭前面环节的字符集转换；签名所用的字节由 `charset` 参数决定。"}),
		explain(codeForeignApp,
			say{"`app_id` is missing or another application's.", "That application's `notify_url` names the wrong account."},
			say{"缺少 `app_id`，或属于其他应用。", "那个应用的 `notify_url` 指向了错误的账号。"}),
		explain(codeForeignAuthApp,
			say{"`auth_app_id` is neither `app_id` nor in `auth_app_ids`.", "Add the merchant that authorised the application."},
			say{"`auth_app_id` 既不是 `app_id`，也不在 `auth_app_ids` 中。", "把授权该应用的商户加入 `auth_app_ids`。"}),
		explain(codeForeignSeller,
			say{"`seller_id` is not the configured one.", "Correct it, or leave it out when several sellers use the application."},
			say{"`seller_id` 与配置不符。", "更正它；若有多个收款方使用该应用，则不要配置。"}),
	}
}

func finerExplanations() []provider.Explanation {
	explain := provider.ExplainFiner
	return []provider.Explanation{
		explain(codeBodyEmpty,
			say{"The body is empty: something in front has read it and not passed it on.", "Look for a logger, a body parser or a filter before notifyd; pass the request on with its bytes."},
			say{"请求体为空：前面的环节读走了它而没有转发。", "检查 notifyd 之前的日志、解析或过滤组件；按原始字节转发请求。"}),
		explain(codeBodyJSON,
			say{"The form was turned into a JSON object.", "Let the gateway pass the form on as it is."},
			say{"表单被转换成了 JSON。", "让网关原样转发表单。"}),
		explain(codeBodyChanged,
			say{"Alipay's key made the signature, over another text: a value was changed on its way.", "Compare the body's length and SHA-256 before and behind each proxy; whoever changes an amount is caught here, too."},
			say{"签名确由支付宝的密钥生成，但对应另一段文本：某个值在途中被改动。", "在每一跳前后比较请求体的长度和 SHA-256；篡改金额也会在这里被发现。"}),
		explain(codeReencoded,
			say{"Typed fields or an encoder wrote amounts or JSON values anew.", "Verify and pass on the texts as they came, never numbers or decoded objects."},
			say{"金额或 JSON 字段被类型化或重新序列化。", "按收到的原文验签和转发，不要用数字或解析后的对象。"}),
		explain(codeWrapped,
			say{"The body was put into a JSON string, or got a byte order mark.", "Pass on the bytes themselves, not a text that holds them."},
			say{"请求体被包进了 JSON 字符串，或前面多了 BOM。", "转发字节本身，而不是包含它的字符串。"}),
		explain(codeLineEnds,
			say{"Line ends or outer blanks of a value were changed.", "Do not trim values, and pass bodies on in binary."},
			say{"某个值的换行或首尾空白被改动。", "不要去除首尾空白；以二进制方式转发请求体。"}),
		explain(codeDecodedTwice,
			say{"A value was percent-decoded once too often (mostly `passback_params`).", "Decode the form once; what the merchant encoded stays encoded."},
			say{"某个值被多解码了一次（多为 `passback_params`）。", "表单只解码一次；商户自己编码的内容保持编码状态。"}),
		explain(codeExtraField,
			say{"There are fields that Alipay did not sign: of a query string, a route or a framework.", "Keep `notify_url` free of a query string, and let nothing add fields to the body."},
			say{"含有支付宝没有签名的字段：来自查询串、路由或框架。", "`notify_url` 不要带查询串，任何环节都不要往请求体里加字段。"}),
		explain(codeFieldLost,
			say{"A field without a value was signed, and is gone.", "Pass empty fields on, too."},
			say{"某个空值字段参与了签名，但已丢失。", "空值字段也要转发。"}),
		explain(codeSignTypeDropped,
			say{"`sign_type` was signed and is not in the form any more.", "Pass every field on: some messages sign it."},
			say{"`sign_type` 参与了签名，但已不在表单中。", "转发全部字段：有的消息会签名它。"}),
		explain(codeSignTypeWrong,
			say{"Signed by the other algorithm than `sign_type` names.", "Look for what writes `sign_type` on the way: pass fields on as they are."},
			say{"实际签名算法与 `sign_type` 不符。", "检查途中是谁改写了 `sign_type`：原样转发各字段。"}),
		explain(codeSigningRule,
			say{"Signed with `sign_type` and without empty fields: no rule that Alipay documents.", "Look for a test tool that signs by a rule of its own."},
			say{"签名包含 `sign_type` 且不含空值字段：不是支付宝文档中的规则。", "检查是否是按自有规则签名的测试工具。"}),
		explain(codeWrongKey,
			say{"No loaded key made the signature: mostly the application's own public key is loaded in place of Alipay's, or Alipay's key was changed; otherwise the message is forged.", "Copy the *Alipay public key* from the console, not the application public key that you uploaded there. `--try-key FILE` tells whether a file fits."},
			say{"没有任何已加载的密钥能对应该签名：多半是把应用公钥当成了支付宝公钥，或支付宝公钥已更换；否则通知是伪造的。", "从开放平台复制“支付宝公钥”，而不是你上传的应用公钥。可用 `--try-key 文件` 检验某个文件是否正确。"}),
		explain(codeOwnKey,
			say{"The application's own public key is loaded where Alipay's belongs.", "Replace it by the *Alipay public key* of the console."},
			say{"在支付宝公钥的位置加载了应用自己的公钥。", "换成开放平台上的“支付宝公钥”。"}),
		explain(codeCertificateExpired,
			say{"No loaded key made the signature, and every loaded certificate has ended.", "Download the new `alipayCertPublicKey_RSA2.crt` and add it."},
			say{"没有任何已加载的密钥能对应该签名，而加载的证书均已过期。", "下载新的 `alipayCertPublicKey_RSA2.crt` 并添加。"}),
		explain(codeOtherAccount,
			say{"A key of another account of this configuration made the signature.", "Give the order the `notify_url` of that account, or correct this account's key."},
			say{"签名由本配置中另一个账号的密钥生成。", "下单时使用那个账号的 `notify_url`，或更正本账号的密钥。"}),
	}
}
