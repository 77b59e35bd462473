package crashtest

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Behind a balancer that asks for readiness, a stop under load costs nobody an
// answer: the process serves on until the balancer has turned away.
func TestStopUnderLoad(t *testing.T) {
	shop := newShop(t, "sqlite:n.db", "drain_delay: 1s")
	var l ledger
	for range 3 {
		p := shop.start(t)
		client, from := newClient(t), l.beginning()
		p.until(t, client, "/readyz", http.StatusOK)
		senders := load{ledger: &l, strict: true, to: func(int, int) string { return p.public }}
		const enough = 200
		senders.start(client, enough)
		<-senders.target
		p.signal(t, syscall.SIGTERM)
		p.until(t, client, "/readyz", http.StatusServiceUnavailable)
		senders.stop() // the balancer turns away; what is under way is answered
		if text := senders.failed.Load(); text != nil {
			t.Errorf("while the process drains: %s", *text)
		}
		p.ends(t)
		p = shop.start(t)
		l.settle(t, client, p, from)
		p.kill(t) // spares the delay
	}
}

// Without a delay, too, what was taken in is answered: requests whose body is
// still on its way when the signal comes.
func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	shop := newShop(t, "sqlite:n.db", "")
	p := shop.start(t)
	host := strings.TrimPrefix(p.public, "http://")
	type slow struct {
		payment
		conn net.Conn
		in   *bufio.Reader
		rest []byte
	}
	var all []*slow
	const many = 30
	for n := range many {
		x := &slow{payment: payment{protocols()[n%3], "W" + string(rune('a'+n%26)) + string(rune('a'+n/26)), 1000}}
		conn, err := net.DialTimeout("tcp", host, patience)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(soon())
		m := x.message(time.Now())
		m.Header.Set("Expect", "100-continue")
		text := wire(m, host, x.path())
		half := len(text) - len(m.Body)/2
		x.conn, x.in, x.rest = conn, bufio.NewReader(conn), text[half:]
		if _, err := conn.Write(text[:half]); err != nil {
			t.Fatal(err)
		}
		// The server says so when its handler reads the body.
		if line, err := x.in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := x.in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	p.signal(t, syscall.SIGTERM)
	eventually(t, "the listener is closed", func() bool {
		conn, err := net.DialTimeout("tcp", host, patience)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	var work sync.WaitGroup
	for _, x := range all {
		work.Go(func() {
			if _, err := x.conn.Write(x.rest); err != nil {
				t.Errorf("%s: %v", x.number, err)
				return
			}
			if a := readAnswer(x.in); !a.acked(x.protocol) {
				t.Errorf("%s: %s", x.number, a)
			}
		})
	}
	work.Wait()
	p.ends(t)
	p = shop.start(t)
	client := newClient(t)
	for _, x := range all {
		wantPaidOnce(t, p.story(t, client, x.number), x.fen)
	}
	p.stop(t)
}
