package wechat

// The refusal codes: a closed list for logs, metrics and diagnosis. The provider
// sees none of them, its answer is the same for every cause of one status.
const (
	// CodeNoV3Key: a v3 message came, but the account has no API v3 key. Set api_v3_key and a public key or certificate.
	CodeNoV3Key = "wx.no_v3_key"
	// CodeNoV2Key: a v2 message came, but the account has no API v2 key. Set api_v2_key, or move the product to v3.
	CodeNoV2Key = "wx.no_v2_key"

	// CodeMalformedJSON: the body is not one JSON object. A proxy changed it, or it is not from WeChat Pay.
	CodeMalformedJSON = "wx.malformed_json"
	// CodeJSONShape: JSON nested deeper, longer or named otherwise than any message is. Not from WeChat Pay.
	CodeJSONShape = "wx.json_shape"
	// CodeMalformedXML: the body is not one XML document with root xml. A proxy changed it, or it is not from WeChat Pay.
	CodeMalformedXML = "wx.malformed_xml"
	// CodeXMLShape: XML with a DOCTYPE, comment, attribute, prefix, nested element or too many elements. Not from WeChat Pay.
	CodeXMLShape = "wx.xml_shape"
	// CodeDuplicateField: a field stands in the message twice (in JSON also when only the case differs). Somebody built it by hand.
	CodeDuplicateField = "wx.duplicate_field"

	// CodeMissingHeader: a Wechatpay-… header is missing or empty. Let the proxy pass all of them.
	CodeMissingHeader = "wx.missing_header"
	// CodeRepeatedHeader: a Wechatpay-… header came twice. Look for a proxy that adds what is already there.
	CodeRepeatedHeader = "wx.repeated_header"
	// CodeSignatureType: Wechatpay-Signature-Type names another algorithm than RSA with SHA-256. The SM variant is not supported.
	CodeSignatureType = "wx.signature_type"
	// CodeTimestamp: Wechatpay-Timestamp is not ten digits. Not from WeChat Pay.
	CodeTimestamp = "wx.timestamp"
	// CodeStale: the message was signed more than five minutes from now. Set the clock, or look for a queue in front.
	CodeStale = "wx.stale"
	// CodeUnknownSerial: no key with this serial is configured. Add the certificate or public key to the account.
	CodeUnknownSerial = "wx.unknown_serial"
	// CodeProbe: WeChat Pay tested us with a deliberately wrong signature. Nothing to do: the real message follows.
	CodeProbe = "wx.probe"
	// CodeSignature: the signature does not fit body and key. Body changed on the way, or the wrong key under this id.
	CodeSignature = "wx.signature"
	// CodeResource: a signed v3 message without a resource that we can open. Look at the product's documentation.
	CodeResource = "wx.resource"
	// CodeAlgorithm: the resource is encrypted with another algorithm than AEAD_AES_256_GCM. The SM variant is not supported.
	CodeAlgorithm = "wx.algorithm"
	// CodeDecrypt: the message does not decrypt. Compare api_v3_key (v2: api_v2_key) with the console; after a change both differ.
	CodeDecrypt = "wx.decrypt"

	// CodeNoSignature: a v2 message without sign. Not from WeChat Pay.
	CodeNoSignature = "wx.no_signature"
	// CodeSignType: sign_type, or the length of sign, is an algorithm that v2_sign_types does not list. List it, or ask for the other one.
	CodeSignType = "wx.sign_type"
	// CodeReturnFail: return_code is not SUCCESS; such a message carries no sign. Read its return_msg in the raw body.
	CodeReturnFail = "wx.return_fail"
	// CodeMissingField: return_code or result_code is missing. Not from WeChat Pay.
	CodeMissingField = "wx.missing_field"

	// CodeForeignMchID: the message is of another merchant number, or names none. Compare notify_url and mchid.
	CodeForeignMchID = "wx.foreign_mchid"
	// CodeForeignAppID: the message is of another app, or names none. Add the app to appids if it is yours.
	CodeForeignAppID = "wx.foreign_appid"
	// CodeForeignSubMchID: the message is of a sub-merchant that sub_mchids does not list. Add it if it is yours.
	CodeForeignSubMchID = "wx.foreign_sub_mchid"
)

// Codes lists every refusal code of this package.
func Codes() []string {
	return []string{
		CodeNoV3Key, CodeNoV2Key,
		CodeMalformedJSON, CodeJSONShape, CodeMalformedXML, CodeXMLShape, CodeDuplicateField,
		CodeMissingHeader, CodeRepeatedHeader, CodeSignatureType, CodeTimestamp, CodeStale, CodeUnknownSerial,
		CodeProbe, CodeSignature, CodeResource, CodeAlgorithm, CodeDecrypt,
		CodeNoSignature, CodeSignType, CodeReturnFail, CodeMissingField,
		CodeForeignMchID, CodeForeignAppID, CodeForeignSubMchID,
	}
}
