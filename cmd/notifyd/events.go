package main

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
)

func eventsCommand(a *app) *cobra.Command {
	r := &reach{}
	c := group("events", "List, show and send again what the merchant is told", `events asks the admin API of a running server. It takes the server's address and
token from its configuration (--config), or by hand (--server and --token-file).`)
	r.flags(c)
	c.AddCommand(listEventsCommand(a, r), showEventCommand(a, r), redeliverCommand(a, r), recoverCommand(a, r))
	return c
}

func listEventsCommand(a *app, r *reach) *cobra.Command {
	f := filters{}
	c := &cobra.Command{
		Use:   "list",
		Short: "List events, newest first",
		Example: `  notifyd events list --order T1001
  notifyd events list --type order.conflict --since 2026-01-01T00:00:00+08:00`,
		Annotations: asksServer(),
		RunE:        printList(a, r, adminPath("events"), f, eventsTable),
	}
	f.flag(c, "type", "type", "only those of a `type`, for instance order.paid")
	f.flag(c, "order", "out_trade_no", "only those about an order `number`")
	f.flag(c, "endpoint", "endpoint", "only those with a delivery at an `endpoint`")
	f.flag(c, "state", "state", "only those with a delivery in a `state`: pending, delivered or exhausted; with --endpoint: there")
	f.common(c)
	return c
}

func eventsTable(items []order.EventView) []byte {
	t := newTable()
	t.row("EVENT\tTYPE\tREASON\tVERSION\tSEQ\tCREATED\tMERCHANT")
	for i := range items {
		e := &items[i]
		t.row("%s\t%s\t%s\t%s\t%s\t%s\t%s", shown(e.ID), shown(string(e.Type)), dash(string(e.Reason)), number(e.OrderVersion), number(e.Seq),
			clockTime(e.CreatedAt), shown(e.Merchant))
	}
	return t.text()
}

// number is a number that may be unknown.
func number[T ~int | ~int64](n *T) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(int64(*n), 10)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return shown(s)
}

func showEventCommand(a *app, r *reach) *cobra.Command {
	return &cobra.Command{
		Use:         "show ID",
		Short:       "Show an event, where it was delivered and what was answered",
		Example:     `  notifyd events show evt_01KE0000000000000000000000`,
		Annotations: asksServer(),
		Args:        cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := r.client(a)
			if err != nil {
				return err
			}
			answer, err := client.ask(c.Context(), http.MethodGet, adminPath("events", args[0]), nil, nil)
			if err != nil {
				return err
			}
			if r.asJSON {
				return a.printAnswer(answer)
			}
			var story httpapi.EventStory
			if err := client.read(answer, &story); err != nil {
				return err
			}
			return a.print(eventText(&story))
		},
	}
}

// eventText shows an event for people.
func eventText(s *httpapi.EventStory) []byte {
	t := newTable()
	t.row("event\t%s", shown(s.ID))
	t.row("type\t%s", shown(string(s.Type)))
	if s.Reason != "" {
		t.row("reason\t%s", shown(string(s.Reason)))
	}
	t.row("merchant\t%s", shown(s.Merchant))
	t.row("created\t%s", clockTime(s.CreatedAt))
	t.row("notification\t%s", orDash(s.NotificationID))
	if len(s.Deliveries) == 0 {
		t.row("")
		t.row("it was for no endpoint, or its deliveries are past their retention time")
	}
	for _, d := range s.Deliveries {
		t.row("")
		t.row("endpoint %s\t%s", shown(d.Endpoint), deliveryState(&d.DeliveryView))
		for _, attempt := range d.AttemptLog {
			t.row("  %s\t%s\t%d ms\t%s", clockTime(attempt.StartedAt), attemptResult(&attempt), attempt.DurationMS, firstLine(attempt.Response))
		}
	}
	return t.text()
}

func deliveryState(d *httpapi.DeliveryView) string {
	switch text := string(d.State); {
	case d.Sending:
		return text + ", being sent"
	case clockTime(d.NextAt) != "-":
		return text + ", next attempt " + clockTime(d.NextAt)
	default:
		return text
	}
}

func attemptResult(v *httpapi.AttemptView) string {
	if v.Status == nil {
		return orDash(v.Failure)
	}
	return strconv.Itoa(*v.Status)
}

// maxResponseShown is how much of an answer fits into a line; --json has it all.
const maxResponseShown = 80

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > maxResponseShown {
		line = string(runes[:maxResponseShown]) + "…"
	}
	return shown(line)
}

func redeliverCommand(a *app, r *reach) *cobra.Command {
	var endpoint string
	c := &cobra.Command{
		Use:   "redeliver ID",
		Short: "Deliver an event again, from the beginning of the schedule",
		Example: `  notifyd events redeliver evt_01KE0000000000000000000000
  notifyd events redeliver evt_01KE0000000000000000000000 --endpoint shop`,
		Annotations: asksServer(),
		Args:        cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			query := url.Values{}
			if endpoint != "" {
				query.Set("endpoint", endpoint)
			}
			return a.resend(c, r, adminPath("events", args[0], "redeliver"), query, nil)
		},
	}
	c.Flags().StringVar(&endpoint, "endpoint", "", "at this `endpoint` only, also when the event was not for it")
	return c
}

func recoverCommand(a *app, r *reach) *cobra.Command {
	f := filters{}
	var dryRun bool
	c := &cobra.Command{
		Use:   "recover",
		Short: "Deliver again what was given up, or what a filter selects",
		Long: `recover delivers again, oldest event first. Without a filter it takes all
deliveries that are exhausted; --dry-run only says how many there are.`,
		Example: `  notifyd events recover --dry-run
  notifyd events recover --endpoint shop
  notifyd events recover --state delivered --order T1001`,
		Annotations: asksServer(),
		RunE: func(c *cobra.Command, _ []string) error {
			body := map[string]any{"dry_run": dryRun}
			for parameter, values := range f.query() {
				body[parameter] = values[0]
			}
			return a.resend(c, r, adminPath("deliveries", "redeliver"), nil, body)
		},
	}
	f.flag(c, "state", "state", "exhausted, pending or delivered (default exhausted)")
	f.flag(c, "endpoint", "endpoint", "only those at an `endpoint`")
	f.flag(c, "order", "out_trade_no", "only those about an order `number`")
	f.span(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only say how many there are")
	return c
}

// resend asks for deliveries to be made due and says how many there were.
func (a *app) resend(c *cobra.Command, r *reach, path string, query url.Values, body any) error {
	client, err := r.client(a)
	if err != nil {
		return err
	}
	answer, err := client.ask(c.Context(), http.MethodPost, path, query, body)
	if err != nil {
		return err
	}
	if r.asJSON {
		return a.printAnswer(answer)
	}
	var n httpapi.Resent
	if err := client.read(answer, &n); err != nil {
		return err
	}
	t := newTable()
	if n.DryRun {
		t.row("%s would be sent again", plural(n.Count, "delivery", "deliveries"))
	} else {
		t.row("%s will be sent again", plural(n.Count, "delivery", "deliveries"))
	}
	return a.print(t.text())
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
