package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// Locks of these times are held as long as a test runs, or over as soon as they
// are taken.
const (
	held = time.Hour
	over = -time.Second
)

// aClaim asks for key k; its token and what it asks under the key follow from n.
func aClaim(k string, n int, hold time.Duration) idempotency.Claim {
	return idempotency.Claim{
		Lock:        idempotency.Lock{Merchant: merchant, Key: k, Token: fmt.Sprintf("token-%d", n)},
		Fingerprint: idempotency.FingerprintOf("POST", "/v1/orders", fmt.Append(nil, n)),
		For:         hold,
	}
}

func take(t *testing.T, db store.DB, c idempotency.Claim) idempotency.Record {
	t.Helper()
	record, err := db.TakeKey(t.Context(), c)
	if err != nil {
		t.Fatalf("taking %q: %v", c.Key, err)
	}
	return record
}

// wantRecord compares all but the time, which is the database's.
func wantRecord(t *testing.T, what string, got, want idempotency.Record) {
	t.Helper()
	if got.CreatedAt.IsZero() {
		t.Errorf("%s: the record has no time", what)
	}
	got.CreatedAt, want.CreatedAt = time.Time{}, time.Time{}
	same(t, what, got, want)
}

func wantLost(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, idempotency.ErrLost) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("%s: %v, want ErrLost", what, err)
	}
}

// anAnswer has bytes that no text column would keep.
func anAnswer() idempotency.Answer {
	return idempotency.Answer{Status: 201, ContentType: "application/json", Body: []byte("{\"a\": 1}\r\n\x00\xff\xfe 订单")}
}

func keyIsTakenOnce(t *testing.T, db store.DB) {
	first, second := aClaim("k", 1, held), aClaim("k", 2, held)
	record := take(t, db, first)
	wantRecord(t, "the first", record, idempotency.Record{Mine: true, Fingerprint: first.Fingerprint})
	if away := time.Since(record.CreatedAt).Abs(); away > time.Hour {
		t.Errorf("the database's clock is %v away", away)
	}
	again := take(t, db, second)
	wantRecord(t, "the second", again, idempotency.Record{Fingerprint: first.Fingerprint})
	if !again.CreatedAt.Equal(record.CreatedAt) {
		t.Errorf("created at %v, then at %v", record.CreatedAt, again.CreatedAt)
	}

	if err := db.ReleaseKey(t.Context(), second.Lock); err != nil {
		t.Fatal(err)
	}
	wantRecord(t, "after a stranger released it", take(t, db, second), idempotency.Record{Fingerprint: first.Fingerprint})
	if err := db.ReleaseKey(t.Context(), first.Lock); err != nil {
		t.Fatal(err)
	}
	wantRecord(t, "after its holder released it", take(t, db, second), idempotency.Record{Mine: true, Fingerprint: second.Fingerprint})

	// A dead process: its lock is over, and the key is for whoever comes.
	dead, heir, late := aClaim("dead", 3, over), aClaim("dead", 4, held), aClaim("dead", 5, held)
	wantRecord(t, "a lock that ends at once", take(t, db, dead), idempotency.Record{Mine: true, Fingerprint: dead.Fingerprint})
	wantRecord(t, "after the lock was over", take(t, db, heir), idempotency.Record{Mine: true, Fingerprint: heir.Fingerprint})
	wantRecord(t, "after it was taken over", take(t, db, late), idempotency.Record{Fingerprint: heir.Fingerprint})
}

func keysAreApart(t *testing.T, db store.DB) {
	claims := []idempotency.Claim{aClaim("k", 1, held), aClaim("K", 2, held), aClaim("k ", 3, held), aClaim("k", 4, held), aClaim("k", 5, held)}
	claims[3].Merchant, claims[4].Merchant = "other", merchant+"/19"
	for i, c := range claims {
		if record := take(t, db, c); !record.Mine {
			t.Errorf("claim %d of %q by %q meets another's", i, c.Key, c.Merchant)
		}
	}
	for _, spoil := range []func(*idempotency.Lock){
		func(l *idempotency.Lock) { l.Key = "a\x00" },
		func(l *idempotency.Lock) { l.Merchant = "\xff" },
	} {
		c := aClaim("k", 6, held)
		spoil(&c.Lock)
		_, taken := db.TakeKey(t.Context(), c)
		for what, err := range map[string]error{"taking": taken, "finishing": db.FinishKey(t.Context(), c.Lock, anAnswer()),
			"releasing": db.ReleaseKey(t.Context(), c.Lock)} {
			if err == nil || errors.Is(err, order.ErrUnavailable) || errors.Is(err, idempotency.ErrLost) {
				t.Errorf("%s a key that no column holds: %v", what, err)
			}
		}
	}
}

