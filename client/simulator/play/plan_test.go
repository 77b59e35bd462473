package play

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"
)

func TestPlansAreChecked(t *testing.T) {
	if problems := DefaultPlan().Check(); len(problems) > 0 {
		t.Errorf("the default plan: %v", problems)
	}
	for path, spoil := range map[string]func(*Plan){
		"orders":              func(p *Plan) { p.Orders = MaxOrders + 1 },
		"senders":             func(p *Plan) { p.Senders = 0 },
		"rate":                func(p *Plan) { p.Rate = 0 },
		"prefix":              func(p *Plan) { p.Prefix = "a b" },
		"amount_fen.from":     func(p *Plan) { p.AmountFen.From = 0 },
		"amount_fen.to":       func(p *Plan) { p.AmountFen = Range{5, 4} },
		"protocols":           func(p *Plan) { p.Protocols = Weights{} },
		"protocols.alipay":    func(p *Plan) { p.Protocols.Alipay = -1 },
		"protocols.wechat_v3": func(p *Plan) { p.Protocols.WechatV3 = maxWeight + 1 },
		"acks":                func(p *Plan) { p.Acks = Acks{0.7, 0.3} },
		"refunds":             func(p *Plan) { p.Refunds = Refunds{0.7, 0.4} },
		"closed":              func(p *Plan) { p.Closed, p.Finished = 0.6, 0.5 },
		"limit":               func(p *Plan) { p.Limit = 0 },
		"retries.alipay[1]":   func(p *Plan) { p.Retries.Alipay = []time.Duration{0, maxPause + 1} },
		"retries.wechat":      func(p *Plan) { p.Retries.Wechat = make([]time.Duration, maxRetries+1) },
	} {
		p := DefaultPlan()
		spoil(&p)
		if got := p.Check(); len(got) != 1 || got[0].Path != path {
			t.Errorf("%s: found %v", path, got)
		}
	}
}

func TestValuesOfAPlan(t *testing.T) {
	for text, want := range map[string]Share{"30%": 0.3, "0%": 0, "100%": 1, "0.5%": 0.005} {
		var s Share
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: %v %v", text, s, err)
		}
	}
	for _, text := range []string{"30", "0.3", "-1%", "101%", "NaN%", "%", ""} {
		if (new(Share)).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is taken for a percentage", text)
		}
	}
	for text, want := range map[string]Speed{"max": SkipWaits, "1": 1, "3600": 3600} {
		s := Speed(7)
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: %v %v", text, s, err)
		}
	}
	for _, text := range []string{"0", "-1", "fast", "1.5", "99999999999"} {
		if (new(Speed)).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is taken for a speed", text)
		}
	}
}

// The same seed draws the same; another one something else; and what is drawn
// has the shares that the plan asks for.
func TestStoriesFollowTheSeed(t *testing.T) {
	p := stormy()
	p.Orders = 4000
	draw := func(seed int64) (all []story) {
		p.Seed = seed
		s, err := newScript(p, Stage{Tellers: tellers(), To: []string{"http://x"}, Run: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Orders {
			drawn := s.story(i)
			drawn.teller.Message = nil // no two functions are equal
			all = append(all, drawn)
		}
		return all
	}
	first := draw(1)
	if !reflect.DeepEqual(first, draw(1)) || reflect.DeepEqual(first, draw(2)) {
		t.Error("the seed does not decide")
	}
	counts := map[Kind]int{}
	disordered, numbers := 0, map[string]bool{}
	for _, drawn := range first {
		numbers[drawn.number] = true
		if len(drawn.notices) > maxNotices {
			t.Fatalf("%d notices: %+v", len(drawn.notices), drawn)
		}
		refunded := int64(0)
		for _, n := range drawn.notices {
			counts[n.Kind]++
			if refunded += n.RefundFen; n.Kind == Refund && (refunded != n.RefundedFen || refunded > n.AmountFen) {
				t.Errorf("%+v", drawn.notices)
			}
		}
		if len(drawn.from) > 1 && slices.IsSortedFunc(drawn.from, func(a, b time.Duration) int { return cmp.Compare(b, a) }) {
			disordered++
		}
	}
	// A third of the orders are Alipay's: 30 % of those pending, 10 % closed and
	// finished each.
	for kind, want := range map[Kind]int{Probe: 4000 / 3 / 5, Paying: 400, Closed: 133, Finished: 133, Paid: 4000 - 133} {
		if got := counts[kind]; got < want*7/10 || got > want*13/10 {
			t.Errorf("%d orders with %s, about %d are asked for", got, kind, want)
		}
	}
	if disordered < 300 || len(numbers) != p.Orders {
		t.Errorf("%d disordered, %d numbers", disordered, len(numbers))
	}
}

// A run of MaxOrders must fit into the memory of a small machine: what it keeps
// of each order is a few bytes.
func TestLittleIsKeptOfAnOrder(t *testing.T) {
	if kept := unsafe.Sizeof(entry{}) + 2*maxNotices*unsafe.Sizeof(telling{}); kept > 200 {
		t.Errorf("%d bytes for each order", kept)
	}
}
