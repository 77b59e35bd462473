package wechat

import (
	"fmt"

	"github.com/notifyd/notifyd/internal/provider"
)

// formFault says why bytes were not read: a code, and where it is.
type formFault struct {
	code string
	text string
	at   int // byte offset; nowhere when it is none
}

// nowhere is the place of a fault of the whole document.
const nowhere = -1

// refusal turns the fault into the answer of Parse. What is no document at all
// is 400; what is one, but in a form that no genuine message has, is not proven.
func (f *formFault) refusal() error {
	class := provider.ErrSignature
	if f.code == CodeMalformedJSON || f.code == CodeMalformedXML {
		class = provider.ErrMalformed
	}
	if f.at == nowhere {
		return provider.Refuse(class, f.code, "%s", f.text)
	}
	return provider.Refuse(class, f.code, "byte %d: %s", f.at, f.text)
}

// unproven is a refusal that tells the provider nothing but 401.
func unproven(code, format string, args ...any) error {
	return provider.Refuse(provider.ErrSignature, code, format, args...)
}

// foreign is a refusal of a message that is proven, but not for this account.
func foreign(code, field string, value []byte) error {
	if len(value) == 0 {
		return provider.Refuse(provider.ErrForeign, code, "the message has no %s", field)
	}
	return provider.Refuse(provider.ErrForeign, code, "%s %s is not one of this account", field, quoted(value))
}

// maxQuoted is how much of a message's text a refusal may repeat: a merchant
// number, an app id or the name of an algorithm fits, a signature or an openid
// does not.
const maxQuoted = 20

func quoted(b []byte) string { return fmt.Sprintf("%q", provider.Clip(string(b), maxQuoted)) }
