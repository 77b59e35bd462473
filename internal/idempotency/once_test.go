package idempotency_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
)

// shop counts effects; each has a number in its answer.
type shop struct {
	store *memory
	once  *idempotency.Once
	done  int
}

func newShop() *shop {
	m := newMemory()
	return &shop{store: m, once: &idempotency.Once{Store: m}}
}

func ask(key, body string) idempotency.Request {
	return idempotency.Request{Merchant: "default", Key: key, Method: "POST", URI: "/v1/orders", Body: []byte(body)}
}

func answerNo(n int) idempotency.Answer {
	return idempotency.Answer{Status: 201, ContentType: "application/json", Body: []byte{'0' + byte(n)}}
}

// effect has its effect and answer in one transaction, while the lock holds.
func (s *shop) effect(_ context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	a := answerNo(s.done + 1)
	if err := s.store.store(l, a); err != nil {
		return idempotency.Answer{}, false, err
	}
	s.done++
	return a, true, nil
}

func never(t *testing.T) idempotency.Effect {
	return func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
		t.Error("the effect runs")
		return idempotency.Answer{Status: 500}, false, nil
	}
}

func do(t *testing.T, o *idempotency.Once, r idempotency.Request, effect idempotency.Effect) idempotency.Reply {
	t.Helper()
	reply, err := o.Do(t.Context(), r, effect)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestOnceTellsTheFirstAnswerAgain(t *testing.T) {
	s := newShop()
	first := do(t, s.once, ask("k", "a"), s.effect)
	if first.Replayed || !reflect.DeepEqual(first.Answer, answerNo(1)) || !first.CreatedAt.Equal(noon) {
		t.Errorf("first: %+v", first)
	}
	s.store.pass(time.Hour)
	first.Replayed = true
	for range 2 {
		if again := do(t, s.once, ask("k", "a"), never(t)); !reflect.DeepEqual(again, first) {
			t.Errorf("again: %+v, want %+v", again, first)
		}
	}
	if reply, err := s.once.Do(t.Context(), ask("k", "b"), never(t)); !errors.Is(err, idempotency.ErrReused) || !reply.CreatedAt.Equal(noon) {
		t.Errorf("another body: %+v, %v, want ErrReused", reply, err)
	}
	other := ask("k", "a")
	other.Merchant = "other"
	if reply := do(t, s.once, other, s.effect); reply.Replayed {
		t.Error("another merchant hears this one's answer")
	}
	if s.done != 2 {
		t.Errorf("%d effects, want 2", s.done)
	}
}

func TestOnceWhileTheFirstRuns(t *testing.T) {
	s := newShop()
	do(t, s.once, ask("k", "a"), func(ctx context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
		s.store.pass(idempotency.LockTime - time.Microsecond)
		if _, err := s.once.Do(ctx, ask("k", "a"), never(t)); !errors.Is(err, idempotency.ErrInProgress) {
			t.Errorf("the same: %v, want ErrInProgress", err)
		}
		if _, err := s.once.Do(ctx, ask("k", "b"), never(t)); !errors.Is(err, idempotency.ErrReused) {
			t.Errorf("another: %v, want ErrReused", err)
		}
		return s.effect(ctx, l)
	})
	if s.done != 1 {
		t.Errorf("%d effects, want 1", s.done)
	}
}

// After 30 seconds the lock is another's, and the first cannot commit any more,
// neither its effect nor an answer without one, nor give up what it has lost.
func TestOnceSlowRequestLosesItsLock(t *testing.T) {
	s := newShop()
	for name, end := range map[string]idempotency.Effect{
		"an effect": s.effect,
		"no effect": func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
			return idempotency.Answer{Status: 404}, false, nil
		},
		"a failure": func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
			return idempotency.Answer{}, false, idempotency.ErrLost
		},
	} {
		before := s.done
		var heard idempotency.Reply
		_, err := s.once.Do(t.Context(), ask(name, "a"), func(ctx context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
			s.store.pass(idempotency.LockTime)
			heard = do(t, s.once, ask(name, "a"), s.effect)
			return end(ctx, l)
		})
		if !errors.Is(err, idempotency.ErrLost) {
			t.Errorf("%s: %v, want ErrLost", name, err)
		}
		again := do(t, s.once, ask(name, "a"), never(t))
		if s.done != before+1 || heard.Replayed || !reflect.DeepEqual(again.Answer, heard.Answer) {
			t.Errorf("%s: %d effects, the heir heard %+v, later %+v", name, s.done-before, heard, again)
		}
	}
}

