package alipay

// Why a request was refused: a closed list, for logs, metrics and diagnosis. The
// provider never sees them.
const (
	// codeFormSyntax: the body is no form. Usual fix: something in front of us
	// rewrites bodies (an input filter turning & into &amp;, a JSON gateway); pass them on as they are.
	codeFormSyntax = "ali.form_syntax"
	// codeFieldName: a field's name is not [A-Za-z0-9_]{1,64}. Usual fix: none, Alipay sends no such names.
	codeFieldName = "ali.field_name"
	// codeTooManyFields: more than 200 fields. Usual fix: none, Alipay sends about 30.
	codeTooManyFields = "ali.too_many_fields"
	// codeDuplicateField: a field stands twice. Usual fix: a proxy that adds parameters to the body must not.
	codeDuplicateField = "ali.duplicate_field"
	// codeNoSignature: no sign. Usual fix: none, this was not Alipay (or a proxy dropped the body).
	codeNoSignature = "ali.no_signature"
	// codeSignType: sign_type is not one of the account's sign_types. Usual fix: set the application to
	// RSA2 in Alipay's console; list RSA only for an old application that cannot change.
	codeSignType = "ali.sign_type"
	// codeCharset: charset is none of utf-8, gbk, gb2312, gb18030. Usual fix: order with one of these.
	codeCharset = "ali.charset"
	// codeSignatureForm: sign is not the base64 of a signature. Usual fix: none, it was cut or made up.
	codeSignatureForm = "ali.signature_form"
	// codePlusLost: sign holds blanks where base64 has '+'. Usual fix: something decoded and encoded the
	// form again without encoding '+' as %2B; pass the body on as it is.
	codePlusLost = "ali.plus_lost"
	// codeEncodedTwice: sign is still percent-encoded after decoding. Usual fix: the body was encoded a
	// second time on its way; pass it on as it is.
	codeEncodedTwice = "ali.encoded_twice"
	// codeSignature: the signature does not hold. Usual fix: the Alipay public key from the console is
	// configured, not the application's own; after a key change, both keys.
	codeSignature = "ali.signature"
	// codeHTMLEscaped: the signature does not hold and a value has &quot; or the like. Usual fix: turn off
	// the input filter that escapes HTML.
	codeHTMLEscaped = "ali.html_escaped"
	// codeBackslashed: the signature does not hold and quotes have backslashes. Usual fix: turn off the
	// input filter that adds slashes.
	codeBackslashed = "ali.backslashed"
	// codeTranscoded: the signature does not hold, charset is a Chinese one and the text is UTF-8. Usual
	// fix: turn off the conversion of charsets in front of us.
	codeTranscoded = "ali.transcoded"
	// codeForeignApp: app_id is missing or another application's. Usual fix: the notify_url of that
	// application names the wrong account.
	codeForeignApp = "ali.foreign_app"
	// codeForeignAuthApp: auth_app_id is neither app_id nor in auth_app_ids. Usual fix: add the merchant
	// that authorised the application to auth_app_ids.
	codeForeignAuthApp = "ali.foreign_auth_app"
	// codeForeignSeller: seller_id is not the configured one. Usual fix: correct seller_id, or leave it out
	// when several sellers use the application.
	codeForeignSeller = "ali.foreign_seller"
)
