package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// One handle lives through it all: the server is not there yet, comes, is
// stopped, is killed. What was acked is there in the end.
func TestServerComesAndGoes(t *testing.T) {
	cluster := pgtest.New(t)
	db := unprepared(t, cluster.URL("postgres"))
	wantUnavailable(t, "Prepare without a server", db.Prepare(t.Context()))
	wantUnavailable(t, "Beat without a server", db.Beat(t.Context()))
	cluster.Start(t)
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatalf("Prepare when the server is there: %v", err)
	}
	acked := []string{}
	for round, end := range []func(testing.TB){cluster.Stop, cluster.KillAll, cluster.KillAll} {
		for i := range 10 {
			n := fmt.Sprintf("T%d-%d", round, i)
			if err := put(t.Context(), db, n, nil); err != nil {
				t.Fatal(err)
			}
			acked = append(acked, n)
		}
		// In the middle of a unit, so that one is lost.
		wantUnavailable(t, "a unit whose server ends", put(t.Context(), db, fmt.Sprintf("lost-%d", round), func() { end(t) }))
		wantUnavailable(t, "a unit without a server", put(t.Context(), db, "never", nil))
		_, err := db.Known(t.Context(), []order.FactKey{{1}})
		wantUnavailable(t, "Known without a server", err)
		cluster.Start(t)
		// The connections of before are gone together: one failure at most, in
		// whatever pool.
		works := func(i int) error {
			_, lookUp := db.Known(t.Context(), []order.FactKey{{1}})
			_, read := db.Orders(t.Context(), order.OrderFilter{Limit: 1})
			write := put(t.Context(), db, fmt.Sprintf("again-%d-%d", round, i), nil)
			return errors.Join(db.Beat(t.Context()), lookUp, read, write)
		}
		if works(0) != nil {
			if err := works(1); err != nil {
				t.Fatalf("the store does not find the server again: %v", err)
			}
		}
	}
	for _, n := range acked {
		if !exists(t, db, n) {
			t.Errorf("order %s was acked and is gone", n)
		}
	}
	for _, n := range []string{"lost-0", "lost-1", "lost-2", "never"} {
		if exists(t, db, n) {
			t.Errorf("order %s is there, its unit did not commit", n)
		}
	}
}

