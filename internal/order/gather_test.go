package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// turns is a Recorder with two committers whose units hang at chosen orders, in
// their reads or in their writes, until they are let go.
type turns struct {
	t     *testing.T
	rec   *Recorder
	sent  sync.WaitGroup
	mu    sync.Mutex
	reads map[string]chan struct{}
	write map[string]chan struct{}
	sizes []int
	asked map[string]int // how often a unit read an order
}

func newTurns(t *testing.T) *turns {
	u := &turns{t: t, reads: map[string]chan struct{}{}, write: map[string]chan struct{}{}, asked: map[string]int{}}
	m := newMemory()
	m.before = func(w Want) error {
		u.mu.Lock()
		for _, key := range w.Orders {
			u.asked[key.OutTradeNo]++
		}
		u.mu.Unlock()
		u.hang(u.reads, w.Orders[0].OutTradeNo)
		return nil
	}
	m.commit = func(c *Changes) error {
		u.hang(u.write, c.Orders[0].OutTradeNo)
		return nil
	}
	u.rec = NewRecorder(RecorderOptions{Store: m, Now: clock, NewID: ids(), Committers: 2, Batch: func(n int) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.sizes = append(u.sizes, n)
	}})
	return u
}

func (u *turns) hang(at map[string]chan struct{}, no string) {
	u.mu.Lock()
	gate := at[no]
	u.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

// hold makes units hang that begin with an order.
func (u *turns) hold(at map[string]chan struct{}, no string) (letGo func()) {
	gate := make(chan struct{})
	u.mu.Lock()
	defer u.mu.Unlock()
	at[no] = gate
	return func() {
		close(gate)
		synctest.Wait()
	}
}

// orderNumbers are n order numbers from the first one on.
func orderNumbers(first, n int) (numbers []string) {
	for i := range n {
		numbers = append(numbers, fmt.Sprintf("T%04d", first+i))
	}
	return numbers
}

// send records payments of orders, and returns when all are under way.
func (u *turns) send(numbers ...string) {
	for _, no := range numbers {
		u.pay(no, no)
	}
}

// pay records one payment of an order.
func (u *turns) pay(no, txn string) {
	u.sent.Go(func() {
		if _, err := u.rec.Record(context.Background(), notify("ntf_"+txn, wx(no, txn, KindPaid, 1))); err != nil {
			u.t.Error(err)
		}
	})
	synctest.Wait()
}

func (u *turns) want(sizes ...int) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Equal(u.sizes, sizes) {
		u.t.Errorf("committed batches of %v, want %v", u.sizes, sizes)
	}
}

func (u *turns) end() {
	u.sent.Wait()
	if err := u.rec.Close(context.Background()); err != nil {
		u.t.Error(err)
	}
}

func TestRecorderGathersBehindADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t)
		letGo := u.hold(u.reads, "T0000")
		u.send(orderNumbers(0, 4)...)
		u.want() // they came one by one and wait for the turn
		letGo()
		u.want(1, 3)
		u.end()
	})
}

// While one unit writes, the next one reads.
func TestRecorderDecidesBehindWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t)
		letGo := u.hold(u.write, "T0000")
		start := time.Now()
		u.send(orderNumbers(0, 2)...)
		u.want(1)
		if took := time.Since(start); took != 0 {
			t.Errorf("after %v", took)
		}
		letGo()
		u.want(1, 1)
		u.end()
	})
}

