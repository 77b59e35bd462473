package crashtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/outbox/outboxtest"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

const (
	// killEvery is how long a process lives at most, while another one waits or
	// is about to start.
	killEvery = time.Second
	// fewestKills make it a test of kills.
	fewestKills = 3
	// envDeliveries asks for more events; the long form has 10000.
	envDeliveries = "NOTIFYD_DELIVERY_EVENTS"
	usualEvents   = 320
	// killedAtMost, and perEvent more, bound the test: an event that is refused
	// again and again waits longer and longer.
	killedAtMost = 40 * time.Second
	perEvent     = 150 * time.Millisecond
	// eventsOfAnOrder: see saga.
	eventsOfAnOrder = 4
)

// Processes are killed every second, in turn, while notifications make events
// for an endpoint that misbehaves: each event arrives, under one id, in its
// order's order, and from one sender at a time.
func TestDeliveriesSurviveKills(t *testing.T) {
	for name, store := range stores() {
		t.Run(name, func(t *testing.T) {
			orders := ordersOfTheTest(t)
			events := orders * eventsOfAnOrder
			shop := outboxtest.NewShop(t, events, true)
			shop.Lag = 100 * time.Millisecond
			f := &fleet{site: newShop(t, store(t), fmt.Sprintf(`merchants:
  - name: default
    endpoints: [{name: shop, url: %q, secrets: [%q], events: ["*"], allow_private: true}]`, shop.URL, hookSecret))}
			f.site.program = built.hurried(t)
			processes := map[string]int{"SQLite": 1, "PostgreSQL": 2}[name] // SQLite's file belongs to one
			for range processes {
				f.processes = append(f.processes, f.site.start(t))
			}
			begin := time.Now()
			senders := f.tell(t, orders)
			kills := f.killUntil(t, shop, killedAtMost+time.Duration(events)*perEvent)
			senders.Wait()
			if t.Failed() {
				return
			}
			if kills < fewestKills {
				t.Errorf("only %d processes were killed: more events are needed", kills)
			}
			client := newClient(t)
			eventually(t, "what was taken is written down as delivered", func() bool { return f.waiting(t, client) == 0 })
			shop.Check(t)
			p := f.at(0)
			for _, path := range []string{"/admin/v1/events?type=", "/admin/v1/deliveries?state=delivered"} {
				if n := p.count(t, client, path); n != events {
					t.Errorf("%s lists %d, want %d", path, n, events)
				}
			}
			t.Logf("%d kills in %s", kills, time.Since(begin).Round(time.Second))
		})
	}
}

func ordersOfTheTest(t *testing.T) int {
	t.Helper()
	n := usualEvents
	if text := os.Getenv(envDeliveries); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < eventsOfAnOrder {
			t.Fatalf("%s is %q, want a number", envDeliveries, text)
		}
	}
	return n / eventsOfAnOrder
}

// fleet are the processes on one store.
type fleet struct {
	site *site

	mu        sync.Mutex
	processes []*instance
}

// at is one of the processes, by a number that may be greater than theirs.
func (f *fleet) at(n int) *instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.processes[n%len(f.processes)]
}

// killUntil kills one process after the other, and starts another in its place,
// until the shop has taken all. It says how many were killed.
func (f *fleet) killUntil(t *testing.T, shop *outboxtest.Shop, longest time.Duration) int {
	t.Helper()
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	late := time.NewTimer(longest)
	defer late.Stop()
	for kills := 0; ; kills++ {
		select {
		case <-shop.All:
			return kills
		case <-late.C:
			t.Errorf("only %d events were taken in %s, after %d kills:\n%s", shop.Taken(), longest, kills, tail(f.at(0).said()))
			return kills
		case <-tick.C:
			f.at(kills).kill(t)
			p := f.site.start(t)
			f.mu.Lock()
			f.processes[kills%len(f.processes)] = p
			f.mu.Unlock()
		}
	}
}

// tell sends the sagas of many orders, each message until it is acked.
func (f *fleet) tell(t *testing.T, orders int) *sync.WaitGroup {
	client, next := newClient(t), make(chan int)
	var work sync.WaitGroup
	for range loadClients {
		work.Go(func() {
			for i := range next {
				for _, m := range saga(i) {
					f.tellOne(t, client, m)
				}
			}
		})
	}
	work.Go(func() {
		defer close(next)
		for i := range orders {
			next <- i
		}
	})
	return &work
}

// tellOne repeats a message as its provider does, but sooner.
func (f *fleet) tellOne(t *testing.T, client *http.Client, m forge.Message) {
	const pause = 50 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var a answer
	for n, end := 0, time.Now().Add(patience); time.Now().Before(end); n++ {
		if a = post(client, f.at(n).public+ali.path(), m); a.acked(ali) {
			return
		}
		<-tick.C
	}
	t.Errorf("a notification is never acked: %s", a)
}

// saga is an order from its beginning to its end: pending, paid, partly refunded,
// finished.
func saga(i int) []forge.Message {
	p := payment{ali, fmt.Sprintf("D%06d", i), 1000}
	var all []forge.Message
	for n, status := range []string{"WAIT_BUYER_PAY", "TRADE_SUCCESS", "TRADE_SUCCESS", "TRADE_FINISHED"} {
		trade := p.alipay()
		trade.Status, trade.NotifyID = status, fmt.Sprint(trade.NotifyID, "-", n)
		if n == 0 {
			trade.Paid = time.Time{}
		}
		if n >= 2 {
			trade.RefundFen, trade.OutBizNo, trade.Refunded = 300, "R"+p.number, paidAt()
		}
		all = append(all, forge.AlipaySigner{}.Sign(trade.Form()))
	}
	return all
}

// waiting is how many deliveries are not closed.
func (f *fleet) waiting(t *testing.T, client *http.Client) (n int64) {
	t.Helper()
	var page struct {
		Items []struct{ Pending, Exhausted int64 }
	}
	a := f.at(0).get(client, "/admin/v1/endpoints")
	if a.err != nil || a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &page) != nil || len(page.Items) != 1 {
		t.Fatalf("the endpoints: %s", a)
	}
	return page.Items[0].Pending + page.Items[0].Exhausted
}