func answerIsKept(t *testing.T, db store.DB) {
	for i, answer := range []idempotency.Answer{
		anAnswer(),
		{Status: 404, ContentType: "application/problem+json", Body: []byte(`{}`)},
		{Status: 204, Body: []byte{}},
	} {
		c := aClaim(fmt.Sprintf("k%d", i), i, held)
		taken := take(t, db, c)
		if err := db.FinishKey(t.Context(), c.Lock, answer); err != nil {
			t.Fatal(err)
		}
		want := idempotency.Record{Done: true, Fingerprint: c.Fingerprint, Answer: answer}
		for range 2 {
			other := aClaim(c.Key, 100+i, over)
			record := take(t, db, other)
			wantRecord(t, "an answered key", record, want)
			if !record.CreatedAt.Equal(taken.CreatedAt) {
				t.Errorf("created at %v, then at %v", taken.CreatedAt, record.CreatedAt)
			}
			// Neither its own holder nor another can take the answer away.
			wantLost(t, "a second answer", db.FinishKey(t.Context(), c.Lock, idempotency.Answer{Status: 200}))
			for _, l := range []idempotency.Lock{c.Lock, other.Lock} {
				if err := db.ReleaseKey(t.Context(), l); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// The time of a lock ends a lock and nothing else.
func answerOutlivesItsLock(t *testing.T, db store.DB) {
	hold, c := 20*time.Millisecond, idempotency.Claim{}
	for err := error(idempotency.ErrLost); err != nil; hold *= 2 { // a slow disk needs more
		c = aClaim("k", int(hold), hold)
		take(t, db, c)
		if err = db.FinishKey(t.Context(), c.Lock, anAnswer()); err != nil && !errors.Is(err, idempotency.ErrLost) {
			t.Fatal(err)
		}
	}
	<-time.After(2 * hold) // only the database's clock can end a lock
	for i := range 2 {
		wantRecord(t, "after the lock's time", take(t, db, aClaim(c.Key, i, held)),
			idempotency.Record{Done: true, Fingerprint: c.Fingerprint, Answer: anAnswer()})
	}
}

func lostLockIsWorthNothing(t *testing.T, db store.DB) {
	wantLost(t, "a key that nobody took", db.FinishKey(t.Context(), aClaim("absent", 1, held).Lock, anAnswer()))

	dead := aClaim("k", 1, over)
	take(t, db, dead)
	wantLost(t, "a lock that is over", db.FinishKey(t.Context(), dead.Lock, anAnswer()))

	heir := aClaim("k", 2, held)
	take(t, db, heir)
	wantLost(t, "a lock that was taken over", db.FinishKey(t.Context(), dead.Lock, anAnswer()))
	if err := db.ReleaseKey(t.Context(), dead.Lock); err != nil {
		t.Fatal(err)
	}
	foreign := heir.Lock
	foreign.Merchant = "other"
	wantLost(t, "the lock of another merchant", db.FinishKey(t.Context(), foreign, anAnswer()))
	if err := db.FinishKey(t.Context(), heir.Lock, anAnswer()); err != nil {
		t.Errorf("the holder was disturbed: %v", err)
	}
}

func manyTakeOneKey(t *testing.T, db store.DB) {
	const many = 100
	for _, before := range []string{"nobody", "the dead"} {
		if before == "the dead" {
			take(t, db, aClaim(before, -1, over))
		}
		var got, refused atomic.Int64
		atOnce(t, many, func(ctx context.Context, i int) error {
			record, err := db.TakeKey(ctx, aClaim(before, i, held))
			switch {
			// Whoever waits too long for a connection is told so, not let in.
			case errors.Is(err, order.ErrUnavailable):
				refused.Add(1)
				return nil
			case err == nil && record.Mine:
				got.Add(1)
			}
			return err
		})
		if n := got.Load(); n != 1 {
			t.Errorf("%d of %d got the key that %s held (%d refused)", n, many, before, refused.Load())
		}
	}
}

func keysArePruned(t *testing.T, db store.DB) {
	prune := func(age time.Duration, limit, want int) {
		t.Helper()
		if n, err := db.PruneKeys(t.Context(), age, limit); err != nil || n != want {
			t.Errorf("PruneKeys(%v, %d) = %d, %v, want %d", age, limit, n, err, want)
		}
	}
	const all = 5
	for i := range all {
		c := aClaim(fmt.Sprintf("k%d", i), i, held)
		take(t, db, c)
		if i%2 == 0 {
			if err := db.FinishKey(t.Context(), c.Lock, anAnswer()); err != nil {
				t.Fatal(err)
			}
		}
	}
	prune(time.Hour, 10, 0) // none is that old
	prune(-time.Hour, 2, 2) // every one is older than one that will be made
	for i := all - 1; i >= 0; i-- {
		if record := take(t, db, aClaim(fmt.Sprintf("k%d", i), 10+i, held)); record.Mine != (i < 2) {
			t.Errorf("key %d of %d is free: %v", i, all, record.Mine)
		}
	}
	prune(-time.Hour, 3, 3)
	prune(-time.Hour, 3, 2)
	prune(-time.Hour, 3, 0)
}

// Restored wants what one database knows of requests to be known by another,
// when copyTable has copied the table of requests.
func Restored(t *testing.T, was, restored store.DB, copyTable func()) {
	done, running, dead := aClaim("done", 1, held), aClaim("running", 2, held), aClaim("dead", 3, over)
	taken := take(t, was, done)
	take(t, was, running)
	take(t, was, dead)
	put(t, was, &order.Changes{Orders: []order.Order{anOrder("T1")}, Seal: aSeal(done.Lock)})
	copyTable()

	record := take(t, restored, aClaim(done.Key, 4, held))
	wantRecord(t, "an answered request", record, idempotency.Record{Done: true, Fingerprint: done.Fingerprint, Answer: anAnswer()})
	if !record.CreatedAt.Equal(taken.CreatedAt) {
		t.Errorf("created at %v, was %v", record.CreatedAt, taken.CreatedAt)
	}
	wantRecord(t, "one that ran", take(t, restored, aClaim(running.Key, 5, held)), idempotency.Record{Fingerprint: running.Fingerprint})
	if record := take(t, restored, aClaim(dead.Key, 6, held)); !record.Mine {
		t.Errorf("one that was dead: %+v", record)
	}
}
