package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/store"
	"github.com/notifyd/notifyd/internal/store/postgres"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
	"github.com/notifyd/notifyd/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB { return open(t, pgtest.Database(t)) })
}

// pair is two instances on one database; each call goes to the other one than
// the call before.
type pair struct {
	store.DB
	second store.DB
	calls  atomic.Int64
}

func (p *pair) next() store.DB {
	if p.calls.Add(1)%2 == 0 {
		return p.second
	}
	return p.DB
}

func (p *pair) Transact(ctx context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	return p.next().Transact(ctx, want, decide)
}

func (p *pair) Sequence(ctx context.Context, limit int) (int, error) {
	return p.next().Sequence(ctx, limit)
}

func (p *pair) EventsAfter(ctx context.Context, merchant string, after int64, limit int) ([]order.Event, int64, error) {
	return p.next().EventsAfter(ctx, merchant, after, limit)
}

func (p *pair) TakeKey(ctx context.Context, c idempotency.Claim) (idempotency.Record, error) {
	return p.next().TakeKey(ctx, c)
}

func (p *pair) Claim(ctx context.Context, c outbox.Claim) (outbox.Claimed, error) {
	return p.next().Claim(ctx, c)
}

func (p *pair) Finish(ctx context.Context, now time.Time, results []outbox.Result) error {
	return p.next().Finish(ctx, now, results)
}

func (p *pair) FinishKey(ctx context.Context, l idempotency.Lock, a idempotency.Answer) error {
	return p.next().FinishKey(ctx, l, a)
}

func (p *pair) ReleaseKey(ctx context.Context, l idempotency.Lock) error {
	return p.next().ReleaseKey(ctx, l)
}

func TestTwoInstancesWorkTogether(t *testing.T) {
	storetest.RunTogether(t, func(t *testing.T) store.DB {
		url := pgtest.Database(t)
		t.Cleanup(func() { wantNoDeadlock(t, url) }) // after the instances are closed: then all is counted
		return &pair{DB: open(t, url), second: open(t, url)}
	})
}

// A deadlock is resolved, as a lost race; that it took a second nobody sees.
func wantNoDeadlock(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var deadlocks int
	const count = "select deadlocks from pg_stat_database where datname = current_database()"
	if err := conn.QueryRow(context.Background(), count).Scan(&deadlocks); err != nil {
		t.Fatal(err)
	}
	if deadlocks > 0 {
		t.Errorf("units waited for each other in a ring %d times", deadlocks)
	}
}

// open opens and prepares a database.
func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	db := unprepared(t, url)
	if err := db.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

