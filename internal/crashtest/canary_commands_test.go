package crashtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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

// commands are those that do something, by the pages that the program writes of
// itself: a new command cannot be forgotten here.
func commands(t *testing.T) (names []string) {
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
		if !onlyHolds.Match(text) {
			name := strings.TrimSuffix(filepath.Base(page), ".1")
			names = append(names, strings.ReplaceAll(strings.TrimPrefix(name, "notifyd-"), "-", " "))
		}
	}
	return names
}

// onlyHolds finds the page of a command that does nothing itself.
var onlyHolds = regexp.MustCompile(`\.SH "SYNOPSIS"\n\.B "[^"]* COMMAND"\n`)

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
		if strings.Contains(line, " --redact") {
			all["the body that notifyd "+line+" shows"] = redactedBody(string(out))
		}
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
	runs := commandLines(p, event, notification)
	refused := refusals(t, func() string { return at("notifications", "list", "--verdict", "refused", "--json") })
	ofRefused(runs, refused)
	for _, name := range commands(t) {
		if runs[name] == nil {
			t.Errorf("notifyd %s is not run with canaries: add a line to commandLines", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) { // init comes before those that use what it made
		lines := runs[name]
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
	for _, id := range refused {
		text, err := os.ReadFile(filepath.Join(p.dir, id+".http"))
		if err != nil {
			t.Error(err)
		}
		all[id+".http"] = said{string(text), true}
		all["the body in "+id+".http"] = redactedBody(string(text))
	}
	if raw := all["notifyd notifications show "+notification+" --raw --server "+p.private+" --token-file keys/token"]; !strings.Contains(raw.text, canary) {
		t.Errorf("the message itself holds no canary: they did not get far: %q", raw.text)
	}
	return all
}

// commandLines are the lines of each command.
func commandLines(p *instance, event, notification string) map[string][][]string {
	withPassword, withQuery := "http://u:"+canary+"-password@127.0.0.1:1", "http://127.0.0.1:1/notify/wechat?"+canary+"=query"
	return map[string][][]string{
		"serve":      {{"serve", "--config", "notifyd.yaml"}},
		"demo":       {{"demo", "--once"}},
		"check":      {{"check"}, {"check", "--json"}},
		"version":    {{"version"}},
		"man":        {{"man", "man"}},
		"completion": {{"completion", "bash"}, {"__complete", "notifications", "list", "--account", ""}, {"__complete", "orders", "list", "--merchant", ""}},
		"init":       {{"init", "a", "--api-v3-key", "keys/v3"}, {"init", "b", "--test", "--json"}, {"init", "e", "--public-url", "https://u:" + canary + "-password@h/?" + canary + "=query"}, {"init", "c", "--store", "postgres://u:" + canary + "-password@h/d?sslmode=nonsense"}, {"init", "d", "--alipay-app-id", "1", "--alipay-key", "keys/v3"}},
		"replay": {{"replay", "one.http"}, {"replay", "--to", p.public, "one.http"}, {"replay", "--to", p.public, "--json", "one.http"},
			{"replay", "--to", withPassword, "one.http"}, {"replay", "--to", withQuery, "one.http"}, {"replay", "--to", withPassword + "%zz", "one.http"}},
		"simulate": {{"simulate", "--list", "--json"}, {"simulate", "payment"}, {"simulate", "payment", "--config", "b/notifyd.yaml", "--to", p.public},
			{"simulate", "payment", "--config", "b/notifyd.yaml", "--to", withPassword}, {"simulate", "payment", "--config", "b/notifyd.yaml", "--to", withPassword + "%zz"},
			{"simulate", "payment", "--config", "b/notifyd.yaml", "--to", withQuery}, {"simulate", "payment", "--config", "b/notifyd.yaml", "--to", withQuery, "--json"}},
		"help":   {{"help", "codes"}, {"help", "serve"}, {"help", "wx.signature", "--json"}},
		"doctor": {{"doctor", "--server", p.private, "--token-file", "keys/token", "--url", p.public + "/notify/wechat?" + canary}, {"doctor", "--json"}, {"doctor", "--url", withPassword}, {"doctor", "--url", withQuery}},
		"verify": {{"verify", "one.http"}, {"verify", "one.http", "--show-text"}, {"verify", "one.http", "--json"}, {"verify", "one.http", "--try-key", "keys/v3"}},
		"simulate run": {{"simulate", "run", "plan.yaml"}, {"simulate", "run", "plan.yaml", "--config", "b/notifyd.yaml", "--to", p.public}, {"simulate", "run", "keys/token"},
			{"simulate", "run", "plan.yaml", "--config", "b/notifyd.yaml", "--to", withPassword}, {"simulate", "run", "plan.yaml", "--config", "b/notifyd.yaml", "--to", withQuery}},
		"orders register": {{"orders", "register", "K7", "--amount-fen", "1000"}},
		"orders show":     {{"orders", "show", "K1"}, {"orders", "show", "K1", "--json"}, {"orders", "show", "none"}},
		"orders list":     {{"orders", "list"}, {"orders", "list", "--json"}, {"orders", "list", "--status", "odd"}},
		"orders ship":     {{"orders", "ship", "K1"}},
		"orders complete": {{"orders", "complete", "K1", "--json"}},
		"orders cancel":   {{"orders", "cancel", "K1"}},
		"notifications list": {{"notifications", "list"}, {"notifications", "list", "--order", "K1", "--json"},
			{"notifications", "list", "--verdict", "refused"}, {"notifications", "list", "--verdict", "refused", "--json"}},
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
}

// ofRefused adds those that show requests which were refused.
func ofRefused(runs map[string][][]string, refused []string) {
	for _, id := range refused {
		for _, line := range [][]string{{"show", id}, {"show", id, "--json"}, {"show", id, "--raw"}, {"show", id, "--capture"}} {
			runs["notifications show"] = append(runs["notifications show"], append([]string{"notifications"}, line...))
		}
		for _, line := range [][]string{{"export", id}, {"export", id, "--redact", "all"}, {"export", id, "--redact", "all", "--out", id + ".http", "--json"}} {
			runs["notifications export"] = append(runs["notifications export"], append([]string{"notifications"}, line...))
		}
	}
}

// showsMessage says whether a command shows a message as it came, with what the
// buyer's own fields and the sender's header hold.
func showsMessage(line string) bool {
	return strings.HasPrefix(line, "notifications export") || strings.Contains(line, " --raw") || strings.Contains(line, " --capture")
}

// redactedBody is the body of a capture out of which all was taken. The header
// says of itself what the sender's program is.
func redactedBody(capture string) said {
	_, body, _ := strings.Cut(capture, "\r\n\r\n")
	return said{text: body}
}

// refusals are the ids of the requests that were refused, once the last ones
// have been written behind their answers.
func refusals(t *testing.T, list func() string) []string {
	t.Helper()
	const codes = 7 // of the broken and forged ones among canaryMessages
	late := time.After(time.Minute)
	for {
		text, found := list(), map[string]bool{}
		for _, code := range regexp.MustCompile(`"code": "([a-z_.]+)"`).FindAllStringSubmatch(text, -1) {
			found[code[1]] = true
		}
		if len(found) >= codes {
			return regexp.MustCompile(`ref_[0-9A-Z]+`).FindAllString(text, -1)
		}
		select {
		case <-time.After(100 * time.Millisecond): // nobody tells of a commit
		case <-late:
			t.Fatalf("refused with %v", found)
		}
	}
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
