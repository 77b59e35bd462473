package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/config"
)

// setupTold is what init says of what it made.
type setupTold struct {
	Config     string          `json:"config"`
	Test       bool            `json:"test"`
	Files      []setupFile     `json:"files"`
	NotifyURLs []setupEndpoint `json:"notify_urls"`
	Next       []string        `json:"next"`
}

type setupFile struct {
	Path string `json:"path"`
	What string `json:"what"`
}

type setupEndpoint struct {
	Account  string `json:"account"`
	Provider string `json:"provider"`
	URL      string `json:"url"`
	Ready    bool   `json:"ready"` // the account is part of the configuration
}

func (s *setup) told(w *writing) setupTold {
	told := setupTold{Config: s.path(configName), Test: s.Test, Next: s.next()}
	for _, f := range w.files {
		path := s.path(f.name)
		if strings.HasSuffix(f.name, "/") {
			path += "/"
		}
		told.Files = append(told.Files, setupFile{path, f.what})
	}
	c := config.Config{PublicURL: s.publicURL()}
	told.NotifyURLs = []setupEndpoint{
		{"wechat", "wechat", c.NotifyURL("wechat"), s.Wechat.Ready},
		{"alipay", "alipay", c.NotifyURL("alipay"), s.Alipay.Ready},
	}
	return told
}

// publicURL is where the public listener is reached: as far as one can know.
func (s *setup) publicURL() string {
	if s.PublicURL != "" {
		return s.PublicURL
	}
	if s.Test {
		if base, err := listenURL(s.Listen); err == nil {
			return base
		}
		return "http://127.0.0.1:PORT" // port 0: the ready line of serve tells it
	}
	return "https://YOUR-DOMAIN"
}

// next are the next steps: commands, and what only the reader can do.
func (s *setup) next() (steps []string) {
	path := s.path(configName)
	if s.Test {
		return []string{
			"Start it, and leave it running: notifyd serve --config " + shellWord(path),
			"In another window, send it a signed payment: notifyd simulate payment --order T1001 --config " + shellWord(path),
			"See what became of it: notifyd orders show T1001 --config " + shellWord(path),
			"List what else can be simulated: notifyd simulate --list",
		}
	}
	if !s.Wechat.Ready {
		steps = append(steps, "WeChat Pay: "+s.fillIn(&s.Wechat.accountSetup, wechatKeyFlag, "its public key", "the account's numbers and the key's id"))
	}
	if !s.Alipay.Ready {
		steps = append(steps, "Alipay: "+s.fillIn(&s.Alipay.accountSetup, alipayKeyFlag, "its public key (not your application's)", "the app_id"))
	}
	if s.Wechat.v3KeyFile == "" {
		steps = append(steps, "WeChat Pay: set the APIv3 key of "+s.path("secrets/api_v3_key")+" in its console, or put the one that is set there into the file")
	}
	if s.PublicURL == "" {
		steps = append(steps, "Put TLS in front of the public listener, and its address into public_url")
	}
	return append(steps,
		"Check it: notifyd check --config "+shellWord(path),
		"Start it: notifyd serve --config "+shellWord(path),
		"Give the notify URLs to the providers, with each order")
}

// fillIn says what an account still needs. Of one that was begun it names the
// flags that were left out: whoever copied a key thinks that the account is there.
func (s *setup) fillIn(a *accountSetup, keyFlag, key, numbers string) string {
	into := "into " + s.path(configName)
	if !a.given {
		return "put " + key + " into " + s.path(a.KeyPath) + ", and " + numbers + " " + into + "; take the # away from the account"
	}
	verb, rest := " is missing: ", "it"
	if len(a.missing) > 1 {
		verb, rest = " are missing: ", "them"
	}
	var put []string
	if slices.Contains(a.missing, keyFlag) {
		put, rest = append(put, key+" into "+s.path(a.KeyPath)), "the rest"
	}
	if len(put) < len(a.missing) {
		put = append(put, rest+" "+into)
	}
	return "--" + strings.Join(a.missing, ", --") + verb + "put " + strings.Join(put, ", and ") + "; take the # away from the account"
}

// shellWord is a path as a shell reads it back.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,@:", r)
	}
	if strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func (t setupTold) text() []byte {
	var b bytes.Buffer
	files := newTable()
	for _, f := range t.Files {
		files.row("  %s\t%s", shown(f.Path), f.What)
	}
	b.WriteString("Written, for you alone to read:\n\n")
	b.Write(files.text())
	b.WriteString("\nNotify URLs, for the providers:\n\n")
	urls := newTable()
	for _, u := range t.NotifyURLs {
		note := ""
		if !u.Ready {
			note = "\tonce the account is filled in"
		}
		urls.row("  %s\t%s%s", u.Account, shown(u.URL), note)
	}
	b.Write(urls.text())
	b.WriteString("\nNext:\n\n")
	for i, step := range t.Next {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, shown(step))
	}
	return b.Bytes()
}
