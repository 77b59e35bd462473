package floor

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Table is the rows of a table as COPY writes them.
type Table struct {
	Name string
	Rows [][]byte
}

// writtenTables are the tables that hold rows, in the order in which they were
// made: what others refer to comes first. The rest is the program's own.
const writtenTables = `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'public' and c.relkind = 'r' and c.relname not in ('goose_db_version', 'feed', 'beat', 'pruning', 'units') order by c.oid`

// Dump reads all that a run wrote: of each table the rows that were not there
// before it.
func Dump(ctx context.Context, url string) ([]Table, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, writtenTables)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var tables []Table
	for _, name := range names {
		source := name
		switch name { // what registrations wrote was there before
		case "orders":
			source = "(select * from orders where version > 1)"
		case "events":
			source = "(select * from events where notification_id is not null)"
		}
		var text bytes.Buffer
		if _, err := conn.PgConn().CopyTo(ctx, &text, "copy (select * from "+source+" x) to stdout"); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if lines := bytes.SplitAfter(text.Bytes(), []byte("\n")); len(lines) > 1 {
			tables = append(tables, Table{name, lines[:len(lines)-1]})
		}
	}
	return tables, nil
}

// Copy writes the same rows by COPY, as fast as the database takes any: so many
// notifications to a transaction, by as many writers. The result is
// notifications per second.
func Copy(ctx context.Context, url string, tables []Table, size, writers int) (float64, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	notifications := 0
	for _, t := range tables {
		if t.Name == "notifications" {
			notifications = len(t.Rows)
		}
	}
	if notifications == 0 {
		return 0, errors.New("the run wrote no notification")
	}
	pieces := (notifications + size - 1) / size
	took, err := each(writers, pieces, func(i int) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			for _, t := range tables {
				part := t.Rows[len(t.Rows)*i/pieces : len(t.Rows)*(i+1)/pieces]
				if err := copyRows(ctx, tx, t.Name, part); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return float64(notifications) / took.Seconds(), err
}

func copyRows(ctx context.Context, tx pgx.Tx, table string, rows [][]byte) error {
	_, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(bytes.Join(rows, nil)), "copy "+table+" from stdin")
	return err
}
