package main

import (
	"strconv"

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
	if n.Truncated {
		body += " were read, " + strconv.FormatInt(n.KeptBytes, 10) + " are kept; it is not all that was sent"
	}
	t.row("body\t%s", body)
	t.row("sha256\t%s", shown(n.BodySHA256))
	return t.text()
}
