package crashtest

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

const (
	loadClients = 16
	copiesSent  = 4 // each order is told so often
	// inHand is how many orders are told in turns, so that copies of one are
	// under way at the same time.
	inHand = 8
)

// bill is an order of the load, and what the senders of its payment were told.
type bill struct {
	payment
	once  sync.Once
	text  forge.Message
	acked atomic.Bool
}

func (b *bill) message() forge.Message {
	b.once.Do(func() { b.text = b.payment.message(time.Now()) })
	return b.text
}

// ledger holds all bills of a test: what was acked must be there, for ever.
type ledger struct {
	mu    sync.Mutex
	bills []*bill
	next  int // the next message, counted over all bills and copies
	acks  atomic.Int64
}

// take gives the next message's bill, made when it does not exist yet.
func (l *ledger) take() *bill {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.next
	l.next++
	group := n / (inHand * copiesSent)
	at := group*inHand + n%inHand
	for len(l.bills) <= at {
		i := len(l.bills)
		kinds := protocols()
		p := payment{kinds[i%len(kinds)], fmt.Sprintf("L%06d", i), int64(100 + i)}
		l.bills = append(l.bills, &bill{payment: p})
	}
	return l.bills[at]
}

func (l *ledger) all() []*bill {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*bill(nil), l.bills...)
}

// load sends bills from 16 clients until it is told to end.
type load struct {
	ledger *ledger
	// to says where a client sends next, given how often it failed.
	to     func(client, failures int) string
	strict bool // every answer must be an ack
	end    chan struct{}
	work   sync.WaitGroup
	failed atomic.Pointer[string] // the first answer that was no ack, if strict
	target chan struct{}          // closed when enough acks were seen
}

// start begins to send; enough is the number of acks after which target closes.
func (l *load) start(client *http.Client, enough int64) {
	l.end, l.target = make(chan struct{}), make(chan struct{})
	enough += l.ledger.acks.Load()
	for n := range loadClients {
		l.work.Go(func() { l.send(client, n, enough) })
	}
}

func (l *load) send(client *http.Client, n int, enough int64) {
	for failures := 0; ; {
		select {
		case <-l.end:
			return
		default:
		}
		b := l.ledger.take()
		a := post(client, l.to(n, failures)+b.path(), b.message())
		switch {
		case a.acked(b.protocol):
			b.acked.Store(true)
			if l.ledger.acks.Add(1) == enough {
				close(l.target)
			}
		case l.strict:
			text := fmt.Sprintf("%s %s: %s", b.protocol, b.number, a)
			l.failed.CompareAndSwap(nil, &text)
		default:
			failures++
		}
	}
}

// stop waits until every client has its last answer.
func (l *load) stop() {
	close(l.end)
	l.work.Wait()
}

// settle sends again what was not acked, as providers do, and then holds every
// bill from the given one on to the truth.
func (l *ledger) settle(t *testing.T, client *http.Client, p *instance, from int) {
	t.Helper()
	var work sync.WaitGroup
	bills := make(chan *bill)
	for range loadClients {
		work.Go(func() {
			for b := range bills {
				if !t.Failed() { // one lost order is enough to know
					l.settleOne(t, client, p, b)
				}
			}
		})
	}
	for _, b := range l.all()[from:] {
		bills <- b
	}
	close(bills)
	work.Wait()
}

func (l *ledger) settleOne(t *testing.T, client *http.Client, p *instance, b *bill) {
	s := p.story(t, client, b.number)
	if b.acked.Load() && s == nil {
		t.Errorf("order %s was acked and is not there", b.number)
		return
	}
	if s != nil {
		wantPaidOnce(t, s, b.fen)
	}
	if b.acked.Load() {
		return
	}
	var a answer
	eventually(t, "order "+b.number+" is answered", func() bool {
		a = post(client, p.public+b.path(), b.message())
		return a.status != http.StatusServiceUnavailable
	})
	if !a.acked(b.protocol) {
		t.Errorf("order %s, told again after the restart: %s", b.number, a)
		return
	}
	b.acked.Store(true)
	wantPaidOnce(t, p.story(t, client, b.number), b.fen)
}
