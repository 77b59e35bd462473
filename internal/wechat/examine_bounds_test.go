package wechat

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// hostile are requests that show signs of every damage, as often as they may: what
// may have been before them are tens of thousands of messages, or very long ones.
func hostile() map[string]provider.Request {
	const blanks = "a b c d e f g h i"
	many := forge.Form{}
	for i := range maxElements - 2 {
		many = many.With(fmt.Sprintf("f%d", i), blanks)
	}
	many = many.With("return_code", "SUCCESS").With("sign", strings.Repeat("A", 32))
	large := func(body string) provider.Request {
		req := v3(textEvent())
		req.Body = []byte(body)
		return req
	}
	const size = 1 << 19
	var members strings.Builder
	for i := 0; members.Len() < size-200; i++ {
		fmt.Fprintf(&members, `"aB%d":%d,`, i, i)
	}
	return map[string]provider.Request{
		"v2, many fields with blanks": forge.SendXML(many.XML("xml")).At(received),
		"v2, one long field":          v2XML("<xml><return_code>SUCCESS</return_code><sign>" + strings.Repeat("A", 32) + "</sign><a>" + blanks + `&amp;quot;\&#34;%25` + strings.Repeat("%", size) + "</a></xml>"),
		"v2, no XML":                  v2XML(blanks + `%&\` + strings.Repeat("&amp;", size/8)),
		"v3, long text":               large(blanks + `%&\` + strings.Repeat("<", size)),
		"v3, many members":            large("{" + members.String() + `"a":"` + blanks + `&quot;\\%"}`),
	}
}

// Who reads a stranger's message is neither kept waiting for hours nor without an
// answer: the search ends, and says that it was not to its end.
func TestExamineEndsForWhateverAStrangerWrites(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	broken := 0
	for name, req := range hostile() {
		got := examine(t, a, req, nil)
		t.Logf("%s: %+v", name, got.Cause)
		if strings.Contains(got.Cause.Detail, "the search was broken off after ") {
			broken++
		}
	}
	if broken < 2 {
		t.Errorf("%d of these searches were broken off: they do not ask for enough", broken)
	}
}

// An interrupt ends the search, and the answer is that of Parse.
func TestExamineEndsWithItsContext(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	ended, end := context.WithCancel(t.Context())
	end()
	for name, req := range hostile() {
		_, err := a.Parse(req)
		got := a.Examine(ended, provider.Exhibit{Request: req, Err: err}).Cause
		if !strings.Contains(got.Detail, "broken off after 0 trials") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Whatever the table of what redaction takes out calls personal, an examination
// does not show either, in any of the forms in which a message may hold it.
func TestMaskKnowsThePersonalFields(t *testing.T) {
	t.Parallel()
	const person = "PersonOfATable"
	for name, kind := range Sensitive() {
		for _, text := range []string{
			"a=1&" + name + "=" + person + "&b=2", "<xml><" + name + "><![CDATA[" + person + "]]></" + name + "></xml>",
			`{"` + name + `":"` + person + `"}`, `{"` + name + `":{"x":"` + person + `"}}`, `a={\"` + name + `\":\"` + person + `\"}`,
		} {
			personal := kind == provider.SensitiveOpenID || kind == provider.SensitiveBuyer || kind == provider.SensitiveNames || kind == provider.SensitiveToken
			if shown := mask.Hide(text); strings.Contains(shown, person) == personal {
				t.Errorf("%s, which is %s, is shown as %s", name, kind, shown)
			}
		}
	}
}
