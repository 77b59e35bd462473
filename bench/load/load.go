// Package load is the client of the benchmark: it sends prepared requests over
// kept connections and measures the answers. It runs in a process of its own, so
// that its memory and its scheduler are nobody else's, and does per request only
// what it must: one write, one read, two looks at the clock.
//
// It imports the standard library only.
package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Plan is one measurement.
type Plan struct {
	Addrs    []string       // of the servers; connections are spread evenly
	Requests [][]byte       // sent in order, each once
	Cycle    bool           // begin anew after the last one
	Conns    int            // connections; each has one request in flight at most
	Warm     time.Duration  // at the start, not counted
	Measure  time.Duration  // counted; it ends sooner when the requests do
	Rate     float64        // requests per second (open loop); 0: each connection sends when it is answered (closed loop)
	Watch    int            // process whose memory is watched; 0: none
	Servers  map[string]int // processes whose processor time is shown, their children's included, by a name
}

// Result is what was measured. Latencies are in microseconds, from the moment at
// which a request was due: in an open loop waiting counts.
type Result struct {
	Seconds     float64  `json:"seconds"`
	PerSecond   float64  `json:"per_second"`
	Answered    int64    `json:"answered"`
	AcceptedAll int64    `json:"accepted_all"` // 2xx, the warm-up included
	Accepted    int64    `json:"accepted"`     // 2xx
	Refused     int64    `json:"refused"`      // 4xx
	Failed      int64    `json:"failed"`       // 5xx and broken connections
	FirstFault  string   `json:"first_fault,omitempty"`
	P50         float64  `json:"p50_us"`
	P90         float64  `json:"p90_us"`
	P99         float64  `json:"p99_us"`
	P999        float64  `json:"p999_us"`
	Max         float64  `json:"max_us"`
	IdlePercent float64  `json:"idle_percent"`
	Stolen      float64  `json:"stolen_percent"` // by other machines on the same host
	Memory      []Memory `json:"memory,omitempty"`
	// Spent is the processor time for each answer, in microseconds, by the names
	// of the plan and "client". On a machine that does something else meanwhile
	// it says more than the speed.
	Spent map[string]float64 `json:"spent_us,omitempty"`
}

// Memory is the resident memory of the watched process when so many requests
// had been answered.
type Memory struct {
	Answered    int64 `json:"answered"`
	ResidentKiB int64 `json:"resident_kib"`
}

// The phases of a measurement.
const (
	warming int32 = iota
	measuring
	ended
)

type run struct {
	plan  Plan
	next  atomic.Int64
	total atomic.Int64 // answers, in all phases
	phase atomic.Int32
	start time.Time       // open loop
	due   []time.Duration // after start; open loop
	last  atomic.Int64    // when the latest counted answer came, in nanoseconds after start

	mu    sync.Mutex
	sum   worker
	fault error
}

// worker is one connection.
type worker struct {
	conn                                conn
	times                               histogram
	accepted, refused, failed, everyAck int64
}

// Run measures. Its error says that nothing could be measured.
func Run(p Plan) (Result, error) {
	r := &run{plan: p, start: time.Now()}
	if p.Rate > 0 {
		r.due = arrivals(p)
	}
	var workers sync.WaitGroup
	for i := range p.Conns {
		workers.Go(func() { r.work(&worker{conn: conn{addr: p.Addrs[i%len(p.Addrs)]}}) })
	}
	allEnded := make(chan struct{})
	go func() { workers.Wait(); close(allEnded) }()

	watch := r.watch()
	defer watch.Stop()
	if !sleep(p.Warm, allEnded) {
		return Result{}, errors.Join(fmt.Errorf("all %d requests were sent before the warm-up was over", len(p.Requests)), r.fault)
	}
	before, err := readProcessors()
	if err != nil {
		return Result{}, err
	}
	spent, err := spentBy(p.Servers)
	if err != nil {
		return Result{}, err
	}
	answered := r.total.Load()
	began := time.Since(r.start)
	r.last.Store(int64(began))
	r.phase.Store(measuring)
	sleep(p.Measure, allEnded)
	r.phase.Store(ended)
	after, err := readProcessors()
	if err != nil {
		return Result{}, err
	}
	spentThen, err := spentBy(p.Servers)
	if err != nil {
		return Result{}, err
	}
	answered = r.total.Load() - answered
	<-allEnded
	memory := watch.Stop()
	result := r.result(time.Duration(r.last.Load())-began, after, before, memory)
	result.Spent = perAnswer(spentThen, spent, answered)
	return result, nil
}

// sleep is false when ended closes first.
func sleep(d time.Duration, ended <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ended:
		return false
	}
}

// arrivals are the moments at which requests are due, at random as customers
// pay, and the same at every run.
func arrivals(p Plan) []time.Duration {
	random := rand.New(rand.NewPCG(1, 2))
	var due []time.Duration
	for at := time.Duration(0); at < p.Warm+p.Measure; {
		due = append(due, at)
		at += time.Duration(random.ExpFloat64() / p.Rate * float64(time.Second))
	}
	return due
}

func (r *run) work(w *worker) {
	defer func() {
		w.conn.close()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sum.times.merge(&w.times)
		r.sum.accepted += w.accepted
		r.sum.refused += w.refused
		r.sum.failed += w.failed
		r.sum.everyAck += w.everyAck
	}()
	for r.phase.Load() != ended {
		n := int(r.next.Add(1) - 1)
		if n >= len(r.plan.Requests) && !r.plan.Cycle || r.due != nil && n >= len(r.due) {
			return
		}
		from := time.Now()
		if r.due != nil {
			from = r.start.Add(r.due[n])
			time.Sleep(time.Until(from))
		}
		status, err := w.conn.do(r.plan.Requests[n%len(r.plan.Requests)])
		r.count(w, time.Since(from), status, err)
	}
}

func (r *run) count(w *worker, took time.Duration, status int, err error) {
	r.total.Add(1)
	if err != nil || status >= 500 {
		r.note(status, err)
	}
	if err == nil && status < 300 {
		w.everyAck++
	}
	if r.phase.Load() != measuring {
		return
	}
	r.last.Store(int64(time.Since(r.start)))
	w.times.add(took)
	switch {
	case err != nil || status >= 500:
		w.failed++
	case status >= 400:
		w.refused++
	default:
		w.accepted++
	}
}

func (r *run) note(status int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		if r.fault = err; err == nil {
			r.fault = fmt.Errorf("answered %d", status)
		}
	}
}

func (r *run) result(took time.Duration, after, before processors, memory []Memory) Result {
	s := &r.sum
	all := after.all - before.all
	out := Result{
		Seconds: took.Seconds(), Answered: s.times.total, AcceptedAll: s.everyAck, Accepted: s.accepted, Refused: s.refused, Failed: s.failed,
		P50: micros(s.times.quantile(.5)), P90: micros(s.times.quantile(.9)), P99: micros(s.times.quantile(.99)),
		P999: micros(s.times.quantile(.999)), Max: micros(s.times.max), Memory: memory,
	}
	if all > 0 {
		out.IdlePercent, out.Stolen = 100*(after.idle-before.idle)/all, 100*(after.stolen-before.stolen)/all
	}
	if took > 0 {
		out.PerSecond = float64(s.accepted+s.refused) / took.Seconds()
	}
	if r.fault != nil {
		out.FirstFault = r.fault.Error()
	}
	return out
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
