package client

import (
	"context"
	"database/sql"
	"errors"
)

// Follow reads the event feed for ever and runs the handler once for each event,
// in order. How far it came is kept under a name in the inbox's own table, in the
// transaction of each event, so that a restart skips nothing. Outages of notifyd
// are waited for.
//
// It ends with the context's error, with a [Problem] that waiting does not
// solve, or with an error of the handler or the database. That event was not
// done: call Follow again, after a pause, and it begins there.
func (i *Inbox) Follow(ctx context.Context, c *Client, name string) error {
	if name == "" {
		return errors.New("a place in the feed is kept under a name, which is empty")
	}
	after, err := i.place(ctx, name)
	if err != nil {
		return err
	}
	for e, err := range c.Follow(ctx, after) {
		if err != nil {
			return err
		}
		_, err = i.transact(ctx, func(tx *sql.Tx) (bool, error) {
			ran, err := i.receive(ctx, tx, e)
			if err != nil {
				return false, err
			}
			_, err = i.raise(ctx, tx, kindFeed, name, e.Seq)
			return ran, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
