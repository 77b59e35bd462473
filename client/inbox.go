package client

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Received is an event as a handler gets it.
type Received struct {
	Event
	// Stale says that a newer event of the same order was received before: what
	// the event says happened, but Order is not how the order stands now.
	Stale bool
}

// HandleFunc does what an event asks for. What it writes through tx becomes
// durable together with the memory of the event, or not at all; an error rolls
// both back, and the event will come again. It must neither commit nor roll back
// tx, and what it does outside of tx (a mail, a call) may happen more than once.
type HandleFunc func(ctx context.Context, tx *sql.Tx, e Received) error

// Inbox runs a handler exactly once for each event, inside a transaction of the
// merchant's own database. It needs one small table there, see [PostgreSQLTable]
// and [SQLiteTable]. Several processes may share it. The same event may come in
// as a delivery, from the feed and through [Inbox.Receive], in any mixture.
//
// On SQLite, open the database with a busy timeout
// (file:shop.db?_pragma=busy_timeout(5000)), so that writers wait for each other.
type Inbox struct {
	db     *sql.DB
	say    statements
	handle HandleFunc
	now    func() time.Time
	log    *slog.Logger
}

// InboxOption changes how an [Inbox] works.
type InboxOption func(*Inbox)

// WithInboxClock takes the time from now: that of receipt, which proves that
// deliveries are fresh.
func WithInboxClock(now func() time.Time) InboxOption { return func(i *Inbox) { i.now = now } }

// WithInboxLog writes refusals and failures of [Inbox.Handler] there,
// slog.Default() otherwise.
func WithInboxLog(log *slog.Logger) InboxOption { return func(i *Inbox) { i.log = log } }

// NewInbox makes an inbox in a database. Handle may be nil when only
// [Inbox.Once] is used.
func NewInbox(db *sql.DB, dialect Dialect, handle HandleFunc, options ...InboxOption) (*Inbox, error) {
	say, known := dialect.statements()
	if db == nil || !known {
		return nil, errors.New("an inbox needs a database and its dialect, PostgreSQL or SQLite")
	}
	i := &Inbox{db: db, say: say, handle: handle, now: time.Now, log: slog.Default()}
	for _, option := range options {
		option(i)
	}
	return i, nil
}

// Receive runs the handler for an event unless it ran before. Ran is false for a
// repeat. When it returns without an error, the event is done with for good; an
// error means that nothing was written.
func (i *Inbox) Receive(ctx context.Context, e Event) (ran bool, err error) {
	return i.transact(ctx, func(tx *sql.Tx) (bool, error) { return i.receive(ctx, tx, e) })
}

func (i *Inbox) receive(ctx context.Context, tx *sql.Tx, e Event) (bool, error) {
	if i.handle == nil {
		return false, errors.New("the inbox has no handler for events: give NewInbox one")
	}
	if e.ID == "" {
		return false, errors.New("an event without an id cannot be received once")
	}
	first, err := i.claim(ctx, tx, kindEvent, e.ID)
	if err != nil || !first {
		return false, err
	}
	r := Received{Event: e}
	if e.Order != nil {
		newest, err := i.raise(ctx, tx, kindOrder, e.Order.Merchant+" "+e.Order.OutTradeNo, e.OrderVersion)
		if err != nil {
			return false, err
		}
		r.Stale = !newest
	}
	if err := i.handle(ctx, tx, r); err != nil {
		return false, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return true, nil
}

// Once runs do unless it ran before under the same key, in the same way as
// events: for messages from a queue, whose own ids may change when they are sent
// again. [Fingerprint] makes keys from what a message is about.
func (i *Inbox) Once(ctx context.Context, key string, do func(ctx context.Context, tx *sql.Tx) error) (ran bool, err error) {
	if key == "" {
		return false, errors.New("nothing can be done once under an empty key")
	}
	return i.transact(ctx, func(tx *sql.Tx) (bool, error) {
		first, err := i.claim(ctx, tx, kindMessage, key)
		if err != nil || !first {
			return false, err
		}
		return true, do(ctx, tx)
	})
}

// transact commits what do did when it returns no error, also when it had
// nothing to do. A panic rolls back.
func (i *Inbox) transact(ctx context.Context, do func(tx *sql.Tx) (bool, error)) (bool, error) {
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("the inbox cannot begin a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	ran, err := do(tx)
	if err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		// When the context ends, database/sql may say only that the transaction
		// is over.
		if end := ctx.Err(); end != nil {
			err = end
		}
		return false, fmt.Errorf("the inbox cannot commit: %w", err)
	}
	return ran, nil
}

// Forget removes the memory of up to limit events and messages that were
// received before a time, and says how many there were. An event that comes
// again after that runs the handler again; it is then marked stale unless it is
// its order's newest. notifyd gives up by itself after three days, but a person
// may redeliver much later: 90 days are a good age.
func (i *Inbox) Forget(ctx context.Context, before time.Time, limit int) (removed int64, err error) {
	result, err := i.db.ExecContext(ctx, i.say.forget, before.Unix(), limit)
	if err != nil {
		return 0, fmt.Errorf("the inbox cannot forget: %w", err)
	}
	return result.RowsAffected()
}
