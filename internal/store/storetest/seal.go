package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// aSeal stores an answer under a lock.
func aSeal(l idempotency.Lock) *order.Seal {
	a := anAnswer()
	return &order.Seal{Merchant: l.Merchant, Key: l.Key, Token: l.Token, Status: a.Status, ContentType: a.ContentType, Body: a.Body}
}

func wantBroken(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, order.ErrSealBroken) || errors.Is(err, order.ErrRace) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("%s: %v, want ErrSealBroken", what, err)
	}
}

func sealIsCommitted(t *testing.T, db store.DB) {
	with, alone := aClaim("with an effect", 1, held), aClaim("alone", 2, held)
	take(t, db, with)
	take(t, db, alone)
	c := one()
	c.Seal = aSeal(with.Lock)
	put(t, db, &c)
	unchanged(t, db, "with a seal")
	put(t, db, &order.Changes{Seal: aSeal(alone.Lock)}) // a command that changes nothing has an answer, too
	for _, c := range []idempotency.Claim{with, alone} {
		wantRecord(t, c.Key, take(t, db, aClaim(c.Key, 3, held)),
			idempotency.Record{Done: true, Fingerprint: c.Fingerprint, Answer: anAnswer()})
		wantBroken(t, "a second seal", try(t.Context(), db, &order.Changes{Seal: aSeal(c.Lock)}))
	}

	// A unit that loses a race or is refused does not answer.
	open := aClaim("open", 4, held)
	take(t, db, open)
	wantRace(t, "a race that is lost", try(t.Context(), db, &order.Changes{Orders: []order.Order{anOrder("T1")}, Seal: aSeal(open.Lock)}))
	spoilt := aSeal(open.Lock)
	spoilt.ContentType = "\x00"
	if err := try(t.Context(), db, &order.Changes{Seal: spoilt}); err == nil {
		t.Error("a content type that no column holds was stored")
	}
	wantRecord(t, "after it lost the race", take(t, db, aClaim(open.Key, 5, held)), idempotency.Record{Fingerprint: open.Fingerprint})
}

func brokenSealWritesNothing(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	dead, robbed, released, done := aClaim("dead", 1, over), aClaim("robbed", 2, over), aClaim("released", 3, held), aClaim("done", 4, held)
	for _, c := range []idempotency.Claim{dead, robbed, released, done} {
		take(t, db, c)
	}
	take(t, db, aClaim(robbed.Key, 5, held))
	if err := errors.Join(db.ReleaseKey(t.Context(), released.Lock), db.FinishKey(t.Context(), done.Lock, anAnswer())); err != nil {
		t.Fatal(err)
	}
	foreign := aClaim("robbed", 5, held).Lock
	foreign.Merchant = "other"
	for name, l := range map[string]idempotency.Lock{
		"a lock that is over": dead.Lock, "one that was taken over": robbed.Lock, "one that was given up": released.Lock,
		"one that has its answer": done.Lock, "another merchant's": foreign, "one that nobody took": aClaim("absent", 6, held).Lock,
	} {
		changes := two()
		changes.Seal = aSeal(l)
		wantBroken(t, name, try(t.Context(), db, &changes))
		unchanged(t, db, name)
	}

	// What was undone is not spent, and the one who has the lock can do it.
	changes := two()
	changes.Seal = aSeal(aClaim(robbed.Key, 5, held).Lock)
	put(t, db, &changes)
}

// A handler holds a lock that is alive, decides, and comes to its commit when
// the lock is over: nothing of it stays, and another does the work.
func slowUnitCommitsNothing(t *testing.T, db store.DB) {
	c := one()
	put(t, db, &c)
	const short = 30 * time.Millisecond
	slow, heir := aClaim("k", 1, short), aClaim("k", 2, held)
	take(t, db, slow)
	for !take(t, db, heir).Mine { // until the database says that the time is over
		if t.Context().Err() != nil {
			t.Fatal("the lock never ends")
		}
	}
	changes := two()
	changes.Seal = aSeal(slow.Lock)
	wantBroken(t, "the slow one", try(t.Context(), db, &changes))
	unchanged(t, db, "after the slow one")

	// The same while the unit is being decided, with nobody who takes the key.
	slow = aClaim("alone", 3, short)
	taken := take(t, db, slow)
	changes = two()
	changes.Seal = aSeal(slow.Lock)
	err := db.Transact(t.Context(), order.Want{}, func(*order.Found) (*order.Changes, error) {
		<-time.After(time.Until(taken.CreatedAt.Add(2 * short))) // only the database's clock can end a lock
		return &changes, nil
	})
	wantBroken(t, "one that decides slowly", err)
	unchanged(t, db, "after one that decides slowly")
}

func unitSeesStories(t *testing.T, db store.DB) {
	resolved := aNotification(3, "T2")
	resolved.Results = append(resolved.Results, order.FactResult{Merchant: merchant, OutTradeNo: "T1", Kind: order.KindPaid})
	put(t, db, &order.Changes{
		Orders:        []order.Order{anOrder("T1"), anOrder("T2")},
		Notifications: []order.Row{aNotification(1, "T1"), aNotification(2, "waits"), resolved},
		Events:        []order.Event{anEvent("evt_2", "T1", 2), anEvent("evt_1", "T1", 1), anEvent("evt_3", "T2", 1)},
	})
	keys := []order.Key{key("T1"), key("T2"), key("waits"), key("absent"), key("T1")}
	found := find(t, db, order.Want{Stories: keys}).Stories
	if len(found) != 4 {
		t.Errorf("%d stories were found, want 4", len(found))
	}
	for _, k := range keys {
		want, err := db.Story(t.Context(), k)
		switch {
		case errors.Is(err, order.ErrUnknown): // what waits for an order that is not there is seen here alone
			if k == key("waits") {
				n := aNotification(2, "waits")
				n.Capture = order.Capture{}
				want.Notifications = []order.Row{n}
			}
		case err != nil:
			t.Fatal(err)
		}
		same(t, k.OutTradeNo, found[k], order.Story{Events: want.Events, Notifications: want.Notifications})
	}
	if found := find(t, db, order.Want{Orders: keys[:1]}).Stories; len(found) != 0 {
		t.Errorf("%d stories were found that nobody wanted", len(found))
	}
	err := db.Transact(t.Context(), order.Want{Stories: []order.Key{key("\x00")}}, func(*order.Found) (*order.Changes, error) { return nil, nil })
	if err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("the story of an order that cannot be: %v", err)
	}
}
