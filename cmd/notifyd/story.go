package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
)

func showOrderCommand(a *app, r *reach) *cobra.Command {
	var merchant string
	c := &cobra.Command{
		Use:   "show OUT_TRADE_NO",
		Short: "Show an order's whole story, and what comes next",
		Long: `show tells what an order is, and in order of time what happened to it: which
notifications came and how often, what each of them did and why, where the order
went from there, which events followed, and what the endpoints answered. Then it
says what comes next: deliveries that are due, what may be done to the order,
and what it waits for.`,
		Example: `  notifyd orders show T1001
  notifyd orders show T1001 --merchant default/1900000109
  notifyd orders show T1001 --json | jq .next`,
		Annotations: asksServer(),
		Args:        one("OUT_TRADE_NO"),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := r.client(a)
			if err != nil {
				return err
			}
			answer, err := client.ask(c.Context(), http.MethodGet, adminPath("orders", args[0], "story"), ofMerchant(merchant), nil)
			if err != nil {
				return err
			}
			if r.asJSON {
				return a.printAnswer(answer)
			}
			var story httpapi.OrderStory
			if err := client.read(answer, &story); err != nil {
				return err
			}
			return a.print(wholeStory(&story, r.again(), newSheet(a.width(a.out), a.colour(a.out))))
		},
	}
	merchantFlag(c, &merchant)
	return c
}

// wholeStory is an order's story for people; again is what the commands that it
// names need besides.
func wholeStory(s *httpapi.OrderStory, again string, page *sheet) []byte {
	parts := [][]byte{orderText(s.View), paymentsTable(&s.StoryView), refundsTable(&s.StoryView), nil, nil}
	page.line("What happened, in Beijing time:")
	page.line("")
	if s.EventsCut {
		page.line("(Older events are left off; see: notifyd events list --order " + shellWord(s.OutTradeNo) + again + ")")
	}
	day := ""
	for _, m := range momentsOf(s) {
		at := m.at.In(beijing)
		if d := at.Format(time.DateOnly); d != day {
			day = d
			page.line(day)
		}
		page.entry(at.Format("15:04:05.000"), m)
	}
	parts[3] = page.take()
	page.line("What comes next:")
	page.line("")
	for _, line := range nextLines(s, again) {
		page.item(line)
	}
	parts[4] = page.take()
	return bytes.Join(withoutEmpty(parts), []byte("\n"))
}

// happening is one thing that happened to an order.
type happening struct {
	at    time.Time
	rank  int // in one moment: the notification, what it did, who was told
	who   string
	tone  tone
	lines []string
}

const (
	rankNotification = iota
	rankEvent
	rankAttempt
)

// momentsOf is everything that happened, in order of time.
func momentsOf(s *httpapi.OrderStory) []happening {
	var all []happening
	for i := range s.Notifications {
		all = append(all, cameIn(&s.Notifications[i], s))
	}
	events := map[int64]*httpapi.EventStory{}
	for i := range s.Events {
		e := &s.Events[i]
		if e.OrderVersion != nil {
			events[*e.OrderVersion] = e
		} else {
			all = append(all, apart(e))
		}
		for _, d := range e.Deliveries {
			for j := range d.AttemptLog {
				all = append(all, sent(e, &d.AttemptLog[j]))
			}
		}
	}
	for i := range s.Transitions {
		t := &s.Transitions[i]
		all = append(all, moved(t, events[t.Version]))
	}
	slices.SortStableFunc(all, func(a, b happening) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.rank - b.rank
	})
	return all
}

// cameIn is a notification, and what each of its facts did to this order.
func cameIn(n *order.NotificationView, s *httpapi.OrderStory) happening {
	h := happening{at: time.Time(n.ReceivedAt), rank: rankNotification, who: shown(n.Provider)}
	first := "says: " + kindWords(n.Kind) + " (account " + shown(n.Account) + ")"
	if n.Copies > 1 {
		first += fmt.Sprintf("; it came %d times", n.Copies)
	}
	h.lines = append(h.lines, first, "notification "+shown(n.ID))
	for _, f := range n.Facts {
		if f.Merchant != s.Merchant || f.OutTradeNo == nil || *f.OutTradeNo != s.OutTradeNo {
			continue
		}
		h.lines = append(h.lines, string(f.Kind)+": "+string(f.Outcome)+", "+decisionWords(f.Outcome, f.Reason)+disputeWords(&f, s))
		h.tone = max(h.tone, toneOf(f.Outcome))
	}
	return h
}

