package alipay

import "github.com/notifyd/notifyd/internal/provider/mend"

// The finer codes: Parse has one symptom for several of these causes, and only
// an examination tells them apart. They are of the same closed list as those in
// codes.go.
const (
	codeBodyEmpty    = "ali.body_empty"    // nothing was left of the body
	codeBodyJSON     = "ali.body_json"     // the form came as JSON
	codeBodyChanged  = "ali.body_changed"  // a loaded key signed another text
	codeReencoded    = "ali.reencoded"     // amounts or JSON in a value were written anew
	codeWrapped      = "ali.wrapped"       // the body as a JSON string, or with a byte order mark
	codeLineEnds     = "ali.line_ends"     // line ends or outer blanks of a value were changed
	codeDecodedTwice = "ali.decoded_twice" // a value was decoded once too often
	codeExtraField   = "ali.extra_field"   // fields that Alipay did not sign, of a query string or a route
	codeFieldLost    = "ali.field_lost"    // an empty field was signed and is not in the form any more

	codeSignTypeDropped = "ali.sign_type_dropped" // sign_type was signed and is not in the form any more
	codeSignTypeWrong   = "ali.sign_type_wrong"   // signed by the other algorithm than sign_type names
	codeSigningRule     = "ali.signing_rule"      // signed by a rule that Alipay does not document

	codeWrongKey           = "ali.wrong_key"           // no loaded key made the signature
	codeOwnKey             = "ali.own_key"             // the application's own key is loaded in place of Alipay's
	codeCertificateExpired = "ali.certificate_expired" // no loaded key made the signature, and the certificate has ended
	codeOtherAccount       = "ali.other_account"       // a key of another account made the signature
)

// ofDamage is the code of a known damage.
var ofDamage = map[mend.Damage]string{
	mend.HTMLEscaped: codeHTMLEscaped, mend.Backslashed: codeBackslashed, mend.PlusLost: codePlusLost,
	mend.EncodedTwice: codeEncodedTwice, mend.DecodedTwice: codeDecodedTwice, mend.Transcoded: codeTranscoded,
	mend.LineEnds: codeLineEnds, mend.Wrapped: codeWrapped,
}
