package provider

// Sensitive is a kind of what a message may hold that is not for everybody's
// eyes. Adapters say of which kind the fields of their messages are, by name.
type Sensitive string

// The kinds. Tokens and signatures go whenever anything else does: a token lets
// its holder act, and by a signature anybody who has the public key can try
// amounts until one fits.
const (
	SensitiveOpenID    Sensitive = "openid"    // a person within one app
	SensitiveBuyer     Sensitive = "buyer"     // a person's account at the provider
	SensitiveNames     Sensitive = "names"     // names, bank accounts, addresses of any kind
	SensitiveAmounts   Sensitive = "amounts"   // money
	SensitiveTexts     Sensitive = "texts"     // free text that the merchant wrote
	SensitiveEncrypted Sensitive = "encrypted" // what only the merchant's key opens
	SensitiveToken     Sensitive = "token"
	SensitiveProof     Sensitive = "signature"
)