// Units are acked while the server is killed under them.
func TestKilledServerLosesNothing(t *testing.T) {
	cluster := pgtest.Start(t)
	db := open(t, cluster.URL("postgres"))
	const rounds, acks = 3, 30
	for round := range rounds {
		var mu sync.Mutex
		var acked []string
		enough := make(chan struct{})
		var all sync.WaitGroup
		for worker := range 2 {
			all.Go(func() {
				for i := 0; ; i++ {
					n := fmt.Sprintf("T%d-%d-%d", round, worker, i)
					if err := put(t.Context(), db, n, nil); err != nil {
						wantUnavailable(t, "a unit under a server that is killed", err)
						return
					}
					mu.Lock()
					if acked = append(acked, n); len(acked) == acks {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		cluster.KillAll(t)
		all.Wait()
		cluster.Start(t)
		conn := raw(t, cluster.URL("postgres"))
		var there int
		if err := conn.QueryRow(t.Context(), "select count(*) from orders where out_trade_no = any($1)", acked).Scan(&there); err != nil {
			t.Fatal(err)
		}
		if there != len(acked) {
			t.Errorf("round %d: %d of %d acked orders are there", round, there, len(acked))
		}
		for range 20 { // connections of before fail once each
			if db.Beat(t.Context()) == nil {
				break
			}
		}
	}
}

func TestUnsafeServerIsWarnedOf(t *testing.T) {
	cluster := pgtest.Start(t, "fsync=off", "full_page_writes=off", "synchronous_commit=off")
	db := open(t, cluster.URL("postgres"))
	warnings := strings.Join(db.Warnings(), "\n")
	for _, setting := range []string{"fsync is off", "full_page_writes is off", "synchronous_commit is off"} {
		if !strings.Contains(warnings, setting) {
			t.Errorf("the warnings do not say that %s:\n%s", setting, warnings)
		}
	}
	err := db.EachConnection(t.Context(), func(conn *pgx.Conn) error {
		var got string
		err := conn.QueryRow(t.Context(), "show synchronous_commit").Scan(&got)
		if got != "on" {
			t.Errorf("synchronous_commit is %s on a connection of ours", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Two instances take copies of the same messages at the same moment. They lock
// nothing in common, and the ids that each gives stand in another order.
func TestCopiesAtTwoInstancesMakeNoRing(t *testing.T) {
	url := pgtest.Database(t)
	t.Cleanup(func() { wantNoDeadlock(t, url) })
	instances := []*postgres.Store{open(t, url), open(t, url)}
	const rounds, batch = 10, 100
	for round := range rounds {
		var inside, all sync.WaitGroup
		inside.Add(len(instances))
		for i, db := range instances {
			var c order.Changes
			for j := range batch {
				n := order.Row{ID: fmt.Sprintf("ntf_%d_%d_%03d", i, round, j), ReceivedAt: time.Unix(1, 0), FactKey: order.FactKey{1, byte(round), byte(j)}}
				if i == 1 {
					n.ID = fmt.Sprintf("ntf_%d_%d_%03d", i, round, batch-j)
				}
				c.Notifications = append(c.Notifications, n)
			}
			all.Go(func() {
				err := db.Transact(t.Context(), order.Want{}, func(*order.Found) (*order.Changes, error) {
					inside.Done()
					inside.Wait() // both write at once
					return &c, nil
				})
				if err != nil && !errors.Is(err, order.ErrRace) {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// A commit that gave up to wait for its standby is in the database, but an ack
// would not survive a failover.
func TestCommitThatMissedItsStandbyIsNotAcked(t *testing.T) {
	cluster := pgtest.Start(t)
	db := open(t, cluster.URL("postgres"))
	conn := raw(t, cluster.URL("postgres"))
	exec(t, conn, "set synchronous_commit = local")
	exec(t, conn, "alter system set synchronous_standby_names = 'nobody'")
	exec(t, conn, "select pg_reload_conf()")
	const cancel = `select coalesce(bool_or(pg_cancel_backend(pid)), false) from pg_stat_activity where wait_event = 'SyncRep'`
	var no string
	var missed error
	// The server takes a setting over when it gets to it; commits before do not wait.
	for try, cancelled := 1, false; !cancelled; try++ {
		no = fmt.Sprintf("T%d", try)
		done := make(chan error, 1)
		go func() { done <- put(t.Context(), db, no, nil) }()
		for !cancelled && len(done) == 0 {
			if err := conn.QueryRow(t.Context(), cancel).Scan(&cancelled); err != nil {
				t.Fatal(err)
			}
		}
		if missed = <-done; !cancelled && (missed != nil || try == 1000) {
			t.Fatalf("unit %d did not wait for the standby: %v", try, missed)
		}
	}
	wantUnavailable(t, "a commit that missed its standby", missed)
	if !exists(t, db, no) {
		t.Error("the commit is not there: the test shows nothing")
	}
}

func TestReadOnlyServerIsLeft(t *testing.T) {
	db := open(t, pgtest.Database(t))
	err := db.EachConnection(t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), "set default_transaction_read_only = on")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// As many as there are connections; each is closed after its refusal.
	refused := 0
	for put(t.Context(), db, fmt.Sprintf("T%d", refused), nil) != nil {
		if refused++; refused > 20 {
			t.Fatal("the store stays with a server that takes nothing")
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: the test shows nothing")
	}
}

func TestLockThatIsNotGivenIsUnavailable(t *testing.T) {
	url := pgtest.Database(t)
	db := open(t, url)
	conn := raw(t, url)
	o := anOrder("T1")
	lock := postgres.LockOf(&order.Want{Orders: []order.Key{o.Key}})
	exec(t, conn, "select pg_advisory_lock($1)", lock[0])
	wantUnavailable(t, "an order that somebody else holds", put(t.Context(), db, "T1", nil))
	exec(t, conn, "select pg_advisory_unlock($1)", lock[0])
	if err := put(t.Context(), db, "T1", nil); err != nil {
		t.Error(err)
	}
}

func TestBrokenConnectionIsUnavailable(t *testing.T) {
	url := pgtest.Database(t)
	db := open(t, url)
	conn := raw(t, url)
	err := put(t.Context(), db, "T1", func() {
		exec(t, conn, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'notifyd' and datname = current_database()")
	})
	wantUnavailable(t, "a unit whose connection broke", err)
	if exists(t, open(t, url), "T1") {
		t.Error("the unit is there")
	}
}

// The connection breaks after the commit has reached the server and before its
// answer has come back.
func TestCommitOfUnknownFate(t *testing.T) {
	url := pgtest.Database(t)
	proxy := newProxy(t, raw(t, url).Config())
	db := open(t, proxy.url(url))
	// The first use of a statement asks the server for its plan; that answer is
	// not the one to lose.
	if err := put(t.Context(), db, "T0", nil); err != nil {
		t.Fatal(err)
	}
	err := put(t.Context(), db, "T1", func() { proxy.mute.Store(true) })
	wantUnavailable(t, "a commit whose answer is lost", err)
	proxy.mute.Store(false)
	// The server has it, though nobody was told: a copy must find it known.
	direct := open(t, url)
	for range 1000 {
		if exists(t, direct, "T1") {
			return
		}
	}
	t.Error("the commit did not reach the server: the test shows nothing")
}

// A server may be so far away that a connection takes longer to make than an
// answer waits for one that others have.
func TestConnectionThatIsBeingMadeIsWaitedFor(t *testing.T) {
	url := pgtest.Database(t)
	proxy := newProxy(t, raw(t, url).Config())
	db := open(t, proxy.url(url))
	proxy.distance.Store(int64(2 * postgres.PoolWait))
	err := put(t.Context(), db, "T1", func() { // it has the connection that is there
		if err := put(t.Context(), db, "T2", nil); err != nil {
			t.Errorf("a command that needs a new connection: %v", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// What cannot be connected to is refused at once, however many ask, and is not
// dialled again and again.
func TestServerThatHangsUpIsNotDialledForEver(t *testing.T) {
	url := pgtest.Database(t)
	proxy := newProxy(t, raw(t, url).Config())
	db := open(t, proxy.url(url))
	err := db.EachConnection(t.Context(), func(conn *pgx.Conn) error { return conn.Close(t.Context()) })
	if err != nil {
		t.Fatal(err)
	}
	proxy.hangUp.Store(true)
	proxy.distance.Store(int64(time.Millisecond))
	before := proxy.taken.Load()
	const asking = 8
	var all sync.WaitGroup
	for range asking {
		all.Go(func() {
			_, err := db.Orders(t.Context(), order.OrderFilter{Limit: 1})
			wantUnavailable(t, "a question to a server that hangs up", err)
		})
	}
	all.Wait()
	// Each of them may meet a few connections, and the driver tries both ways.
	if dials := proxy.taken.Load() - before; dials > 20*asking {
		t.Errorf("%d dials for %d questions", dials, asking)
	}
}

// The other end of a connection may be gone without a word, as behind a firewall
// that forgot it. Nobody waits for it for ever, not even at the end, and one that
// was idle for a second is asked first.
func TestConnectionThatIsSilentIsLeft(t *testing.T) {
	url := pgtest.Database(t)
	proxy := newProxy(t, raw(t, url).Config())
	db := open(t, proxy.url(url))
	proxy.silent.Store(proxy.taken.Load())
	_, err := db.Sequence(t.Context(), 1)
	wantUnavailable(t, "to give places", err)
	if _, _, err := db.Head(t.Context()); err != nil {
		t.Errorf("the head, on a new connection: %v", err)
	}
	proxy.silent.Store(proxy.taken.Load())
	<-time.After(1100 * time.Millisecond) // the driver asks those that were idle for a second
	if _, _, err := db.Head(t.Context()); err != nil {
		t.Errorf("the head: %v", err)
	}
	if err := put(t.Context(), db, "T1", nil); err != nil {
		wantUnavailable(t, "a command", err)
	}
}

// proxy passes bytes on. While it is mute, it cuts each connection at the first
// answer, which it does not pass on. A new connection begins after the distance,
// in nanoseconds.
type proxy struct {
	listener net.Listener
	server   string
	mute     atomic.Bool
	distance atomic.Int64
	hangUp   atomic.Bool  // new connections are closed
	taken    atomic.Int64 // how many connections there were
	silent   atomic.Int64 // so many of them, the first, say nothing any more
}

func newProxy(t *testing.T, server *pgx.ConnConfig) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: net.JoinHostPort(server.Host, fmt.Sprint(server.Port))}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(t.Context(), client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return p
}

// url is a server's URL with the proxy in its place.
func (p *proxy) url(server string) string {
	return strings.Replace(server, p.server, p.listener.Addr().String(), 1)
}

func (p *proxy) serve(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	mine := p.taken.Add(1)
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Duration(p.distance.Load())):
	}
	if p.hangUp.Load() {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var forth sync.WaitGroup
	forth.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil || p.mute.Load() {
			break
		}
		if mine <= p.silent.Load() {
			continue
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			break
		}
	}
	_ = client.Close()
	forth.Wait()
}
