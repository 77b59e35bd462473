package order

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The properties that hold whatever comes in whatever order (D.4 of the
// providers' facts: paid is monotone, sums are maxima, foreign money is apart).

// anyFact draws from few numbers, so that sequences meet each other.
func anyFact(t *rapid.T, label string) Fact {
	txn := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, label+" txn")
	kind := rapid.SampledFrom([]Kind{KindPaying, KindPaid, KindPaid, KindClosed, KindFinished, KindRefund, KindRefund, KindRefundClosed, KindRefundAbnormal}).Draw(t, label+" kind")
	f := wx("T1", txn, kind, rapid.SampledFrom([]int64{300, 700, 1000}).Draw(t, label+" fen"))
	if txn == "C" { // the Alipay one
		f = ali("T1", txn, kind, f.AmountFen)
	}
	if kind.isRefund() {
		f.Currency = ""
		if txn == "C" {
			f.RunningTotalFen, f.AmountFen = f.AmountFen, 0
			f.Kind = KindRefund
		} else {
			f.ProviderRefundID = txn + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, label+" refund")
		}
	}
	return f
}

func anyStart(t *rapid.T) Aggregate {
	return aggregateIn(rapid.SampledFrom(states).Draw(t, "start"))
}

// sound is what holds for every aggregate (I2, I5 and I6 of the scorecard).
func sound(t interface{ Fatalf(string, ...any) }, a Aggregate) {
	accepted := 0
	for _, p := range a.Payments {
		if p.Role == Accepted {
			accepted++
			if a.Order.PaidFen != p.AmountFen || a.Order.RefundedFen != p.RefundedFen || a.Order.ProviderTxnID != p.ProviderTxnID {
				t.Fatalf("the order does not mirror its accepted payment: %+v %+v", a.Order, p)
			}
		}
		if p.RefundedFen > p.AmountFen {
			t.Fatalf("refunds exceed their payment: %+v", p)
		}
		var sum int64
		for _, r := range a.Refunds {
			if r.TxnKey() == p.TxnKey && r.Status == RefundSuccess {
				sum += r.AmountFen
				if r.AmountFen <= 0 {
					t.Fatalf("refund of nothing: %+v", r)
				}
			}
		}
		if sum != p.RefundedFen {
			t.Fatalf("refund rows sum to %d, the payment says %d: %+v", sum, p.RefundedFen, a.Refunds)
		}
	}
	if accepted > 1 {
		t.Fatalf("%d accepted payments", accepted)
	}
	if a.Order.Status == Refunded && (a.Order.RefundedFen != a.Order.PaidFen) {
		t.Fatalf("refunded, but %d of %d", a.Order.RefundedFen, a.Order.PaidFen)
	}
}

func TestPropertyTwiceEqualsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyStart(t)
		for i := range rapid.IntRange(0, 8).Draw(t, "before") {
			a, _ = Decide(a, anyFact(t, fmt.Sprint(i)))
		}
		f := anyFact(t, "fact")
		once, d := Decide(a, f)
		twice, e := Decide(once, f)
		if e.Outcome == Applied {
			t.Fatalf("%s of %s was applied twice", f.Kind, f.ProviderTxnID)
		}
		// A conflict is told again when Decide is asked again; the fact key sees
		// to it that it is asked once. Money and status never move twice.
		if money(once) != money(twice) {
			t.Fatalf("after %v then %v:\n%s\n%s", d.Outcome, e.Outcome, money(once), money(twice))
		}
	})
}

// money renders status, sums, payments and refunds.
func money(a Aggregate) string {
	o := a.Order
	s := fmt.Sprintln(o.Status, o.PaidFen, o.RefundedFen, o.ProviderTxnID, o.Finished)
	var rows []string
	for _, p := range a.Payments {
		rows = append(rows, fmt.Sprintln(p.TxnKey, p.AmountFen, p.RefundedFen, p.Role))
	}
	for _, r := range a.Refunds {
		rows = append(rows, fmt.Sprintln(r.RefundKey, r.AmountFen, r.Status))
	}
	slices.Sort(rows)
	return s + fmt.Sprint(rows)
}

func TestPropertySoundWhateverComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyStart(t)
		paidOnce := a.Order.HasAccepted()
		for i := range rapid.IntRange(1, 20).Draw(t, "facts") {
			before := a
			f := anyFact(t, fmt.Sprint(i))
			var d Decision
			a, d = Decide(a, f)
			sound(t, a)
			if paidOnce && !a.Order.HasAccepted() {
				t.Fatalf("%s made a paid order unpaid", f.Kind)
			}
			paidOnce = a.Order.HasAccepted()
			if a.Order.RefundedFen < before.Order.RefundedFen || a.Order.Version < before.Order.Version {
				t.Fatalf("%s moved back: %+v", f.Kind, a.Order)
			}
			if before.Order.Status == Cancelled && a.Order.Status != Cancelled {
				t.Fatalf("%s moved a cancelled order to %s", f.Kind, a.Order.Status)
			}
			if before.Order.Status == Refunded && a.Order.Status != Refunded {
				t.Fatalf("%s moved a refunded order to %s", f.Kind, a.Order.Status)
			}
			if before.Order.HasAccepted() && f.ProviderTxnID != before.Order.ProviderTxnID && d.Outcome != Unhandled {
				x, y := before.Order, a.Order
				x.Version, y.Version = 0, 0
				if x != y {
					t.Fatalf("%s of a foreign transaction changed the order:\n%+v\n%+v", f.Kind, before.Order, a.Order)
				}
			}
		}
	})
}

// The facts of one transaction with consistent amounts end in the same money
// and status in whatever order they arrive (check 8).
func TestPropertyArrivalOrder(t *testing.T) {
	stories := map[string][][]Fact{
		"wechat": {
			{wx("T1", "A", KindPaid, 1000)}, {wx("T1", "A", KindPaid, 1000)},
			wxRefund("T1", "A", "r1", 1000, 300), wxRefund("T1", "A", "r2", 1000, 700), wxRefund("T1", "A", "r1", 1000, 300),
			{wxRefund("T1", "A", "r1", 1000, 300)[0], bareRefund("T1", "A", "r1", KindRefundAbnormal, 300)},
		},
		"wechat v2": {
			{wx("T1", "A", KindPaid, 1000)}, {bareRefund("T1", "A", "r1", KindRefund, 300)}, {bareRefund("T1", "A", "r2", KindRefund, 200)},
			{bareRefund("T1", "A", "r3", KindRefundClosed, 500)},
		},
		"alipay": {
			{ali("T1", "A", KindPaying, 0)}, {ali("T1", "A", KindPaid, 1000)},
			aliRefund("T1", "A", 1000, 300), aliRefund("T1", "A", 1000, 600), aliRefund("T1", "A", 1000, 600),
			{ali("T1", "A", KindPaid, 1000), ali("T1", "A", KindFinished, 0)},
		},
		"alipay to the end": {
			{ali("T1", "A", KindPaying, 0)}, {ali("T1", "A", KindPaid, 1000)}, aliRefund("T1", "A", 1000, 300),
			append(aliRefund("T1", "A", 1000, 1000), ali("T1", "A", KindClosed, 0)),
		},
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				require := rapid.Bool().Draw(rt, "require registration")
				straight := play(t, story, require, 0)
				at := rapid.IntRange(0, len(story)).Draw(rt, "registered after")
				shuffled := play(t, rapid.Permutation(story).Draw(rt, "order"), require, at)
				if straight != shuffled {
					rt.Fatalf("one order of arrival ends in\n%s\nanother in\n%s", straight, shuffled)
				}
			})
		})
	}
}

// play records the notifications one after another on a fresh store, without
// goroutines, and renders what the order is in the end. Where registration is
// required it comes after `at` notifications.
func play(t *testing.T, story [][]Fact, require bool, at int) string {
	m := newMemory()
	newID := ids()
	rules := unitRules{now: clock, newID: newID, require: require}
	r := &Recorder{opt: RecorderOptions{Store: m, Now: clock, NewID: newID, RequireRegistration: require}}
	cmd := &Commands{Store: m, Now: clock, NewID: newID, RequireRegistration: require}
	register := func() {
		if _, err := cmd.Register(t.Context(), Registration{Key: t1, AmountFen: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	for i, facts := range story {
		if require && i == at {
			register()
		}
		n := notify(fmt.Sprintf("ntf_%03d", i), facts...)
		batch := []*pending{{n: n, key: n.FactKey()}}
		want, err := r.wantOf(t.Context(), batch)
		if err == nil {
			err = transact(t.Context(), m, want, rules, func(u *unit) (*Changes, error) {
				u.recordAll(batch)
				return u.finish(), nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if require && at == len(story) {
		register()
	}
	if len(m.waiting) > 0 {
		t.Fatalf("still waiting: %+v", m.waiting)
	}
	s := m.story(t1)
	a := Aggregate{Order: s.Order, Payments: s.Payments, Refunds: s.Refunds}
	sound(t, a)
	return money(a)
}
