package postgres

import (
	"context"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/store/row"
)

// Limits of the connections.
const (
	// maxReaders is how many people's reads run at once.
	maxReaders = 6
	// maxLookers is how many batches are looked up at once: more than the
	// recorder ever has under way.
	maxLookers = 4
	// spareCommitters are beside the committers for the beat, which says whether
	// notifications can be committed.
	spareCommitters = 1
	// maxWriters is how many merchants' commands run at once.
	maxWriters = 3
	// maxTellers are for what nobody waits for: the outbox, places in the feed,
	// counts of copies, the removal of what is old.
	maxTellers = 3
	// maxKeepers is for refused requests: one small transaction at a time.
	maxKeepers = 1
	// poolWait bounds the wait for a connection that others have: when all are in
	// use for so long, an honest refusal is better than one more in the queue. To
	// make a connection may take longer: a server may be far away.
	poolWait = 300 * time.Millisecond
	// tellersTime bounds a piece of work that nobody waits for: a connection whose
	// other end is gone without a word must not keep it for ever.
	tellersTime = 5 * time.Second
	// pingTimeout bounds the question whether a connection that was idle is still
	// one: without it, one whose other end is gone is asked for a minute.
	pingTimeout = time.Second
	// connectTimeout is for a URL that names none.
	connectTimeout = 2 * time.Second
	// rollbackTimeout bounds the polite end of a transaction that failed; after
	// it the connection is closed.
	rollbackTimeout = time.Second
)

// settings hold for every connection.
var settings = map[string]string{
	"statement_timeout":                   "2s",
	"lock_timeout":                        "1s",
	"idle_in_transaction_session_timeout": "5s",
	// A generic plan that was made while a table was empty stays, and reads the
	// whole table when it is full.
	"plan_cache_mode": "force_custom_plan",
	// Compiling a statement takes longer than any of ours runs.
	"jit": "off",
}

// lookUps hold for the connections that write: all that they read, they look up
// by a key. Until a table's statistics exist, a minute after its first rows, the
// planner takes keys of two columns for far from unique and reads the table; so
// that is forbidden. Bitmaps serve many rows, and to begin one costs more than a
// few look-ups. Plans are kept, because planning is most of what a lone
// notification costs, but not for long: see freshPlans.
var lookUps = map[string]string{
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"plan_cache_mode":   "force_generic_plan",
}

// noticesLockTimeout is shorter than others' lock_timeout: behind a unit of work
// that waits for one order are the acks of all others of its committer.
const noticesLockTimeout = "300ms"

// ofNotices holds for the connections that commit notifications.
func ofNotices() map[string]string {
	own := maps.Clone(lookUps)
	own["lock_timeout"] = noticesLockTimeout
	return own
}

const applicationName = "notifyd"

// settle adds what the URL does not say.
func settle(config *pgxpool.Config) *pgxpool.Config {
	c := config.ConnConfig
	maps.Copy(c.RuntimeParams, settings)
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = applicationName
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	// A standby answers too, but takes nothing.
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	c.OnNotice = noteUnreplicated
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		writeOwnArrays(conn.TypeMap())
		return demandDurability(ctx, conn)
	}
	return config
}

func (s *Store) newPool(size int, settings map[string]string) (*pgxpool.Pool, error) {
	config := s.config.Copy()
	config.MaxConns = int32(size)
	config.PingTimeout = pingTimeout
	maps.Copy(config.ConnConfig.RuntimeParams, settings)
	if settings["plan_cache_mode"] == "force_generic_plan" {
		config.PrepareConn = freshPlans
	}
	return pgxpool.NewWithConfig(context.Background(), config)
}

// planAge is how long plans are kept. In that time a table grows by what one
// second's commits add, whatever it held; a plan is made in a millisecond.
const planAge = time.Second

// planned is when a connection's plans were last thrown away.
const planned = "planned"

// freshPlans throws a connection's plans away when they are old. A plan that was
// made while a table was empty goes through the whole table as if it were one
// row, and would do so until the table's statistics are next made.
func freshPlans(ctx context.Context, conn *pgx.Conn) (bool, error) {
	now := time.Now() // of this connection's own upkeep: no decision rests on it
	if last, ok := conn.PgConn().CustomData()[planned].(time.Time); ok && now.Sub(last) < planAge {
		return true, nil
	}
	if _, err := conn.Exec(ctx, "discard plans"); err != nil {
		return false, nil // another connection is taken instead
	}
	conn.PgConn().CustomData()[planned] = now
	return true, nil
}

// demandDurability turns synchronous_commit on where a server or a role has it
// off: an ack says that the commit is on disk.
func demandDurability(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`)
	return err
}

// unreplicated is the mark of a connection on which a commit did not reach the
// standby that it must reach.
const unreplicated = "unreplicated"

// codeWarning is the class of warnings; during a commit there is one that says
// that the wait for a standby was broken off.
const codeWarning = "01000"

func noteUnreplicated(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.Code == codeWarning {
		conn.CustomData()[unreplicated] = true
	}
}

// acquire takes a connection from a pool. Where somebody waits for an answer, it
// does not wait long for others to be done. Notifications have a connection for
// everybody who comes: what takes long there is a distant server, which the unit's
// own time bounds. Where nobody waits, to go on later is all there is to do.
func (s *Store) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	if !s.ready.Load() {
		return nil, errNotPrepared
	}
	var conn *pgxpool.Conn
	var err error
	switch pool {
	case s.writers, s.readers, s.keepers:
		conn, err = s.acquireSoon(ctx, pool)
	default:
		conn, err = pool.Acquire(ctx)
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return conn, nil
}

// acquireSoon fails when a connection cannot be made, and gives up when others
// have all connections for poolWait. While one is being made it waits for that.
func (s *Store) acquireSoon(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	connecting, cancel := context.WithTimeout(ctx, s.config.ConnConfig.ConnectTimeout+poolWait)
	defer cancel()
	for {
		waiting, cancel := context.WithTimeout(connecting, poolWait)
		conn, err := pool.Acquire(waiting)
		late := waiting.Err() != nil
		cancel()
		if err == nil || !late || connecting.Err() != nil || pool.Stat().ConstructingConns() == 0 {
			return conn, err
		}
	}
}

// read runs work on a connection that reads.
func (s *Store) read(ctx context.Context, work func(context.Context, *pgxpool.Conn) error) error {
	return s.on(ctx, s.readers, work)
}

// on runs work on a connection of a pool and translates its error. The context
// that work gets is the one that counts.
func (s *Store) on(ctx context.Context, pool *pgxpool.Pool, work func(context.Context, *pgxpool.Conn) error) error {
	if pool == s.tellers {
		bounded, cancel := context.WithTimeout(ctx, tellersTime)
		defer cancel()
		ctx = bounded
	}
	conn, err := s.acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer conn.Release() // one with an open transaction is closed, not kept
	return s.settleError(conn.Conn(), work(ctx, conn))
}

// each calls scan for every row of a query.
func each(ctx context.Context, conn *pgxpool.Conn, scan func(row.Scanner) error, query string, args ...any) error {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return scanAll(scan)(rows)
}

// scanAll makes of a reader of one row a reader of all.
func scanAll(scan func(row.Scanner) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}
