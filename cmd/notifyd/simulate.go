package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/notifyd/notifyd/client/simulator"
	"github.com/notifyd/notifyd/internal/config"
)

// simulate is one run of the command.
type simulate struct {
	*app
	config, keys, account, protocol string
	to, out                         string
	order, subMerchant              string
	amount                          fenFlag
	set, drop                       []string
	step, number, concurrency       int
	rate                            float64
	listing, asJSON                 bool
}

func simulateCommand(a *app) *cobra.Command {
	s := &simulate{app: a}
	c := &cobra.Command{
		Use:   "simulate SCENARIO",
		Short: "Play a payment provider: send signed test notifications",
		Long: `simulate plays WeChat Pay or Alipay: it makes the notifications of a scenario,
signed and encrypted as theirs are, and sends them to a running notifyd or to
any other URL, or writes them as captures. --list names the scenarios.

It signs with the throw-away keys in the folder simulator/ beside the
configuration (notifyd init --test makes them), and only for accounts that
trust no other keys: what it makes is worth nothing anywhere else.

One line per message goes to stdout: order, step, what it says, the HTTP status,
and whether the provider would take the answer for a yes. Where that is not what
a receiver has to do with such a message, the exit code is 1.

A field is changed before signing with --set: amount.total=5 (v3, within the
encrypted content), total_fee=5 (v2), total_amount=0.05 (Alipay). path=value
keeps the field's type; path:=JSON says it. envelope.… is what stands around
encrypted content, header.… a header.`,
		Example: `  notifyd simulate --list
  notifyd simulate payment --order T1001 --amount 1000
  notifyd simulate refund-partial --account alipay --to http://127.0.0.1:8080
  notifyd simulate payment --number 1000 --concurrency 8 --rate 200
  notifyd simulate probe --to https://pay.example.com/my/own/receiver
  notifyd simulate gbk --out captures/`,
		Annotations: endsWith(exitDone, exitFailed, exitUsage, exitConfig, exitUnreachable, exitInterrupted),
		Args:        s.args,
		RunE: func(c *cobra.Command, args []string) error {
			if s.listing {
				return s.list()
			}
			return s.run(c.Context(), args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&s.listing, "list", false, "name the scenarios, the protocols that have them, and the numbers in docs/field-cases.md")
	f.StringVar(&s.config, "config", defaultConfig, "configuration `file` of the receiver: its accounts are played to")
	f.StringVar(&s.keys, "keys", "", "`folder` of the simulated provider's keys; without it simulator/ beside the configuration")
	f.StringVar(&s.account, "account", "", "`name` of the account; without it the first that has the scenario")
	f.StringVar(&s.protocol, "protocol", "", "v3, v2 or alipay; without it the first that has the scenario")
	f.StringVar(&s.to, "to", "", "`URL` of the receiver, or a whole notify URL; without it the public listener in the configuration")
	f.StringVar(&s.out, "out", "", "write captures instead of sending: a .http `file`, a folder, or - for stdout")
	f.StringVar(&s.order, "order", "", "order `number`; without it a new one")
	s.amount = fenFlag{defaultAmountFen, simulator.LeastAmountFen}
	f.Var(&s.amount, "amount", "amount of the order in `fen`: 1000 for 10 yuan, and at least 10")
	f.StringVar(&s.subMerchant, "sub-merchant", "", "partner mode: `number` of the sub-merchant whose order it is")
	f.StringArrayVar(&s.set, "set", nil, "change a field of every message before signing: `path=value` or path:=JSON")
	f.StringArrayVar(&s.drop, "drop", nil, "leave out the field at `path`")
	f.IntVar(&s.step, "step", 0, "send the message with this `number` in the scenario only")
	f.IntVar(&s.number, "number", 1, "play the scenario for so many orders")
	f.IntVar(&s.concurrency, "concurrency", 1, "play so many orders at a time")
	f.Float64Var(&s.rate, "rate", 0, "send at most so many messages a second; 0 is as fast as they are answered")
	f.BoolVar(&s.asJSON, "json", false, "print JSON: one object per message")
	c.AddCommand(simulateRunCommand(a))
	return c
}

const (
	defaultAmountFen = 1000
	// maxOrders and maxAtOnce catch slips of the keyboard.
	maxOrders = 10_000_000
	maxAtOnce = 1_000
	leastRate = 0.001
	mostRate  = 1e6
)

func (s *simulate) args(_ *cobra.Command, args []string) error {
	if s.listing {
		if len(args) > 0 {
			return errors.New("--list takes no scenario")
		}
		return nil
	}
	if len(args) != 1 {
		return fmt.Errorf("name one scenario; %s. --list names them", countGiven(len(args)))
	}
	switch {
	case s.number < 1 || s.number > maxOrders:
		return fmt.Errorf("--number is 1 to %d", maxOrders)
	case s.concurrency < 1 || s.concurrency > maxAtOnce:
		return fmt.Errorf("--concurrency is 1 to %d", maxAtOnce)
	case s.rate != 0 && !(s.rate >= leastRate && s.rate <= mostRate): // which catches what is no number, too
		return fmt.Errorf("--rate is 0, or %g to %g messages a second", leastRate, mostRate)
	case s.step < 0:
		return errors.New("--step counts from 1")
	case s.to != "" && s.out != "":
		return errors.New("--to sends and --out writes: choose one")
	}
	return s.setProtocol(s.protocol)
}

// setProtocol takes a protocol by its name and by the short one that --list
// shows.
func (s *simulate) setProtocol(name string) error {
	if name == "" {
		return nil
	}
	for _, p := range simulator.Protocols() {
		if name == string(p) || name == shortProtocol(p) {
			s.protocol = string(p)
			return nil
		}
	}
	return errors.New(config.Unknown("protocol", name, textsOf(simulator.Protocols())))
}

// listed are protocols as a sentence has them.
func listed(protocols []simulator.Protocol) string {
	names := textsOf(protocols)
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// run plays the scenario. What can be wrong with the command line is found
// before the first message is sent.
func (s *simulate) run(ctx context.Context, name string) error {
	scenario, ok := simulator.ScenarioNamed(name)
	if !ok {
		return exitWith(exitUsage, "%s", config.UnknownAmong("scenario", name, scenarioNames(), "notifyd simulate --list names them"))
	}
	if p := simulator.Protocol(s.protocol); p != "" && !slices.Contains(scenario.Protocols, p) {
		return exitWith(exitUsage, "there is no %s in %s: it is a scenario of %s", name, p, listed(scenario.Protocols))
	}
	conf, report := config.Load(s.config, s.env)
	if !report.OK() {
		s.printFindings(&config.Report{Errors: report.Errors})
		return exitWith(exitConfig, "%s cannot be used: %s", s.config, count(len(report.Errors), "error"))
	}
	keys, err := loadKeyring(s.config, s.keys)
	if err != nil {
		return err
	}
	by, err := s.simulator(keys, conf, scenario)
	if err != nil {
		return err
	}
	edits, err := s.edits()
	if err != nil {
		return err
	}
	p := &performance{app: s.app, by: by, scenario: scenario, edits: edits, step: s.step, pace: newPace(s.rate, s.now)}
	if _, err := p.story(s.orders()(0)); err != nil { // told once to find out what is wrong
		return err
	}
	if s.out != "" {
		return s.write(ctx, p)
	}
	to, err := s.receiver(conf)
	if err != nil {
		return err
	}
	return s.send(ctx, p, to)
}

func scenarioNames() (names []string) {
	for _, c := range simulator.Scenarios() {
		names = append(names, c.Name)
	}
	return names
}

// simulator is the first one that can tell the scenario.
func (s *simulate) simulator(k keyring, conf *config.Config, scenario simulator.Scenario) (*simulator.Simulator, error) {
	all, err := k.simulators(conf, s.account, simulator.Protocol(s.protocol))
	if err != nil {
		return nil, err
	}
	var cannot error // why the first of them cannot
	for _, by := range all {
		if !slices.Contains(scenario.Protocols, by.Protocol()) {
			continue
		}
		_, err := by.Tell(scenario, s.orders()(0))
		if err == nil {
			return by, nil
		}
		cannot = cmp.Or(cannot, err)
	}
	if cannot != nil {
		return nil, exitWith(exitUsage, "%w", cannot)
	}
	who := "no account has a key for that"
	if s.account != "" {
		who = fmt.Sprintf("the account %s has no key for that", s.account)
	}
	return nil, exitWith(exitUsage, "%s is a scenario of %s, and %s", scenario.Name, listed(scenario.Protocols), who)
}

func (s *simulate) edits() ([]simulator.Edit, error) {
	var edits []simulator.Edit
	for _, text := range s.set {
		e, err := simulator.ParseEdit(text)
		if err != nil {
			return nil, exitWith(exitUsage, "--set %w", err)
		}
		edits = append(edits, e)
	}
	for _, path := range s.drop {
		edits = append(edits, simulator.Drop(path))
	}
	return edits, nil
}

// receiver is where the messages go.
func (s *simulate) receiver(conf *config.Config) (*simulator.Sender, error) {
	to := s.to
	if to == "" {
		var err error
		if to, err = listenURL(conf.Listen); err != nil {
			return nil, exitWith(exitUsage, "listen is %s, which does not say where the receiver is: use --to URL, see its line \"notifyd ready\"", conf.Listen)
		}
	}
	sender, err := simulator.NewSender(to)
	if err != nil {
		return nil, exitWith(exitUsage, "--to: %w", err)
	}
	return sender, nil
}

// orders makes the orders of the run, counted from 0.
func (s *simulate) orders() func(i int) simulator.Order {
	number, at := s.order, s.now()
	if number == "" {
		const fourDigits = 10_000
		n, err := rand.Int(rand.Reader, big.NewInt(fourDigits))
		if err != nil {
			panic(err) // the reader of crypto/rand does not fail
		}
		number = fmt.Sprintf("SIM%s%04d", at.In(beijing).Format("060102150405"), n)
		s.order = number
	}
	return func(i int) simulator.Order {
		o := simulator.Order{OutTradeNo: number, AmountFen: s.amount.fen, SubMerchant: s.subMerchant, PaidAt: at}
		if s.number > 1 {
			o.OutTradeNo = fmt.Sprintf("%s-%d", number, i+1)
		}
		return o
	}
}
