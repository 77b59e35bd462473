package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/internal/order"
)

func ordersCommand(a *app) *cobra.Command {
	r := &reach{}
	c := group("orders", "Register, show and move the orders of a running server", `orders asks the admin API of a running server. It takes the server's address and
token from its configuration (--config), or by hand (--server and --token-file).`)
	r.flags(c)
	c.AddCommand(registerCommand(a, r), showOrderCommand(a, r), listOrdersCommand(a, r),
		moveCommand(a, r, "ship", "Mark a paid order as shipped"),
		moveCommand(a, r, "complete", "Mark a shipped order as completed"),
		moveCommand(a, r, "cancel", "Cancel an order that has not been shipped"))
	return c
}

// group makes a command that only holds others.
func group(name, short, long string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: long, Args: noSuchCommand, RunE: needsCommand, Annotations: holdsOthers()}
}

func merchantFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "merchant", "", "`merchant`, or merchant/sub-merchant; may be left out when one is configured")
}

func ofMerchant(merchant string) url.Values {
	query := url.Values{}
	if merchant != "" {
		query.Set("merchant", merchant)
	}
	return query
}

func registerCommand(a *app, r *reach) *cobra.Command {
	var merchant, currency, expires string
	amount := fenFlag{least: 1}
	c := &cobra.Command{
		Use:   "register OUT_TRADE_NO --amount-fen N",
		Short: "Say what to expect of an order before it is paid",
		Long: `register says which amount an order must be paid with. A payment of another
amount is then a conflict and does not move the order. The same registration
again changes nothing.`,
		Example: `  notifyd orders register T1001 --amount-fen 1000
  notifyd orders register T1001 --amount-fen 1000 --expires-at 2026-01-02T15:04:05+08:00`,
		Annotations: asksServer(),
		Args:        one("OUT_TRADE_NO"),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("amount-fen") {
				return exitWith(exitUsage, "--amount-fen is missing: the amount in fen, 1000 for 10 yuan")
			}
			body := map[string]any{"out_trade_no": args[0], "amount_fen": amount.fen}
			if currency != "" {
				body["currency"] = currency
			}
			if expires != "" {
				body["expires_at"] = expires
			}
			client, err := r.client(a)
			if err != nil {
				return err
			}
			answer, err := client.ask(c.Context(), http.MethodPost, adminPath("orders"), ofMerchant(merchant), body)
			if err != nil {
				return err
			}
			return a.printStory(client, answer, r.asJSON)
		},
	}
	merchantFlag(c, &merchant)
	c.Flags().Var(&amount, "amount-fen", "what the payment must amount to, in `fen`: 1000 for 10 yuan")
	c.Flags().StringVar(&currency, "currency", "", "three `letters`; CNY when left out")
	c.Flags().StringVar(&expires, "expires-at", "", "a payment after this `time` is late, for instance 2026-01-02T15:04:05+08:00")
	return c
}

// fenFlag is an amount on the command line, and the least that it can be.
type fenFlag struct{ fen, least int64 }

func (f *fenFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return errors.New("must be a whole number of fen, 1000 for 10 yuan")
	}
	if n < f.least {
		return fmt.Errorf("must be at least %d fen", f.least)
	}
	f.fen = n
	return nil
}

// String is the default in the help; 0 is none.
func (f *fenFlag) String() string { return strconv.FormatInt(f.fen, 10) }
func (f *fenFlag) Type() string   { return "fen" }

// moveCommand is what the merchant does to an order, which is shown afterwards.
func moveCommand(a *app, r *reach, verb, short string) *cobra.Command {
	var merchant string
	c := &cobra.Command{
		Use:         verb + " OUT_TRADE_NO",
		Short:       short,
		Example:     "  notifyd orders " + verb + " T1001",
		Annotations: asksServer(),
		Args:        one("OUT_TRADE_NO"),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := r.client(a)
			if err != nil {
				return err
			}
			answer, err := client.ask(c.Context(), http.MethodPost, adminPath("orders", args[0], verb), ofMerchant(merchant), nil)
			if err != nil {
				return err
			}
			return a.printStory(client, answer, r.asJSON)
		},
	}
	merchantFlag(c, &merchant)
	return c
}

