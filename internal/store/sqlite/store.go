// Package sqlite keeps orders, notifications and events in one SQLite file. It
// owns the file and the lock beside it, and one process owns them: a second one
// that opens the same file is refused.
//
// One connection writes, a few read. The package imports order,
// idempotency, row, the
// migrations, the driver and what asks the operating system for locks.
package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/refusal"
	"github.com/notifyd/notifyd/internal/store/row"
)

// Options of a store.
type Options struct {
	// Holder is what a second process is told about this one, besides its pid.
	Holder string
	// Subscriptions names the endpoints of an event; may be nil.
	Subscriptions row.Subscriptions
	// Disk asks the file system that a path lies on; nil: the system's own way.
	Disk func(path string) (*row.Disk, error)
}

// Store is an SQLite database. It is safe for concurrent use.
type Store struct {
	path          string
	holder        string
	subscriptions row.Subscriptions
	turn          chan struct{} // holds one token while somebody writes
	least         uint64        // bytes that must be free on the disk
	disk          func(path string) (*row.Disk, error)
	ready         atomic.Bool

	preparing sync.Mutex
	lock      *lock
	writer    *writer
	reader    *sql.DB // people who ask
	looker    *sql.DB // the look-ups before a unit: is it a repeat?
	warnings  []string
}

var (
	_ order.Store       = (*Store)(nil)
	_ order.Reader      = (*Store)(nil)
	_ outbox.Store      = (*Store)(nil)
	_ outbox.Desk       = (*Store)(nil)
	_ order.EventReader = (*Store)(nil)
	_ idempotency.Store = (*Store)(nil)
	_ order.Feed        = (*Store)(nil)
	_ refusal.Store     = (*Store)(nil)
)

// Open names the database in the file at path; nothing is touched before Prepare.
func Open(path string, opts Options) (*Store, error) {
	if path == "" {
		return nil, errors.New("the store names no file: write sqlite:PATH, for instance sqlite:./data/notifyd.db")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: absolute, holder: opts.Holder, subscriptions: opts.Subscriptions,
		turn: make(chan struct{}, 1), least: leastFreeBytes, disk: opts.Disk}
	if s.disk == nil {
		s.disk = statDisk
	}
	return s, nil
}

// Describe names the database for people.
func (s *Store) Describe() string { return "sqlite:" + s.path }

// Warnings are what Prepare found to be unwise, one sentence each.
func (s *Store) Warnings() []string {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	return s.warnings
}

// Committers is how many units of work run at once: SQLite has one writer.
func (s *Store) Committers() int { return 1 }

// Close waits for the writer, closes the database and lets go of the lock.
func (s *Store) Close() error {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.ready.Store(false)
	return s.letGo()
}

// letGo closes whatever is open.
func (s *Store) letGo() error {
	var all []error
	for _, db := range []*sql.DB{s.reader, s.looker} {
		if db != nil {
			all = append(all, db.Close())
		}
	}
	if s.writer != nil {
		all = append(all, s.writer.close())
	}
	// The lock goes last: until then the file is ours.
	if s.lock != nil {
		all = append(all, s.lock.release())
	}
	s.reader, s.looker, s.writer, s.lock = nil, nil, nil, nil
	return errors.Join(all...)
}
