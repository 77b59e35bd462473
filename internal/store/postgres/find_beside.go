package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
	"github.com/notifyd/notifyd/migrations"
)

const (
	// All that is read in it is of one moment, and nothing can be written or
	// locked.
	beginLooking = `begin isolation level repeatable read read only`
	endLooking   = `rollback`
)

// FindBeside finds what a unit of work would, without its locks, on a connection
// of its own. See store.Onlooker.
func (s *Store) FindBeside(ctx context.Context, want order.Want) (found *order.Found, err error) {
	if err := row.CheckWant(&want); err != nil {
		return nil, err
	}
	err = s.look(ctx, func(conn *pgx.Conn) error {
		if err := readable(ctx, conn); err != nil {
			return err
		}
		var batch pgx.Batch
		batch.Queue(beginLooking)
		finding := queueAll(&batch, &want, seeOrders)
		batch.Queue(endLooking)
		err := conn.SendBatch(ctx, &batch).Close()
		found = finding.found()
		return err
	})
	return found, translate(err)
}

// readable says whether the schema is the one that this program reads.
func readable(ctx context.Context, conn *pgx.Conn) error {
	var migrated bool
	var stored int64
	if err := conn.QueryRow(ctx, hasSchema).Scan(&migrated); err != nil {
		return err
	}
	if migrated {
		if err := conn.QueryRow(ctx, schemaIs).Scan(&stored); err != nil {
			return err
		}
	}
	return row.CheckSchema(stored, migrations.Newest())
}
