package idempotency_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/notifyd/notifyd/internal/idempotency"
)

var errAway = errors.New("the store is away")

// memory is a Store with a clock that tests set. What it does is what the suite
// of the stores holds the databases to.
type memory struct {
	mu   sync.Mutex
	now  time.Time
	rows map[[2]string]*held
	fail func(verb string) error // fails a call before it does anything; may be nil
	lose func(verb string) error // fails it when it is done; may be nil
}

type held struct {
	claim  idempotency.Claim
	until  time.Time
	record idempotency.Record
}

func newMemory() *memory { return &memory{now: noon, rows: map[[2]string]*held{}} }

func (m *memory) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// call runs a verb under the lock and lets tests break it at both ends.
func (m *memory) call(ctx context.Context, verb string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if m.fail != nil {
		if err := m.fail(verb); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if m.lose != nil {
		return m.lose(verb)
	}
	return nil
}

func (m *memory) TakeKey(ctx context.Context, c idempotency.Claim) (record idempotency.Record, err error) {
	err = m.call(ctx, "take", func() error {
		at := [2]string{c.Key, c.Merchant}
		h := m.rows[at]
		if h == nil || !h.record.Done && !h.until.After(m.now) {
			h = &held{c, m.now.Add(c.For), idempotency.Record{Fingerprint: c.Fingerprint, CreatedAt: m.now}}
			m.rows[at] = h
		}
		record = h.record
		record.Mine = h.claim.Token == c.Token
		return nil
	})
	if err != nil {
		return idempotency.Record{}, err
	}
	return record, nil
}

// store is what an effect's own transaction does at its end, too.
func (m *memory) store(l idempotency.Lock, a idempotency.Answer) error {
	h := m.rows[[2]string{l.Key, l.Merchant}]
	if h == nil || h.claim.Lock != l || h.record.Done || !h.until.After(m.now) {
		return idempotency.ErrLost
	}
	h.record.Done, h.record.Answer = true, a
	return nil
}

func (m *memory) FinishKey(ctx context.Context, l idempotency.Lock, a idempotency.Answer) error {
	return m.call(ctx, "finish", func() error { return m.store(l, a) })
}

func (m *memory) ReleaseKey(ctx context.Context, l idempotency.Lock) error {
	return m.call(ctx, "release", func() error {
		at := [2]string{l.Key, l.Merchant}
		if h := m.rows[at]; h != nil && h.claim.Lock == l && !h.record.Done {
			delete(m.rows, at)
		}
		return nil
	})
}

func (m *memory) PruneKeys(context.Context, time.Duration, int) (int, error) { return 0, nil }

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows)
}
