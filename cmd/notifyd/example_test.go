package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/wechat"
)

//go:embed notifyd.example.yaml
var example string

var update = flag.Bool("update", false, "write docs/configuration.md anew")

// writeExample makes a folder in which the example can be used.
func writeExample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	made := filepath.Join(dir, "made")
	if err := writeKeys(made); err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{
		"keys/wechatpay_pub.pem": "wechat_pub.pem", "keys/wechatpay_cert.pem": "platform.pem", "keys/alipay_public_key.pem": "alipay.pem",
		"secrets/api_v3_key": "api_v3_key", "secrets/api_v2_key": "api_v2_key", "secrets/admin_token": "api_v2_key", "secrets/api_key_k1": "api_v3_key",
		"secrets/shop": "",
	} {
		text := []byte("whsec_dGVzdC1rZXktb2YtdGhlLWNvbmZpZy0h\n")
		var err error
		if from != "" {
			if text, err = os.ReadFile(filepath.Join(made, from)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "notifyd.yaml")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExampleCanBeUsed(t *testing.T) {
	code, out, err := runIn("check", "--config", writeExample(t))
	if code != exitDone || err != "" || !strings.Contains(out, "POST https://pay.example.com/notify/alipay") {
		t.Errorf("code %d\n%s%s", code, err, out)
	}
}

// Each default that the example shows is the default.
func TestExampleShowsDefaults(t *testing.T) {
	c, report := config.Load(writeExample(t), noEnv)
	if !report.OK() {
		t.Fatal(report.Errors)
	}
	empty := filepath.Join(filepath.Dir(writeExample(t)), "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := config.Load(empty, noEnv)
	if c.Listen != d.Listen || c.Admin.Listen != d.Admin.Listen || c.Orders != d.Orders || c.DrainDelay != d.DrainDelay ||
		c.ShutdownTimeout != d.ShutdownTimeout || c.Retention != d.Retention || c.Refused != d.Refused {
		t.Errorf("the example says %+v, the defaults are %+v", c, d)
	}
}

func TestExampleNamesEveryOption(t *testing.T) {
	all := config.Options()
	all = append(all, config.OptionsOf(wechat.Options{}, "accounts[]")...)
	all = append(all, config.OptionsOf(alipay.Options{}, "accounts[]")...)
	for _, o := range all {
		named := false
		for _, path := range []string{o.Path, o.File} {
			key := path[strings.LastIndexAny(path, ".")+1:]
			named = named || key != "" && regexp.MustCompile(`(?m)(^|[ {])`+regexp.QuoteMeta(key)+`: `).MatchString(example) ||
				key != "" && regexp.MustCompile(`(?m)^ *`+regexp.QuoteMeta(key)+`:$`).MatchString(example)
		}
		if !named {
			t.Errorf("the example does not show %s", o.Path)
		}
	}
}

// docs/configuration.md is made from the table of options; write it anew with
// go test ./cmd/notifyd -run TestConfigurationDoc -update
func TestConfigurationDoc(t *testing.T) {
	const path = "../../docs/configuration.md"
	want := configurationDoc()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/configuration.md is not what the options say (%v): run this test with -update", err)
	}
}

func configurationDoc() []byte {
	var b bytes.Buffer
	b.WriteString(`# Configuration

<!-- Made by: go test ./cmd/notifyd -run TestConfigurationDoc -update -->

notifyd reads one YAML file, ` + "`./notifyd.yaml`" + ` or the one that ` + "`--config`" + ` names, and reads it strictly. ` + "`notifyd check`" + `
lists everything that is wrong with it, each fault with line, column and a hint, and exits with 3; a file without a
fault gives 0 and a summary. Warnings do not change the exit code.

- **Paths** are relative to the configuration file.
- **Secrets** can be in files of their own: the option with ` + "`_file`" + ` after its name. One trailing newline is cut. Both
  forms set is an error; a mode wider than 0600 is a warning.
- **Environment**: ` + "`${NAME}`" + ` in a value is replaced by that variable. A variable that is not set is an error, ` + "`$$`" + ` is a
  plain ` + "`$`" + `. What the variable holds is text: it is not read as YAML. Inside ` + "`{…}`" + ` and ` + "`[…]`" + ` YAML wants quotes around it.
- **Numbers where text is due** are taken when they are exact (` + "`mchid: 1900000001`" + `). Leading zeros, signs, exponents, points,
  other bases and more than 18 digits have to be quoted, because YAML readers change them.
- **Durations** have a unit: ` + "`15s`" + `, ` + "`2m`" + `, ` + "`4320h`" + `.
- **Names** of merchants, endpoints and accounts are 1 to 63 of ` + "`a-z 0-9 _ -`" + ` and begin with a letter or digit.
- **YAML** anchors, aliases and ` + "`<<`" + ` work; tags (but ` + "`!!str`" + `) and several documents do not.

## Options

| option | kind | default | what it is |
|---|---|---|---|
`)
	for _, o := range config.Options() {
		what, value := o.Doc, ""
		switch {
		case o.Needed:
			value = "needed"
		case o.Default != "":
			value = "`" + o.Default + "`"
		}
		if o.Secret {
			what += " Or `" + o.File[strings.LastIndex(o.File, ".")+1:] + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Path, o.Unit, value, what)
	}
	b.WriteString(`
An account has the options of its provider beside these; the example shows all of them.

## Example

` + "```yaml\n" + example + "```\n")
	return b.Bytes()
}