// filters are the flags of a list; each is a parameter of the admin API, which
// says what is wrong with it.
type filters map[string]*string

// flag adds a filter named like its parameter.
func (f filters) flag(c *cobra.Command, name, parameter, usage string) {
	f[parameter] = c.Flags().String(name, "", usage)
}

func (f filters) query() url.Values {
	query := url.Values{}
	for parameter, value := range f {
		if *value != "" {
			query.Set(parameter, *value)
		}
	}
	return query
}

// page adds what both lists have.
func (f filters) page(c *cobra.Command) {
	f.flag(c, "provider", "provider", "only those of a `provider`")
	f.flag(c, "account", "account", "only those of an `account`")
	f.common(c)
}

// span adds whose and of which time.
func (f filters) span(c *cobra.Command) {
	f.flag(c, "since", "since", "from this `time` on, for instance 2026-01-02T15:04:05+08:00")
	f.flag(c, "until", "until", "before this `time`")
	f.flag(c, "merchant", "merchant", "only those of a `merchant`, or merchant/sub-merchant")
}

// common adds what every list of what happened has.
func (f filters) common(c *cobra.Command) {
	f.span(c)
	f.flag(c, "limit", "limit", "how `many`, 1 to 200 (default 50)")
	f.flag(c, "cursor", "cursor", "go on where the last `page` ended")
}

// listing is a page of a list.
type listing[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

func listOrdersCommand(a *app, r *reach) *cobra.Command {
	f := filters{}
	c := &cobra.Command{
		Use:   "list",
		Short: "List orders, newest first",
		Example: `  notifyd orders list --status paid
  notifyd orders list --provider alipay --limit 200 --json`,
		Annotations: asksServer(),
		RunE:        printList(a, r, adminPath("orders"), f, ordersTable),
	}
	f.flag(c, "status", "status", "only those of a `status`, for instance paid")
	f.page(c)
	return c
}

// printList is a command that asks for a page and prints it as a table.
func printList[T any](a *app, r *reach, path string, f filters, rows func([]T) []byte) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		client, err := r.client(a)
		if err != nil {
			return err
		}
		answer, err := client.ask(c.Context(), http.MethodGet, path, f.query(), nil)
		if err != nil {
			return err
		}
		var page listing[T]
		if err := client.read(answer, &page); err != nil {
			return err
		}
		if len(page.Items) == 0 {
			if err := f.whyEmpty(a, r); err != nil {
				return err
			}
		}
		if r.asJSON {
			return a.printAnswer(answer)
		}
		if err := a.print(rows(page.Items)); err != nil {
			return err
		}
		a.tellRest(len(page.Items), page.NextCursor)
		return nil
	}
}

// tellRest says on stderr what the table cannot.
func (a *app) tellRest(n int, next *string) {
	switch {
	case next != nil:
		a.tell("there are more: --cursor %s", *next)
	case n == 0:
		a.tell("there are none")
	}
}

// yuan writes fen of a currency for people.
func yuan(fen int64, currency *string) string {
	if currency != nil && *currency != order.DefaultCurrency {
		// Other currencies need not have a hundredth.
		return strconv.FormatInt(fen, 10) + " smallest units of " + shown(*currency)
	}
	sign := ""
	if fen < 0 {
		sign, fen = "-", -fen
	}
	cents := strconv.FormatInt(fen%100+100, 10)[1:]
	return sign + strconv.FormatInt(fen/100, 10) + "." + cents
}

// clockTime is a time for people, in Beijing; "-" when there is none.
func clockTime(m order.Moment) string {
	t := time.Time(m)
	if t.IsZero() {
		return "-"
	}
	return t.In(beijing).Format(time.DateTime)
}
