package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

// Requests under idempotency keys on the real databases: the lock, the effect
// and the answer meet here for the first time.

// registering is a request that registers an order, and its effect as a server
// has it: it commits its answer with the order.
func registering(no string) idempotency.Request {
	return idempotency.Request{Merchant: "default", Key: "order-" + no, Method: http.MethodPost, URI: "/v1/orders", Body: []byte(no)}
}

func register(db order.Store, no string) idempotency.Effect {
	return func(ctx context.Context, l idempotency.Lock) (a idempotency.Answer, sealed bool, err error) {
		c := commands(db, false).Sealing(func(s order.Story, created bool) *order.Seal {
			// Two effects would word two answers.
			a = idempotency.Answer{Status: http.StatusCreated, ContentType: "application/json",
				Body: fmt.Appendf(nil, `{"id":%q,"version":%d,"events":%d}`, newID("reg_"), s.Version, len(s.Events))}
			return &order.Seal{Merchant: l.Merchant, Key: l.Key, Token: l.Token, Status: a.Status, ContentType: a.ContentType, Body: a.Body}
		})
		_, err = c.Register(ctx, order.Registration{Key: order.Key{Merchant: "default", OutTradeNo: no}, AmountFen: 1000})
		return a, err == nil, err
	}
}

func unwanted(t *testing.T) idempotency.Effect {
	return func(context.Context, idempotency.Lock) (idempotency.Answer, bool, error) {
		t.Error("the effect runs once more")
		return idempotency.Answer{Status: http.StatusInternalServerError}, false, nil
	}
}

// registeredOnce wants one order, made by one event, and its answer to be told.
func registeredOnce(t *testing.T, db store.DB, no string) idempotency.Reply {
	t.Helper()
	s := story(t, db, no)
	if s.Version != 1 || len(s.Events) != 1 || s.Events[0].Type != order.EventCreated {
		t.Errorf("order %s: version %d, %d events, want one registration", no, s.Version, len(s.Events))
	}
	reply, err := (&idempotency.Once{Store: db}).Do(t.Context(), registering(no), unwanted(t))
	if err != nil || !reply.Replayed {
		t.Errorf("order %s: %+v, %v, want the answer again", no, reply, err)
	}
	return reply
}

// eachDatabase runs a test with two instances on each database.
func eachDatabase(t *testing.T, run func(*testing.T, []store.DB)) {
	for _, d := range databases() {
		t.Run(d.name, func(t *testing.T) { run(t, d.open(t, 2)) })
	}
}

// Five, then a hundred, at once at two instances: one effect, one answer.
func TestOnceManyRequestsWithOneKey(t *testing.T) {
	eachDatabase(t, func(t *testing.T, dbs []store.DB) {
		for _, many := range []int{5, 100} {
			no := fmt.Sprintf("T%d", many)
			var mu sync.Mutex
			var bodies [][]byte
			var first, refused atomic.Int64
			var all sync.WaitGroup
			for i := range many {
				db := dbs[i%len(dbs)]
				all.Go(func() {
					reply, err := (&idempotency.Once{Store: db}).Do(t.Context(), registering(no), register(db, no))
					switch {
					case errors.Is(err, idempotency.ErrInProgress), errors.Is(err, order.ErrUnavailable):
						refused.Add(1) // ask again
						return
					case err != nil:
						t.Errorf("%s: %v", no, err)
						return
					case !reply.Replayed:
						first.Add(1)
					}
					mu.Lock()
					defer mu.Unlock()
					bodies = append(bodies, reply.Answer.Body)
				})
			}
			all.Wait()
			want := registeredOnce(t, dbs[0], no).Answer.Body
			for _, body := range bodies {
				if !bytes.Equal(body, want) {
					t.Errorf("%s: one heard %s, others %s", no, body, want)
				}
			}
			if first.Load() > 1 || len(bodies)+int(refused.Load()) != many {
				t.Errorf("%s: %d were the first, %d heard an answer, %d shall ask again", no, first.Load(), len(bodies), refused.Load())
			}
		}
	})
}

