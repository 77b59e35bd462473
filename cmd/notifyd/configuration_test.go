package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/alipay"
	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/wechat"
)

// optionRows are the rows of docs/configuration.md for the options that are not
// a provider's: they are made from the program's own table.
func optionRows() string {
	var b strings.Builder
	for _, o := range config.Options() {
		name, value := "`"+o.Path+"`", o.Default
		if o.File != "" {
			name += " or `" + o.File + "`"
		}
		switch {
		case o.Needed:
			value = "needed"
		case value != "":
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, o.Unit, value, strings.ReplaceAll(o.Doc, "|", `\|`))
	}
	return b.String()
}

func TestConfigurationDocumentHoldsEveryOption(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	document := string(text)
	if rows := optionRows(); !strings.Contains(document, rows) {
		t.Errorf("docs/configuration.md does not hold these rows:\n%s", rows)
	}
	for heading, options := range map[string]any{"WeChat Pay": wechat.Options{}, "Alipay": alipay.Options{}} {
		_, section, found := strings.Cut(document, "\n## "+heading+"\n")
		if !found {
			t.Errorf("docs/configuration.md has no section %q", heading)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, o := range config.OptionsOf(options, "") {
			for _, name := range []string{o.Path, o.File} {
				if name != "" && !strings.Contains(section, "`"+name+"`") {
					t.Errorf("docs/configuration.md does not explain `%s` under %s", name, heading)
				}
			}
		}
	}
}
