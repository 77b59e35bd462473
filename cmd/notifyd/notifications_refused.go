package main

import (
	"slices"
	"strconv"

	"github.com/notifyd/notifyd/internal/config"
	"github.com/notifyd/notifyd/internal/httpapi"
)

func refusedTable(items []httpapi.RefusedView) []byte {
	t := newTable()
	t.row("REFUSED\tCODE\tSTATUS\tBYTES\tRECEIVED\tACCOUNT\tDETAIL")
	for _, n := range items {
		t.row("%s\t%s\t%d\t%s\t%s\t%s\t%s", shown(n.ID), shown(n.Code), n.Status, keptBytes(&n), clockTime(n.ReceivedAt), orDash(n.Account), orDash(n.Detail))
	}
	return t.text()
}

// keptBytes is how long a body was, marked when not all of it was kept.
func keptBytes(n *httpapi.RefusedView) string {
	if n.Truncated && n.Bytes == 0 {
		return "not read"
	}
	text := strconv.FormatInt(n.Bytes, 10)
	if n.Truncated {
		text += " (cut)"
	}
	return text
}

func refusedText(n *httpapi.RefusedView) []byte {
	account := "none that is configured"
	if n.Account != nil {
		account = shown(*n.Account) + " (" + orDash(n.Provider) + ")"
	}
	t := newTable()
	t.row("refused\t%s", shown(n.ID))
	t.row("verified\tno: all of it is what a stranger said")
	t.row("received\t%s", clockTime(n.ReceivedAt))
	t.row("from\t%s", shown(n.Peer))
	t.row("account\t%s", account)
	t.row("request\t%s", shown(n.RequestLine))
	t.row("answer\t%d", n.Status)
	t.row("code\t%s", shown(n.Code))
	t.row("detail\t%s", orDash(n.Detail))
	body := strconv.FormatInt(n.Bytes, 10) + " bytes"
	switch {
	case n.Truncated && n.Bytes == 0:
		body = "not read"
	case n.Truncated:
		body += " were read, " + strconv.FormatInt(n.KeptBytes, 10) + " are kept; it is not all that was sent"
	}
	t.row("body\t%s", body)
	t.row("sha256\t%s", shown(n.BodySHA256))
	return t.text()
}

// whyEmpty is why a list could not but be empty: what it was asked for is known to
// nobody. nil when there may just be none yet.
func (f filters) whyEmpty(a *app, r *reach) error {
	if code := f.value("code"); code != "" && !slices.Contains(refusalCodes(), code) {
		if e, known := explanationOf(allExplanations(), code); known && e.Finer {
			return exitWith(exitUsage, "no server refuses as %s: notifyd verify alone finds it", code)
		}
		return exitWith(exitUsage, "%s", nearestOrList(code, refusalCodes()))
	}
	account := f.value("account")
	if account == "" || r.server != "" {
		return nil // the configuration at hand may be another one
	}
	conf, _ := config.Load(r.config, a.env)
	if conf == nil || slices.Contains(accountNames(conf), account) {
		return nil
	}
	return exitWith(exitUsage, "%s", config.Unknown("account", account, accountNames(conf)))
}

func (f filters) value(parameter string) string {
	if v := f[parameter]; v != nil {
		return *v
	}
	return ""
}
