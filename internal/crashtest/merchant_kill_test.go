package crashtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// flood sends wishes from many clients at once until all are sent, or until
// enough have been answered: then stop is called. It returns what was answered.
func flood(wishes []wish, enough int, send func(i int, w wish) answer, stop func()) map[string]answer {
	var mu sync.Mutex
	var work sync.WaitGroup
	answers := map[string]answer{}
	next := make(chan int)
	stopped := make(chan struct{})
	for range 16 {
		work.Go(func() {
			for i := range next {
				a := send(i, wishes[i])
				mu.Lock()
				if a.err == nil && a.status < http.StatusInternalServerError {
					answers[wishes[i].key] = a
				}
				if len(answers) == enough {
					enough = -1
					stop()
					close(stopped)
				}
				mu.Unlock()
			}
		})
	}
	for i := range wishes {
		select {
		case next <- i:
			continue
		case <-stopped:
		}
		break
	}
	close(next)
	work.Wait()
	return answers
}

// wantOneEffect sends every wish again under its key. Whether the first one died
// before its effect, after it or after its answer: it is answered as the first,
// 201, because a second registration would be 200.
func wantOneEffect(t *testing.T, p *instance, client *http.Client, wishes []wish, before map[string]answer) {
	t.Helper()
	var work sync.WaitGroup
	next := make(chan wish)
	for range 16 {
		work.Go(func() {
			for w := range next {
				a := p.settled(t, client, w)
				if a.status != http.StatusCreated {
					t.Errorf("%s: %s", w.key, a)
				}
				if b, told := before[w.key]; told && (a.body != b.body || a.status != b.status || a.header.Get("X-Idempotency-Replayed") != "true") {
					t.Errorf("%s: first %s, after the kill %s", w.key, b, a)
				}
				var s order.StoryView
				if err := json.Unmarshal([]byte(a.body), &s); err != nil || s.Version != 1 || len(s.Transitions) != 1 {
					t.Errorf("%s: %s", w.key, a)
				}
			}
		})
	}
	for _, w := range wishes {
		next <- w
	}
	close(next)
	work.Wait()
}

func manyWishes(prefix string, n int) []wish {
	var all []wish
	for i := range n {
		all = append(all, register(fmt.Sprintf("%s-%03d", prefix, i)))
	}
	return all
}

// The process is killed while requests run; when it is back, each is sent again.
func TestMerchantRequestsSurviveAKill(t *testing.T) {
	t.Parallel()
	s := newShop(t, "sqlite:n.db", merchantOptions)
	client := newClient(t)
	var all []wish
	told := map[string]answer{}
	p := s.start(t)
	for round := range 4 {
		wishes := manyWishes(fmt.Sprint("R", round), 200)
		answers := flood(wishes, 20+rand.IntN(100), func(_ int, w wish) answer { return p.ask(client, w) },
			func() { _ = p.cmd.Process.Kill() })
		p.kill(t)
		for key, a := range answers {
			told[key] = a
		}
		all = append(all, wishes...)
		p = s.start(t)
	}
	if n := p.count(t, client, "/admin/v1/orders?status=created"); n <= len(told) {
		t.Errorf("%d orders and %d answers: none was killed between its effect and its answer", n, len(told))
	}
	wantOneEffect(t, p, client, all, told)
	if n := p.count(t, client, "/admin/v1/orders?status=created"); n != len(all) {
		t.Errorf("%d orders after %d registrations", n, len(all))
	}
	p.stop(t)
}

// One of two instances on a database is killed while both are asked: the other
// one finishes what it left.
func TestMerchantRequestsSurviveAnInstance(t *testing.T) {
	t.Parallel()
	s := newShop(t, pgtest.Database(t), merchantOptions)
	client := newClient(t)
	two := []*instance{s.start(t), s.start(t)}

	// Of a hundred at once, sent to both, one is the first.
	same := make([]wish, 100)
	for i := range same {
		same[i] = register("T19")
	}
	firsts := 0
	var mu sync.Mutex
	flood(same, -1, func(i int, w wish) answer {
		a := two[i%2].settled(t, client, w)
		mu.Lock()
		defer mu.Unlock()
		if a.header.Get("X-Idempotency-Replayed") == "" {
			firsts++
		}
		if a.status != http.StatusCreated {
			t.Errorf("one of a hundred: %s", a)
		}
		return a
	}, func() {})
	if firsts != 1 {
		t.Errorf("%d of a hundred were the first", firsts)
	}

	wishes := manyWishes("K", 400)
	told := flood(wishes, 50+rand.IntN(200), func(i int, w wish) answer { return two[i%2].ask(client, w) },
		func() { _ = two[0].cmd.Process.Kill() })
	two[0].kill(t)
	wantOneEffect(t, two[1], client, wishes, told)
	two[1].stop(t)
}

// An event that one instance commits ends the wait at another one.
func TestMerchantWaitsAtAnotherInstance(t *testing.T) {
	t.Parallel()
	s := newShop(t, pgtest.Database(t), merchantOptions)
	client := newClient(t)
	one, other := s.start(t), s.start(t)
	one.until(t, client, "/readyz", http.StatusOK)
	other.until(t, client, "/readyz", http.StatusOK)
	for i := range 5 {
		heard := make(chan answer, 1)
		go func() {
			heard <- other.ask(client, wish{http.MethodGet, fmt.Sprintf("/v1/events?after=%d&wait=20s", i), "", ""})
		}()
		number := fmt.Sprint("W", i)
		if a := one.settled(t, client, register(number)); a.status != http.StatusCreated {
			t.Fatalf("register: %s", a)
		}
		a := <-heard
		var page struct {
			Items     []order.EventView `json:"items"`
			NextAfter int64             `json:"next_after"`
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || len(page.Items) != 1 || page.NextAfter != int64(i+1) ||
			!strings.Contains(a.body, number) {
			t.Errorf("event %d: %s", i, a)
		}
	}
	one.stop(t)
	other.stop(t)
}
