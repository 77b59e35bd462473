package provider

import "regexp"

// personal are the names of fields that say who paid: ids of people at the
// providers, log-in names, and tokens that act for them. A name that contains one
// of these words is personal whatever stands around it.
const personal = `[\w.-]*(?:open_?id|union_?id|buyer_?id|buyer_?logon|logon_?id|user_?id|login_?id|user_?name|real_?name|buyer_?name|payer_?name|card_?no|mobile|phone|email|user_?received_?account|recv_accou?n?t|token|auth_?code)[\w.-]*`

// masked is what stands where a personal value was.
const masked = "***"

// The ways in which the protocols write a field. JSON also comes within JSON or
// after a filter that escaped its quotes.
var personalFields = []struct {
	form *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?is)(<(` + personal + `)>)(?:<!\[CDATA\[.*?\]\]>|[^<]*)(</)`), "${1}" + masked + "${3}"},
	{regexp.MustCompile(`(?is)((?:\\*"|&quot;|&#34;|%22)` + personal + `(?:\\*"|&quot;|&#34;|%22)\s*(?::|%3A)\s*)(?:"(?:[^"\\]|\\.)*"?|\\+".*?(?:\\+"|$)|&quot;.*?(?:&quot;|$)|&#34;.*?(?:&#34;|$)|%22.*?(?:%22|$)|[\w.+-]+)`), "${1}" + masked},
	{regexp.MustCompile(`(?i)((?:^|[?&;\s])` + personal + `=)[^&]*`), "${1}" + masked},
}

// Mask replaces the values of personal fields in a text of one of the protocols,
// whether it is a form, XML or JSON.
func Mask(text string) string {
	for _, p := range personalFields {
		text = p.form.ReplaceAllString(text, p.with)
	}
	return text
}
