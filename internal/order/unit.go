package order

import (
	"cmp"
	"slices"
	"time"
)

// unitRules is what a unit of work is given from outside.
type unitRules struct {
	now     func() time.Time
	newID   func(prefix string) string
	require bool // facts wait for an order's registration
}

// unit is one unit of work between reading and writing: it decides facts one
// after another against what was found and what it decided so far, and gathers
// the changes. It is the script of both databases.
type unit struct {
	newID    func(prefix string) string
	require  bool
	now      time.Time
	asked    asked
	missing  Want // what a decision needed and the unit had not asked for
	found    *Found
	payments map[Key][]Payment // found ones, by order
	refunds  map[Key][]Refund
	orders   map[Key]*held
	states   map[string]*state // notifications of this unit and those whose facts wait, by id
	waiting  []*waiter
	events   []Event
	done     []WaitingKey
	created  bool                   // a registration was new
	claims   map[ProviderKey]string // id -> numbers, of this unit's notifications
	fresh    []*state               // this unit's notifications, in order
}

// held is an order as the unit sees it now.
type held struct {
	now      Aggregate
	rev      int64 // as stored
	changed  bool
	settled  bool // facts that waited for the order had their turn
	payments map[TxnKey]bool
	refunds  map[RefundKey]bool
}

// state is a notification whose facts are decided in this unit.
type state struct {
	id      string
	row     *Row // nil when the notification was recorded before
	kind    Kind
	results []FactResult
	changed bool
}

// waiter is a fact that waits, found or new.
type waiter struct {
	Waiting
	state  *state
	stored bool
	over   bool
}

func newUnit(want Want, found *Found, rules unitRules) *unit {
	u := &unit{
		newID: rules.newID, require: rules.require, now: rules.now(), asked: askedFor(want), found: found,
		payments: map[Key][]Payment{}, refunds: map[Key][]Refund{},
		orders: map[Key]*held{}, states: map[string]*state{}, claims: map[ProviderKey]string{},
	}
	if found.Payments == nil {
		found.Payments = map[TxnKey]Payment{}
	}
	if found.Refunds == nil {
		found.Refunds = map[RefundKey]Refund{}
	}
	for _, p := range found.Payments {
		u.payments[p.Order] = append(u.payments[p.Order], p)
	}
	for _, r := range found.Refunds {
		u.refunds[r.Order] = append(u.refunds[r.Order], r)
	}
	for _, w := range found.Waiting {
		st := u.states[w.NotificationID]
		if st == nil {
			st = &state{id: w.NotificationID, results: slices.Clone(w.Results)}
			u.states[w.NotificationID] = st
		}
		u.waiting = append(u.waiting, &waiter{Waiting: w, state: st, stored: true})
	}
	return u
}

// hold gives the order as it stands; one that does not exist has no status.
func (u *unit) hold(key Key) *held {
	if h := u.orders[key]; h != nil {
		return h
	}
	if !u.asked.orders[key] {
		u.missing.Orders = append(u.missing.Orders, key)
	}
	h := &held{payments: map[TxnKey]bool{}, refunds: map[RefundKey]bool{}}
	h.now.Order = u.found.Orders[key]
	h.now.Order.Key = key
	h.rev = h.now.Order.Rev
	h.now.Payments, h.now.Refunds = u.payments[key], u.refunds[key]
	// Maps have no order; decisions should not depend on one.
	slices.SortFunc(h.now.Payments, func(a, b Payment) int { return cmp.Compare(a.Position, b.Position) })
	slices.SortFunc(h.now.Refunds, func(a, b Refund) int { return cmp.Compare(a.Ref, b.Ref) })
	u.orders[key] = h
	return h
}

func (u *unit) aggregate(key Key) Aggregate { return u.hold(key).now }

// put takes over what a decision made of an order, and writes its event.
func (u *unit) put(a Aggregate, d Decision, notificationID string) {
	h := u.hold(a.Order.Key)
	h.now = a
	if d.Changed {
		h.changed = true
		h.now.Order.UpdatedAt = u.now
		if h.now.Order.CreatedAt.IsZero() {
			h.now.Order.CreatedAt = u.now
		}
		// Later facts of this unit must see the rows wherever they look.
		if d.Payment != nil {
			h.payments[d.Payment.TxnKey] = true
			u.found.Payments[d.Payment.TxnKey] = *d.Payment
		}
		for _, r := range d.Rows {
			h.refunds[r.RefundKey] = true
			u.found.Refunds[r.RefundKey] = r
		}
	}
	if d.Event != nil {
		var o *Order
		if d.Event.OrderVersion > 0 {
			o = &h.now.Order
		}
		u.tell(*d.Event, notificationID, snapshot(o, d.Payment, d.Refund))
	}
}

func (u *unit) tell(e Event, notificationID string, snap []byte) {
	e.ID, e.NotificationID, e.CreatedAt, e.Snapshot = u.newID("evt_"), notificationID, u.now, snap
	u.events = append(u.events, e)
}

