package provider

import (
	"regexp"
	"strings"
)

// Mask hides the values of personal fields in a text of one of the protocols,
// whether it is a form, XML or JSON.
type Mask struct{ fields *Fields }

// masked is what stands where a personal value was.
const masked = "***"

// saysWho says of a kind whether it tells who paid or lets its holder act.
func (s Sensitive) saysWho() bool {
	return s == SensitiveOpenID || s == SensitiveBuyer || s == SensitiveNames || s == SensitiveToken
}

// NewMask hides what an adapter lists as telling who paid, and what looks so by
// its name.
func NewMask(fields map[string]Sensitive) *Mask { return &Mask{NewFields(fields)} }

// quotes are those of JSON, also of JSON within JSON or after a filter that
// escaped them.
const quotes = `(?:\\*"|&quot;|&#34;|%22)`

// Names as they stand in front of a value. Letters may be escaped, as an encoder
// may do with any of them.
var (
	xmlName   = regexp.MustCompile(`<([\w.-]+)>`)
	jsonName  = regexp.MustCompile(`(?i)` + quotes + `((?:[\w.-]|\\+u[0-9a-f]{4}|%[2-7][0-9a-f])+?)` + quotes + `\s*(?::|%3A)\s*`)
	formName  = regexp.MustCompile(`(?i)(?:^|[?&;\s])((?:[\w.\[\]-]|%[2-7][0-9a-f])+)=`)
	xmlValue  = regexp.MustCompile(`(?is)^(?:<!\[CDATA\[.*?(?:\]\]>|$)|<[^/!]|[^<])*`)
	formValue = regexp.MustCompile(`^[^&]*`)
)

// Hide is the text with *** in the place of every personal value.
func (m *Mask) Hide(text string) string {
	text = m.hide(text, xmlName, func(rest string) int { return len(xmlValue.FindString(rest)) })
	text = m.hide(text, jsonName, valueLength) // whole values: also objects and lists
	return m.hide(text, formName, func(rest string) int { return len(formValue.FindString(rest)) })
}

// hide replaces the values behind personal names.
func (m *Mask) hide(text string, name *regexp.Regexp, length func(string) int) string {
	var b strings.Builder
	for {
		at := name.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[1]])
		personal := m.personal(text[at[2]:at[3]])
		text = text[at[1]:]
		if personal {
			b.WriteString(masked)
			text = text[length(text):]
		}
	}
}

// personal says whether a name, or a part of one like a[openid], tells who.
func (m *Mask) personal(name string) bool {
	for part := range strings.FieldsFuncSeq(Decode(name), func(c rune) bool { return strings.ContainsRune(`[].\"`, c) }) {
		if m.fields.Kind(part).saysWho() {
			return true
		}
	}
	return false
}
