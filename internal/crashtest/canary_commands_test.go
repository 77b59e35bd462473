package crashtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// said is what a command wrote, and whether what a message says of a buyer may
// stand in it: somebody asked for the message itself.
type said struct {
	text     string
	personal bool
}

// keyCanaries are the keys and secrets of the site. They stand in no output,
// whatever was asked for.
var keyCanaries = []string{canaryToken, canaryV2Key, canaryV3Key, canaryAESKey, canaryWhsec[:8],
	canary + "-api-secret", canary + "-path", canary + "=query", "wrong-" + canary, canary + "-password"}

// leaves are the commands that do something, by the pages that the program
// writes of itself: a new command cannot be forgotten here.
func leaves(t *testing.T) (names []string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(built.path, "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "notifyd-*.1"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(`.SH "COMMANDS"`)) {
			name := strings.TrimSuffix(filepath.Base(page), ".1")
			names = append(names, strings.ReplaceAll(strings.TrimPrefix(name, "notifyd-"), "-", " "))
		}
	}
	return names
}

// everyCommand runs each command in the ways in which it shows the most, and in
// ways that fail with a secret on the command line.
func everyCommand(t *testing.T, p *instance) map[string]said {
	t.Helper()
	all := map[string]said{}
	run := func(args ...string) string {
		c := exec.Command(built.path, args...)
		c.Dir = p.dir
		c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + p.dir}
		out, _ := c.CombinedOutput() // failing is half of the matter
		line := strings.Join(args, " ")
		all["notifyd "+line] = said{string(out), showsMessage(line)}
		return string(out)
	}
	at := func(args ...string) string {
		return run(append(args, "--server", p.private, "--token-file", "keys/token")...)
	}
	p.write(t, "plan.yaml", []byte("orders: 3\n"))
	p.write(t, "one.http", []byte("POST /notify/wechat?"+canary+"="+canary+" HTTP/1.1\nX-Captured-At: 2026-01-01T12:00:00+08:00\nAuthorization: "+canary+"\n\n"+
		"<xml><sign>"+canary+"</sign></xml>"))
	p.write(t, "keys/wrong_token", []byte("wrong-"+canary))
	event, notification := idIn(t, "evt", at("events", "list")), idIn(t, "ntf", at("notifications", "list", "--order", "K3"))
	runs := map[string][][]string{
		"serve":                {{"serve", "--config", "notifyd.yaml"}},
		"demo":                 {{"demo", "--once"}},
		"check":                {{"check"}, {"check", "--json"}},
		"version":              {{"version"}},
		"man":                  {{"man", "man"}},
		"completion":           {{"completion", "bash"}, {"__complete", "notifications", "list", "--account", ""}, {"__complete", "orders", "list", "--merchant", ""}},
		"init":                 {{"init", "a", "--api-v3-key", "keys/v3"}, {"init", "b", "--test", "--json"}, {"init", "c", "--store", "postgres://u:" + canary + "-password@h/d?sslmode=nonsense"}, {"init", "d", "--alipay-app-id", "1", "--alipay-key", "keys/v3"}},
		"replay":               {{"replay", "one.http"}, {"replay", "--to", p.public, "one.http"}, {"replay", "--to", p.public, "--json", "one.http"}, {"replay", "--to", "http://u:" + canary + "-password@127.0.0.1:1", "one.http"}},
		"simulate":             {{"simulate", "--list", "--json"}, {"simulate", "payment"}, {"simulate", "payment", "--to", "http://u:" + canary + "-password@127.0.0.1:1"}, {"simulate", "payment", "--config", "b/notifyd.yaml", "--to", p.public}},
		"help":                 {{"help", "codes"}, {"help", "serve"}},
		"doctor":               {{"doctor", "--server", p.private, "--token-file", "keys/token", "--url", p.public + "/notify/wechat?" + canary}, {"doctor", "--json"}},
		"verify":               {{"verify", "one.http"}, {"verify", "one.http", "--show-text"}, {"verify", "one.http", "--json"}, {"verify", "one.http", "--try-key", "keys/v3"}},
		"simulate run":         {{"simulate", "run", "plan.yaml"}, {"simulate", "run", "plan.yaml", "--config", "b/notifyd.yaml", "--to", p.public}, {"simulate", "run", "keys/token"}},
		"orders register":      {{"orders", "register", "K7", "--amount-fen", "1000"}},
		"orders show":          {{"orders", "show", "K1"}, {"orders", "show", "K1", "--json"}, {"orders", "show", "none"}},
		"orders list":          {{"orders", "list"}, {"orders", "list", "--json"}, {"orders", "list", "--status", "odd"}},
		"orders ship":          {{"orders", "ship", "K1"}},
		"orders complete":      {{"orders", "complete", "K1", "--json"}},
		"orders cancel":        {{"orders", "cancel", "K1"}},
		"notifications list":   {{"notifications", "list"}, {"notifications", "list", "--order", "K1", "--json"}},
		"notifications export": {{"notifications", "export", notification}, {"notifications", "export", notification, "--redact", "all"}},
		"notifications show":   {{"notifications", "show", notification}, {"notifications", "show", notification, "--raw"}, {"notifications", "show", notification, "--capture"}},
		"events list":          {{"events", "list"}, {"events", "list", "--json"}},
		"events show":          {{"events", "show", event}, {"events", "show", event, "--json"}},
		"events redeliver":     {{"events", "redeliver", event}, {"events", "redeliver", event, "--endpoint", "none"}},
		"events recover":       {{"events", "recover", "--dry-run"}},
		"endpoints list":       {{"endpoints", "list"}, {"endpoints", "list", "--json"}},
		"endpoints test":       {{"endpoints", "test", "shop"}, {"endpoints", "test", "shop", "--json"}},
		"endpoints pause":      {{"endpoints", "pause", "shop", "--json"}},
		"endpoints resume":     {{"endpoints", "resume", "shop"}},
	}
	for _, name := range leaves(t) {
		lines, known := runs[name]
		if !known {
			t.Errorf("notifyd %s is not run with canaries: add a line to everyCommand", name)
		}
		group, _, asks := strings.Cut(name, " ")
		for _, line := range lines {
			if !asks {
				run(line...)
				continue
			}
			at(line...)
			// The same by the configuration, which leads to no server here, and with
			// a token and an address that are wrong.
			run(line...)
			run(append(line, "--server", p.private, "--token-file", "keys/wrong_token")...)
		}
		if asks {
			run(group, "list", "--server", "http://u:"+canary+"-password@127.0.0.1:1", "--token-file", "keys/token")
		}
	}
	if raw := all["notifyd notifications show "+notification+" --raw --server "+p.private+" --token-file keys/token"]; !strings.Contains(raw.text, canary) {
		t.Errorf("the message itself holds no canary: they did not get far: %q", raw.text)
	}
	return all
}

// showsMessage says whether a command shows a message as it came, with what the
// buyer's own fields hold.
func showsMessage(line string) bool {
	return strings.Contains(line, " --raw") || strings.Contains(line, " --capture") || strings.HasPrefix(line, "notifications show") || strings.HasPrefix(line, "notifications export")
}

// idIn is the first id of a kind in a text.
func idIn(t *testing.T, prefix, text string) string {
	t.Helper()
	found := regexp.MustCompile(prefix + `_[0-9A-Z]+`).FindString(text)
	if found == "" {
		t.Errorf("no %s in\n%s", prefix, text)
	}
	return found
}

// wantNoCanary looks for canaries.
func wantNoCanary(t *testing.T, where string, s said) {
	t.Helper()
	secrets := keyCanaries
	if !s.personal {
		secrets = append([]string{canary}, keyCanaries...)
	}
	for _, secret := range secrets {
		if at := strings.Index(s.text, secret); at >= 0 {
			t.Errorf("%s holds a canary: %q", where, s.text[max(0, at-80):min(len(s.text), at+40)])
		}
	}
}