// A unit that is smaller than the one which is being written waits for more, for
// that one's end or for its patience's: whichever comes first.
func TestRecorderGathersBehindALargerUnit(t *testing.T) {
	for name, more := range map[string]func(u *turns, letGo func()){
		"more":     func(u *turns, _ func()) { u.send(orderNumbers(5, 2)...) },
		"its end":  func(_ *turns, letGo func()) { letGo() },
		"patience": func(*turns, func()) { <-time.After(turnPatience); synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newTurns(t)
				letFirst := u.hold(u.reads, "T0000")
				u.send(orderNumbers(0, 4)...)
				letGo := sync.OnceFunc(u.hold(u.write, "T0001"))
				letFirst()
				u.send("T0004")
				u.want(1) // three are being written, and one waits
				more(u, letGo)
				got := map[string][]int{"more": {1, 3}, "its end": {1, 3, 1}, "patience": {1, 1}}[name]
				u.want(got...)
				letGo()
				u.end()
			})
		})
	}
}

// What comes for an order whose unit is under way is decided behind that, and
// nobody else waits for it.
func TestRecorderKeepsAnOrderAtOneCommitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t)
		letGo := u.hold(u.write, "T0000")
		u.send("T0000")
		for i := range MaxBatch + 2 {
			u.pay("T0000", fmt.Sprintf("X%04d", i))
		}
		u.send("T0001")
		u.want(1)
		if u.asked["T0000"] != 1 || u.asked["T0001"] != 1 {
			t.Errorf("units read %v", u.asked)
		}
		letGo()
		u.want(1, 1, MaxBatch, 2)
		u.end()
	})
}

// A batch takes who is there, up to its limit, and waits for nobody.
func TestABatchTakesThoseWhoAreReady(t *testing.T) {
	for ready, want := range map[int]int{0: 1, 1: 2, MaxBatch - 1: MaxBatch, 2 * MaxBatch: MaxBatch} {
		from := make(chan *pending, 2*MaxBatch)
		for range ready {
			from <- new(pending)
		}
		if got := len(withReady(from, []*pending{new(pending)})); got != want {
			t.Errorf("%d are ready: a batch of %d, want %d", ready, got, want)
		}
	}
	ended := make(chan *pending)
	close(ended)
	if got := len(withReady(ended, []*pending{new(pending)})); got != 1 {
		t.Errorf("when the Recorder closes: a batch of %d", got)
	}
}

func TestRecorderGoesPastAUnitThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t)
		letGo := u.hold(u.reads, "T0000")
		start := time.Now()
		u.send(orderNumbers(0, 4)...)
		<-time.After(turnPatience)
		synctest.Wait()
		u.want(3)
		if took := time.Since(start); took != turnPatience {
			t.Errorf("after %v", took)
		}
		letGo()
		u.end()
	})
}

// A full batch gains nothing by waiting.
func TestRecorderCommitsAFullBatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t)
		letGo := u.hold(u.reads, "T0000")
		u.send(orderNumbers(0, 1+MaxBatch)...)
		u.want(MaxBatch)
		letGo()
		u.end()
	})
}

// Who locks an order stops that order, and the others for one wait, not for one
// each time somebody tells of it.
func TestRecorderLeavesALockedOrderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, false)
		locked, tries := Key{shop, "LOCKED"}, 0
		d.store.before = func(w Want) error {
			if slices.Contains(w.Orders, locked) {
				tries++
				return fmt.Errorf("%w: for long", ErrLocked)
			}
			return nil
		}
		now := clock()
		d.rec.opt.Now = func() time.Time { return now }
		tell := func(no, txn string) error {
			_, err := d.rec.Record(context.Background(), notify("ntf_"+no+txn, wx(no, txn, KindPaid, 1000)))
			return err
		}
		for _, txn := range []string{"A", "B", "C"} {
			if err := tell("LOCKED", txn); !errors.Is(err, ErrLocked) {
				t.Errorf("%s: %v", txn, err)
			}
		}
		if tries != 1 {
			t.Errorf("it was tried %d times", tries)
		}
		if err := tell("T1", "T"); err != nil {
			t.Error(err)
		}
		now = now.Add(asideFor)
		if err := tell("LOCKED", "D"); !errors.Is(err, ErrLocked) || tries != 2 {
			t.Errorf("after the time: %v, tried %d times", err, tries)
		}
	})
}
