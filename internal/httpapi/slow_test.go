package httpapi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

const wholeRequest = "POST /notify/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok"

// end stops a server in a bubble.
func (b *bench) stopInBubble(t *testing.T) {
	t.Helper()
	b.end()
	if err := <-b.ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// closedAfter reads to the end of the connection and says when that came.
func closedAfter(conn net.Conn, start time.Time) time.Duration {
	_, _ = io.Copy(io.Discard, conn)
	return time.Since(start)
}

// T26: whoever is slow is sent away in time.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	within := func(t *testing.T, got, want time.Duration) {
		t.Helper()
		if got < want-100*time.Millisecond || got > want+100*time.Millisecond {
			t.Errorf("closed after %v, want %v", got, want)
		}
	}
	t.Run("says nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serveInBubble(t, nil)
			within(t, closedAfter(b.publicL.dial(t), time.Now()), headerTimeout)
			b.stopInBubble(t)
		})
	})
	t.Run("header byte by byte", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serveInBubble(t, nil)
			conn, start := b.publicL.dial(t), time.Now()
			gaveUp := make(chan struct{})
			go func() {
				defer close(gaveUp)
				for {
					if _, err := io.WriteString(conn, "G"); err != nil {
						return
					}
					<-time.After(500 * time.Millisecond)
				}
			}()
			within(t, closedAfter(conn, start), headerTimeout)
			<-gaveUp
			b.stopInBubble(t)
		})
	})
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serveInBubble(t, nil)
			conn := b.publicL.dial(t)
			if got := ask(t, conn, wholeRequest); got.status != 200 {
				t.Errorf("status %d", got.status)
			}
			within(t, closedAfter(conn, time.Now()), idleTimeout)
			b.stopInBubble(t)
		})
	})
	t.Run("never reads the answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serveInBubble(t, nil)
			conn, start := b.publicL.dial(t), time.Now()
			if _, err := io.WriteString(conn, wholeRequest); err != nil {
				t.Fatal(err)
			}
			<-time.After(writeTimeout - time.Millisecond)
			b.stopInBubble(t) // waits for the connection
			within(t, time.Since(start), writeTimeout)
		})
	})
}

// The answer is due 4 s after the header, whatever is slow.
func TestTheAnswerIsInTime(t *testing.T) {
	t.Parallel()
	inTime := func(t *testing.T, b *bench, request, code string) {
		t.Helper()
		conn := b.publicL.dial(t)
		start := time.Now()
		got := ask(t, conn, request)
		took := time.Since(start)
		if got.status != 503 || got.body != "failure" || got.header.Get("Retry-After") == "" {
			t.Errorf("answered %d %q", got.status, got.body)
		}
		if took > 4*time.Second || took < decideBy {
			t.Errorf("answered after %v", took)
		}
		_ = conn.Close()
		b.stopInBubble(t)
		if line := b.log.lines(t, "notification")[0]; line["reason"] != code {
			t.Errorf("logged as %v, want %s", line["reason"], code)
		}
	}
	t.Run("body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serveInBubble(t, nil)
			inTime(t, b, "POST /notify/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nok", codeBodySlow)
		})
	})
	t.Run("commit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serveInBubble(t, nil)
			b.recorder.will(func(ctx context.Context, _ order.Notification) (order.Receipt, error) {
				<-ctx.Done()
				return order.Receipt{}, order.ErrUnavailable
			})
			inTime(t, b, wholeRequest, codeDeadline)
		})
	})
	t.Run("sender hangs up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serveInBubble(t, nil)
			inside := make(chan struct{})
			b.recorder.will(func(ctx context.Context, _ order.Notification) (order.Receipt, error) {
				close(inside)
				<-ctx.Done()
				return order.Receipt{}, order.ErrUnavailable
			})
			conn := b.publicL.dial(t)
			if _, err := io.WriteString(conn, wholeRequest); err != nil {
				t.Fatal(err)
			}
			<-inside
			_ = conn.Close()
			b.stopInBubble(t)
			if line := b.log.lines(t, "notification")[0]; line["reason"] != codeGone {
				t.Errorf("logged as %v, want %s", line["reason"], codeGone)
			}
		})
	})
}

func TestReadinessFollowsTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type beat = func(context.Context) error
		healthy := func(context.Context) error { return nil }
		var now atomic.Value // of beat
		now.Store(beat(healthy))
		b := newBench(t, func(o *Options) {
			o.Heart = heart{func(ctx context.Context) error { return now.Load().(beat)(ctx) }}
		})
		b.publicL, b.private = newPipes(), newPipes()
		b.use(b.publicL, b.private)
		ready := func() int {
			conn := b.private.dial(t)
			defer func() { _ = conn.Close() }()
			return ask(t, conn, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").status
		}
		b.run()
		synctest.Wait()
		if got := ready(); got != 200 {
			t.Errorf("at first %d", got)
		}
		now.Store(beat(func(context.Context) error { return errors.New("no space") }))
		<-time.After(5 * time.Second)
		if got := ready(); got != 503 {
			t.Errorf("5 s after the store failed: %d", got)
		}
		now.Store(beat(healthy))
		<-time.After(5 * time.Second)
		if got := ready(); got != 200 {
			t.Errorf("5 s after it came back: %d", got)
		}
		now.Store(beat(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })) // answers nothing
		<-time.After(5 * time.Second)
		if got := ready(); got != 503 {
			t.Errorf("5 s after it fell silent: %d", got)
		}
		live := b.publicL.dial(t)
		if got := ask(t, live, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); got.status != 200 {
			t.Errorf("liveness %d: a restart would not help", got.status)
		}
		_ = live.Close()
		b.stopInBubble(t)
		if n := len(b.log.lines(t, "the store cannot be written")); n != 2 {
			t.Errorf("%d lines about two outages", n)
		}
	})
}

func TestReadinessNeedsKeys(t *testing.T) {
	t.Parallel()
	b := serve(t, nil)
	b.adapter.keys = nil
	got := b.send(t, "GET", "/readyz", "")
	if got.status != 503 || !strings.Contains(got.body, "account shop has no key") {
		t.Errorf("without a key: %d %s", got.status, got.body)
	}
}

func TestDrainSequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := serveInBubble(t, func(o *Options) { o.DrainDelay, o.ShutdownTimeout = 10*time.Second, 2*time.Second })
		inside := make(chan struct{}, 1)
		stuck := func(ctx context.Context, _ order.Notification) (order.Receipt, error) {
			inside <- struct{}{}
			<-ctx.Done()
			return order.Receipt{}, ctx.Err()
		}
		synctest.Wait()
		b.end()
		start := time.Now()
		synctest.Wait()
		probe := b.private.dial(t)
		if got := ask(t, probe, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"); got.status != http.StatusServiceUnavailable {
			t.Errorf("ready %d right after the signal", got.status)
		}
		<-time.After(9 * time.Second)
		conn := b.publicL.dial(t)
		if got := ask(t, conn, wholeRequest); got.status != 200 || !got.closes {
			t.Errorf("during the drain delay: %d, the connection closes: %v", got.status, got.closes)
		}
		b.recorder.will(stuck)
		last := b.publicL.dial(t)
		if _, err := io.WriteString(last, wholeRequest); err != nil {
			t.Fatal(err)
		}
		<-inside
		<-time.After(1500 * time.Millisecond)
		select {
		case <-b.publicL.closed:
		default:
			t.Error("still accepting after the drain delay")
		}
		if got := readReply(t, last); got.status != 503 || got.body != "failure" {
			t.Errorf("what was in flight at the very end: %d %q", got.status, got.body)
		}
		if err := <-b.ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(start); took > 12*time.Second {
			t.Errorf("took %v, allowed are 12s", took)
		}
		if line := b.log.lines(t, "notification")[1]; line["reason"] != codeStopping {
			t.Errorf("logged as %v", line["reason"])
		}
	})
}

// A newcomer takes the place of whoever has been quiet for longest, and of
// nobody who is being served.
func TestCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.publicL, b.private = newPipes(), newPipes()
		b.use(b.publicL, b.private)
		b.public.listener = newCrowd(b.publicL, 3)
		leave := make(chan struct{})
		b.recorder.will(func(_ context.Context, n order.Notification) (order.Receipt, error) {
			<-leave
			return order.Receipt{NotificationID: n.ID, Outcome: order.Applied}, nil
		})
		b.run()
		served := b.publicL.dial(t)
		if _, err := io.WriteString(served, wholeRequest); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		silent, sending := b.publicL.dial(t), b.publicL.dial(t)
		if _, err := io.WriteString(sending, "POST /notify/shop HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nslow"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var newcomers []net.Conn
		for i, quiet := range []net.Conn{silent, sending} {
			newcomer := b.publicL.dial(t)
			if got := closedAfter(quiet, time.Now()); got != 0 {
				t.Errorf("quiet connection %d stayed for %v", i, got)
			}
			go func() { _, _ = io.WriteString(newcomer, wholeRequest) }()
			synctest.Wait()
			newcomers = append(newcomers, newcomer)
		}
		refused := b.publicL.dial(t)
		if got := closedAfter(refused, time.Now()); got != 0 {
			t.Errorf("a newcomer beside three that are served stayed for %v", got)
		}
		close(leave)
		if got := readReply(t, served); got.status != 200 {
			t.Errorf("the one that was served: %d", got.status)
		}
		if got := ask(t, served, wholeRequest); got.status != 200 {
			t.Errorf("again on the same connection: %d", got.status)
		}
		for _, conn := range append(newcomers, served) {
			_ = conn.Close()
		}
		b.stopInBubble(t)
	})
}
