package main

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/redact"
)

// exporting is one run of the command.
type exporting struct {
	*app
	*reach
	redact, out string
}

func exportCommand(a *app, r *reach) *cobra.Command {
	e := &exporting{app: a, reach: r}
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Write a notification, or a refused one, as a capture",
		Long: `export writes the request of a notification as a capture: a file with the raw
HTTP request, which verify and replay read. It never holds a key, a cookie or a
credential of the header.

With --redact parts of it are replaced by ***, so that it can be shown to
others: openid, buyer (accounts of buyers), names, amounts, texts (what the
merchant wrote), encrypted (what only your key opens), or all. Tokens and the
signature, in body or header, then go as well. A line in the header says what was taken out, and no
signature over the rest can hold. A body that cannot be read is left away whole.`,
		Example: `  notifyd notifications export ref_01JX8Z0V6T3N1B2C4D5E6F7G8H --out refused.http
  notifyd notifications export ntf_01JX8Z0V6T3N1B2C4D5E6F7G8H --redact buyer,openid,amounts`,
		Annotations: asksServer(),
		Args:        one("ID"),
		RunE:        e.run,
	}
	c.Flags().StringVar(&e.redact, "redact", "", "`what` to take out: openid,buyer,names,amounts,texts,encrypted, or all")
	c.Flags().StringVar(&e.out, "out", "", "write to this new `file` instead of stdout")
	return c
}

// exported is what export says of a file that it wrote.
type exported struct {
	ID       string   `json:"id"`
	File     string   `json:"file"`
	Bytes    int      `json:"bytes"`
	Redacted []string `json:"redacted"`
}

func (e *exporting) run(c *cobra.Command, args []string) error {
	if e.asJSON && e.out == "" {
		return exitWith(exitUsage, "a capture is no JSON: with --json name a file for it, --out FILE")
	}
	var chosen []provider.Sensitive
	if c.Flags().Changed("redact") {
		var err error
		if chosen, err = redact.Choose(e.redact); err != nil {
			return exitWith(exitUsage, "--redact: %w", err)
		}
	}
	client, err := e.client(e.app)
	if err != nil {
		return err
	}
	answer, err := client.ask(c.Context(), http.MethodGet, adminPath("notifications", args[0], "capture"), nil, nil)
	if err != nil {
		return err
	}
	capture, result := answer.body, exported{ID: args[0], File: e.out, Redacted: []string{}}
	if chosen != nil {
		var done redact.Done
		if capture, done, err = redact.New(chosen, sensitive()...).Capture(capture); err != nil {
			return exitWith(exitFailed, "the answer of %s is no capture: %w", client.base, err)
		}
		e.tellRedacted(&done)
		if done.Changed() {
			result.Redacted = strings.Split(done.What(), ", ")
		}
	}
	if e.out == "" {
		return e.print(capture)
	}
	if err := writeNew(e.out, capture); err != nil {
		return err
	}
	result.Bytes = len(capture)
	if e.asJSON {
		return e.printJSON(result)
	}
	e.tell("%s: %d bytes", e.out, len(capture))
	return nil
}

// tellRedacted says on stderr what somebody who passes the capture on must know.
func (e *exporting) tellRedacted(done *redact.Done) {
	if done.Changed() {
		e.tell("taken out: %s", done.What())
	} else {
		e.tell("nothing of that was found: the capture is as it came")
	}
	if done.Sealed {
		e.tell("what is encrypted is still in it, for those who have your key: --redact encrypted takes it out")
	}
}
