package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecorderAcksOnlyAfterTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, false)
		release := make(chan struct{})
		d.store.commit = func(*Changes) error { <-release; return nil }
		answered := false
		go func() {
			d.send(wx("T1", "A", KindPaid, 1000))
			answered = true
		}()
		synctest.Wait()
		if answered {
			t.Error("answered before the commit returned")
		}
		close(release)
		synctest.Wait()
		if !answered {
			t.Error("not answered after the commit")
		}
	})
}

// Habit 3: every write fails twice, once not persisted, once persisted though
// an error came back; after the provider's retry the state is right.
func TestRecorderEveryWriteFailsTwice(t *testing.T) {
	steps := [][]Fact{
		{ali("T1", "A", KindPaying, 0)}, {ali("T1", "A", KindPaid, 1000)}, aliRefund("T1", "A", 1000, 300),
		append(aliRefund("T1", "A", 1000, 1000), ali("T1", "A", KindClosed, 0)),
		{wx("T1", "B", KindPaid, 500)},
		{wx("T2", "C", KindContract, 0)},
	}
	want := play(t, steps, false, 0)
	for _, mode := range []string{"not persisted", "persisted"} {
		t.Run(mode, func(t *testing.T) {
			d := newDesk(t, false)
			for i, facts := range steps {
				fail := true
				lost := fmt.Errorf("%w: connection lost", ErrUnavailable)
				if mode == "persisted" {
					d.store.commit = func(*Changes) error {
						if fail {
							fail = false
							return lost
						}
						return nil
					}
				} else {
					d.store.before = func(Want) error {
						if fail {
							fail = false
							return lost
						}
						return nil
					}
				}
				n := notify(fmt.Sprintf("ntf_%02d", i), facts...)
				if _, err := d.rec.Record(context.Background(), n); !errors.Is(err, ErrUnavailable) {
					t.Fatalf("step %d: %v, want ErrUnavailable: nothing may be acked", i, err)
				}
				n.ID += "_retry"
				r, err := d.rec.Record(context.Background(), n)
				if err != nil {
					t.Fatal(err)
				}
				if r.Repeat != (mode == "persisted") {
					t.Errorf("step %d: repeat %v after a write that was %s", i, r.Repeat, mode)
				}
			}
			s := d.stands(t1, Refunded, 1000, 1000)
			if got := money(Aggregate{Order: s.Order, Payments: s.Payments, Refunds: s.Refunds}); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			paid := 0
			for _, e := range d.store.events {
				if e.Type == EventPaid {
					paid++
				}
			}
			if paid != 1 {
				t.Errorf("%d order.paid events", paid)
			}
		})
	}
}

// gate makes every transaction of the store wait until it is opened. (A mutex
// would not do: a goroutine that waits for one is not idle to synctest.)
func gate(m *memory) (open func()) {
	wait := make(chan struct{})
	before := m.before
	m.before = func(w Want) error {
		<-wait
		if before != nil {
			return before(w)
		}
		return nil
	}
	return func() { close(wait) }
}

func TestRecorderABadNotificationRefusesNoOther(t *testing.T) {
	for _, fault := range []error{errors.New("this row cannot be written"), fmt.Errorf("%w: for a second", ErrLocked)} {
		t.Run(fault.Error(), func(t *testing.T) { badNotification(t, fault) })
	}
}

func badNotification(t *testing.T, fault error) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, false)
		bad := Key{shop, "BAD"}
		d.store.before = func(w Want) error {
			for _, k := range w.Orders {
				if k == bad {
					return fault
				}
			}
			return nil
		}
		open := gate(d.store) // the first batch waits in the store while the others gather
		var wg sync.WaitGroup
		errs := map[string]error{}
		var mu sync.Mutex
		for i := range 40 {
			no := fmt.Sprintf("T%d", i)
			if i == 20 {
				no = "BAD"
			}
			wg.Go(func() {
				_, err := d.rec.Record(context.Background(), notify("ntf_"+no, wx(no, "txn"+no, KindPaid, 1000)))
				mu.Lock()
				errs[no] = err
				mu.Unlock()
			})
		}
		synctest.Wait()
		open()
		wg.Wait()
		for no, err := range errs {
			if (err != nil) != (no == "BAD") {
				t.Errorf("%s: %v", no, err)
			}
		}
		if len(d.store.orders) != 39 {
			t.Errorf("%d orders", len(d.store.orders))
		}
	})
}

