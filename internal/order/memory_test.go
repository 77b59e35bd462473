package order

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// memory is a Store for tests of the script alone: one lock, checked keys, no
// SQL. What it checks is what the databases' constraints check.
type memory struct {
	mu       sync.Mutex
	orders   map[Key]Order
	payments map[TxnKey]Payment
	refunds  map[RefundKey]Refund
	rows     map[string]Row
	facts    map[FactKey]string
	claims   map[ProviderKey]string
	waiting  map[WaitingKey]Waiting
	events   []Event
	seals    []Seal

	lookups int // calls of Known

	before func(Want) error     // runs before a transaction; an error fails it
	commit func(*Changes) error // runs after the write, outside the lock as well; an error is reported though the write stands
}

func newMemory() *memory {
	return &memory{
		orders: map[Key]Order{}, payments: map[TxnKey]Payment{}, refunds: map[RefundKey]Refund{}, rows: map[string]Row{},
		facts: map[FactKey]string{}, claims: map[ProviderKey]string{}, waiting: map[WaitingKey]Waiting{},
	}
}

func (m *memory) Transact(_ context.Context, want Want, decide func(*Found) (*Changes, error)) error {
	if m.before != nil { // outside the lock: a test may make it wait
		if err := m.before(want); err != nil {
			return err
		}
	}
	c, err := m.transact(want, decide)
	if err != nil || c == nil || c.Empty() || m.commit == nil {
		return err
	}
	return m.commit(c)
}

func (m *memory) transact(want Want, decide func(*Found) (*Changes, error)) (*Changes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := decide(m.find(want))
	if err != nil || c == nil || c.Empty() {
		return nil, err
	}
	if err := m.check(c); err != nil {
		return nil, err
	}
	m.write(c)
	return c, nil
}

func (m *memory) find(want Want) *Found {
	f := &Found{Known: map[FactKey]Ref{}, Providers: map[ProviderKey]Ref{}, Orders: map[Key]Order{},
		Payments: map[TxnKey]Payment{}, Refunds: map[RefundKey]Refund{}}
	for _, k := range want.FactKeys {
		if id, ok := m.facts[k]; ok {
			f.Known[k] = m.ref(id)
		}
	}
	for _, k := range want.ProviderKeys {
		if id, ok := m.claims[k]; ok {
			f.Providers[k] = m.ref(id)
		}
	}
	orders, txns, refunds := set(want.Orders), set(want.Txns), set(want.Refunds)
	for k, o := range m.orders {
		if orders[k] {
			f.Orders[k] = o
		}
	}
	for k, p := range m.payments {
		if orders[p.Order] || txns[k] {
			f.Payments[k] = p
		}
	}
	for k, r := range m.refunds {
		if orders[r.Order] || refunds[k] {
			f.Refunds[k] = r
		}
	}
	for _, w := range m.waiting {
		if !w.Fact.ByTxn && orders[w.Fact.Key()] {
			txns[w.Fact.Txn()] = true
		}
	}
	for _, w := range m.waiting {
		if !w.Fact.ByTxn && orders[w.Fact.Key()] || txns[w.Fact.Txn()] {
			w.Results = m.rows[w.NotificationID].Results
			f.Waiting = append(f.Waiting, w)
		}
	}
	for _, k := range want.Stories {
		story := m.tell(k)
		f.Stories = map[Key]Story{k: {Events: story.Events, Notifications: story.Notifications}}
	}
	slices.SortFunc(f.Waiting, func(a, b Waiting) int {
		return cmp.Or(a.ReceivedAt.Compare(b.ReceivedAt), cmp.Compare(a.NotificationID, b.NotificationID), cmp.Compare(a.Index, b.Index))
	})
	return f
}

func (m *memory) ref(id string) Ref {
	r := m.rows[id]
	return Ref{id, r.Outcome, r.Reason, r.Numbers}
}

