package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

// mark stands before the number of an argument.
const mark = '$'

// Orders lists orders, newest first; row.DefaultPage when the filter has no
// limit, row.MaxPage at most.
func (s *Store) Orders(ctx context.Context, f order.OrderFilter) ([]order.Order, error) {
	list := []order.Order{}
	query, args, ok := row.OrderQuery(mark, &f)
	if !ok {
		return list, nil
	}
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return each(ctx, conn, func(r row.Scanner) error {
			o, err := row.ScanOrder(r)
			list = append(list, o)
			return err
		}, query, args...)
	})
	return list, err
}

// Notifications lists notifications, newest first, without captures and
// contents; limits as for Orders.
func (s *Store) Notifications(ctx context.Context, f order.NotificationFilter) ([]order.Row, error) {
	list := []order.Row{}
	query, args, ok := row.NotificationQuery(mark, &f)
	if !ok {
		return list, nil
	}
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return each(ctx, conn, func(r row.Scanner) error {
			n, err := row.ScanNotification(r)
			list = append(list, n)
			return err
		}, query, args...)
	})
	return list, err
}
