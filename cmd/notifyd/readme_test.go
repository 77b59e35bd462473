package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

var readmes = []string{"README.md", "README.zh-CN.md"}

// fenced are the fenced blocks of a README in one language, for instance "sh".
func fenced(t *testing.T, readme, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", readme))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, found[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block %s", readme, language)
	}
	return blocks
}

// The configuration that a newcomer copies is accepted as it stands, and
// nothing about it is worth a warning.
func TestReadmeConfigurationIsAccepted(t *testing.T) {
	for _, readme := range readmes {
		dir := t.TempDir()
		for _, folder := range []string{"keys", "secrets"} {
			if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string][]byte{
			"notifyd.yaml":               []byte(fenced(t, readme, "yaml")[0]),
			"secrets/admin_token":        []byte("a throw-away token for this test alone\n"),
			"secrets/api_v3_key":         []byte("ThrowAwayKeyForTests000000000002\n"),
			"keys/wechatpay_pub.pem":     forge.WechatPublicKey.PublicPEM(),
			"keys/alipay_public_key.pem": forge.AlipayKey.PublicPEM(),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, _, said := runIn("check", "--config", filepath.Join(dir, "notifyd.yaml"))
		if code != exitDone || said != "" {
			t.Errorf("%s: check exits %d and says:\n%s", readme, code, said)
		}
	}
}

// What the READMEs show of the demo is what a run of it shows.
func TestReadmeDemoIsARealRun(t *testing.T) {
	code, out, said := runIn("demo", "--once")
	if code != exitDone {
		t.Fatalf("demo exits %d and says:\n%s", code, said)
	}
	out, _, _ = strings.Cut(out, "Without --once")
	out = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(out, "127.0.0.1:PORT")
	out = regexp.MustCompile(`(?m) +$`).ReplaceAllString(out, "")
	for _, readme := range readmes {
		if shown := fenced(t, readme, "text demo")[0]; strings.TrimSpace(shown) != strings.TrimSpace(out) {
			t.Errorf("%s does not show what the demo does now:\n%s", readme, out)
		}
	}
}

// The signature that the READMEs show for whoever writes a client is the one
// that the server wants.
func TestReadmeSignature(t *testing.T) {
	for _, readme := range readmes {
		text, err := os.ReadFile(filepath.Join("..", "..", readme))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(fenced(t, readme, "text signature")[0], "\n"), "\n")
		signed := idempotency.Signed{Method: lines[0], URI: lines[1], Timestamp: lines[2], Key: lines[3],
			Body: []byte(`{"out_trade_no":"T1001","amount_fen":1000}`)}
		if want := strings.Join(lines, "\n"); signed.Text() != want {
			t.Errorf("%s shows the lines\n%s\nsigned is\n%s", readme, want, signed.Text())
		}
		for _, shown := range []string{"throw-away-secret-for-tests-only", string(signed.Body), signed.Sign("throw-away-secret-for-tests-only")} {
			if !strings.Contains(string(text), "`"+shown+"`") {
				t.Errorf("%s does not show %s", readme, shown)
			}
		}
	}
}

// Every command line of the READMEs names a command and flags that there are.
func TestReadmeCommandsExist(t *testing.T) {
	for _, readme := range readmes {
		seen := 0
		for _, block := range fenced(t, readme, "sh") {
			for _, words := range commandLines(block) {
				seen++
				root := rootCommand(&app{stdio: stdio{in: strings.NewReader(""), out: io.Discard, err: io.Discard}, env: noEnv, now: time.Now})
				command, rest, err := root.Find(words)
				if err != nil || command == root {
					t.Errorf("%s: there is no command notifyd %s", readme, words[0])
					continue
				}
				if err := command.ParseFlags(rest); err != nil {
					t.Errorf("%s: notifyd %s: %v", readme, strings.Join(words, " "), err)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s shows no command", readme)
		}
	}
}

// What init prints as the next steps of a try-out is the quick start that the
// READMEs show, command by command.
func TestReadmeQuickStartIsWhatInitSays(t *testing.T) {
	var told setupTold
	code, out, said := runIn("init", "--test", filepath.Join(t.TempDir(), "try"), "--json")
	if err := json.Unmarshal([]byte(out), &told); code != exitDone || err != nil {
		t.Fatalf("init exits %d and says: %s%v", code, said, err)
	}
	for _, readme := range readmes {
		quick := strings.Join(fenced(t, readme, "sh"), "\n")
		for _, step := range told.Next {
			_, command, _ := strings.Cut(strings.ReplaceAll(step, told.Config, "try/notifyd.yaml"), ": notifyd ")
			if !strings.Contains(quick, "bin/notifyd "+command) {
				t.Errorf("%s does not show: bin/notifyd %s", readme, command)
			}
		}
	}
}

// Every file of a secret or a key that the documents name is one of those in the
// configuration that init writes: what they show works beside it.
func TestDocumentsNameTheFilesOfInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	if code, _, said := runIn("init", dir); code != exitDone {
		t.Fatalf("init exits %d: %s", code, said)
	}
	written, err := os.ReadFile(filepath.Join(dir, configName))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, readme := range readmes {
		documents = append(documents, filepath.Join("..", "..", readme))
	}
	seen := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?:^|[ "(\[>`+"`"+`])((?:secrets|keys)/[A-Za-z0-9_.-]+)`).FindAllStringSubmatch(string(text), -1) {
			seen++
			if !strings.Contains(string(written), found[1]) {
				t.Errorf("%s names %s, which init does not", filepath.Base(document), found[1])
			}
		}
	}
	if seen == 0 {
		t.Error("no document names a file")
	}
}

// commandLines are the words after bin/notifyd, for each line that calls it.
func commandLines(block string) (all [][]string) {
	for line := range strings.Lines(block) {
		if rest, calls := strings.CutPrefix(line, "bin/notifyd "); calls {
			rest, _, _ = strings.Cut(rest, " #")
			all = append(all, strings.Fields(rest))
		}
	}
	return all
}
