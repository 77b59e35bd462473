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

// turns is a Recorder with two committers of which the first hangs in a unit of
// work, in its reads or in its writes, until it is let go.
type turns struct {
	t     *testing.T
	rec   *Recorder
	sent  sync.WaitGroup
	free  chan struct{}
	mu    sync.Mutex
	sizes []int
}

func newTurns(t *testing.T, hangsInWrites bool) *turns {
	u := &turns{t: t, free: make(chan struct{})}
	m := newMemory()
	u.rec = NewRecorder(RecorderOptions{Store: m, Now: clock, NewID: ids(), Committers: 2, Batch: func(n int) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.sizes = append(u.sizes, n)
	}})
	hanging := u.numbers(0, 1)[0]
	hang := func(no string) error {
		if no == hanging {
			<-u.free
		}
		return nil
	}
	if hangsInWrites {
		m.commit = func(c *Changes) error { return hang(c.Orders[0].OutTradeNo) }
	} else {
		m.before = func(w Want) error { return hang(w.Orders[0].OutTradeNo) }
	}
	u.send(hanging)
	return u
}

// numbers are order numbers of one committer.
func (u *turns) numbers(committer, n int) (numbers []string) {
	for i := 0; len(numbers) < n; i++ {
		no := fmt.Sprintf("T%04d", i)
		if u.rec.committerOf(&pending{n: notify("ntf_"+no, wx(no, no, KindPaid, 1))}) == committer {
			numbers = append(numbers, no)
		}
	}
	return numbers
}

// send records payments of orders, and returns when all are under way.
func (u *turns) send(numbers ...string) {
	for _, no := range numbers {
		u.sent.Go(func() {
			if _, err := u.rec.Record(context.Background(), notify("ntf_"+no, wx(no, no, KindPaid, 1))); err != nil {
				u.t.Error(err)
			}
		})
	}
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
	close(u.free)
	u.sent.Wait()
	if err := u.rec.Close(context.Background()); err != nil {
		u.t.Error(err)
	}
}

func TestRecorderGathersBehindADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t, false)
		u.send(u.numbers(1, 3)...)
		u.want() // they came one by one and wait for the turn
		u.end()
		u.want(1, 3)
	})
}

// While one unit writes, the next one reads.
func TestRecorderDecidesBehindWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t, true)
		start := time.Now()
		u.send(u.numbers(1, 1)...)
		u.want(1)
		if took := time.Since(start); took != 0 {
			t.Errorf("after %v", took)
		}
		u.end()
		u.want(1, 1)
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
		u := newTurns(t, false)
		start := time.Now()
		u.send(u.numbers(1, 3)...)
		<-time.After(turnPatience)
		synctest.Wait()
		u.want(3)
		if took := time.Since(start); took != turnPatience {
			t.Errorf("after %v", took)
		}
		u.end()
	})
}

// A full batch gains nothing by waiting.
func TestRecorderCommitsAFullBatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newTurns(t, false)
		u.send(u.numbers(1, MaxBatch)...)
		u.want(MaxBatch)
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
