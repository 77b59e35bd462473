package order

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// maxUnitFacts bounds the facts of a batch: each one takes two locks, and
// PostgreSQL's table of locks has room for 6,400 at its default settings. Only
// combined payments, with up to a hundred facts each, ever come near.
const maxUnitFacts = 2 * MaxBatch

// commitBatch commits a batch as one unit of work. When that cannot be done
// for a reason of its contents, each notification is tried alone, so that a bad
// one never refuses another. decided is called when a unit is decided and only
// its writes are left.
func (r *Recorder) commitBatch(batch []*pending, decided func()) {
	if batch = r.dropLocked(batch); len(batch) == 0 {
		return
	}
	for facts, i := 0, 0; i < len(batch); i++ {
		if facts += len(batch[i].n.Facts); facts > maxUnitFacts && i > 0 {
			r.commitBatch(batch[:i], decided)
			batch, facts, i = batch[i:], 0, -1
		}
	}
	verdicts, err := r.commitUnit(batch, decided)
	if len(batch) > 1 && isOfContents(err) {
		r.failed(fmt.Errorf("a batch of %d is tried one by one: %w", len(batch), err))
		for _, p := range batch {
			if live := r.dropExpired([]*pending{p}); len(live) > 0 {
				r.commitBatch(live, decided)
			}
		}
		return
	}
	if err != nil {
		r.failed(err)
		r.leaveAside(batch, err)
		for _, p := range batch {
			r.answer(p, verdict{err: unavailable(err)})
		}
		return
	}
	for i, p := range batch {
		r.answer(p, verdicts[i])
	}
}

// isOfContents says whether a unit failed for what is in it, so that parts of it
// may succeed, and not for the store being away.
func isOfContents(err error) bool {
	return err != nil && (!errors.Is(err, ErrUnavailable) || errors.Is(err, ErrLocked))
}

// commitUnit decides and commits a batch. The verdicts exist only when it is durable.
func (r *Recorder) commitUnit(batch []*pending, decided func()) (verdicts []verdict, err error) {
	// A fault in a decision must cost the one notification that has it, not the
	// process.
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a decision failed: %v\n%s", v, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	want, err := r.wantOf(ctx, batch)
	if err != nil {
		return nil, err
	}
	var changes *Changes
	var repeats []Ref
	rules := unitRules{now: r.opt.Now, newID: r.opt.NewID, require: r.opt.RequireRegistration}
	err = transact(ctx, r.opt.Store, want, rules, func(u *unit) (*Changes, error) {
		verdicts, repeats = u.recordAll(batch)
		changes = u.finish()
		u.conclude(verdicts)
		if u.missing.empty() { // otherwise it reads more and is decided again
			decided()
		}
		return changes, nil
	})
	if err != nil {
		return nil, err
	}
	for _, ref := range repeats {
		r.copies.count(ref.NotificationID)
	}
	r.saw(len(repeats), len(batch))
	if r.opt.Batch != nil {
		r.opt.Batch(len(batch))
	}
	if r.opt.Committed != nil && len(changes.Events) > 0 {
		r.opt.Committed(changes.Events)
	}
	return verdicts, nil
}

// wantOf lists what deciding the batch needs to see. An order that a message
// names only by its transaction is looked up first; should that change before
// the locks are held, the unit asks again.
func (r *Recorder) wantOf(ctx context.Context, batch []*pending) (Want, error) {
	var want Want
	var byTxn []TxnKey
	for _, p := range batch {
		want.FactKeys = append(want.FactKeys, p.key)
		if p.n.ProviderID != "" {
			want.ProviderKeys = append(want.ProviderKeys, ProviderKey{p.n.Provider, p.n.Scope, p.n.ProviderID})
		}
		for i := range p.n.Facts {
			f := &p.n.Facts[i]
			want.addFact(f)
			if f.ByTxn {
				byTxn = append(byTxn, f.Txn())
			}
		}
	}
	if len(byTxn) == 0 {
		return want, nil
	}
	kept, err := r.opt.Store.Payments(ctx, byTxn)
	for _, p := range kept {
		want.Orders = append(want.Orders, p.Order)
	}
	return want, err
}

// recordAll decides a batch. Copies within it count as repeats of the first.
func (u *unit) recordAll(batch []*pending) ([]verdict, []Ref) {
	verdicts := make([]verdict, len(batch))
	var repeats []Ref
	first := map[FactKey]string{}
	for i, p := range batch {
		if ref, known := u.found.Known[p.key]; known {
			verdicts[i].receipt = Receipt{NotificationID: ref.NotificationID, Outcome: ref.Outcome, Reason: ref.Reason, Repeat: true}
			repeats = append(repeats, ref)
			continue
		}
		if id, twice := first[p.key]; twice {
			verdicts[i].receipt = Receipt{NotificationID: id, Repeat: true}
			repeats = append(repeats, Ref{NotificationID: id})
			continue
		}
		st := u.record(&p.n, p.key)
		first[p.key] = st.id
		verdicts[i].receipt = Receipt{NotificationID: st.id}
	}
	return verdicts, repeats
}

// conclude fills the receipts of this unit's notifications: a later fact of the
// batch may have decided an earlier one that waited for it.
func (u *unit) conclude(verdicts []verdict) {
	for i := range verdicts {
		receipt := &verdicts[i].receipt
		st := u.states[receipt.NotificationID]
		if st == nil || st.row == nil {
			continue // recorded before
		}
		receipt.Outcome, receipt.Reason = st.row.Outcome, st.row.Reason
		if !receipt.Repeat {
			receipt.Results = st.row.Results
		}
	}
}