// A process that dies between the effect and the answer leaves both.
func TestOnceDiesBeforeItAnswers(t *testing.T) {
	eachDatabase(t, func(t *testing.T, dbs []store.DB) {
		const no = "T1"
		var committed idempotency.Answer
		func() {
			defer func() { _ = recover() }()
			_, _ = (&idempotency.Once{Store: dbs[0]}).Do(t.Context(), registering(no), func(ctx context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
				committed, _, _ = register(dbs[0], no)(ctx, l)
				panic("the answer is never sent")
			})
		}()
		if reply := registeredOnce(t, dbs[1], no); !bytes.Equal(reply.Answer.Body, committed.Body) {
			t.Errorf("told %s, committed was %s", reply.Answer.Body, committed.Body)
		}
	})
}

// A process that hangs longer than its lock: another instance does the work, and
// the slow one commits nothing, whatever it does.
func TestOnceSlowInstanceCommitsNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, dbs []store.DB) {
		const no = "T1"
		heir := &idempotency.Once{Store: dbs[1]}
		var heard idempotency.Reply
		slow := &idempotency.Once{Store: dbs[0], LockFor: 50 * time.Millisecond}
		_, err := slow.Do(t.Context(), registering(no), func(ctx context.Context, l idempotency.Lock) (a idempotency.Answer, sealed bool, err error) {
			err = idempotency.ErrInProgress
			for errors.Is(err, idempotency.ErrInProgress) { // until the database says that the lock is over
				heard, err = heir.Do(ctx, registering(no), register(dbs[1], no))
			}
			if err != nil {
				t.Errorf("the heir: %v", err)
			}
			return register(dbs[0], "another order")(ctx, l)
		})
		if !errors.Is(err, order.ErrSealBroken) {
			t.Errorf("the slow one: %v, want ErrSealBroken", err)
		}
		if _, err := dbs[0].Story(t.Context(), order.Key{Merchant: "default", OutTradeNo: "another order"}); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("the slow one's order: %v, want ErrUnknown", err)
		}
		if reply := registeredOnce(t, dbs[0], no); heard.Replayed || !bytes.Equal(reply.Answer.Body, heard.Answer.Body) || !reply.CreatedAt.Equal(heard.CreatedAt) {
			t.Errorf("told %+v, the heir heard %+v", reply, heard)
		}
	})
}

// A request that fails changes nothing and stores nothing; one that is refused
// stores its refusal.
func TestOnceFailuresAreTriedAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, dbs []store.DB) {
		const no = "T1"
		o := &idempotency.Once{Store: dbs[0]}
		_, err := o.Do(t.Context(), registering(no), func(ctx context.Context, l idempotency.Lock) (idempotency.Answer, bool, error) {
			ended, end := context.WithCancel(ctx)
			end()
			return register(dbs[0], no)(ended, l)
		})
		if !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("a request that was broken off: %v, want ErrUnavailable", err)
		}
		if reply, err := o.Do(t.Context(), registering(no), register(dbs[0], no)); err != nil || reply.Replayed {
			t.Errorf("asked again: %+v, %v", reply, err)
		}
		registeredOnce(t, dbs[1], no)

		ship := idempotency.Request{Merchant: "default", Key: "ship", Method: http.MethodPost, URI: "/v1/orders/" + no + "/ship"}
		for i, effect := range []idempotency.Effect{func(ctx context.Context, _ idempotency.Lock) (idempotency.Answer, bool, error) {
			err := commands(dbs[0], false).Do(ctx, order.Key{Merchant: "default", OutTradeNo: no}, order.KindShip)
			return idempotency.Answer{Status: http.StatusConflict, Body: []byte(err.Error())}, false, nil
		}, unwanted(t)} {
			reply, err := (&idempotency.Once{Store: dbs[i]}).Do(t.Context(), ship, effect)
			if err != nil || reply.Replayed != (i == 1) || reply.Answer.Status != http.StatusConflict || len(reply.Answer.Body) == 0 {
				t.Errorf("ask %d to ship an unpaid order: %+v, %v", i, reply, err)
			}
		}
	})
}
