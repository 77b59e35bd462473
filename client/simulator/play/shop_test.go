package play

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/client/simulator"
)

// shop is a server of these tests: it takes notices as JSON, keeps orders in a
// map, and can be made to keep its books badly.
type shop struct {
	mu     sync.Mutex
	orders map[string]*client.Order
	heard  map[string]bool // ids of notices
	spoil  func(n Notice, o *client.Order)
	// answers decides before a notice is taken; 0 goes on.
	answers func(n Notice) int
}

func newShop() *shop {
	return &shop{orders: map[string]*client.Order{}, heard: map[string]bool{}}
}

// tellers write a notice as JSON, whatever the protocol.
func tellers() (all []Teller) {
	for _, p := range simulator.Protocols() {
		all = append(all, Teller{Account: string(p), Merchant: "default", Protocol: p, Message: func(n Notice, _ time.Time) (simulator.Message, error) {
			body, err := json.Marshal(n)
			return simulator.Message{Path: "/notify/" + string(p), Header: http.Header{"Content-Type": {"text/plain"}}, Body: body}, err
		}})
	}
	return all
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var n Notice
	if err := json.Unmarshal(body, &n); err != nil {
		http.Error(w, "cut off", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := http.StatusOK
	if s.answers != nil {
		if own := s.answers(n); own != 0 {
			status = own
		}
	}
	if status == http.StatusOK && n.Kind == Probe {
		status = http.StatusUnauthorized
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
		return
	}
	if !s.heard[n.ID] {
		s.heard[n.ID] = true
		s.take(n, simulator.Protocol(strings.TrimPrefix(r.URL.Path, "/notify/")))
	}
	switch simulator.Protocol(strings.TrimPrefix(r.URL.Path, "/notify/")) {
	case simulator.WechatV2:
		_, _ = io.WriteString(w, `<xml><return_code><![CDATA[SUCCESS]]></return_code></xml>`)
	case simulator.Alipay:
		_, _ = io.WriteString(w, "success")
	}
}

// take is the plainest set of books that can be right.
func (s *shop) take(n Notice, p simulator.Protocol) {
	o := s.orders[n.OutTradeNo]
	if o == nil {
		o = &client.Order{OutTradeNo: n.OutTradeNo, Status: client.Pending}
		s.orders[n.OutTradeNo] = o
	}
	// Here a refund is a payment's proof in every protocol.
	if (n.Kind == Paid || n.Kind == Finished || n.Kind == Refund) && len(o.Payments) == 0 {
		o.Payments = []client.Payment{{AmountFen: n.AmountFen, Role: "accepted"}}
		o.PaidFen = n.AmountFen
		o.Transitions = append(o.Transitions, client.Transition{Kind: string(Paid), To: client.Paid})
		o.Status = client.Paid
	}
	switch n.Kind {
	case Finished:
		o.Finished = true
	case Closed:
		o.Status = client.Closed
	case Refund:
		s.refund(n, p, o)
	}
	if s.spoil != nil {
		s.spoil(n, o)
	}
	if o.Status == "gone" {
		delete(s.orders, n.OutTradeNo)
	}
}

func (s *shop) refund(n Notice, p simulator.Protocol, o *client.Order) {
	fen := n.RefundFen
	if p == simulator.Alipay {
		fen = max(0, n.RefundedFen-o.RefundedFen)
	}
	o.RefundedFen += fen
	o.Refunds = append(o.Refunds, client.Refund{OutRefundNo: n.OutRefundNo, AmountFen: fen, Status: "success"})
	o.Transitions = append(o.Transitions, client.Transition{Kind: string(Refund)})
	if o.RefundedFen == o.PaidFen {
		o.Status = client.Refunded
	}
}

func (s *shop) desk(_ context.Context, _, number string) (*client.Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[number], nil
}

// stage is the shop on two addresses.
func (s *shop) stage(t *testing.T) Stage {
	t.Helper()
	var to []string
	for range 2 {
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		to = append(to, server.URL)
	}
	return Stage{Tellers: tellers(), To: to, Desk: s.desk, Run: "r1", Start: time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)}
}

// stormy is a plan with all that can go wrong on the way.
func stormy() Plan {
	p := DefaultPlan()
	p.Orders, p.Senders = 300, 8
	p.Acks = Acks{Lost: 0.3, Slow: 0.05}
	p.Twice, p.Disorder, p.Probes, p.Pending, p.Closed, p.Finished = 0.2, 0.3, 0.2, 0.3, 0.1, 0.1
	p.Refunds = Refunds{Partial: 0.2, Full: 0.3}
	return p
}

// An honest shop in bad weather: everything is settled, and nothing is found.
func TestAnHonestServerIsClean(t *testing.T) {
	s := newShop()
	stage := s.stage(t)
	done := map[Phase]int{}
	stage.Progress = func(p Phase, n, total int) {
		if n != done[p]+1 || total != 300 {
			t.Errorf("%s %d of %d after %d", p, n, total, done[p])
		}
		done[p] = n
	}
	r, err := Run(t.Context(), stormy(), stage)
	if err != nil || !r.Clean() {
		t.Fatalf("%v\n%+v", err, r)
	}
	if r.Orders != 300 || r.Settled != 300 || r.Checked != 300 || done[Sending] != 300 || done[Checking] != 300 {
		t.Errorf("%+v, progress %v", r, done)
	}
	if r.AcksThrownAway < 60 || r.HungUp < 10 || r.Copies < 50 || r.Probes < 10 || r.Repeats < 60 || r.Unreachable+r.Unavailable+r.Late > 0 {
		t.Errorf("no such weather: %+v", r.Counts)
	}
	if r.Deliveries != r.Notices+r.Repeats+r.Copies || r.Deliveries != r.Acks+r.AcksThrownAway+r.HungUp+r.Probes+r.Refused {
		t.Errorf("the counts do not add up: %+v", r.Counts)
	}
}

// Each way of keeping books badly is found, by its name and for its order alone.
func TestABadServerIsFound(t *testing.T) {
	chosen := func(n Notice) bool { return strings.HasSuffix(n.OutTradeNo, "7") }
	for name, c := range map[string]struct {
		fault Fault
		on    Kind
		spoil func(n Notice, o *client.Order)
	}{
		"acked and not kept": {Lost, Paid, func(_ Notice, o *client.Order) { o.Status = "gone" }},
		"a payment is forgotten": {Lost, Paid, func(_ Notice, o *client.Order) {
			o.Payments, o.Transitions, o.PaidFen, o.Status = nil, nil, 0, client.Pending
		}},
		"a refund is forgotten": {Lost, Refund, func(_ Notice, o *client.Order) { o.Refunds, o.RefundedFen, o.Status = nil, 0, client.Paid }},
		"a close is forgotten":  {Lost, Closed, func(_ Notice, o *client.Order) { o.Status = client.Pending }},
		"an end is forgotten":   {Lost, Finished, func(_ Notice, o *client.Order) { o.Finished = false }},
		"paid twice":            {Doubled, Paid, func(_ Notice, o *client.Order) { o.Payments = append(o.Payments, o.Payments...) }},
		"told twice":            {Doubled, Paid, func(_ Notice, o *client.Order) { o.Transitions = append(o.Transitions, o.Transitions...) }},
		"refunded twice":        {Doubled, Refund, func(n Notice, o *client.Order) { o.RefundedFen = n.AmountFen + 1 }},
		"a refund told twice": {Doubled, Refund, func(_ Notice, o *client.Order) {
			o.Transitions = append(o.Transitions, o.Transitions[1:]...)
		}},
		"another amount": {Wrong, Paid, func(_ Notice, o *client.Order) { o.Payments[0].AmountFen++; o.PaidFen++ }},
		"another status": {Wrong, Paid, func(_ Notice, o *client.Order) { o.Status = client.Cancelled }},
		"a conflict": {Wrong, Paid, func(_ Notice, o *client.Order) {
			o.Transitions = append(o.Transitions, client.Transition{Kind: string(Paid), Reason: "amount_mismatch"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, spoiled := newShop(), map[string]bool{}
			p := stormy()
			p.Disorder, p.Refunds = 0, Refunds{Full: 0.5} // the spoiled notice is the last word
			p.Closed, p.Finished = 0.3, 0.3
			if c.on == Paid {
				p.Refunds, p.Closed, p.Finished = Refunds{}, 0, 0
			}
			s.spoil = func(n Notice, o *client.Order) {
				if n.Kind == c.on && chosen(n) && (n.Kind != Refund || n.RefundedFen == n.AmountFen) {
					spoiled[n.OutTradeNo] = true
					c.spoil(n, o)
				}
			}
			r, err := Run(t.Context(), p, s.stage(t))
			if err != nil || r.Clean() {
				t.Fatalf("%v: %+v", err, r)
			}
			var named []string
			for _, o := range r.Offenders {
				if o.Fault == c.fault {
					named = append(named, o.OutTradeNo)
				}
				if !spoiled[o.OutTradeNo] {
					t.Errorf("an honest order is named: %+v", o)
				}
			}
			if len(spoiled) < 2 || len(named) != len(spoiled) || r.Faults[c.fault] != len(spoiled) {
				t.Errorf("%d orders are spoiled, named as %s are %v of %+v", len(spoiled), c.fault, named, r.Offenders)
			}
		})
	}
}

func TestAnAckedProbeIsFound(t *testing.T) {
	s := newShop()
	stage := s.stage(t)
	honest := stage.Tellers[0].Message
	stage.Tellers[0].Message = func(n Notice, at time.Time) (simulator.Message, error) {
		if n.Kind == Probe {
			n.Kind = Paid // as a server sees it that does not look at signatures
		}
		return honest(n, at)
	}
	p := DefaultPlan()
	p.Orders, p.Probes, p.Protocols = 40, 0.5, Weights{WechatV3: 1}
	r, err := Run(t.Context(), p, stage)
	if err != nil || r.Faults[Wrong] == 0 || !strings.Contains(r.Offenders[0].Text, "probe") {
		t.Errorf("%v: %+v", err, r)
	}
}

// Orders that the server never acks are named; others are not, though all of
// their acks were lost.
func TestNeverAcked(t *testing.T) {
	s := newShop()
	s.answers = func(n Notice) int {
		if strings.HasSuffix(n.OutTradeNo, "3") {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	p := DefaultPlan()
	p.Orders, p.Acks.Lost = 50, 0.6
	p.Retries = Retries{Wechat: []time.Duration{time.Minute}, Alipay: []time.Duration{}}
	r, err := Run(t.Context(), p, s.stage(t))
	if err != nil || r.Faults[Unacked] != 5 || len(r.Offenders) != 5 || r.GivenUp <= 5 || r.Settled != 50 {
		t.Fatalf("%v: %+v", err, r)
	}
	for i, o := range r.Offenders {
		if want := fmt.Sprintf("SIMr1%07d", 10*i+3); o.OutTradeNo != want || o.Fault != Unacked {
			t.Errorf("%+v, want %s", o, want)
		}
	}
}
