package main

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/refusal"
)

func notificationsCommand(a *app) *cobra.Command {
	r := &reach{}
	c := group("notifications", "List, show and export what a running server has received", `notifications asks the admin API of a running server. It takes the server's
address and token from its configuration (--config), or by hand (--server and
--token-file).

Of messages that were refused the last ones are kept, for people to find out why:
list --verdict refused shows them. Their ids begin with ref_, and what they say
was proven in nothing.`)
	r.flags(c)
	c.AddCommand(listNotificationsCommand(a, r), showNotificationCommand(a, r), exportCommand(a, r))
	return c
}

func listNotificationsCommand(a *app, r *reach) *cobra.Command {
	f := filters{}
	c := &cobra.Command{
		Use:   "list",
		Short: "List notifications, newest first",
		Example: `  notifyd notifications list --outcome conflict
  notifyd notifications list --order T1001 --json
  notifyd notifications list --verdict refused --account wechat --code wx.signature`,
		Annotations: asksServer(),
		RunE: func(c *cobra.Command, args []string) error {
			path := adminPath("notifications")
			if *f["verdict"] == verdictRefused {
				return printList(a, r, path, f, refusedTable)(c, args)
			}
			return printList(a, r, path, f, notificationsTable)(c, args)
		},
	}
	f.flag(c, "verdict", "verdict", "accepted (default), or refused: the last `ones` that were refused")
	f.flag(c, "code", "code", "with --verdict refused: only those refused for a `reason`, for instance wx.signature")
	f.flag(c, "outcome", "outcome", "only those of an `outcome`, for instance conflict")
	f.flag(c, "kind", "kind", "only those of a `kind`, for instance refund")
	f.flag(c, "order", "out_trade_no", "only those that name an order `number`")
	f.page(c)
	return c
}

func notificationsTable(items []order.NotificationView) []byte {
	t := newTable()
	t.row("NOTIFICATION\tKIND\tOUTCOME\tREASON\tCOPIES\tRECEIVED\tACCOUNT\tORDER")
	for _, n := range items {
		cells := append(notificationCells(n.NotificationLine), shown(n.Account), ordersOf(&n))
		t.row("%s", strings.Join(cells, "\t"))
	}
	return t.text()
}

// ordersOf are the orders that a notification names: several when they were paid
// in one.
func ordersOf(n *order.NotificationView) string {
	var all []string
	for _, f := range n.Facts {
		if number := orDash(f.OutTradeNo); !slices.Contains(all, number) {
			all = append(all, number)
		}
	}
	if len(all) == 0 {
		return orDash(n.OutTradeNo)
	}
	return strings.Join(all, ",")
}

func showNotificationCommand(a *app, r *reach) *cobra.Command {
	var raw, capture bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show a notification and what its facts did, or a refused one and why",
		Example: `  notifyd notifications show ntf_01KE0000000000000000000000
  notifyd notifications show ntf_01KE0000000000000000000000 --capture >one.http
  notifyd notifications show --raw ref_01KE0000000000000000000000`,
		Annotations: asksServer(),
		Args:        one("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			parts := []string{"notifications", args[0]}
			switch {
			case raw && capture || (raw || capture) && r.asJSON:
				return exitWith(exitUsage, "--raw, --capture and --json exclude each other")
			case raw:
				parts = append(parts, "raw")
			case capture:
				parts = append(parts, "capture")
			}
			client, err := r.client(a)
			if err != nil {
				return err
			}
			answer, err := client.ask(c.Context(), http.MethodGet, adminPath(parts...), nil, nil)
			switch {
			case err != nil:
				return err
			case raw || capture:
				return a.print(answer.body)
			case r.asJSON:
				return a.printAnswer(answer)
			}
			if refusal.IsID(args[0]) {
				var n httpapi.RefusedView
				if err := client.read(answer, &n); err != nil {
					return err
				}
				return a.print(refusedText(&n))
			}
			var n order.NotificationView
			if err := client.read(answer, &n); err != nil {
				return err
			}
			return a.print(notificationText(&n))
		},
	}
	c.Flags().BoolVar(&raw, "raw", false, "print the body as it came, byte for byte")
	c.Flags().BoolVar(&capture, "capture", false, "print the request as a capture, for replay")
	return c
}

func notificationText(n *order.NotificationView) []byte {
	reason := string(n.Reason)
	t := newTable()
	t.row("notification\t%s", shown(n.ID))
	t.row("received\t%s", clockTime(n.ReceivedAt))
	t.row("account\t%s (%s), merchant %s", shown(n.Account), shown(n.Provider), shown(n.Merchant))
	t.row("provider's id\t%s", orDash(n.ProviderNotificationID))
	t.row("kind\t%s", n.Kind)
	t.row("order\t%s", ordersOf(n))
	t.row("outcome\t%s", n.Outcome)
	t.row("reason\t%s", orDash(&reason))
	t.row("copies\t%d", n.Copies)
	if n.Content != nil {
		t.row("content\t%s", shown(string(n.Content)))
	}
	if len(n.Facts) == 0 {
		return t.text()
	}
	facts := newTable()
	facts.row("FACT\tORDER\tMERCHANT\tOUTCOME\tREASON")
	for _, f := range n.Facts {
		reason := string(f.Reason)
		facts.row("%s\t%s\t%s\t%s\t%s", f.Kind, orDash(f.OutTradeNo), shown(f.Merchant), f.Outcome, orDash(&reason))
	}
	return append(append(t.text(), '\n'), facts.text()...)
}
