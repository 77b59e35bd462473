package wechat

import (
	"fmt"
	"slices"

	"github.com/notifyd/notifyd/internal/provider"
)

// Options is what a configuration file says about a WeChat Pay account. Paths
// are relative to that file. Of a secret and its _file form at most one is set.
type Options struct {
	MchID        string            `yaml:"mchid"`           // our merchant number; in partner mode the service provider's
	AppIDs       []string          `yaml:"appids"`          // the apps whose payments are ours; at least one
	SubMchIDs    []string          `yaml:"sub_mchids"`      // partner mode: the sub-merchants accepted, ["*"] any
	APIv2Key     provider.Secret   `yaml:"api_v2_key"`      // empty: v2 messages are refused
	APIv2KeyFile string            `yaml:"api_v2_key_file"` //
	V2SignTypes  []string          `yaml:"v2_sign_types"`   // those accepted, of MD5 and HMAC-SHA256; empty: both
	APIv3Key     provider.Secret   `yaml:"api_v3_key"`      // 32 bytes; empty: v3 messages are refused
	APIv3KeyFile string            `yaml:"api_v3_key_file"` //
	PublicKeys   []PublicKeyFile   `yaml:"public_keys"`     // WeChat Pay public keys
	Certificates []CertificateFile `yaml:"certificates"`    // WeChat Pay platform certificates
	EchoFields   []string          `yaml:"echo_fields"`     // v2: fields besides attach whose text only the merchant writes
}

// PublicKeyFile names a WeChat Pay public key: its id as the console shows it
// (PUB_KEY_ID_…), and its PEM file.
type PublicKeyFile struct {
	ID   string `yaml:"id"`
	File string `yaml:"file"`
}

// CertificateFile names a WeChat Pay platform certificate, a PEM file; the
// serial is read from it.
type CertificateFile struct {
	File string `yaml:"file"`
}

// The values of v2's sign_type and of v2_sign_types.
const (
	signMD5  = "MD5"
	signHMAC = "HMAC-SHA256"
)

// anySubMerchant in sub_mchids accepts every sub-merchant.
const anySubMerchant = "*"

// New makes the adapter of one account. The error is a provider.Problems that
// names every fault at once.
func New(o Options, env provider.Env) (*Adapter, error) {
	problems := o.check()
	ks, more := loadKeys(&o, env.ReadFile)
	problems = append(problems, more...)
	if err := asProblem(problems); err != nil {
		return nil, err
	}
	a := &Adapter{options: o, env: env, identity: "mchid " + o.MchID, anySub: slices.Contains(o.SubMchIDs, anySubMerchant)}
	a.scratch.New = func() any { return newScratch() }
	a.keys.Store(ks)
	return a, nil
}

// check finds what is wrong without looking at a key.
func (o *Options) check() (p provider.Problems) {
	switch {
	case o.MchID == "":
		p.Add("mchid", "is missing: the merchant number from the WeChat Pay console")
	case !isNumber([]byte(o.MchID), maxProviderNumber):
		p.Add("mchid", "%q is not a merchant number", o.MchID)
	}
	if len(o.AppIDs) == 0 {
		p.Add("appids", "is empty: list the app ids (wx…) whose payments are yours; every other payment is refused")
	}
	for i, id := range o.AppIDs {
		if !isNumber([]byte(id), maxProviderNumber) {
			p.Add(fmt.Sprintf("appids[%d]", i), "%q is not an app id", id)
		}
	}
	for i, id := range o.SubMchIDs {
		if id != anySubMerchant && !isNumber([]byte(id), maxProviderNumber) {
			p.Add(fmt.Sprintf("sub_mchids[%d]", i), `%q is not a merchant number; "*" alone accepts any`, id)
		}
	}
	for i, k := range o.PublicKeys {
		if slices.ContainsFunc(o.PublicKeys[:i], func(other PublicKeyFile) bool { return other.ID == k.ID }) {
			p.Add(fmt.Sprintf("public_keys[%d].id", i), "%s stands in the account twice", k.ID)
		}
	}
	for i, c := range o.Certificates {
		if c.File != "" && slices.Contains(o.Certificates[:i], c) {
			p.Add(fmt.Sprintf("certificates[%d].file", i), "%s stands in the account twice", c.File)
		}
	}
	for i, name := range o.EchoFields {
		field := fmt.Sprintf("echo_fields[%d]", i)
		switch {
		case slices.Contains(actedOn, name):
			p.Add(field, "%s decides what happens to an order, so its text cannot be free", name)
		case !isFieldName(name):
			p.Add(field, "%q is not a field's name: up to %d letters, digits and _", name, maxElementName)
		}
	}
	for i, t := range o.V2SignTypes {
		if t != signMD5 && t != signHMAC {
			p.Add(fmt.Sprintf("v2_sign_types[%d]", i), "%q is not a sign type: MD5 or HMAC-SHA256", t)
		}
	}
	return p
}

// accepts says whether v2_sign_types allows the sign type.
func (o *Options) accepts(signType string) bool {
	return len(o.V2SignTypes) == 0 || slices.Contains(o.V2SignTypes, signType)
}

// asProblem is what p says as an error, nil when it says nothing: a nil Problems
// in an error is not nil.
func asProblem(p provider.Problems) error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func isFieldName(s string) bool {
	return (&flatXML{}).checkName([]byte(s)) == nil
}