func TestOnceStoresWhatIsBelow500(t *testing.T) {
	for status, stored := range map[int]bool{200: true, 204: true, 404: true, 409: true, 422: true, 499: true, 500: false, 503: false} {
		s := newShop()
		reply := do(t, s.once, ask("k", "a"), func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
			return idempotency.Answer{Status: status}, false, nil
		})
		if reply.Answer.Status != status {
			t.Errorf("%d is told as %d", status, reply.Answer.Status)
		}
		again := do(t, s.once, ask("k", "a"), s.effect)
		if again.Replayed != stored || stored == (s.done == 1) {
			t.Errorf("%d: replayed %v, %d effects afterwards", status, again.Replayed, s.done)
		}
	}
}

// Whoever failed may ask again at once, with whatever they meant.
func TestOnceReleasesWhatFailed(t *testing.T) {
	failure := errors.New("no")
	s := newShop()
	for name, effect := range map[string]idempotency.Effect{
		"an error": func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
			return idempotency.Answer{Status: 200}, true, failure
		},
		"a panic": func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) { panic(failure) },
	} {
		func() {
			defer func() {
				if v := recover(); (v == failure) != (name == "a panic") {
					t.Errorf("%s: recovered %v", name, v)
				}
			}()
			ctx, leave := context.WithCancel(t.Context())
			_, err := s.once.Do(ctx, ask("k", name), func(ctx context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
				leave() // whoever asked does not wait for the end
				return effect(ctx, l)
			})
			if err != failure {
				t.Errorf("%s: %v, want the effect's error as it is", name, err)
			}
		}()
		if n := s.store.count(); n != 0 {
			t.Errorf("%s: %d keys are held", name, n)
		}
	}
	do(t, s.once, ask("k", "other"), s.effect)
}

// Each call to the store fails twice: before it did anything, and when all was
// done. Nobody is told of what is not so, and asking again ends well.
func TestOnceWhenTheStoreFails(t *testing.T) {
	refuse := func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
		return idempotency.Answer{Status: 409, Body: []byte("no")}, false, nil
	}
	for _, verb := range []string{"take", "finish", "release"} {
		for _, done := range []bool{false, true} {
			s := newShop()
			var failed []error
			s.once.Failed = func(err error) { failed = append(failed, err) }
			broken := func(v string) error {
				if v == verb {
					return errAway
				}
				return nil
			}
			s.store.fail = broken
			if done {
				s.store.fail, s.store.lose = nil, broken
			}
			effect := refuse
			if verb == "release" {
				effect = func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
					return idempotency.Answer{Status: 503}, false, nil
				}
			}
			_, err := s.once.Do(t.Context(), ask("k", "a"), effect)
			if wants := verb != "release"; errors.Is(err, errAway) != wants || len(failed) > 0 == wants {
				t.Errorf("%s fails (done: %v): %v, and told of %v", verb, done, err, failed)
			}
			s.store.fail, s.store.lose = nil, nil
			if verb == "release" && !done { // nobody else can free it
				s.store.pass(idempotency.LockTime)
			}
			reply := do(t, s.once, ask("k", "a"), refuse)
			if reply.Answer.Status != 409 || reply.Replayed != (verb == "finish" && done) {
				t.Errorf("%s fails (done: %v), then: %+v", verb, done, reply)
			}
		}
	}
}

func TestOnceOptions(t *testing.T) {
	m := newMemory()
	o := &idempotency.Once{Store: m, LockFor: time.Minute, NewToken: func() string { return "mine" }}
	do(t, o, ask("k", "a"), func(_ context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
		if want := (idempotency.Lock{Merchant: "default", Key: "k", Token: "mine"}); l != want {
			t.Errorf("lock %+v, want %+v", l, want)
		}
		m.pass(time.Minute - 1)
		return idempotency.Answer{Status: 200}, false, nil
	})
	tokens := map[string]bool{}
	o = &idempotency.Once{Store: m}
	for _, key := range []string{"1", "2", "3"} {
		do(t, o, ask(key, "a"), func(_ context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
			tokens[l.Token] = true
			return idempotency.Answer{Status: 200}, false, nil
		})
	}
	if len(tokens) != 3 || tokens[""] {
		t.Errorf("tokens of three runs: %v", tokens)
	}
}