func toneOf(o order.Outcome) tone {
	switch o {
	case order.Conflict, order.Unmatched:
		return alarming
	case order.Applied:
		return good
	}
	return plain
}

// moved is a step of the order, with the event that tells of it.
func moved(t *order.TransitionView, e *httpapi.EventStory) happening {
	h := happening{at: time.Time(t.At), rank: rankEvent, who: "order"}
	step := fmt.Sprintf("%s → %s", t.From, t.To)
	switch {
	case t.From == order.None:
		step = "→ " + string(t.To)
	case t.From == t.To:
		step = "stays " + string(t.To)
	}
	if t.NotificationID == nil { // a command of the merchant's side
		h.who, step = "merchant", "says "+string(t.Kind)+": "+step
	}
	step += fmt.Sprintf(", version %d", t.Version)
	h.lines = append(h.lines, step)
	if t.Reason != order.ReasonNone {
		h.lines[0] += ", conflict " + string(t.Reason)
		h.tone = alarming
		if t.NotificationID == nil { // otherwise it stands with the notification
			h.lines = append(h.lines, decisionWords(order.Conflict, t.Reason))
		}
	}
	if e != nil && t.NotificationID != nil {
		h.lines[0] += moneyOf(e)
	}
	if e != nil {
		h.lines = append(h.lines, eventLine(e))
	}
	return h
}

// moneyOf is the payment or the refund that an event tells of.
func moneyOf(e *httpapi.EventStory) string {
	var currency struct{ Currency *string }
	_ = json.Unmarshal(e.Order, &currency) // an event about no order has none
	var refund *order.RefundView
	if json.Unmarshal(e.Refund, &refund) == nil && refund != nil {
		return ", refund " + orDash(refund.OutRefundNo) + " of " + yuan(refund.AmountFen, currency.Currency) + " (" + string(refund.Status) + ")"
	}
	var payment *order.PaymentView
	if json.Unmarshal(e.Payment, &payment) == nil && payment != nil {
		return ", payment of " + yuan(payment.AmountFen, currency.Currency) + " (" + string(payment.Role) + ")"
	}
	return ""
}

// apart is an event about no stored order.
func apart(e *httpapi.EventStory) happening {
	h := happening{at: time.Time(e.CreatedAt), rank: rankEvent, who: "order", lines: []string{"does not move", eventLine(e)}}
	if e.Reason != order.ReasonNone {
		h.lines[0] += ", conflict " + string(e.Reason)
		h.tone = alarming
	}
	return h
}

func eventLine(e *httpapi.EventStory) string {
	line := "event " + shown(string(e.Type)) + " " + shown(e.ID)
	if len(e.Deliveries) == 0 {
		return line + ", for no endpoint"
	}
	var to []string
	for i := range e.Deliveries {
		d := &e.Deliveries[i]
		to = append(to, shown(d.Endpoint)+" ("+string(d.State)+")")
	}
	return line + ", for " + strings.Join(to, ", ")
}

// sent is one attempt to deliver an event.
func sent(e *httpapi.EventStory, v *httpapi.AttemptView) happening {
	h := happening{at: time.Time(v.StartedAt), rank: rankAttempt, who: "to " + shown(v.Endpoint)}
	result := "no answer (" + orDash(v.Failure) + ")"
	if v.Status != nil {
		result = fmt.Sprintf("answered %d", *v.Status)
	}
	if v.Status == nil || *v.Status/100 != 2 {
		h.tone = alarming
	} else {
		h.tone = good
	}
	h.lines = []string{fmt.Sprintf("%s %s, attempt %d: %s after %d ms", shown(string(e.Type)), shown(e.ID), v.Number, result, v.DurationMS)}
	if text := firstLine(v.Response); text != "" && h.tone != good {
		h.lines = append(h.lines, "it said: "+text)
	}
	return h
}
