package play

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/client/simulator"
)

// played runs the senders of one order without a network: post answers.
func played(t *testing.T, p Plan, post func() (int, error)) (at []time.Duration, book *ledger, err error) {
	t.Helper()
	s := newShop()
	stage := Stage{Tellers: tellers(), To: []string{"http://nowhere"}, Desk: s.desk, Run: "r1", Start: time.Now()}
	script, err := newScript(p, stage)
	if err != nil {
		t.Fatal(err)
	}
	book = newLedger(script, nil)
	all := newSenders(script, book)
	began := time.Now()
	var mu sync.Mutex
	all.post = func(ctx context.Context, _ *simulator.Sender, _ simulator.Message, hold func(context.Context)) (simulator.Answer, error) {
		mu.Lock()
		when := time.Since(began) * time.Duration(p.Speed)
		if p.Speed == SkipWaits {
			when = all.queue.passed()
		}
		at = append(at, when)
		mu.Unlock()
		if hold != nil {
			hold(ctx)
			return simulator.Answer{}, errHungUp
		}
		status, err := post()
		return simulator.Answer{Status: status, Body: []byte("success")}, err
	}
	err = all.run(t.Context())
	return at, book, err
}

func one(of Weights) Plan {
	p := DefaultPlan()
	p.Orders, p.Protocols = 1, of
	return p
}

// What is never acked is told by the provider's schedule, to its end: the clock
// may run as it is, faster, or skip its waits.
func TestNoticesAreRepeatedByTheSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		of     Weights
		pauses []time.Duration
		total  time.Duration
	}{
		"WeChat Pay v3": {Weights{WechatV3: 1}, WechatRetries(), 24*time.Hour + 4*time.Minute},
		"WeChat Pay v2": {Weights{WechatV2: 1}, WechatRetries(), 24*time.Hour + 4*time.Minute},
		"Alipay":        {Weights{Alipay: 1}, AlipayRetries(), 24*time.Hour + 24*time.Minute},
	} {
		for _, speed := range []Speed{SkipWaits, 1, 3600} {
			synctest.Test(t, func(t *testing.T) {
				p := one(c.of)
				p.Speed = speed
				got, book, err := played(t, p, func() (int, error) { return http.StatusServiceUnavailable, nil })
				want, at := []time.Duration{0}, time.Duration(0)
				for _, pause := range c.pauses {
					at += pause
					want = append(want, at)
				}
				most := time.Duration(speed) * maxRetries // a nanosecond of ours for each wait
				near := slices.EqualFunc(got, want, func(a, b time.Duration) bool { return (a - b).Abs() <= most })
				if err != nil || !near || at != c.total {
					t.Errorf("%s at speed %d: %v\n%v, want\n%v", name, speed, err, got, want)
				}
				if e := book.entries[0]; e.acked != 0 || e.givenUp != 1 || e.refused != 1 || book.counts.Settled != 1 {
					t.Errorf("%s: %+v", name, e)
				}
			})
		}
	}
}

// A slow ack holds its sender for five seconds of the provider's clock, and the
// notice is told again.
func TestASlowAckHoldsItsSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := one(Weights{WechatV3: 1})
		p.Speed, p.Acks.Slow, p.Seed = 1, 0.9, 3
		p.Retries.Wechat = []time.Duration{10 * time.Second, 10 * time.Second}
		got, book, err := played(t, p, func() (int, error) { return http.StatusOK, nil })
		want := []time.Duration{0, 15 * time.Second, 30 * time.Second}
		if err != nil || !slices.Equal(got, want) || book.counts.HungUp != 3 || book.entries[0].refused != 0 {
			t.Errorf("%v %v %+v", err, got, book.counts)
		}
	})
}

// Nobody acks, or nobody is there: the run ends long before all schedules do.
func TestADeafServerEndsTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		post        func() (int, error)
		answers     int
		unreachable bool
	}{
		"refuses":     {func() (int, error) { return http.StatusUnauthorized, nil }, patience, false},
		"is not here": {func() (int, error) { return 0, errors.New("connection refused") }, noPatience, true},
	} {
		p := DefaultPlan()
		p.Senders = 1
		got, _, err := played(t, p, c.post)
		var deaf *DeafError
		if !errors.As(err, &deaf) || deaf.Answers != c.answers || deaf.Unreachable != c.unreachable || len(got) != c.answers {
			t.Errorf("%s: %v after %d", name, err, len(got))
		}
	}
}

// The senders stop at the plan's limit, and what was acked until then is checked.
func TestTheLimitEndsTheSending(t *testing.T) {
	s := newShop()
	p := DefaultPlan()
	p.Orders, p.Speed, p.Rate, p.Limit = 1000, 1, 1, 1 // in nanoseconds
	r, err := Run(t.Context(), p, s.stage(t))
	if err != nil || !r.LimitReached || r.Clean() || r.Settled == 1000 || len(r.Offenders) > 0 {
		t.Errorf("%v %+v", err, r)
	}
}

// An interrupted run reports what the ledger had.
func TestAnInterruptedRunReports(t *testing.T) {
	s := newShop()
	ctx, interrupt := context.WithCancel(t.Context())
	stage := s.stage(t)
	stage.Progress = func(_ Phase, done, _ int) {
		if done == 50 {
			interrupt()
		}
	}
	r, err := Run(ctx, stormy(), stage)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || r.Clean() || r.Settled < 50 || r.Settled == 300 || r.Checked != 0 {
		t.Errorf("%v %+v", err, r)
	}
}
