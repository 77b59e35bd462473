package crashtest

import (
	"database/sql"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	_ "modernc.org/sqlite" // looks into the file from outside

	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// envRounds asks for more rounds than the usual ones; see make chaos.
const envRounds = "NOTIFYD_CHAOS_ROUNDS"

const (
	usualRounds = 20
	// usualDatabaseRounds are fewer: each waits for a server to recover.
	usualDatabaseRounds = 3
)

func rounds(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv(envRounds)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q: it must be a number of rounds", envRounds, text)
	}
	return n
}

// moment is after how many acks of a round the process is killed: sometimes with
// a nearly empty database, sometimes in the middle of full batches.
func moment(r *rand.Rand) int64 { return 1 + r.Int64N(1+r.Int64N(600)) }

// chaosSeed makes the moments the same in every run; what the schedulers do is
// not.
const chaosSeed = 20260101

// Killed under load, again and again: what was acked is there, and nothing
// happened twice.
func TestChaosKillSQLite(t *testing.T) {
	shop := newShop(t, "sqlite:n.db", "")
	random := rand.New(rand.NewPCG(chaosSeed, 1))
	var l ledger
	p := shop.start(t)
	for round := range rounds(t, usualRounds) {
		client, from := newClient(t), l.beginning()
		senders := load{ledger: &l, to: func(int, int) string { return p.public }}
		senders.start(client, moment(random))
		<-senders.target
		p.kill(t)
		senders.stop()
		wantIntact(t, shop.dir, round)
		p = shop.start(t)
		l.settle(t, client, p, from)
		client.CloseIdleConnections()
		if t.Failed() {
			t.Fatalf("in round %d", round+1)
		}
	}
	l.finish(t, p)
	p.stop(t)
	wantIntact(t, shop.dir, -1)
}

// wantIntact lets SQLite check a copy of what a killed process left: its file
// with the log beside it.
func wantIntact(t *testing.T, dir string, round int) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(copied) // many rounds would fill the disk
	for _, name := range []string{"n.db", "n.db-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) && name != "n.db" {
			continue // an orderly end leaves none
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(copied, "n.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("pragma integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("round %d: integrity_check says %q, %v", round+1, verdict, err)
	}
}

// Two processes share a PostgreSQL and the load; one of them, or both, is killed
// in every round, and providers turn to the other.
func TestChaosKillPostgreSQL(t *testing.T) {
	shop := newShop(t, pgtest.Database(t), "")
	random := rand.New(rand.NewPCG(chaosSeed, 2))
	var l ledger
	processes := []*instance{shop.start(t), shop.start(t)}
	for round := range rounds(t, usualRounds) {
		client, from := newClient(t), l.beginning()
		urls := []string{processes[0].public, processes[1].public}
		senders := load{ledger: &l, to: func(n, failures int) string { return urls[(n+failures)%len(urls)] }}
		senders.start(client, moment(random))
		<-senders.target
		killed := []int{random.IntN(2)}
		if random.IntN(4) == 0 {
			killed = []int{0, 1}
		}
		for _, i := range killed {
			processes[i].kill(t)
		}
		senders.stop()
		for _, i := range killed {
			processes[i] = shop.start(t)
		}
		l.settle(t, client, processes[round%2], from)
		client.CloseIdleConnections()
		if t.Failed() {
			t.Fatalf("in round %d", round+1)
		}
	}
	l.finish(t, processes[0])
	for _, p := range processes {
		p.stop(t)
	}
}

// All processes of the PostgreSQL are killed under the same load, and start again:
// what was acked is there, and the program goes on without a restart of its own.
func TestChaosKillDatabase(t *testing.T) {
	cluster := pgtest.Start(t)
	random := rand.New(rand.NewPCG(chaosSeed, 3))
	var l ledger
	p := newShop(t, cluster.URL("postgres"), "").start(t)
	for round := range rounds(t, usualDatabaseRounds) {
		client, from := newClient(t), l.beginning()
		p.until(t, client, "/readyz", http.StatusOK)
		senders := load{ledger: &l, to: func(int, int) string { return p.public }}
		senders.start(client, moment(random))
		<-senders.target
		cluster.KillAll(t)
		senders.stop()
		cluster.Start(t)
		eventually(t, "the next delivery is accepted", func() bool {
			b := l.take()
			acked := post(client, p.public+b.path(), b.message()).acked(b.protocol)
			b.acked.Store(acked || b.acked.Load())
			return acked
		})
		l.settle(t, client, p, from)
		client.CloseIdleConnections()
		if t.Failed() {
			t.Fatalf("in round %d", round+1)
		}
	}
	l.finish(t, p)
	p.stop(t)
}

// beginning is the first bill of a new round; the last ones of the round before
// may be told again.
func (l *ledger) beginning() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, len(l.bills)-inHand)
}

// finish looks at everything once more, and at what the lists say.
func (l *ledger) finish(t *testing.T, p *instance) {
	t.Helper()
	client := newClient(t)
	l.settle(t, client, p, 0)
	bills := len(l.all())
	if n := p.count(t, client, "/admin/v1/orders?status=paid"); n != bills {
		t.Errorf("%d orders are paid, %d were told", n, bills)
	}
	if n := p.count(t, client, "/admin/v1/notifications?outcome=applied"); n != bills {
		t.Errorf("%d notifications were applied, %d orders were told", n, bills)
	}
	t.Logf("%d orders, %d acks", bills, l.acks.Load())
}

// count counts the items of a list, page by page.
func (p *instance) count(t *testing.T, client *http.Client, path string) int {
	t.Helper()
	n, cursor := 0, ""
	for {
		a := p.get(client, path+"&limit=200&cursor="+cursor)
		var page struct {
			Items []json.RawMessage
			Next  *string `json:"next_cursor"`
		}
		if a.err != nil || a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &page) != nil {
			t.Fatalf("%s: %s", path, a)
		}
		n += len(page.Items)
		if page.Next == nil {
			return n
		}
		cursor = *page.Next
	}
}