func (m *memory) check(c *Changes) error {
	for _, o := range c.Orders {
		if m.orders[o.Key].Rev != o.Rev-1 {
			return ErrRace
		}
	}
	taken := map[[3]string]TxnKey{}
	for k, p := range m.payments {
		taken[[3]string{p.Order.Merchant, p.Order.OutTradeNo, fmt.Sprint(p.Position)}] = k
	}
	for _, p := range c.Payments {
		if old, ok := m.payments[p.TxnKey]; ok && old.Order != p.Order {
			return ErrRace
		}
		if k, ok := taken[[3]string{p.Order.Merchant, p.Order.OutTradeNo, fmt.Sprint(p.Position)}]; ok && k != p.TxnKey {
			return ErrRace
		}
		if (p.Position == 0) != (p.Role == Accepted) {
			return fmt.Errorf("payment %v has role %s at position %d", p.TxnKey, p.Role, p.Position)
		}
	}
	for _, r := range c.Refunds {
		if old, ok := m.refunds[r.RefundKey]; ok && old.Order != r.Order {
			return ErrRace
		}
	}
	for _, n := range c.Notifications {
		_, known := m.facts[n.FactKey]
		_, claimed := m.claims[n.Claim]
		if known || n.Claim != (ProviderKey{}) && claimed {
			return ErrRace
		}
	}
	return nil
}

func (m *memory) write(c *Changes) {
	for _, o := range c.Orders {
		m.orders[o.Key] = o
	}
	for _, p := range c.Payments {
		m.payments[p.TxnKey] = p
	}
	for _, r := range c.Refunds {
		m.refunds[r.RefundKey] = r
	}
	for _, n := range c.Notifications {
		m.rows[n.ID] = n
		m.facts[n.FactKey] = n.ID
		if n.Claim != (ProviderKey{}) {
			m.claims[n.Claim] = n.ID
		}
	}
	for _, r := range c.Resolutions {
		row := m.rows[r.NotificationID]
		row.Merchant, row.OutTradeNo, row.Outcome, row.Reason, row.Results = r.Merchant, r.OutTradeNo, r.Outcome, r.Reason, r.Results
		m.rows[r.NotificationID] = row
	}
	for _, w := range c.Wait {
		m.waiting[WaitingKey{w.NotificationID, w.Index}] = w
	}
	for _, k := range c.Done {
		delete(m.waiting, k)
	}
	m.events = append(m.events, c.Events...)
	if c.Seal != nil {
		m.seals = append(m.seals, *c.Seal)
	}
}

func (m *memory) Known(_ context.Context, keys []FactKey) (map[FactKey]Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lookups++
	return m.find(Want{FactKeys: keys}).Known, nil
}

func (m *memory) Payments(_ context.Context, txns []TxnKey) (map[TxnKey]Payment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(Want{Txns: txns}).Payments, nil
}

func (m *memory) AddCopies(_ context.Context, copies map[string]int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, n := range copies {
		r := m.rows[id]
		r.Copies += n
		m.rows[id] = r
	}
	return nil
}

// story reads an order back as the admin endpoint would.
func (m *memory) story(key Key) Story {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tell(key)
}

func (m *memory) tell(key Key) Story {
	s := Story{Order: m.orders[key]}
	for _, p := range m.payments {
		if p.Order == key {
			s.Payments = append(s.Payments, p)
		}
	}
	slices.SortFunc(s.Payments, func(a, b Payment) int { return cmp.Compare(a.Position, b.Position) })
	for _, r := range m.refunds {
		if r.Order == key {
			s.Refunds = append(s.Refunds, r)
		}
	}
	slices.SortFunc(s.Refunds, func(a, b Refund) int { return cmp.Compare(a.Ref, b.Ref) })
	for _, e := range m.events {
		if e.Key == key && e.OrderVersion > 0 {
			s.Events = append(s.Events, e)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		for _, f := range m.rows[id].Results {
			if f.Merchant == key.Merchant && f.OutTradeNo == key.OutTradeNo {
				s.Notifications = append(s.Notifications, m.rows[id])
				break
			}
		}
	}
	return s
}

// ids counts, so that what was given out last is greater.
func ids() func(string) string {
	var mu sync.Mutex
	n := 0
	return func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("%s%08d", prefix, n)
	}
}

var noon = time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }
