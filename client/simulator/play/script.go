package play

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// script says what is told about each order. It keeps nothing: everything about
// an order is drawn again from the seed and its number whenever it is needed.
type script struct {
	Plan
	tellers []Teller
	weights []int               // of the tellers
	to      []*simulator.Sender // for their URLs
	run     string
	start   time.Time
}

// story is all that is told about one order, in its natural order. A probe, if
// there is one, is the first notice.
type story struct {
	teller  Teller
	number  string
	notices []Notice
	from    []time.Duration // when each is told first, on the provider's clock
}

// maxNotices bounds a story: a probe, a payment and two refunds, and so too the
// bits that the ledger keeps of one.
const maxNotices = 4

var safeRun = regexp.MustCompile(`^[0-9A-Za-z]{1,12}$`)

func newScript(plan Plan, stage Stage) (*script, error) {
	if problems := plan.Check(); len(problems) > 0 {
		return nil, fmt.Errorf("the plan cannot be played: %s: %s", problems[0].Path, problems[0].Text)
	}
	if !safeRun.MatchString(stage.Run) {
		return nil, fmt.Errorf("the name of the run must be 1 to 12 of 0-9, A-Z and a-z: it stands in every order number")
	}
	if len(stage.To) == 0 {
		return nil, errors.New("the plan needs a server to tell its notices to")
	}
	s := &script{Plan: plan, run: stage.Run, start: stage.Start.Truncate(time.Second)}
	for _, to := range stage.To {
		sender, err := simulator.NewSender(to)
		if err != nil {
			return nil, err
		}
		s.to = append(s.to, sender)
	}
	for _, t := range stage.Tellers {
		if len(plan.Accounts) > 0 && !slices.Contains(plan.Accounts, t.Account) || !plan.Wants(t.Protocol) {
			continue
		}
		s.tellers = append(s.tellers, t)
		s.weights = append(s.weights, plan.weight(t.Protocol))
	}
	if len(s.tellers) == 0 {
		return nil, ErrNobodyTells
	}
	return s, nil
}

// ErrNobodyTells: no account of the plan has keys for a protocol of the plan.
var ErrNobodyTells = errors.New("no account has test keys for a protocol that the plan wants")

// Wants says whether the plan plays a protocol.
func (p Plan) Wants(of simulator.Protocol) bool { return p.weight(of) > 0 }

func (p Plan) weight(of simulator.Protocol) int {
	switch of {
	case simulator.WechatV3:
		return p.Protocols.WechatV3
	case simulator.WechatV2:
		return p.Protocols.WechatV2
	case simulator.Alipay:
		return p.Protocols.Alipay
	}
	return 0
}

// The streams of chance, so that one more draw in one place changes no other.
const (
	forStory = iota
	forFate
)

// chance is a source that depends on the seed and the numbers alone, not on
// which sender comes when.
func (s *script) chance(stream, order, notice, attempt int) *rand.Rand {
	at := uint64(order)<<24 | uint64(notice)<<16 | uint64(attempt)<<8 | uint64(stream)
	return rand.New(rand.NewPCG(uint64(s.Seed), at))
}

func hits(r *rand.Rand, share Share) bool { return r.Float64() < float64(share) }

// On the provider's clock the steps of an order lie between a minute and an hour
// apart. Told in disorder, all come within a second.
const (
	leastStep = time.Minute
	mostStep  = time.Hour
	jumble    = 100 * time.Millisecond
)

// begins is when the provider has something to tell about an order for the first
// time.
func (s *script) begins(order int) time.Duration {
	return time.Duration(order) * time.Second / time.Duration(s.Rate)
}

// story draws an order's story.
func (s *script) story(order int) story {
	r := s.chance(forStory, order, 0, 0)
	t := story{teller: s.pick(r), number: fmt.Sprintf("%s%s%07d", s.Prefix, s.run, order)}
	amount := s.AmountFen.From + r.Int64N(s.AmountFen.To-s.AmountFen.From+1)
	base := Notice{OutTradeNo: t.number, AmountFen: amount, PaidAt: s.start}
	ali := t.teller.Protocol == simulator.Alipay
	add := func(n Notice) {
		n.ID = fmt.Sprintf("%s-%d", t.number, len(t.notices))
		t.notices = append(t.notices, n)
	}
	say := func(k Kind) { n := base; n.Kind = k; add(n) }
	if hits(r, s.Probes) && t.teller.Protocol == simulator.WechatV3 {
		say(Probe)
	}
	if hits(r, s.Pending) && ali {
		say(Paying)
	}
	switch u := Share(r.Float64()); {
	case ali && u < s.Closed:
		say(Closed)
	case ali && u < s.Closed+s.Finished:
		say(Paid)
		say(Finished)
	default:
		say(Paid)
		for _, n := range s.refunds(r, base) {
			add(n)
		}
	}
	s.place(r, order, &t)
	return t
}

func (s *script) pick(r *rand.Rand) Teller {
	total := 0
	for _, w := range s.weights {
		total += w
	}
	at := r.IntN(total)
	for i, w := range s.weights {
		if at -= w; at < 0 {
			return s.tellers[i]
		}
	}
	panic("unreachable: the weights add up to the total")
}

// refunds are none, one or two.
func (s *script) refunds(r *rand.Rand, paid Notice) (all []Notice) {
	var parts []int64
	u, part := Share(r.Float64()), 1+r.Int64N(max(1, paid.AmountFen-1))
	switch {
	case u < s.Refunds.Partial && part < paid.AmountFen:
		parts = []int64{part}
	case u < s.Refunds.Partial, u < s.Refunds.Partial+s.Refunds.Full/2 && part == paid.AmountFen:
		parts = []int64{paid.AmountFen} // one fen cannot be parted
	case u < s.Refunds.Partial+s.Refunds.Full/2:
		parts = []int64{part, paid.AmountFen - part}
	case u < s.Refunds.Partial+s.Refunds.Full:
		parts = []int64{paid.AmountFen}
	}
	total := int64(0)
	for i, fen := range parts {
		total += fen
		n := paid
		n.Kind, n.RefundFen, n.RefundedFen, n.RefundedAt = Refund, fen, total, paid.PaidAt
		n.OutRefundNo = fmt.Sprintf("%sR%d", paid.OutTradeNo, i+1)
		all = append(all, n)
	}
	return all
}

// place says when each notice is told first.
func (s *script) place(r *rand.Rand, order int, t *story) {
	at := s.begins(order)
	for range t.notices {
		t.from = append(t.from, at)
		at += leastStep + time.Duration(r.Int64N(int64(mostStep-leastStep)))
	}
	if !hits(r, s.Disorder) {
		return
	}
	for i := range t.from {
		t.from[i] = s.begins(order) + time.Duration(len(t.from)-1-i)*jumble
	}
}
