package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/order"
)

// printAnswer prints an answer of the admin API as it is, indented.
func (a *app) printAnswer(answer adminAnswer) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(answer.body), "", "  "); err != nil {
		return exitWith(exitFailed, "the answer of the server is no JSON: %w", err)
	}
	b.WriteByte('\n')
	return a.print(b.Bytes())
}

// tell says something that is no data.
func (a *app) tell(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// shown is a text that came from outside, without anything that moves the cursor
// of a terminal or starts another column.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, s)
}

func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return shown(*s)
}

func ordersTable(items []order.View) []byte {
	t := newTable()
	t.row("ORDER\tMERCHANT\tSTATUS\tAMOUNT\tPAID\tREFUNDED\tPROVIDER\tCREATED")
	for _, o := range items {
		t.row("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", shown(o.OutTradeNo), shown(o.Merchant), o.Status, amountOf(o),
			yuan(o.PaidFen, o.Currency), yuan(o.RefundedFen, o.Currency), orDash(o.Provider), clockTime(o.CreatedAt))
	}
	return t.text()
}

func amountOf(o order.View) string {
	if o.AmountFen == nil {
		return "-"
	}
	return yuan(*o.AmountFen, o.Currency)
}

// printStory prints an order with its lists.
func (a *app) printStory(client *adminClient, answer adminAnswer, asJSON bool) error {
	if asJSON {
		return a.printAnswer(answer)
	}
	var story order.StoryView
	if err := client.read(answer, &story); err != nil {
		return err
	}
	return a.print(storyText(&story))
}

func storyText(s *order.StoryView) []byte {
	parts := [][]byte{orderText(s.View), paymentsTable(s), refundsTable(s), historyTable(s), orderNotifications(s)}
	return bytes.Join(withoutEmpty(parts), []byte("\n"))
}

// orderText is an order without its lists.
func orderText(o order.View) []byte {
	t := newTable()
	t.row("order\t%s", shown(o.OutTradeNo))
	t.row("merchant\t%s", shown(o.Merchant))
	t.row("status\t%s", statusOf(o))
	t.row("amount\t%s\t%s", amountOf(o), whoseAmount(o))
	t.row("paid\t%s\t%s", yuan(o.PaidFen, o.Currency), clockTime(o.PaidAt))
	t.row("refunded\t%s", yuan(o.RefundedFen, o.Currency))
	return t.text()
}

func withoutEmpty(parts [][]byte) (kept [][]byte) {
	for _, p := range parts {
		if len(p) > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// statusOf is the status with what stands beside it.
func statusOf(o order.View) string {
	text := string(o.Status)
	if o.Status != order.Refunded && o.RefundedFen > 0 {
		text += ", partly refunded"
	}
	if o.Late {
		text += ", paid late"
	}
	if o.Finished {
		text += ", finished at the provider"
	}
	return text
}

func whoseAmount(o order.View) string {
	switch {
	case o.ExpectedFen != nil:
		return "registered"
	case o.AmountFen != nil:
		return "not registered: the first payment's"
	}
	return "not known yet"
}

func paymentsTable(s *order.StoryView) []byte {
	if len(s.Payments) == 0 {
		return nil
	}
	t := newTable()
	t.row("PAYMENT\tPROVIDER\tACCOUNT\tAMOUNT\tREFUNDED\tROLE\tPAID AT")
	for _, p := range s.Payments {
		t.row("%s\t%s\t%s\t%s\t%s\t%s\t%s", shown(p.ProviderTxnID), shown(p.Provider), shown(p.Account),
			yuan(p.AmountFen, s.Currency), yuan(p.RefundedFen, s.Currency), p.Role, clockTime(p.PaidAt))
	}
	return t.text()
}

func refundsTable(s *order.StoryView) []byte {
	if len(s.Refunds) == 0 {
		return nil
	}
	t := newTable()
	t.row("REFUND\tPROVIDER\tPAYMENT\tAMOUNT\tSTATUS\tREFUNDED AT")
	for _, r := range s.Refunds {
		t.row("%s\t%s\t%s\t%s\t%s\t%s", orDash(r.OutRefundNo), shown(r.Provider), shown(r.ProviderTxnID),
			yuan(r.AmountFen, s.Currency), r.Status, clockTime(r.RefundedAt))
	}
	return t.text()
}

func historyTable(s *order.StoryView) []byte {
	if len(s.Transitions) == 0 {
		return nil
	}
	t := newTable()
	t.row("VERSION\tFROM\tTO\tBY\tREASON\tAT\tNOTIFICATION")
	for _, e := range s.Transitions {
		from, reason := string(e.From), string(e.Reason)
		t.row("%d\t%s\t%s\t%s\t%s\t%s\t%s", e.Version, orDash(&from), e.To, e.Kind, orDash(&reason), clockTime(e.At), orDash(e.NotificationID))
	}
	return t.text()
}

func orderNotifications(s *order.StoryView) []byte {
	if len(s.Notifications) == 0 {
		return nil
	}
	t := newTable()
	t.row("NOTIFICATION\tKIND\tOUTCOME\tREASON\tCOPIES\tRECEIVED")
	for _, n := range s.Notifications {
		t.row("%s", strings.Join(notificationCells(n), "\t"))
	}
	return t.text()
}

func notificationCells(n order.NotificationLine) []string {
	reason := string(n.Reason)
	return []string{shown(n.ID), string(n.Kind), string(n.Outcome), orDash(&reason), fmt.Sprint(n.Copies), clockTime(n.ReceivedAt)}
}
