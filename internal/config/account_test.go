package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foreignSecret is a secret type of another package, as adapters have one.
type foreignSecret string

func (s foreignSecret) Reveal() string { return string(s) }

// acme has the shapes that a provider's options have.
type acme struct {
	ID    string        `yaml:"mchid" need:"yes"`
	Apps  []string      `yaml:"appids"`
	Key   foreignSecret `yaml:"api_key"`
	Types []string      `yaml:"sign_types" default:"RSA2"`
	Keys  []struct {
		ID   string `yaml:"id"`
		File string `yaml:"file" need:"yes"`
	} `yaml:"public_keys"`
	Common `yaml:",inline"`
}

type Common struct {
	Tries int  `yaml:"tries" default:"3"`
	Loose bool `yaml:"loose"`
}

func TestAccountDecode(t *testing.T) {
	dir := files(t, map[string]string{"v3@0640": "key-from-file\n"})
	c, report := loadIn(t, dir, `
accounts:
  - name: a
    mchid: 1900000001
    provider: acme
    appids: [wx1, "${APP}"]
    api_key_file: v3
    public_keys:
      - {id: PUB_1, file: keys/a.pem}
      - {file: "keys/${APP}.pem"}
    tries: 5
`, "APP=wx2")
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	a := c.Accounts[0]
	var got acme
	if err := a.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if a.Merchant != DefaultMerchant || got.ID != "1900000001" || got.Key.Reveal() != "key-from-file" || got.Tries != 5 || got.Loose ||
		strings.Join(got.Apps, " ") != "wx1 wx2" || strings.Join(got.Types, " ") != "RSA2" ||
		len(got.Keys) != 2 || got.Keys[0].ID != "PUB_1" || got.Keys[1].File != "keys/wx2.pem" {
		t.Errorf("%+v", got)
	}
	if len(report.Warnings) != 2 || !strings.Contains(report.Warnings[1].String(), "n.yaml:7:19: accounts[0].api_key_file: ") {
		t.Errorf("a secret of an account that others may read: %v", report.Warnings)
	}
	for field, want := range map[string][2]int{
		"": {3, 5}, "mchid": {4, 12}, "appids": {6, 13}, "appids[1]": {6, 19}, "appids[7]": {6, 13}, "api_key": {7, 19},
		"public_keys[1].file": {10, 16}, "public_keys[1].id": {10, 9}, "certificates[0].file": {3, 5},
	} {
		if line, column := a.Position(field); [2]int{line, column} != want {
			t.Errorf("%q is at %d:%d, want %v", field, line, column, want)
		}
	}
	found := a.Finding("public_keys[0].file", "is a private key")
	if want := "n.yaml:9:27: accounts[0].public_keys[0].file: is a private key"; lines(Findings{found}, dir)[0] != want {
		t.Errorf("%s, want %s", found, want)
	}
	if found := a.Finding("", "no key"); found.Path != "accounts[0]" {
		t.Errorf("%s", found)
	}
}

