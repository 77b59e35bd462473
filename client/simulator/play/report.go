package play

import "time"

// Counts is what happened while notices were told.
type Counts struct {
	Orders     int `json:"orders"`     // that something was told about
	Notices    int `json:"notices"`    // told at least once
	Deliveries int `json:"deliveries"` // all, with the repeats and copies
	Repeats    int `json:"repeats"`    // by the provider's schedule
	Copies     int `json:"copies"`     // by a second sender at the same time
	Probes     int `json:"probes"`     // not acked, as it must be
	Settled    int `json:"settled"`    // orders of which everything was acked or given up
	GivenUp    int `json:"given_up"`   // notices whose schedule ended before an ack arrived

	Acks           int `json:"acks"`             // that arrived
	AcksThrownAway int `json:"acks_thrown_away"` // given by the server, and lost by the plan
	HungUp         int `json:"hung_up"`          // not waited for, by the plan
	Refused        int `json:"refused"`
	Unavailable    int `json:"unavailable"`
	Unreachable    int `json:"unreachable"`
	Late           int `json:"late"` // no answer within 5 s
}

// Fault is how the server fails the ledger.
type Fault string

// The faults.
const (
	Lost    Fault = "lost"    // acked, and not in the state that it must be in
	Doubled Fault = "doubled" // paid or refunded more than once
	Wrong   Fault = "wrong"   // another amount or status than was told, or a probe was acked
	Unacked Fault = "unacked" // never acked, though told to the end of the schedule
)

// Faults are all of them.
func Faults() []Fault { return []Fault{Lost, Doubled, Wrong, Unacked} }

// Offender is an order with a fault.
type Offender struct {
	OutTradeNo string `json:"out_trade_no"`
	Merchant   string `json:"merchant"`
	Account    string `json:"account"`
	Fault      Fault  `json:"fault"`
	Text       string `json:"text"`
}

// maxOffenders is how many are listed; all are counted.
const maxOffenders = 1000

// Report is how a run went.
type Report struct {
	Run  string `json:"run"`
	Seed int64  `json:"seed"`
	Plan int    `json:"planned_orders"`
	Counts

	Checked   int           `json:"checked"` // orders that were compared with the server's
	Faults    map[Fault]int `json:"faults"`  // orders by fault
	Offenders []Offender    `json:"offenders"`
	// OffendersLeftOff is how many are counted in Faults and not listed.
	OffendersLeftOff int `json:"offenders_left_off"`

	ProviderClockSeconds float64 `json:"provider_clock_seconds"`
	TookSeconds          float64 `json:"took_seconds"` // until all was told
	AnswerP50Millis      float64 `json:"answer_p50_ms"`
	AnswerP99Millis      float64 `json:"answer_p99_ms"`
	AnswerMaxMillis      float64 `json:"answer_max_ms"`

	Interrupted  bool `json:"interrupted"`
	LimitReached bool `json:"limit_reached"`
}

// Clean says whether the run was played to its end and the server kept all that
// it acked.
func (r *Report) Clean() bool {
	return len(r.Offenders) == 0 && !r.Interrupted && !r.LimitReached
}

func (l *ledger) report(plan Plan, stage Stage) *Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Report{Run: stage.Run, Seed: plan.Seed, Plan: plan.Orders, Counts: l.counts, Faults: map[Fault]int{}, Offenders: []Offender{}}
	for _, f := range Faults() {
		r.Faults[f] = 0
	}
	millis := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	r.ProviderClockSeconds = l.clock.Seconds()
	r.AnswerP50Millis, r.AnswerP99Millis, r.AnswerMaxMillis = millis(l.times.below(0.5)), millis(l.times.below(0.99)), millis(l.times.longest)
	return r
}

func (r *Report) add(o Offender) {
	r.Faults[o.Fault]++
	if len(r.Offenders) == maxOffenders {
		r.OffendersLeftOff++
		return
	}
	r.Offenders = append(r.Offenders, o)
}
