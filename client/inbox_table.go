package client

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Dialect is the kind of the merchant's database.
type Dialect int

// The dialects of an [Inbox], with any database/sql driver that takes $1
// (PostgreSQL) or ?1 (SQLite).
const (
	PostgreSQL Dialect = iota + 1
	SQLite
)

// PostgreSQLTable makes the table of an [Inbox] on PostgreSQL. Run it once, or at
// every start, or put it into your migrations.
const PostgreSQLTable = `create table if not exists notifyd_inbox (
    kind   text   not null, -- event, message: received. order: its newest version. feed: how far it was read
    key    text   not null,
    number bigint not null, -- of an order the version, of a feed the seq, otherwise 0
    at     bigint not null, -- when, in Unix seconds
    primary key (kind, key)
)`

// SQLiteTable makes the table of an [Inbox] on SQLite. Run it once, or at every
// start, or put it into your migrations.
const SQLiteTable = `create table if not exists notifyd_inbox (
    kind   text    not null, -- event, message: received. order: its newest version. feed: how far it was read
    key    text    not null,
    number integer not null, -- of an order the version, of a feed the seq, otherwise 0
    at     integer not null, -- when, in Unix seconds
    primary key (kind, key)
) strict, without rowid`

// The kinds of rows.
const (
	kindEvent   = "event"
	kindMessage = "message"
	kindOrder   = "order"
	kindFeed    = "feed"
)

// statements are the same for both dialects but for their placeholders.
type statements struct{ claim, raise, place, forget string }

func (d Dialect) statements() (statements, bool) {
	say := statements{
		// The unique key decides, not a read before it: of several at once, one
		// inserts and the others wait for its end. A violation that is caught
		// would poison a transaction on PostgreSQL.
		claim: `insert into notifyd_inbox (kind, key, number, at) values ($1, $2, 0, $3) on conflict (kind, key) do nothing`,
		raise: `insert into notifyd_inbox (kind, key, number, at) values ($1, $2, $3, $4)
on conflict (kind, key) do update set number = excluded.number, at = excluded.at where notifyd_inbox.number < excluded.number`,
		place: `select number from notifyd_inbox where kind = 'feed' and key = $1`,
		forget: `delete from notifyd_inbox where (kind, key) in
(select kind, key from notifyd_inbox where kind in ('event', 'message') and at < $1 limit $2)`,
	}
	switch d {
	case PostgreSQL:
		return say, true
	case SQLite:
		for _, statement := range []*string{&say.claim, &say.raise, &say.place, &say.forget} {
			*statement = strings.ReplaceAll(*statement, "$", "?")
		}
		return say, true
	}
	return statements{}, false
}

// claim is true for the first of those who claim a key.
func (i *Inbox) claim(ctx context.Context, tx *sql.Tx, kind, key string) (bool, error) {
	return i.changes(ctx, tx, i.say.claim, kind, key, i.now().Unix())
}

// raise keeps the greatest number of a key, and is true when this one is greater.
func (i *Inbox) raise(ctx context.Context, tx *sql.Tx, kind, key string, number int64) (bool, error) {
	return i.changes(ctx, tx, i.say.raise, kind, key, number, i.now().Unix())
}

func (i *Inbox) changes(ctx context.Context, tx *sql.Tx, statement string, args ...any) (bool, error) {
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return false, fmt.Errorf("the inbox cannot write its table: %w", err)
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// place is how far a feed was read, 0 when it never was.
func (i *Inbox) place(ctx context.Context, feed string) (after int64, err error) {
	err = i.db.QueryRowContext(ctx, i.say.place, feed).Scan(&after)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("the inbox cannot read its table: %w", err)
	}
	return after, nil
}

// Fingerprint is a key for [Inbox.Once] that stays the same however often a
// message is sent: a hash of the event's type, the number of what it is about,
// and what is to be done. Two things that are done for one event have different
// actions.
func Fingerprint(eventType, businessID, action string) string {
	hash := sha256.New()
	for _, part := range []string{eventType, businessID, action} {
		// The lengths keep ("ab", "c") and ("a", "bc") apart.
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