func unprepared(t *testing.T, url string) *postgres.Store {
	t.Helper()
	db, err := postgres.Open(url, postgres.Options{Subscriptions: storetest.Subscriptions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// raw is a connection of the driver alone.
func raw(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, query string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func anOrder(n string) order.Order {
	return order.Order{Key: order.Key{Merchant: "default", OutTradeNo: n}, Rev: 1, CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)}
}

// put writes an order, and calls in between while its unit is being decided.
func put(ctx context.Context, db *postgres.Store, n string, between func()) error {
	o := anOrder(n)
	return db.Transact(ctx, order.Want{Orders: []order.Key{o.Key}}, func(*order.Found) (*order.Changes, error) {
		if between != nil {
			between()
		}
		return &order.Changes{Orders: []order.Order{o}}, nil
	})
}

func exists(t *testing.T, db *postgres.Store, n string) bool {
	t.Helper()
	_, err := db.Story(t.Context(), anOrder(n).Key)
	if err != nil && !errors.Is(err, order.ErrUnknown) {
		t.Fatal(err)
	}
	return err == nil
}

func wantUnavailable(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrRace) {
		t.Errorf("%s: %v, want ErrUnavailable", what, err)
	}
}

func TestInstancesMigrateTogether(t *testing.T) {
	url := pgtest.Empty(t)
	const instances = 4
	var all sync.WaitGroup
	for range instances {
		db := unprepared(t, url)
		all.Go(func() {
			if err := db.Prepare(t.Context()); err != nil {
				t.Error(err)
			}
			if err := db.Beat(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var steps, distinct int
	if err := raw(t, url).QueryRow(t.Context(), "select count(*), count(distinct version_id) from goose_db_version").Scan(&steps, &distinct); err != nil {
		t.Fatal(err)
	}
	if steps != distinct {
		t.Errorf("%d steps were taken, %d of them twice", steps, steps-distinct)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	url := pgtest.Database(t)
	exec(t, raw(t, url), "insert into goose_db_version (version_id, is_applied) values (99999, true)")
	db := unprepared(t, url)
	if err := db.Prepare(t.Context()); !errors.Is(err, store.ErrSchemaNewer) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("Prepare: %v, want ErrSchemaNewer", err)
	}
	wantUnavailable(t, "Beat after a refusal", db.Beat(t.Context()))
}

func TestOtherEncodingIsRefused(t *testing.T) {
	url := pgtest.Empty(t)
	exec(t, raw(t, url), "create database notifyd_latin encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'")
	admin := raw(t, url)
	t.Cleanup(func() {
		_, _ = admin.Exec(context.Background(), "drop database notifyd_latin with (force)")
	})
	at := strings.LastIndexByte(url, '/')
	_, query, _ := strings.Cut(url[at:], "?")
	err := unprepared(t, url[:at]+"/notifyd_latin?"+query).Prepare(t.Context())
	if err == nil || !strings.Contains(err.Error(), "LATIN1") || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("Prepare: %v, want a refusal that names the encoding", err)
	}
}

func TestEveryConnectionHasTheSettings(t *testing.T) {
	db := open(t, pgtest.Database(t))
	notices := 0
	err := db.EachConnection(t.Context(), func(conn *pgx.Conn) error {
		lockTimeout := "1s"
		if db.OfNotices(conn) {
			lockTimeout = "300ms"
			notices++
		}
		for name, want := range map[string]string{
			"statement_timeout": "2s", "lock_timeout": lockTimeout, "idle_in_transaction_session_timeout": "5s",
			"application_name": "notifyd", "synchronous_commit": "on",
		} {
			var got string
			if err := conn.QueryRow(t.Context(), "select current_setting($1)", name).Scan(&got); err != nil {
				return err
			}
			if got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		// A plan may be kept only where nothing but look-ups can be planned.
		var mode, scans string
		if err := conn.QueryRow(t.Context(), "select current_setting('plan_cache_mode'), current_setting('enable_seqscan')").Scan(&mode, &scans); err != nil {
			return err
		}
		if want := map[string]string{"on": "force_custom_plan", "off": "force_generic_plan"}[scans]; mode != want {
			t.Errorf("plan_cache_mode is %s with enable_seqscan %s", mode, scans)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := postgres.DefaultCommitters + 1; notices != want {
		t.Errorf("%d connections are for notifications, want %d", notices, want)
	}
}

// Whatever else is going on, notifications are looked up and committed, and the
// beat says so.
func TestNotificationsHaveConnectionsOfTheirOwn(t *testing.T) {
	db := open(t, pgtest.Database(t))
	release, err := postgres.Hold(t.Context(), db.AllButNotices())
	if err != nil {
		t.Fatal(err)
	}
	wantUnavailable(t, "a command without a connection", db.Transact(t.Context(), order.Want{Orders: []order.Key{{Merchant: "m", OutTradeNo: "1"}}}, nothing))
	recorder := order.NewRecorder(order.RecorderOptions{Store: db, Now: time.Now, NewID: func(prefix string) string { return prefix + "1" }, Committers: db.Committers()})
	defer func() { _ = recorder.Close(t.Context()) }()
	defer release() // before: the count of copies is written at the end
	paid := order.Notification{ID: "ntf_1", ReceivedAt: time.Now(), Provider: "p", Account: "a", Scope: "s", Merchant: "m", Kind: order.KindPaid,
		Facts: []order.Fact{{Kind: order.KindPaid, Merchant: "m", OutTradeNo: "1", Provider: "p", Account: "a", ProviderTxnID: "t1", AmountFen: 100}}}
	for _, repeat := range []bool{false, true} {
		receipt, err := recorder.Record(t.Context(), paid)
		if err != nil || receipt.Repeat != repeat {
			t.Errorf("a notification: %+v %v, want one with repeat %v", receipt, err, repeat)
		}
	}
	if _, err := db.Payments(t.Context(), []order.TxnKey{{Provider: "p", ProviderTxnID: "t1"}}); err != nil {
		t.Errorf("Payments: %v", err)
	}
	if err := db.Beat(t.Context()); err != nil {
		t.Errorf("Beat: %v", err)
	}
}

// However many people ask and command, events are told and what is old goes.
func TestWhatNobodyWaitsForHasConnectionsOfItsOwn(t *testing.T) {
	db := open(t, pgtest.Database(t))
	release, err := postgres.Hold(t.Context(), db.ForPeople())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	_, _, err = db.EventsAfter(t.Context(), "m", 0, 1)
	wantUnavailable(t, "a question without a connection", err)
	for name, do := range map[string]func() error{
		"Sequence": func() error { _, err := db.Sequence(t.Context(), 1); return err },
		"Head":     func() error { _, _, err := db.Head(t.Context()); return err },
		"AddCopies": func() error {
			return db.AddCopies(t.Context(), map[string]int64{"ntf_1": 1})
		},
		"Claim": func() error {
			_, err := db.Claim(t.Context(), outbox.Claim{Lease: "l", Now: time.Now(), For: time.Minute, Want: []outbox.Want{{Endpoint: "e", Limit: 1}}})
			return err
		},
		"PruneRaw":  func() error { _, err := db.PruneRaw(t.Context(), time.Now(), 1); return err },
		"PruneKeys": func() error { _, err := db.PruneKeys(t.Context(), time.Hour, 1); return err },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func nothing(*order.Found) (*order.Changes, error) { return nil, nil }

// Each key of a set is looked up. On empty tables a planner reads them whole,
// so that is made dear.
func TestSetsAreLookedUpByIndex(t *testing.T) {
	conn := raw(t, pgtest.Database(t))
	for _, setting := range []string{"enable_seqscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "plan_cache_mode = force_generic_plan"} {
		exec(t, conn, "set "+setting)
	}
	for query, args := range postgres.Queries() {
		rows, err := conn.Query(t.Context(), "explain "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s\n%s", query, plan)
		}
	}
}

// Locks are the same in every process, and in one order.
func TestLocksStandStill(t *testing.T) {
	a, b := order.Key{Merchant: "default", OutTradeNo: "T1"}, order.Key{Merchant: "default", OutTradeNo: "T2"}
	tx := order.TxnKey{Provider: "default", ProviderTxnID: "T1"}
	got := postgres.LockOf(&order.Want{Orders: []order.Key{b, a, b}, Txns: []order.TxnKey{tx}})
	if len(got) != 3 || got[0] >= got[1] || got[1] >= got[2] {
		t.Errorf("locks %d: want three, sorted: an order and a transaction of one name are two things", got)
	}
	const lockOfT1 = -3979991675284036324 // instances of two releases must agree
	if lock := postgres.LockOf(&order.Want{Orders: []order.Key{a}}); len(lock) != 1 || lock[0] != lockOfT1 {
		t.Errorf("the lock of T1 is %d, want %d", lock, lockOfT1)
	}
}

func BenchmarkTransact(b *testing.B)       { benchmark(b, storetest.Benchmark) }
func BenchmarkTransactPlaced(b *testing.B) { benchmark(b, storetest.BenchmarkPlaced) }
func BenchmarkTransactOne(b *testing.B)    { benchmark(b, storetest.BenchmarkOne) }

func benchmark(b *testing.B, measure func(*testing.B, store.DB)) {
	db, err := store.Open(pgtest.Database(b), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	measure(b, db)
}
