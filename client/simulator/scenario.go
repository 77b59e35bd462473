package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scenario is a story that a provider, or somebody in its place, tells a
// receiver: one message or several, and what the receiver has to make of each.
type Scenario struct {
	Name      string
	Line      string     // what it is, in one line
	Cases     []string   // the numbers in docs/field-cases.md of what went wrong for others
	Protocols []Protocol // those in which there is such a story

	plot plot
}

// Step is one message of a story.
type Step struct {
	What         string // "paid 10.00"
	Notification Notification
	Copies       int // sent this often at the same time, byte for byte; 0 is 1
	Want         Want
}

// Want is what a receiver has to do with a message when it knows nothing of
// the orders before the story begins and demands no registration.
type Want struct {
	Acked   bool   // taken for good: the provider will not send it again
	Outcome string // notifyd's outcome of what was acked: "applied", "duplicate", …
	Reason  string // notifyd's reason of a conflict
	Code    string // notifyd's code of a refusal, for instance "wx.unknown_serial"
}

// End is where an order then stands in notifyd; the zero value besides the
// number: there is no such order.
type End struct {
	OutTradeNo  string
	SubMerchant string
	Status      string
	PaidFen     int64
	RefundedFen int64
}

// Story is a scenario told of one order.
type Story struct {
	Steps []Step
	Ends  []End
}

// Codes are the codes with which notifyd refuses messages of the story, each
// once, in the order of their first message.
func (s Story) Codes() []string {
	var codes []string
	for _, step := range s.Steps {
		if c := step.Want.Code; c != "" && !slices.Contains(codes, c) {
			codes = append(codes, c)
		}
	}
	return codes
}

// plot is how the story goes in each protocol; nil where there is none.
type plot struct{ all, wechat, v3, v2, ali func(*teller) }

func (p plot) of(protocol Protocol) func(*teller) {
	candidates := []func(*teller){p.v3, p.wechat, p.all}
	switch protocol {
	case WechatV2:
		candidates[0] = p.v2
	case Alipay:
		candidates[0], candidates[1] = p.ali, nil
	}
	for _, tell := range candidates {
		if tell != nil {
			return tell
		}
	}
	return nil
}

func scenario(name, line, cases string, p plot) Scenario {
	s := Scenario{Name: name, Line: line, Cases: strings.Fields(cases), plot: p}
	for _, protocol := range Protocols() {
		if p.of(protocol) != nil {
			s.Protocols = append(s.Protocols, protocol)
		}
	}
	return s
}

// Scenarios lists every scenario: those of a day without trouble first, then
// what contradicts itself, then what proves nothing.
func Scenarios() []Scenario {
	return slices.Concat(ordinary(), others(), repeated(), contradictions(), forms(), unproven(), forged(), foreign(), mangled())
}

// ScenarioNamed finds a scenario.
func ScenarioNamed(name string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// LeastAmountFen is the least order that can be refunded in parts.
const LeastAmountFen = 10

// Tell tells a scenario of an order. Times that the messages speak of are
// o.PaidAt and a little later; the messages are signed when they are sent.
func (s *Simulator) Tell(scenario Scenario, o Order) (Story, error) {
	tell := scenario.plot.of(s.protocol)
	switch {
	case tell == nil:
		return Story{}, fmt.Errorf("%s: %w", scenario.Name, s.never("it"))
	case o.OutTradeNo == "":
		return Story{}, fmt.Errorf("%s: the order has no number", scenario.Name)
	case o.AmountFen < LeastAmountFen:
		return Story{}, fmt.Errorf("%s: a story needs an order of at least %d fen, not %d", scenario.Name, LeastAmountFen, o.AmountFen)
	}
	t := &teller{Simulator: s, order: o}
	tell(t)
	if t.err != nil {
		return Story{}, fmt.Errorf("%s: %w", scenario.Name, t.err)
	}
	return Story{Steps: t.steps, Ends: t.ends}, nil
}

// teller gathers the steps of a story.
type teller struct {
	*Simulator
	order Order
	count int // of further orders
	steps []Step
	ends  []End
	err   error // the first that came up
}

// next is a further order of the story.
func (t *teller) next() Order {
	o := t.order
	t.count++
	o.OutTradeNo = fmt.Sprintf("%s-%d", t.order.OutTradeNo, t.count)
	o.TransactionID = ""
	return o
}

// say adds a step.
func (t *teller) say(what string, n Notification, w Want) {
	t.steps = append(t.steps, Step{What: what, Notification: n, Want: w})
}

// must notes what could not be made.
func (t *teller) must(n Notification, err error) Notification {
	if err != nil && t.err == nil {
		t.err = err
	}
	return n
}

// edited is the notification with fields changed before it is signed.
func (t *teller) edited(n Notification, edits ...Edit) Notification { return t.must(n.With(edits...)) }

// refunds is a refund of the order, a little after its payment.
func (t *teller) refunds(o Order, fen, totalFen int64, state RefundState) Notification {
	return t.must(t.Refund(o, Refund{AmountFen: fen, TotalFen: totalFen, State: state, At: o.PaidAt.Add(time.Second)}))
}

// end says where an order then stands.
func (t *teller) end(o Order, status string, paidFen, refundedFen int64) {
	t.ends = append(t.ends, End{o.OutTradeNo, o.SubMerchant, status, paidFen, refundedFen})
}

// pays adds a payment of an order that nobody knew, and its end.
func (t *teller) pays(what string, o Order, n Notification) {
	t.say(what, n, applied)
	t.end(o, statusPaid, o.AmountFen, 0)
}

// proves nothing: adds a message that is refused and leaves no order behind.
func (t *teller) refuses(what string, o Order, n Notification, code string) {
	t.say(what, n, refused(code))
	t.end(o, "", 0, 0)
}

// The words of notifyd for what a message did and where an order stands.
var (
	applied   = Want{Acked: true, Outcome: "applied"}
	duplicate = Want{Acked: true, Outcome: "duplicate"}
	stale     = Want{Acked: true, Outcome: "stale"}
	unmatched = Want{Acked: true, Outcome: "unmatched"}
	unhandled = Want{Acked: true, Outcome: "unhandled"}
)

func conflict(reason string) Want { return Want{Acked: true, Outcome: "conflict", Reason: reason} }
func refused(code string) Want    { return Want{Code: code} }

const (
	statusPending  = "pending"
	statusPaid     = "paid"
	statusClosed   = "closed"
	statusRefunded = "refunded"
)

// yuan is an amount for people.
func yuan(fen int64) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }
