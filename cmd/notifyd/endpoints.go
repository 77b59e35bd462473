package main

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/httpapi"
)

func endpointsCommand(a *app) *cobra.Command {
	r := &reach{}
	c := group("endpoints", "List, test, pause and resume the endpoints of a running server", `endpoints asks the admin API of a running server. It takes the server's address
and token from its configuration (--config), or by hand (--server and
--token-file).`)
	r.flags(c)
	c.AddCommand(listEndpointsCommand(a, r), testEndpointCommand(a, r),
		endpointCommand(a, r, "pause", "Send nothing to an endpoint until it is resumed"),
		endpointCommand(a, r, "resume", "End a pause, and forget that the endpoint failed"))
	return c
}

func listEndpointsCommand(a *app, r *reach) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List endpoints and what waits at them",
		Example: `  notifyd endpoints list
  notifyd endpoints list --json`,
		Annotations: asksServer(),
		RunE:        printList(a, r, adminPath("endpoints"), filters{}, endpointsTable),
	}
}

func endpointsTable(items []httpapi.EndpointView) []byte {
	t := newTable()
	t.row("ENDPOINT\tMERCHANT\tSTATE\tPENDING\tOLDEST\tEXHAUSTED\tHOST")
	for i := range items {
		e := &items[i]
		t.row("%s\t%s\t%s\t%d\t%s\t%d\t%s", shown(e.Name), shown(e.Merchant), endpointState(e), e.Pending, clockTime(e.OldestAt), e.Exhausted, shown(e.Host))
	}
	return t.text()
}

func endpointState(e *httpapi.EndpointView) string {
	switch {
	case e.Paused != nil:
		return "paused: " + shown(e.Paused.Reason)
	case clockTime(e.HeldUntil) != "-":
		return "held until " + clockTime(e.HeldUntil)
	case e.Failures > 0:
		return plural(e.Failures, "failure", "failures in a row")
	}
	return "well"
}

func endpointCommand(a *app, r *reach, verb, short string) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:         verb + " NAME",
		Short:       short,
		Example:     "  notifyd endpoints " + verb + " shop",
		Annotations: asksServer(),
		Args:        cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var body any
			if reason != "" {
				body = map[string]any{"reason": reason}
			}
			client, err := r.client(a)
			if err != nil {
				return err
			}
			answer, err := client.ask(c.Context(), http.MethodPost, adminPath("endpoints", args[0], verb), nil, body)
			if err != nil {
				return err
			}
			if r.asJSON {
				return a.printAnswer(answer)
			}
			var e httpapi.EndpointView
			if err := client.read(answer, &e); err != nil {
				return err
			}
			return a.print(endpointsTable([]httpapi.EndpointView{e}))
		},
	}
	if verb == "pause" {
		c.Flags().StringVar(&reason, "reason", "", "why, for whoever asks later")
	}
	return c
}

func testEndpointCommand(a *app, r *reach) *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Post a signed test event to an endpoint and show what it answers",
		Long: `test posts an event of the type endpoint.test, signed like any other. It is about
nothing, and is sent once. The exit code is 0 when the endpoint answered 2xx.`,
		Example:     `  notifyd endpoints test shop`,
		Annotations: asksServer(),
		Args:        cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := r.client(a)
			if err != nil {
				return err
			}
			answer, err := client.ask(c.Context(), http.MethodPost, adminPath("endpoints", args[0], "test"), nil, nil)
			if err != nil {
				return err
			}
			var attempt httpapi.AttemptView
			if err := client.read(answer, &attempt); err != nil {
				return err
			}
			if r.asJSON {
				err = a.printAnswer(answer)
			} else {
				t := newTable()
				t.row("%s\t%s\t%d ms\t%s", shown(attempt.Endpoint), attemptResult(&attempt), attempt.DurationMS, firstLine(attempt.Response))
				err = a.print(t.text())
			}
			if err != nil {
				return err
			}
			if attempt.Status == nil || *attempt.Status/100 != 2 {
				return exitWith(exitFailed, "the endpoint %s did not take the test event", shown(args[0]))
			}
			return nil
		},
	}
}
