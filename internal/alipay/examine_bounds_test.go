package alipay

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// hostile are requests that show signs of every damage, as often as they may.
func hostile() map[string]provider.Request {
	const blanks = "a b c d e f g h i"
	grown := func(f forge.Form) forge.Form {
		for i := range maxFields - len(f) - 1 {
			f = f.With(fmt.Sprintf("f%d", i), blanks)
		}
		return f
	}
	const size = 1 << 20
	return map[string]provider.Request{
		"many fields with blanks": later(baseline(), forge.AlipaySigner{}, grown), // the signature is genuine: they are all tried
		"one long field":          later(baseline(), forge.AlipaySigner{}, func(f forge.Form) forge.Form { return f.With("a", blanks+`&quot;\%`+strings.Repeat("x", size/2)) }),
		"no form":                 body(blanks + `%zz&\` + strings.Repeat("&a=1", maxFields) + strings.Repeat("x", size/2)),
	}
}

// Who reads a stranger's message is neither kept waiting for hours nor without an
// answer: the search ends, and says that it was not to its end.
func TestExamineEndsForWhateverAStrangerWrites(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	for name, req := range hostile() {
		got := examine(t, a, req, nil)
		t.Logf("%s: %+v", name, got.Cause)
		if !strings.Contains(got.Cause.Detail, "the search was broken off after ") {
			t.Errorf("%s: %+v: it does not ask for enough", name, got.Cause)
		}
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
