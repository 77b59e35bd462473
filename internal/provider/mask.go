package provider

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Mask hides the values of personal fields in a text of one of the protocols,
// whether it is a form, XML or JSON.
type Mask struct{ xml, json, form *regexp.Regexp }

// personal are words that make a name personal, whatever stands around them: ids
// of people at the providers, log-in names, and tokens that act for them. They
// are for names that an adapter does not know yet.
const personal = `[\w.-]*(?:open_?id|union_?id|buyer_?id|buyer_?logon|logon_?id|user_?id|login_?id|user_?name|real_?name|buyer_?name|payer_?name|card_?no|mobile|phone|email|user_?received_?account|recv_accou?n?t|token|auth_?code)[\w.-]*`

// masked is what stands where a personal value was.
const masked = "***"

// saysWho says of a kind whether it tells who paid or lets its holder act.
func (s Sensitive) saysWho() bool {
	return s == SensitiveOpenID || s == SensitiveBuyer || s == SensitiveNames || s == SensitiveToken
}

// NewMask hides what an adapter lists as telling who paid, and what looks so by
// its name.
func NewMask(fields map[string]Sensitive) *Mask {
	names := []string{personal}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name].saysWho() {
			names = append(names, regexp.QuoteMeta(name)+`(?:_\d+)*`) // a place in a list is no part of a name
		}
	}
	name := "(?:" + strings.Join(names, "|") + ")"
	return &Mask{
		xml:  regexp.MustCompile(`(?is)(<(?:` + name + `)>)(?:<!\[CDATA\[.*?(?:\]\]>|$)|<[^/!]|[^<])*(</|$)`),
		json: regexp.MustCompile(`(?is)(?:` + quotes + `)` + name + `(?:` + quotes + `)\s*(?::|%3A)\s*`),
		form: regexp.MustCompile(`(?i)((?:^|[?&;\s])` + name + `=)[^&]*`),
	}
}

// quotes are those of JSON, also of JSON within JSON or after a filter that
// escaped them.
const quotes = `\\*"|&quot;|&#34;|%22`

// Hide is the text with *** in the place of every personal value.
func (m *Mask) Hide(text string) string {
	text = m.xml.ReplaceAllString(text, "${1}"+masked+"${2}")
	text = m.hideJSON(text)
	return m.form.ReplaceAllString(text, "${1}"+masked)
}

// hideJSON replaces the values behind names, whole ones: also objects and lists.
func (m *Mask) hideJSON(text string) string {
	var b strings.Builder
	for {
		at := m.json.FindStringIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[1]] + masked)
		text = text[at[1]:]
		text = text[valueLength(text):]
	}
}
