package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/migrations"
)

// examineTimeout bounds one question of an examination. Only Integrity reads
// much, and its caller says how long it may.
const examineTimeout = 5 * time.Second

const (
	examined = `select clock_timestamp(), current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names'), (select count(*) from pg_stat_replication),
    pg_is_in_recovery(), (select reset_val from pg_settings where name = 'default_transaction_read_only'), pg_database_size(current_database())`

	// What the user has by default stays to be seen: it is the setting's reset_val.
	onlyRead = `set default_transaction_read_only = on`

	hasSchema = `select to_regclass('goose_db_version') is not null`
	schemaIs  = `select coalesce(max(version_id), 0) from goose_db_version where is_applied`

	checksums = `select coalesce(sum(checksum_failures), 0) from pg_stat_database where datname = current_database()`

	brokenIndexes = `select indexrelid::regclass::text from pg_index
where not (indisvalid and indisready) and indrelid in (select oid from pg_class where relnamespace = current_schema()::regnamespace)
order by 1`

	// What an extension can say more, where somebody has installed it.
	hasAmcheck = `select exists (select 1 from pg_extension where extname = 'amcheck')`
	ourIndexes = `select c.oid, c.relname from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
where a.amname = 'btree' and c.relnamespace = current_schema()::regnamespace order by c.relname`
	checkIndex = `select bt_index_check($1)`

	// Both go along the primary key and pass by the rows of other accounts: an
	// index for this alone would cost every notification an entry.
	spanArrivals = `select n.id, n.received_at from unnest($2::text[], $3::text[]) with ordinality s(lower, upper, place)
cross join lateral (select id, received_at from notifications where account = $1 and id > s.lower and id <= s.upper order by id limit $4) n
order by s.place, n.id`
	newestArrivals = `select id, received_at from notifications where account = $1 and id > $2 order by id desc limit $3`
)

// Examine looks at the database on a connection of its own, also before Prepare
// and on a standby. It writes nothing. See store.Checkup.
func (s *Store) Examine(ctx context.Context) (row.Examination, error) {
	e := row.Examination{Newest: migrations.Newest()}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	err := s.look(ctx, func(conn *pgx.Conn) error {
		var fsync, fullPages, synchronous, standbyNames, readOnly string
		var standbys int
		var standby bool
		err := conn.QueryRow(ctx, examined).Scan(&e.Now, &fsync, &fullPages, &synchronous, &standbyNames, &standbys,
			&standby, &readOnly, &e.Bytes)
		if err != nil {
			return err
		}
		e.Settings = durability(fsync, fullPages, synchronous)
		e.Settings = append(e.Settings, replication(standbyNames, standbys))
		switch {
		case standby:
			e.ReadOnly = "the server is a standby: it takes no writes"
		case readOnly == "on":
			e.ReadOnly = "default_transaction_read_only is on for this user or database"
		}
		var migrated bool
		if err := conn.QueryRow(ctx, hasSchema).Scan(&migrated); err != nil || !migrated {
			return err
		}
		return conn.QueryRow(ctx, schemaIs).Scan(&e.Schema)
	})
	return e, err
}

func durability(fsync, fullPages, synchronous string) []row.Setting {
	settings := []row.Setting{{Name: "fsync", Value: fsync}, {Name: "full_page_writes", Value: fullPages}, {Name: "synchronous_commit", Value: synchronous}}
	for i, risk := range []string{
		"after a crash of the machine the database may be lost, and with it what was acked",
		"a crash in the middle of a write may damage what was acked",
		"commits of other programs may be lost; notifyd turns it on for its own",
	} {
		if s := &settings[i]; s.Value == "off" {
			s.Risk, s.Grave = risk, s.Name != "synchronous_commit"
			s.Fix = "alter system set " + s.Name + " = on; select pg_reload_conf();"
		}
	}
	return settings
}

func replication(standbyNames string, standbys int) row.Setting {
	setting := row.Setting{Name: "synchronous_standby_names", Value: standbyNames}
	if standbys > 0 && standbyNames == "" {
		setting.Risk = "there is a standby, but commits do not wait for it: a failover may lose what was acked"
		setting.Fix = "name the standby in synchronous_standby_names"
	}
	return setting
}

// Integrity asks what the server knows to be damaged, and reads the indexes
// where the extension amcheck is installed. See store.Checkup.
func (s *Store) Integrity(ctx context.Context) (faults []string, err error) {
	err = s.look(ctx, func(conn *pgx.Conn) error {
		var failed int64
		if err := conn.QueryRow(ctx, checksums).Scan(&failed); err != nil {
			return err
		}
		if failed > 0 {
			faults = append(faults, fmt.Sprintf("%d pages did not have the checksum with which they were written", failed))
		}
		broken, err := texts(ctx, conn, brokenIndexes)
		if err != nil {
			return err
		}
		for _, name := range broken {
			faults = append(faults, "the index "+name+" is not valid: its build was broken off")
		}
		found, err := checkIndexes(ctx, conn)
		faults = append(faults, found...)
		return err
	})
	return faults, translate(err)
}

func texts(ctx context.Context, conn *pgx.Conn, query string) ([]string, error) {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func checkIndexes(ctx context.Context, conn *pgx.Conn) (faults []string, err error) {
	var installed bool
	if err := conn.QueryRow(ctx, hasAmcheck).Scan(&installed); err != nil || !installed {
		return nil, err
	}
	rows, err := conn.Query(ctx, ourIndexes)
	if err != nil {
		return nil, err
	}
	type index struct {
		OID  uint32
		Name string
	}
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return nil, err
	}
	for _, i := range indexes {
		_, err := conn.Exec(ctx, checkIndex, i.OID)
		switch {
		case ctx.Err() != nil:
			return faults, ctx.Err()
		case hasCode(err, codeIndexCorrupted):
			faults = append(faults, "the index "+i.Name+" is damaged: "+err.Error())
		case hasCode(err, codeNoRight):
			return faults, nil // the extension is for others
		case err != nil:
			return faults, err
		}
	}
	return faults, nil
}

// Arrivals says when notifications came. See store.Checkup.
func (s *Store) Arrivals(ctx context.Context, f row.ArrivalFilter) ([]row.Arrival, error) {
	all := []row.Arrival{}
	lower, upper := f.Spans()
	take := scanAll(func(r row.Scanner) error {
		a, err := row.ScanArrival(r)
		all = append(all, a)
		return err
	})
	err := s.look(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, spanArrivals, f.Account, lower, upper, f.PerSpan)
		if err != nil {
			return err
		}
		if err := take(rows); err != nil {
			return err
		}
		if rows, err = conn.Query(ctx, newestArrivals, f.Account, f.First(), f.Newest); err != nil {
			return err
		}
		return take(rows)
	})
	return all, translate(err)
}

// look opens a connection for reading alone. It asks nobody to be a primary, so
// that a standby can be told from a server that is away.
func (s *Store) look(ctx context.Context, work func(*pgx.Conn) error) error {
	config := s.config.ConnConfig.Copy()
	config.ValidateConnect, config.OnNotice = nil, nil
	config.RuntimeParams["application_name"] = applicationName + " looking"
	for name := range settings {
		delete(config.RuntimeParams, name) // the context bounds it
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, onlyRead); err != nil {
		return errors.Join(err, conn.Close(ending))
	}
	return errors.Join(work(conn), conn.Close(ending))
}
