package sqlite

import (
	"context"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/migrations"
)

// FindBeside finds what a unit of work would, from outside. See store.Onlooker.
func (s *Store) FindBeside(ctx context.Context, want order.Want) (found *order.Found, err error) {
	if err := row.CheckWant(&want); err != nil {
		return nil, err
	}
	err = s.look(ctx, func(db lookedAt) error {
		return on(ctx, db.DB, func(m *moment) error {
			if err := m.readable(); err != nil {
				return err
			}
			found, err = eacher(m.each).find(&want)
			return err
		})
	})
	return found, err
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