func TestRecorderAPanicCostsOneNotification(t *testing.T) {
	d := newDesk(t, false)
	d.store.before = func(w Want) error {
		for _, k := range w.Orders {
			if k.OutTradeNo == "BAD" {
				panic("a fault in a decision")
			}
		}
		return nil
	}
	_, err := d.rec.Record(context.Background(), notify("ntf_bad", wx("BAD", "B", KindPaid, 1)))
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	d.expect(d.send(wx("T1", "A", KindPaid, 1000)), Applied, "")
}

func TestRecorderRefusesWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		open := gate(m)
		r := NewRecorder(RecorderOptions{Store: m, Now: clock, NewID: ids(), Committers: 1, QueueLimit: 10})
		var wg sync.WaitGroup
		for i := range 10 {
			no := fmt.Sprintf("T%d", i)
			wg.Go(func() {
				if _, err := r.Record(context.Background(), notify("ntf_"+no, wx(no, no, KindPaid, 1))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if r.QueueLength() != 10 {
			t.Errorf("queue length %d", r.QueueLength())
		}
		if _, err := r.Record(context.Background(), notify("ntf_x", wx("X", "X", KindPaid, 1))); !errors.Is(err, ErrOverloaded) {
			t.Errorf("%v, want ErrOverloaded", err)
		}
		open()
		wg.Wait()
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if _, err := r.Record(context.Background(), notify("ntf_y", wx("Y", "Y", KindPaid, 1))); !errors.Is(err, ErrOverloaded) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestRecorderBatchesWhatGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		open := gate(m)
		var sizes []int
		r := NewRecorder(RecorderOptions{Store: m, Now: clock, NewID: ids(), Committers: 1, Batch: func(n int) { sizes = append(sizes, n) }})
		var wg sync.WaitGroup
		for i := range 300 {
			no := fmt.Sprintf("T%03d", i)
			wg.Go(func() {
				if _, err := r.Record(context.Background(), notify("ntf_"+no, wx(no, no, KindPaid, 1))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		open()
		wg.Wait()
		_ = r.Close(context.Background())
		sum := 0
		for _, n := range sizes {
			if n > MaxBatch {
				t.Errorf("a batch of %d", n)
			}
			sum += n
		}
		if sum != 300 || len(sizes) > 10 {
			t.Errorf("batches %v", sizes)
		}
	})
}

func TestRecorderDropsWhatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, false)
		open := gate(d.store)
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		var late error
		go func() { _, late = d.rec.Record(ctx, notify("ntf_late", wx("T1", "A", KindPaid, 1))) }()
		<-ctx.Done() // by the bubble's clock
		synctest.Wait()
		if !errors.Is(late, ErrUnavailable) {
			t.Errorf("%v", late)
		}
		open()
		synctest.Wait()
		if d.rec.QueueLength() != 0 {
			t.Errorf("queue length %d after all left", d.rec.QueueLength())
		}
	})
}

func TestRecorderCountsCopies(t *testing.T) {
	d := newDesk(t, false)
	first := d.send(wx("T1", "A", KindPaid, 1000))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			r, err := d.rec.Record(context.Background(), notify(fmt.Sprint("ntf_copy", i), wx("T1", "A", KindPaid, 1000)))
			if err != nil || !r.Repeat || r.NotificationID != first.NotificationID || r.Outcome != Applied {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	wg.Wait()
	if err := d.rec.FlushCopies(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := d.stands(t1, Paid, 1000, 0); len(s.Notifications) != 1 || s.Notifications[0].Copies != 51 || s.Version != 1 {
		t.Errorf("%+v", s.Notifications)
	}
}

func TestCopiesSurviveAFailedFlush(t *testing.T) {
	var written map[string]int64
	fail := errors.New("away")
	c := newCopies(func(_ context.Context, m map[string]int64) error { written = m; return fail })
	c.count("a")
	if err := c.flush(context.Background()); !errors.Is(err, fail) {
		t.Fatal(err)
	}
	c.count("a")
	fail = nil
	if err := c.flush(context.Background()); err != nil || written["a"] != 2 {
		t.Errorf("%v %v", written, err)
	}
}

// The end of the process meets a write of counts that is under way: it is neither
// broken off, which would leave open whether it was made, nor made twice.
func TestCopiesAreCountedOnceAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, false)
		answered := make(chan struct{})
		var written int64
		d.rec.copies.add = func(ctx context.Context, m map[string]int64) error {
			written += m["a"] // as a server does, whether or not somebody waits for its answer
			select {
			case <-answered:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		d.rec.copies.count("a")
		ctx, stop := context.WithCancel(context.Background())
		go func() { _ = d.rec.FlushCopies(ctx) }()
		synctest.Wait()
		stop()
		synctest.Wait()
		close(answered)
		if err := d.rec.Close(context.Background()); err != nil || written != 1 {
			t.Errorf("%d copies are counted, 1 came: %v", written, err)
		}
	})
}

// 50 copies at once, before anything is known: one row, one transition.
func TestRecorderParallelCopies(t *testing.T) {
	d := newDesk(t, false)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := d.rec.Record(context.Background(), notify(fmt.Sprint("ntf_copy", i), wx("T1", "A", KindPaid, 1000))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := d.rec.FlushCopies(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := d.stands(t1, Paid, 1000, 0)
	if len(s.Notifications) != 1 || s.Notifications[0].Copies != 50 || s.Version != 1 || len(s.Payments) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestUnitGivesUpAfterTooManyRaces(t *testing.T) {
	d := newDesk(t, false)
	tries := 0
	d.store.before = func(Want) error { tries++; return ErrRace }
	_, err := d.rec.Record(context.Background(), notify("ntf_1", wx("T1", "A", KindPaid, 1)))
	if !errors.Is(err, ErrUnavailable) || tries != maxTries {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// Combined payments make large units: a batch is cut before it holds more locks
// than a database has room for.
func TestRecorderCutsBatchesByFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		open := gate(m)
		most := 0
		gated := m.before
		m.before = func(w Want) error { most = max(most, len(w.Orders)); return gated(w) }
		r := NewRecorder(RecorderOptions{Store: m, Now: clock, NewID: ids(), Committers: 1})
		var wg sync.WaitGroup
		for i := range 60 {
			var facts []Fact
			for j := range 50 {
				no := fmt.Sprintf("T%02d-%02d", i, j)
				facts = append(facts, wx(no, no, KindPaid, 1))
			}
			wg.Go(func() {
				if _, err := r.Record(context.Background(), notify(fmt.Sprint("ntf_", i), facts...)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		open()
		wg.Wait()
		_ = r.Close(context.Background())
		if len(m.orders) != 3000 || most > maxUnitFacts || most < maxUnitFacts/2 {
			t.Errorf("%d orders, at most %d in a unit", len(m.orders), most)
		}
	})
}

// Repeats are looked up first only where there are many of them.
func TestRecorderLooksUpWhereRepeatsAreMany(t *testing.T) {
	d := newDesk(t, false)
	for i := range 30 {
		no := fmt.Sprint("U", i)
		d.sendAs(notify("ntf_u"+no, wx(no, no, KindPaid, 1)))
	}
	if d.store.lookups != 0 {
		t.Errorf("%d look-ups for unique notifications", d.store.lookups)
	}
	for range 30 {
		if r := d.sendAs(notify("ntf_again", wx("U1", "U1", KindPaid, 1))); !r.Repeat || r.Outcome != Applied {
			t.Errorf("%+v", r)
		}
	}
	many := d.store.lookups
	if many < 20 {
		t.Errorf("%d look-ups for 30 repeats", many)
	}
	for i := range 100 {
		no := fmt.Sprint("V", i)
		d.sendAs(notify("ntf_v"+no, wx(no, no, KindPaid, 1)))
	}
	if more := d.store.lookups - many; more == 0 || more == 100 {
		t.Errorf("%d look-ups for 100 unique ones after that: they should end", more)
	}
	if err := d.rec.FlushCopies(context.Background()); err != nil || d.store.story(Key{shop, "U1"}).Notifications[0].Copies != 31 {
		t.Errorf("copies %d, %v", d.store.story(Key{shop, "U1"}).Notifications[0].Copies, err)
	}
}
