package alipay

import (
	"fmt"
	"slices"

	"github.com/notifyd/notifyd/internal/provider"
)

// Options are an account's options, as in the configuration file.
type Options struct {
	AppID        string          `yaml:"app_id"`
	SellerID     string          `yaml:"seller_id"`    // compared when set
	AuthAppIDs   []string        `yaml:"auth_app_ids"` // merchants that authorised the application (ISV mode)
	PublicKeys   []KeyFile       `yaml:"public_keys"`  // PEM, or the bare base64 that the console shows
	Certificates []KeyFile       `yaml:"certificates"` // certificate mode
	SignTypes    []string        `yaml:"sign_types"`   // empty: RSA2 alone
	AESKey       provider.Secret `yaml:"aes_key"`      // base64, as the console shows it
	AESKeyFile   string          `yaml:"aes_key_file"` // instead of AESKey
	EchoFields   []string        `yaml:"echo_fields"`  // fields whose text only the merchant writes
}

// KeyFile names a file with one key; the path is relative to the configuration.
type KeyFile struct {
	File string `yaml:"file"`
}

// maxKeys bounds what one bad signature can cost: every key is tried. A change
// of keys needs two.
const maxKeys = 8

// New makes the adapter of an account. The error is a provider.Problems with
// every fault of the options and their files.
func New(o Options, env provider.Env) (*Adapter, error) {
	a := &Adapter{options: o, env: env, signTypes: o.SignTypes, echo: o.EchoFields}
	if len(a.signTypes) == 0 {
		a.signTypes = []string{signRSA2}
	}
	problems := o.check()
	ring, faults := a.load()
	problems = append(problems, faults...)
	if len(problems) > 0 {
		return nil, problems
	}
	a.ring.Store(ring)
	return a, nil
}

// check finds the faults that can be seen without reading a file.
func (o *Options) check() provider.Problems {
	var problems provider.Problems
	switch {
	case o.AppID == "":
		problems.Add("app_id", "is missing: the number of the application in Alipay's console")
	case !digits(o.AppID):
		problems.Add("app_id", "%q is not a number like 2021000000000000", o.AppID)
	}
	if o.SellerID != "" && !digits(o.SellerID) {
		problems.Add("seller_id", "%q is not a number like 2088000000000000", o.SellerID)
	}
	for i, id := range o.AuthAppIDs {
		field := fmt.Sprintf("auth_app_ids[%d]", i)
		switch {
		case !digits(id):
			problems.Add(field, "%q is not a number like 2021000000000000", id)
		case slices.Contains(o.AuthAppIDs[:i], id):
			problems.Add(field, "%s is listed twice", id)
		}
	}
	for i, name := range o.SignTypes {
		if name != signRSA2 && name != signRSA {
			problems.Add(fmt.Sprintf("sign_types[%d]", i), "%q is neither RSA2 nor RSA", name)
		}
	}
	switch count := len(o.PublicKeys) + len(o.Certificates); {
	case count == 0:
		problems.Add("public_keys", "there is no key: give Alipay's public key (not the application's own), or its certificate under certificates")
	case count > maxKeys:
		problems.Add("public_keys", "%d keys are more than %d", count, maxKeys)
	}
	for i, k := range o.PublicKeys {
		if k.File != "" && slices.Contains(o.PublicKeys[:i], k) {
			problems.Add(fmt.Sprintf("public_keys[%d].file", i), "%s stands in the account twice", k.File)
		}
	}
	for i, c := range o.Certificates {
		if c.File != "" && slices.Contains(o.Certificates[:i], c) {
			problems.Add(fmt.Sprintf("certificates[%d].file", i), "%s stands in the account twice", c.File)
		}
	}
	for i, name := range o.EchoFields {
		field := fmt.Sprintf("echo_fields[%d]", i)
		if !validName(name) {
			problems.Add(field, "%q is not the name of a field", name)
		} else if _, is := slices.BinarySearch(bound, name); is {
			problems.Add(field, "%s decides what a notification means, so its text is always checked", name)
		}
	}
	if o.AESKey != "" && o.AESKeyFile != "" {
		problems.Add("aes_key", "is given twice: as aes_key and as aes_key_file")
	}
	return problems
}

// maxIDDigits is the length of app_id and seller_id, String(32).
const maxIDDigits = 32

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= maxIDDigits
}
