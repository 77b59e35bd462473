package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// dish is a file of another kind.
type dish struct {
	Name  string `yaml:"name"`
	Parts struct {
		Salt grade `yaml:"salt"`
	} `yaml:"parts"`
	Guests int `yaml:"guests"`
}

// grade reads its own text.
type grade string

func (g *grade) UnmarshalText(text []byte) error {
	if string(text) != "some" && string(text) != "1" {
		return errors.New("must be some, or 1")
	}
	*g = grade("graded " + string(text))
	return nil
}

func read(t *testing.T, text string, into *dish) (*Document, []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(filepath.Clean("d.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { return "soup", name == "DISH" }
	document, report := Read("d.yaml", "a dish", into, env)
	var errs []string
	for _, f := range report.Errors {
		errs = append(errs, f.String())
	}
	return document, errs
}

// What the file leaves out stays as it was.
func TestReadAnotherKindOfFile(t *testing.T) {
	d := dish{Guests: 4}
	document, errs := read(t, "name: ${DISH}\nparts: {salt: 1}\n", &d)
	if len(errs) > 0 || d.Name != "soup" || d.Parts.Salt != "graded 1" || d.Guests != 4 {
		t.Errorf("%v %+v", errs, d)
	}
	for path, want := range map[string]string{"parts.salt": "d.yaml:2:15: parts.salt: no", "guests": "d.yaml:1:1: guests: no"} {
		if got := document.Finding(path, "no").String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReadIsStrict(t *testing.T) {
	for text, want := range map[string][]string{
		"parts: {salt: lots}\nguest: 3\nmchid: 4\n": {
			"d.yaml:1:15: parts.salt: must be some, or 1",
			`d.yaml:2:1: unknown option "guest": did you mean "guests"?`,
			`d.yaml:3:1: unknown option "mchid": known here are guests, name, parts`, // not: it belongs to accounts
		},
		"- soup\n":           {"d.yaml:1:1: a dish is a mapping of options, with lines like NAME: VALUE"},
		"name: a\n---\nb: 1": {"d.yaml:3:1: a second YAML document starts here: a dish is one document"},
		"parts: {salt: []}":  {"d.yaml:1:15: parts.salt: must be one value, not a list"},
	} {
		if _, errs := read(t, text, &dish{}); !slices.Equal(errs, want) {
			t.Errorf("%q: %q", text, errs)
		}
	}
}
