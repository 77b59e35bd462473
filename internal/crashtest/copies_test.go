package crashtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider/forge"
)

// copiesAtOnce is how many connections tell the same thing at the same moment.
const copiesAtOnce = 50

// P39: copies at once, twice, and once more after a restart; byte for byte the
// same, and as the provider makes them anew. On PostgreSQL two processes share
// them.
func TestP39Copies(t *testing.T) {
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			shop := newShop(t, open(t), "")
			processes := []*instance{shop.start(t)}
			if name == "PostgreSQL" {
				processes = append(processes, shop.start(t))
			}
			client, now := newClient(t), time.Now()
			type told struct {
				payment
				copy func(n int) forge.Message
			}
			var all []told
			for i, p := range protocols() {
				same := payment{p, "S100" + string(rune('0'+i)), 1000}
				fresh := payment{p, "F100" + string(rune('0'+i)), 2000}
				message := same.message(now)
				all = append(all, told{same, func(int) forge.Message { return message }},
					told{fresh, func(n int) forge.Message { return fresh.copy(n, now) }})
			}
			for _, x := range all {
				for round := range 2 {
					tellAtOnce(t, processes, x.protocol, func(n int) forge.Message { return x.copy(round*copiesAtOnce + n) })
				}
			}
			for i := range processes {
				processes[i].stop(t)
				processes[i] = shop.start(t)
			}
			last := processes[len(processes)-1]
			for _, x := range all {
				s := last.story(t, client, x.number)
				if s == nil {
					t.Fatalf("order %s is not there", x.number)
				}
				// An orderly end writes the counts.
				if n := s.Notifications[0].Copies; n != 2*copiesAtOnce {
					t.Errorf("order %s: %d copies are counted, %d came", x.number, n, 2*copiesAtOnce)
				}
				if a := post(client, last.public+x.path(), x.copy(2*copiesAtOnce)); !a.acked(x.protocol) {
					t.Errorf("%s after the restart: %s", x.protocol, a)
				}
				wantPaidOnce(t, last.story(t, client, x.number), x.fen)
			}
		})
	}
}

// tellAtOnce sends copies over a connection each. All but their last byte is on
// its way before the first of the last bytes follows.
func tellAtOnce(t *testing.T, to []*instance, p protocol, message func(n int) forge.Message) {
	t.Helper()
	var conns []net.Conn
	var lasts [][]byte
	for n := range copiesAtOnce {
		host := strings.TrimPrefix(to[n%len(to)].public, "http://")
		conn, err := net.DialTimeout("tcp", host, patience)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		text := wire(message(n), host, p.path())
		_ = conn.SetDeadline(soon())
		if _, err := conn.Write(text[:len(text)-1]); err != nil {
			t.Fatal(err)
		}
		conns, lasts = append(conns, conn), append(lasts, text[len(text)-1:])
	}
	var work sync.WaitGroup
	for n, conn := range conns {
		work.Go(func() {
			if _, err := conn.Write(lasts[n]); err != nil {
				t.Errorf("copy %d: %v", n, err)
				return
			}
			if a := readAnswer(bufio.NewReader(conn)); !a.acked(p) {
				t.Errorf("copy %d of %s: %s", n, p, a)
			}
		})
	}
	work.Wait()
}

// wire is a message as its bytes go over a connection.
func wire(m forge.Message, host, path string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", path, host, len(m.Body))
	_ = m.Header.Write(&b) // into memory
	b.WriteString("\r\n")
	b.Write(m.Body)
	return b.Bytes()
}

func readAnswer(in *bufio.Reader) answer {
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body), err}
}