func TestAccountDecodeFaults(t *testing.T) {
	dir := t.TempDir()
	c, report := loadIn(t, dir, `
accounts:
  - name: a
    provider: acme
    marchant: x
    appid: [wx1]
    listen: x
    public_keys:
      - {id: 0117, fill: x}
    tries: 1.5
    api_key: a
    api_key_file: b
    loose: "no"
`)
	if !report.OK() {
		t.Fatalf("what only the provider knows is no error of the file: %v", report.Errors)
	}
	var into acme
	err := c.Accounts[0].Decode(&into)
	want := []string{
		"n.yaml:3:5: accounts[0].mchid: is missing",
		"n.yaml:12:5: accounts[0].api_key_file: both api_key and api_key_file are set: keep one",
		"n.yaml:9:14: accounts[0].public_keys[0].id: " + quoteIt,
		"n.yaml:9:9: accounts[0].public_keys[0].file: is missing",
		`n.yaml:9:20: accounts[0].public_keys[0]: unknown option "fill": did you mean "file"?`,
		"n.yaml:10:12: accounts[0].tries: must be a whole number",
		"n.yaml:13:12: accounts[0].loose: must be true or false",
		`n.yaml:5:5: accounts[0]: unknown option "marchant": did you mean "merchant"?`,
		`n.yaml:6:5: accounts[0]: unknown option "appid": did you mean "appids"?`,
		`n.yaml:7:5: accounts[0]: unknown option "listen": known here are name, provider, merchant, api_key, api_key_file, appids, loose, mchid, public_keys, sign_types, tries`,
	}
	if diff := cmp.Diff(want, lines(err.(Findings), dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// An owner that reads a secret's file again when it changes has a field for it:
// then the file is looked at, and the name handed on.
func TestAccountDecodeWatchedSecret(t *testing.T) {
	type watching struct {
		Key     foreignSecret `yaml:"key"`
		KeyFile string        `yaml:"key_file"`
	}
	dir := files(t, map[string]string{"k@0644": "secret\n"})
	c, report := loadIn(t, dir, "accounts:\n  - {name: a, provider: p, key_file: k}\n  - {name: b, provider: p, key: x, key_file: k}\n  - {name: c, provider: p, key_file: absent}\n")
	var o watching
	if err := c.Accounts[0].Decode(&o); err != nil || o.Key != "" || o.KeyFile != "k" {
		t.Errorf("%v %+v", err, o)
	}
	if last := report.Warnings[len(report.Warnings)-1]; lines(Findings{last}, dir)[0] != "n.yaml:2:38: accounts[0].key_file: k has mode 0644, so others may read the secret: chmod 600" {
		t.Errorf("%v", report.Warnings)
	}
	for i, want := range map[int]string{1: "n.yaml:3:36: accounts[1].key_file: both key and key_file are set: keep one", 2: "n.yaml:4:38: accounts[2].key_file: absent cannot be used: no such file or directory"} {
		err := c.Accounts[i].Decode(&o)
		if list, ok := err.(Findings); !ok || len(list) != 1 || lines(list, dir)[0] != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if table := OptionsOf(watching{}, ""); len(table) != 1 || table[0].File != "key_file" {
		t.Errorf("%+v", table)
	}
}

func TestHints(t *testing.T) {
	known := []string{"listen", "public_url", "store", "store_file"}
	for word, want := range map[string]string{
		"lisetn": "listen", "Listen": "listen", "public-url": "public_url", "publicurl": "public_url", "stor": "store", "storefile": "store_file",
		"list": "", "port": "", "x": "", "": "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"中文", "中", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance of %q and %q is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestOptionsTable(t *testing.T) {
	byPath := map[string]Option{}
	for _, o := range Options() {
		byPath[o.Path] = o
		if o.Doc == "" {
			t.Errorf("%s has no doc", o.Path)
		}
	}
	want := map[string]Option{
		"listen":                          {Unit: "text", Default: ":8080"},
		"shutdown_timeout":                {Unit: "duration", Default: "15s"},
		"admin.token":                     {Unit: "secret", Secret: true, File: "admin.token_file"},
		"merchants[].endpoints[].secrets": {Unit: "list of secrets", Secret: true, File: "merchants[].endpoints[].secret_files", Needed: true},
		"merchants[].endpoints[].events":  {Unit: "list of texts", Default: "*"},
		"orders.require_registration":     {Unit: "true or false", Default: "false"},
		"accounts":                        {Unit: "list"},
	}
	for path, w := range want {
		got := byPath[path]
		w.Path, w.Doc = path, got.Doc
		if got != w {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	for _, o := range OptionsOf(acme{}, "accounts[]") {
		if o.Path == "accounts[].tries" && o.Default == "3" && o.Unit == "number" {
			return
		}
	}
	t.Error("the table of a provider's options lacks an embedded one")
}

// FuzzLoad: whatever the file says, it is read or reported, never a panic, and
// what is reported has its place within the file.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"listen: \":1\"\nadmin: {token: ${T}}\n", "a: &a [*a, <<: {b: 1}]\n", "accounts:\n  - {name: a, provider: p, mchid: 0123}\n", "accounts: [x, {name: a}]\n", "? [a]\n: |+\n  x\n\n--- !!str\n...\n",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		c, report := loadIn(t, dir, text, "T=x")
		if c == nil && report.OK() {
			t.Fatal("neither a configuration nor an error")
		}
		if c != nil {
			for _, a := range c.Accounts {
				if err, ok := a.Decode(&acme{}).(Findings); ok {
					report.Errors = append(report.Errors, err...)
				}
			}
		}
		count := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		for _, e := range report.Errors {
			if e.Line > count || e.Line < 0 || e.Column < 0 {
				t.Errorf("%s is outside of the file's %d lines", e, count)
			}
		}
	})
}
