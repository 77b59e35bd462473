// Package postgres keeps orders, notifications, events and the merchants'
// requests in PostgreSQL. Several
// processes may share a database: what one of them is deciding, the others wait
// for, in one fixed order.
//
// The package imports order, idempotency, row, the migrations and the driver.
package postgres

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/refusal"
	"github.com/notifyd/notifyd/internal/store/row"
)

// DefaultCommitters is how many units of work run at once: while one waits for
// the disk, the next is decided. More than a few share no longer what a commit
// costs.
const DefaultCommitters = 2

// Options of a store.
type Options struct {
	Committers int // DefaultCommitters when 0
	// Subscriptions names the endpoints of an event; may be nil.
	Subscriptions row.Subscriptions
}

// Store is a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	config        *pgxpool.Config
	committers    int
	subscriptions row.Subscriptions
	notices       *pgxpool.Pool // units of work of notifications, and the beat
	writers       *pgxpool.Pool // merchants' commands
	tellers       *pgxpool.Pool // the outbox, the feed and upkeep: what nobody waits for
	lookers       *pgxpool.Pool // the look-ups before a unit: is it a repeat?
	readers       *pgxpool.Pool // people who ask
	keepers       *pgxpool.Pool // refused requests: a flood of them has this one connection
	ready         atomic.Bool

	preparing sync.Mutex
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

// Open reads the URL; it does not connect.
func Open(url string, opts Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the store's URL cannot be read: %w", err) // the driver leaves the password out
	}
	s := &Store{config: settle(config), committers: opts.Committers, subscriptions: opts.Subscriptions}
	if s.committers <= 0 {
		s.committers = DefaultCommitters
	}
	notices, errN := s.newPool(s.committers+spareCommitters, ofNotices())
	writers, errW := s.newPool(maxWriters, lookUps)
	tellers, errT := s.newPool(maxTellers, lookUps)
	lookers, errL := s.newPool(maxLookers, lookUps)
	readers, errR := s.newPool(maxReaders, nil)
	keepers, errK := s.newPool(maxKeepers, nil)
	if err := errors.Join(errN, errW, errT, errL, errR, errK); err != nil {
		return nil, err
	}
	s.notices, s.writers, s.tellers, s.lookers, s.readers, s.keepers = notices, writers, tellers, lookers, readers, keepers
	return s, nil
}

// Describe names the database for people, without its password.
func (s *Store) Describe() string {
	c := s.config.ConnConfig
	return fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}

// Warnings are what Prepare found to be unwise, one sentence each.
func (s *Store) Warnings() []string {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	return s.warnings
}

// Committers is how many units of work are worth running at once.
func (s *Store) Committers() int { return s.committers }

// Close waits for the connections that are in use and closes all.
func (s *Store) Close() error {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	s.ready.Store(false)
	for _, pool := range s.pools() {
		pool.Close()
	}
	return nil
}

func (s *Store) pools() []*pgxpool.Pool {
	return []*pgxpool.Pool{s.notices, s.writers, s.tellers, s.lookers, s.readers, s.keepers}
}

// committing is the pool for a unit of work. Notifications have connections of
// their own: a merchant's commands that wait for a lock, or a long queue of
// anything else, must never be what an ack waits for.
func (s *Store) committing(want *order.Want) *pgxpool.Pool {
	if len(want.FactKeys) > 0 {
		return s.notices
	}
	return s.writers
}