// record decides a notification that is not known yet.
func (u *unit) record(n *Notification, key FactKey) *state {
	facts := n.Facts
	row := &Row{
		ID: n.ID, ReceivedAt: n.ReceivedAt, Provider: n.Provider, Account: n.Account, Kind: n.Kind,
		FactKey: key, ProviderID: n.ProviderID, Capture: n.Capture, Content: n.Content, Copies: 1,
	}
	if n.ProviderID != "" {
		row.Numbers = numbersOf(facts)
		id := ProviderKey{n.Provider, n.Scope, n.ProviderID}
		switch known, held := u.numbersUnder(id); {
		case !held:
			row.Claim = id
			u.claims[id] = row.Numbers
		case numbersDiffer(known, row.Numbers):
			facts = collapse(facts, ReasonNumberReused)
		}
	}
	st := &state{id: n.ID, row: row, kind: n.Kind, results: make([]FactResult, 0, len(facts))}
	u.states[n.ID] = st
	u.fresh = append(u.fresh, st)
	reused := map[TxnKey]bool{}
	for _, f := range facts {
		if reused[f.Txn()] {
			continue // the transaction is another order's: told once, not once more for what it implies
		}
		st.results = append(st.results, FactResult{})
		u.decide(st, n.ReceivedAt, len(st.results)-1, f)
		if r := st.results[len(st.results)-1]; r.Reason == ReasonNumberReused && f.ProviderTxnID != "" && !f.Kind.isRefund() {
			reused[f.Txn()] = true
		}
	}
	return st
}

func (u *unit) numbersUnder(id ProviderKey) (string, bool) {
	if n, ok := u.claims[id]; ok {
		return n, true
	}
	ref, ok := u.found.Providers[id]
	return ref.Numbers, ok
}

// collapse makes one fact for each order of a message that is a conflict as a whole.
func collapse(facts []Fact, reason Reason) []Fact {
	var out []Fact
	seen := map[Key]bool{}
	for i := range facts {
		f := facts[len(facts)-1-i] // the last fact of an order says best what the message is about
		if !seen[f.Key()] {
			seen[f.Key()] = true
			f.Conflict = reason
			out = append(out, f)
		}
	}
	slices.Reverse(out)
	return out
}

// decide decides fact i of a notification and everything that this lets decide.
func (u *unit) decide(st *state, receivedAt time.Time, i int, f Fact) {
	f, d := u.fate(st, f)
	st.changed = true
	st.results[i] = resultOf(&f, d)
	if d.Outcome == Unmatched {
		u.waiting = append(u.waiting, &waiter{
			Waiting: Waiting{NotificationID: st.id, Index: i, Fact: f, ReceivedAt: receivedAt}, state: st})
		return
	}
	if d.Kept {
		u.settle(func(w *waiter) bool { return w.Fact.Txn() == d.Payment.TxnKey })
	}
}

// fate is what becomes of one fact, now. It returns the fact with its order
// found, where the message itself did not say which one.
func (u *unit) fate(st *state, f Fact) (Fact, Decision) {
	switch {
	case f.Conflict == ReasonAmbiguousText && f.OutTradeNo == "":
		// Whatever it seems to be about: what cannot be trusted is a conflict.
		_, d := Decide(Aggregate{Order: Order{Key: f.Key()}}, f)
		u.tell(*d.Event, st.id, snapshot(nil, nil, nil))
		return f, d
	case !f.Kind.Moves() && f.Conflict != ReasonAmbiguousText:
		return f, Decision{Outcome: Unhandled, Reason: f.Conflict}
	}
	kept, isKept := u.keptPayment(f)
	if f.ByTxn && f.Conflict == ReasonNone {
		if !isKept {
			return f, Decision{Outcome: Unmatched}
		}
		f.Merchant, f.ByTxn = kept.Order.Merchant, false
	}
	if f.Conflict == ReasonNone && (isKept && kept.Order != f.Key() || u.refundIsElsewhere(f)) {
		f.Conflict = ReasonNumberReused
	}
	h := u.hold(f.Key())
	if f.Conflict == ReasonNone {
		if u.require && h.now.Order.Status == None {
			return f, Decision{Outcome: Unmatched}
		}
		u.settleOrder(f.Key())
	}
	a, d := Decide(h.now, f)
	u.put(a, d, st.id)
	return f, d
}

// keptPayment finds the payment that the fact names, whosever it is.
func (u *unit) keptPayment(f Fact) (Payment, bool) {
	if f.ProviderTxnID == "" {
		return Payment{}, false
	}
	if !u.asked.txns[f.Txn()] {
		u.missing.Txns = append(u.missing.Txns, f.Txn())
	}
	p, ok := u.found.Payments[f.Txn()]
	return p, ok
}

// refundIsElsewhere: the refund that the fact names is another order's.
func (u *unit) refundIsElsewhere(f Fact) bool {
	key := f.RefundKey()
	if key.Ref == "" {
		return false
	}
	if !u.asked.refunds[key] {
		u.missing.Refunds = append(u.missing.Refunds, key)
	}
	r, ok := u.found.Refunds[key]
	return ok && r.Order != f.Key()
}

// settleOrder gives the facts that waited for an order their turn, once.
func (u *unit) settleOrder(key Key) {
	h := u.hold(key)
	if h.settled {
		return
	}
	h.settled = true
	u.settle(func(w *waiter) bool { return !w.Fact.ByTxn && w.Fact.Key() == key })
}

// settle decides waiting facts in order of receipt. Those that still cannot be
// decided go on waiting.
func (u *unit) settle(which func(*waiter) bool) {
	for i := 0; i < len(u.waiting); i++ { // decisions may append
		w := u.waiting[i]
		if w.over || !which(w) {
			continue
		}
		w.over = true // before the decision, which may settle others
		f, d := u.fate(w.state, w.Fact)
		if d.Outcome == Unmatched {
			w.over = false
			continue
		}
		w.state.results[w.Index] = resultOf(&f, d)
		w.state.changed = true
		if w.stored {
			u.done = append(u.done, WaitingKey{w.NotificationID, w.Index})
		}
		if d.Kept {
			u.settle(func(v *waiter) bool { return v.Fact.Txn() == d.Payment.TxnKey })
		}
	}
}
