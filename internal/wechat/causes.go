package wechat

import "github.com/notifyd/notifyd/internal/provider/mend"

// The finer codes: Parse has one symptom for several of these causes, and only
// an examination tells them apart. They are of the same closed list as those in
// codes.go.
const (
	// CodeHeadersLost: a v3 body without its Wechatpay-… headers, so that it is read as v2.
	CodeHeadersLost = "wx.headers_lost"
	// CodeBodyEmpty: nothing was left of the body: something before us has read it.
	CodeBodyEmpty = "wx.body_empty"
	// CodeBodyCut: the body ends early.
	CodeBodyCut = "wx.body_cut"
	// CodeBodyChanged: the key signed another text, and none of the known mistakes leads back to it.
	CodeBodyChanged = "wx.body_changed"
	// CodeReencoded: JSON or XML that was decoded and encoded again.
	CodeReencoded = "wx.reencoded"
	// CodeWrapped: the body as a JSON string, or with a byte order mark.
	CodeWrapped = "wx.wrapped"
	// CodeLineEnds: line ends were changed, added or taken away.
	CodeLineEnds = "wx.line_ends"
	// CodeHTMLEscaped: an input filter has escaped HTML.
	CodeHTMLEscaped = "wx.html_escaped"
	// CodeBackslashed: an input filter has put backslashes before quotes.
	CodeBackslashed = "wx.backslashed"
	// CodeEncodedTwice: percent-encoded by something on the way.
	CodeEncodedTwice = "wx.encoded_twice"
	// CodeDecodedTwice: percent-decoded by something on the way.
	CodeDecodedTwice = "wx.decoded_twice"
	// CodeTranscoded: other bytes for the same characters.
	CodeTranscoded = "wx.transcoded"
	// CodePlusLost: a blank where a plus sign was.
	CodePlusLost = "wx.plus_lost"
	// CodeExtraField: fields that WeChat Pay did not sign, of a query string or a route.
	CodeExtraField = "wx.extra_field"

	// CodeWrongKey: no loaded key made the signature, though the content opens under the API v3 key.
	CodeWrongKey = "wx.wrong_key"
	// CodeOwnKey: the merchant's own certificate or key is loaded in place of WeChat Pay's.
	CodeOwnKey = "wx.own_key"
	// CodeKeyUnderOtherID: a loaded key made the signature, but stands under another id or serial.
	CodeKeyUnderOtherID = "wx.key_under_other_id"
	// CodePublicKeyMode: the merchant was switched to a public key, and only certificates are loaded.
	CodePublicKeyMode = "wx.public_key_mode"
	// CodeCertificateMode: signed with a certificate's key, and only public keys are loaded.
	CodeCertificateMode = "wx.certificate_mode"
	// CodeCertificateExpired: another serial than before, and the loaded certificate has ended.
	CodeCertificateExpired = "wx.certificate_expired"
	// CodeOtherAccount: the keys of another account of this configuration fit.
	CodeOtherAccount = "wx.other_account"
	// CodeAPIKeyChanged: the message is WeChat Pay's and does not open: the API key is another one now.
	CodeAPIKeyChanged = "wx.api_key_changed"
	// CodeAPIKeysSwapped: the API v2 key stands where the v3 key belongs, or the other way round.
	CodeAPIKeysSwapped = "wx.api_keys_swapped"

	// CodeHMACWithoutSignType: HMAC-SHA256 without sign_type, for an account that lists MD5 alone.
	CodeHMACWithoutSignType = "wx.hmac_without_sign_type"
	// CodeSignTypeWrong: sign holds, by the other algorithm than sign_type names.
	CodeSignTypeWrong = "wx.sign_type_wrong"
	// CodeSignTypeDropped: sign_type was signed and is not in the message any more.
	CodeSignTypeDropped = "wx.sign_type_dropped"
	// CodeSignTypeKept: sign_type is in the message and was not signed.
	CodeSignTypeKept = "wx.sign_type_kept"
	// CodeHexCase: sign holds in capitals and was sent in small letters.
	CodeHexCase = "wx.hex_case"
)

// ofDamage is the code of a known damage.
var ofDamage = map[mend.Damage]string{
	mend.HTMLEscaped: CodeHTMLEscaped, mend.Backslashed: CodeBackslashed, mend.PlusLost: CodePlusLost,
	mend.EncodedTwice: CodeEncodedTwice, mend.DecodedTwice: CodeDecodedTwice, mend.Transcoded: CodeTranscoded,
	mend.LineEnds: CodeLineEnds, mend.Wrapped: CodeWrapped,
}
