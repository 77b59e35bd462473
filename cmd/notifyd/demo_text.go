package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/notifyd/notifyd/internal/order"
)

// inOrder sorts and drops repeats.
func inOrder(numbers []string) []string {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// text is the demo for people.
func (t *demoTold) text(colour bool) []byte {
	steps := newTable()
	steps.row("#\tFROM\tSENT\tANSWER\tVERDICT\tOUTCOME\tREASON\tORDER\tNOW")
	for _, r := range t.Steps {
		steps.row("%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", r.Number, r.From, r.Sent, strings.TrimSpace(fmt.Sprint(r.Status, " ", r.Answer)),
			orDash(&r.Verdict), orDash(r.outcome()), orDash(&r.Reason), strings.Join(r.Orders, "+"), r.now())
	}
	said := steps.text()
	if colour {
		said = painted(said)
	}
	parts := [][]byte{
		[]byte("What was sent to " + t.Public + ", and what it did:\n"), said,
		[]byte("What the orders are now (yuan):\n"), t.ordersText(),
		t.tries(),
	}
	return bytes.Join(parts, []byte("\n"))
}

func (r *demoResult) outcome() *string {
	if r.Repeat {
		text := "repeat" // its outcome was that of the first copy
		return &text
	}
	return &r.Outcome
}

// now is where the orders stand after the step.
func (r *demoResult) now() string {
	var all []string
	for _, s := range r.After {
		if s == order.None {
			all = append(all, "no order")
			continue
		}
		all = append(all, string(s))
	}
	return strings.Join(slices.Compact(all), "+")
}

// painted colours verdicts and conflicts once the columns stand.
func painted(text []byte) []byte {
	return []byte(strings.NewReplacer(
		" accepted ", " "+inColour(green, "accepted")+" ",
		" refused ", " "+inColour(red, "refused")+" ",
		" conflict ", " "+inColour(yellow, "conflict")+" ",
	).Replace(string(text)))
}

func (t *demoTold) ordersText() []byte {
	rows := newTable()
	rows.row("ORDER\tSTATUS\tEXPECTED\tPAID\tREFUNDED\tPROVIDER\tNOTIFICATIONS\tEVENTS")
	for _, text := range t.Orders {
		var s order.StoryView
		if err := json.Unmarshal(text, &s); err != nil {
			rows.row("the answer cannot be read: %v", err)
			continue
		}
		expected := "-"
		if s.ExpectedFen != nil {
			expected = yuan(*s.ExpectedFen, s.Currency)
		}
		rows.row("%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d", shown(s.OutTradeNo), statusOf(s.View), expected, yuan(s.PaidFen, s.Currency),
			yuan(s.RefundedFen, s.Currency), orDash(s.Provider), len(s.Notifications), len(s.Transitions))
	}
	return rows.text()
}

// tries are commands to go on with.
func (t *demoTold) tries() []byte {
	var b bytes.Buffer
	if t.once { // nothing would answer
		b.WriteString("Without --once it stays up and shows how to ask for yourself.\n")
		return b.Bytes()
	}
	b.WriteString("Ask for yourself:\n\n")
	for _, path := range []string{"/admin/v1/orders/T1004", "/admin/v1/orders?status=paid", "/admin/v1/notifications?outcome=conflict"} {
		fmt.Fprintf(&b, "  curl -sS -H 'Authorization: Bearer %s' '%s%s'\n", t.Token, t.Private, path)
	}
	fmt.Fprintf(&b, "  curl -sS %s/readyz\n  curl -sS %s/metrics\n", t.Private, t.Private)
	fmt.Fprintf(&b, "  notifyd orders list --config %s\n", t.Config)
	fmt.Fprintf(&b, "  notifyd orders show T1001 --config %s\n", t.Config)
	fmt.Fprintf(&b, "  notifyd simulate refund-partial --config %s\n", t.Config)
	return b.Bytes()
}
