package sqlite

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/migrations"
)

// FindBeside finds what a unit of work would, from outside. See store.Onlooker.
func (s *Store) FindBeside(ctx context.Context, want order.Want) (found *order.Found, err error) {
	if err := row.CheckWant(&want); err != nil {
		return nil, err
	}
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return nil, err
	}
	read := func(db lookedAt) error {
		return on(ctx, db.DB, func(m *moment) error {
			if err := m.readable(); err != nil {
				return err
			}
			found, err = eacher(m.each).find(&want)
			return err
		})
	}
	// To open a write-ahead log makes files beside the database. With nothing in
	// it, the file by itself is whole, as long as nobody begins to write.
	if before, statErr := os.Stat(path); statErr == nil && logIsEmpty(path) {
		err = s.lookAsItLies(path, read)
		if after, statErr := os.Stat(path); statErr == nil && logIsEmpty(path) && unchanged(before, after) {
			return found, err
		}
	}
	return found, s.look(ctx, read)
}

func unchanged(before, after fs.FileInfo) bool {
	return os.SameFile(before, after) && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime())
}

func (s *Store) lookAsItLies(path string, work func(lookedAt) error) error {
	db, err := sql.Open(driverName, lookDSN(path, "immutable"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it was only read
	db.SetMaxOpenConns(1)
	return work(lookedAt{db, true})
}

// readable says whether the schema is the one that this program reads.
func (m *moment) readable() error {
	var migrated int
	var stored int64
	if err := m.tx.QueryRowContext(m.ctx, hasSchema).Scan(&migrated); err != nil {
		return err
	}
	if migrated > 0 {
		if err := m.tx.QueryRowContext(m.ctx, schemaIs).Scan(&stored); err != nil {
			return err
		}
	}
	return row.CheckSchema(stored, migrations.Newest())
}
