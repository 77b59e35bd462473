package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/migrations"
)

// ErrSchemaNewer is row.ErrSchemaNewer.
var ErrSchemaNewer = row.ErrSchemaNewer

// leastVersion is the oldest release that its makers still maintained when this
// was written.
const leastVersion = 140000

// migrating holds for a migration, whatever the server or the role say otherwise.
// It takes the time that it takes, but it waits for a table only for so long,
// because all that comes after it waits with it. That is longer than the server's
// deadlock_timeout, a second: only then a vacuum gives way.
const migrating = `select set_config('lock_timeout', '3s', false), set_config('statement_timeout', '0', false),
    set_config('idle_in_transaction_session_timeout', '0', false)`

// Prepare connects, checks that commits are durable, and migrates the schema
// under a lock, so that instances that start together do not meet. After
// success it does nothing. Errors: order.ErrUnavailable, ErrSchemaNewer, and
// plain ones that only a person can put right.
func (s *Store) Prepare(ctx context.Context) (err error) {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	if s.ready.Load() {
		return nil
	}
	config := s.config.ConnConfig.Copy()
	for name := range settings {
		delete(config.RuntimeParams, name) // a migration takes the time that it takes
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(1) // the lock belongs to the connection
	defer func() { err = errors.Join(translate(err), db.Close()) }()
	if s.warnings, err = check(ctx, db); err != nil {
		return err
	}
	if err := migrate(ctx, db); err != nil {
		return err
	}
	for _, pool := range s.pools() {
		if err := pool.Ping(ctx); err != nil {
			return err
		}
	}
	s.ready.Store(true)
	return nil
}

// migrate brings the schema up, one instance after another.
func migrate(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, `select pg_advisory_lock($1)`, migrationLock); err != nil {
		return fmt.Errorf("no turn to migrate the schema: %w", err)
	}
	// The end of the connection is the end of the lock.
	if _, err := db.ExecContext(ctx, migrating); err != nil {
		return err
	}
	steps, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, steps,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	stored, ours, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("the schema's version cannot be read: %w", err)
	}
	if err := row.CheckSchema(stored, ours); errors.Is(err, ErrSchemaNewer) {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("the schema cannot be brought from %d to %d: %w", stored, ours, err)
	}
	return nil
}

const serverSettings = `select current_setting('server_version_num')::int, current_setting('server_version'), current_setting('server_encoding'),
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names'), (select count(*) from pg_stat_replication)`

// check refuses a server that cannot hold what we store, and warns of one that
// may lose it.
func check(ctx context.Context, db *sql.DB) (warnings []string, err error) {
	var version, standbys int
	var release, encoding, fsync, fullPages, synchronous, standbyNames string
	err = db.QueryRowContext(ctx, serverSettings).Scan(&version, &release, &encoding, &fsync, &fullPages, &synchronous, &standbyNames, &standbys)
	switch {
	case err != nil:
		return nil, err
	case version < leastVersion:
		return nil, fmt.Errorf("PostgreSQL %s is too old: %d or later is needed", release, leastVersion/10000)
	case encoding != "UTF8":
		return nil, fmt.Errorf("the database has the encoding %s: UTF8 is needed (create database … encoding 'UTF8' template template0)", encoding)
	}
	if fsync == "off" {
		warnings = append(warnings, "fsync is off: after a crash of the machine the database may be lost, and with it what was acked")
	}
	if fullPages == "off" {
		warnings = append(warnings, "full_page_writes is off: a crash in the middle of a write may damage what was acked")
	}
	if synchronous == "off" {
		warnings = append(warnings, "synchronous_commit is off: other programs' commits may be lost; notifyd turns it on for its own")
	}
	if standbys > 0 && standbyNames == "" {
		warnings = append(warnings, "there is a standby, but commits do not wait for it (synchronous_standby_names is empty): a failover may lose what was acked")
	}
	return warnings, nil
}
