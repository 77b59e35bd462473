package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store/row"
)

const (
	// All statements of a story see one moment.
	beginReading = `begin isolation level repeatable read, read only`

	storyOrder = `select ` + row.OrderColumns + ` from orders o where o.out_trade_no = $1 and o.merchant = $2`

	storyPayments = `select ` + row.PaymentColumns + `
from payments p where p.out_trade_no = $1 and p.merchant = $2 order by p.position`

	// A running total says the order of refunds that came in one batch.
	storyRefunds = `select ` + row.RefundColumns + `
from refunds r where r.out_trade_no = $1 and r.merchant = $2 order by r.created_at, r.total_fen, r.ref`

	storyEvents = `select ` + row.EventColumns + `
from events e where e.out_trade_no = $1 and e.merchant = $2 and e.order_version is not null order by e.order_version`

	storyNotifications = `select ` + row.NotificationColumns + `
from notifications n
where n.id in (select id from notifications where out_trade_no = $1 and out_trade_no <> '' and merchant = $2
    union all select notification_id from notification_orders where out_trade_no = $1 and merchant = $2)
order by n.received_at, n.id`

	waitingFor = `select w.notification_id
from waiting w where w.out_trade_no = $1 and (w.merchant = $2 or w.by_txn and w.merchant = $3)
group by w.notification_id order by min(w.received_at), w.notification_id`

	oneNotification = `select ` + row.NotificationColumns + `, n.content from notifications n where n.id = $1`

	// An empty body is not one that was removed; a driver may not tell them apart.
	oneCapture = `select n.request_line, n.header, n.body, n.body is null, n.received_at from notifications n where n.id = $1`
)

// Story is all that is known of an order, as of one moment. It has no limit:
// each row of it is a fact that was proven and differs from the others.
func (s *Store) Story(ctx context.Context, key order.Key) (order.Story, error) {
	var story order.Story
	if !row.IsKey(key.Merchant, key.OutTradeNo) {
		return story, order.ErrUnknown
	}
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		var orders []order.Order
		var batch pgx.Batch
		batch.Queue(beginReading)
		collect(&batch, row.ScanOrder, &orders, storyOrder, key)
		collect(&batch, row.ScanPayment, &story.Payments, storyPayments, key)
		collect(&batch, row.ScanRefund, &story.Refunds, storyRefunds, key)
		collect(&batch, row.ScanEvent, &story.Events, storyEvents, key)
		collect(&batch, scanNotification, &story.Notifications, storyNotifications, key)
		batch.Queue("commit")
		if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		if len(orders) == 0 {
			return order.ErrUnknown
		}
		story.Order = orders[0]
		return nil
	})
	if err != nil {
		return order.Story{}, err
	}
	return story, nil
}

func collect[T any](batch *pgx.Batch, scan func(row.Scanner) (T, error), into *[]T, query string, key order.Key) {
	batch.Queue(query, key.OutTradeNo, key.Merchant).Query(scanAll(func(s row.Scanner) error {
		v, err := scan(s)
		*into = append(*into, v)
		return err
	}))
}

func scanNotification(s row.Scanner) (order.Row, error) { return row.ScanNotification(s) }

// WaitingFor lists the ids of notifications that wait for an order, in order of
// receipt. See order.Reader.
func (s *Store) WaitingFor(ctx context.Context, key order.Key) ([]string, error) {
	ids := []string{}
	if !row.IsKey(key.Merchant, key.OutTradeNo) {
		return ids, nil
	}
	account, _, _ := strings.Cut(key.Merchant, "/")
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return each(ctx, conn, func(r row.Scanner) error {
			var id string
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		}, waitingFor, key.OutTradeNo, key.Merchant, account)
	})
	return ids, err
}

// Notification is one notification with its content, without its capture.
func (s *Store) Notification(ctx context.Context, id string) (order.Row, error) {
	var n order.Row
	if !row.IsKey(id) {
		return n, order.ErrUnknown
	}
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		var content []byte
		found, err := row.ScanNotification(conn.QueryRow(ctx, oneNotification, id), &content)
		if err != nil {
			return err
		}
		n, n.Content = found, content
		return nil
	})
	return n, err
}

// Capture is the request of a notification and when it was received.
func (s *Store) Capture(ctx context.Context, id string) (order.Capture, time.Time, error) {
	var c order.Capture
	var received *int64
	if !row.IsKey(id) {
		return c, time.Time{}, order.ErrUnknown
	}
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		var line []byte
		var removed bool
		if err := conn.QueryRow(ctx, oneCapture, id).Scan(&line, &c.Header, &c.Body, &removed, &received); err != nil {
			return err
		}
		c.RequestLine = string(line)
		if !removed {
			c.Header, c.Body = row.Bytes(c.Header), row.Bytes(c.Body)
		}
		return nil
	})
	return c, row.Time(received), err
}

// queueStories reads the lists that an answer shows besides what the unit
// decides about. They are filled when the batch is done.
func queueStories(batch *pgx.Batch, keys []order.Key) map[order.Key]*order.Story {
	stories := map[order.Key]*order.Story{}
	for _, key := range row.Keys(keys) {
		story := &order.Story{}
		stories[key] = story
		collect(batch, row.ScanEvent, &story.Events, storyEvents, key)
		collect(batch, scanNotification, &story.Notifications, storyNotifications, key)
	}
	return stories
}

// told is nil when no story was wanted.
func told(stories map[order.Key]*order.Story) map[order.Key]order.Story {
	if len(stories) == 0 {
		return nil
	}
	all := make(map[order.Key]order.Story, len(stories))
	for key, story := range stories {
		all[key] = *story
	}
	return all
}
