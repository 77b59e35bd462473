package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
)

// Settings of the connections.
const (
	// readers is how many people's reads run at once: they share the processors
	// with the writer, and each holds a page cache.
	readers = 4
	// lookers is how many batches of notifications are looked up at once: as
	// many as the recorder has under way.
	lookers = 3
	// busyTimeoutMS bounds the wait for a lock that another program holds, for
	// instance a backup; less than what a notification may wait for its answer.
	busyTimeoutMS = 2000
	// cacheKiB is the writer's page cache: the inner pages of the indexes of some
	// ten million rows, whose keys may fall anywhere.
	cacheKiB = 32 * 1024
	// checkpointPages is after how many written pages (of 4 KiB) they are moved
	// from the log into the database: a page that many commits touch is moved once.
	checkpointPages = 4000
	// leastFreeBytes must be free on the disk: room for the largest notification
	// and the pages that its commit touches.
	leastFreeBytes = 4 << 20
	// walLimitBytes is what a write-ahead log that grew under load is cut back to.
	walLimitBytes = 64 << 20
)

// writerDSN and readerDSN name the settings of every connection: settings made
// by a statement would hold for the one connection that ran it.
func writerDSN(path string) string {
	return dsn(path, fmt.Sprintf("cache_size(-%d)", cacheKiB))
}

func readerDSN(path string) string { return dsn(path, "query_only(1)") }

func dsn(path string, more ...string) string {
	settings := append([]string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		fmt.Sprintf("journal_size_limit(%d)", walLimitBytes),
		fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages),
	}, more...)
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	u.RawQuery = url.Values{"_pragma": settings, "_txlock": {"immediate"}}.Encode()
	return u.String()
}

// writer is the connection that writes, with its statements, each prepared once.
type writer struct {
	db         *sql.DB
	conn       *sql.Conn // nil until the first unit, and after a fault
	statements map[string]*sql.Stmt
}

func newWriter(db *sql.DB) *writer {
	db.SetMaxOpenConns(1)
	return &writer{db: db}
}

func (w *writer) close() error {
	w.drop()
	return w.db.Close()
}

// drop closes the connection for good. After a fault nobody can say what state
// it is in, and a new one costs a millisecond.
func (w *writer) drop() {
	if w.conn == nil {
		return
	}
	for _, s := range w.statements {
		_ = s.Close()
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it; it is not kept for another use
	_ = w.conn.Close()
	w.conn, w.statements = nil, nil
}

// unit is a transaction of the writer. Its statements take no context: they are
// short, and a commit must not be broken off half way.
type unit struct{ *writer }

func (w *writer) begin(ctx context.Context) (*unit, error) {
	if w.conn == nil {
		conn, err := w.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		w.conn, w.statements = conn, map[string]*sql.Stmt{}
	}
	u := &unit{w}
	if _, err := u.exec("begin immediate"); err != nil {
		w.drop()
		return nil, err
	}
	return u, nil
}

func (u *unit) commit() error {
	_, err := u.exec("commit")
	if err != nil {
		u.drop()
	}
	return err
}

func (u *unit) rollback() {
	if _, err := u.exec("rollback"); err != nil {
		u.drop() // which ends the transaction as well
	}
}

func (u *unit) statement(query string) (*sql.Stmt, error) {
	if s := u.statements[query]; s != nil {
		return s, nil
	}
	s, err := u.conn.PrepareContext(context.Background(), query)
	if err == nil {
		u.statements[query] = s
	}
	return s, err
}

// exec runs a statement and says how many rows it wrote.
func (u *unit) exec(query string, args ...any) (int64, error) {
	s, err := u.statement(query)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each calls scan for every row of a query.
func (u *unit) each(scan func(*sql.Rows) error, query string, args ...any) error {
	s, err := u.statement(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

func scanAll(rows *sql.Rows, scan func(*sql.Rows) error) error {
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// moment is a read-only transaction: all its queries see one moment.
type moment struct {
	ctx context.Context
	tx  *sql.Tx
}

func (m *moment) each(scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := m.tx.QueryContext(m.ctx, query, args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// read runs work of people who ask in a read-only transaction.
func (s *Store) read(ctx context.Context, work func(*moment) error) error {
	if !s.ready.Load() {
		return errNotPrepared
	}
	return on(ctx, s.reader, work)
}

// lookUp is read on connections that are kept for notifications: an ack must
// not wait for somebody who reads a long list.
func (s *Store) lookUp(ctx context.Context, work func(*moment) error) error {
	if !s.ready.Load() {
		return errNotPrepared
	}
	return on(ctx, s.looker, work)
}

func on(ctx context.Context, db *sql.DB, work func(*moment) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return translate(err)
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to keep
	return translate(work(&moment{ctx, tx}))
}
