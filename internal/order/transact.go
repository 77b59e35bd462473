package order

import (
	"context"
	"errors"
	"fmt"
)

// maxTries bounds how often one unit of work is decided again, because somebody
// else wrote first or because it turned out to need more than it had asked for.
// A lost race means that another unit made progress; eight in a row on the
// same rows is not contention but a fault.
const maxTries = 8

var errWiden = errors.New("the unit of work needs to see more")

// transact runs one unit of work until it is decided on what it needs to see.
func transact(ctx context.Context, s Store, want Want, rules unitRules, do func(*unit) (*Changes, error)) error {
	var last error
	for range maxTries {
		var missing Want
		err := s.Transact(ctx, want, func(found *Found) (*Changes, error) {
			u := newUnit(want, found, rules)
			changes, err := do(u)
			if !u.missing.empty() {
				missing = u.missing
				return nil, errWiden
			}
			return changes, err
		})
		switch {
		case errors.Is(err, errWiden):
			want.add(missing)
		case !errors.Is(err, ErrRace):
			return err
		}
		last = err
	}
	return fmt.Errorf("%w: a unit of work was not decided in %d tries: %w", ErrUnavailable, maxTries, last)
}

func (w *Want) empty() bool { return len(w.Orders)+len(w.Txns)+len(w.Refunds) == 0 }

func (w *Want) add(more Want) {
	w.Orders = append(w.Orders, more.Orders...)
	w.Txns = append(w.Txns, more.Txns...)
	w.Refunds = append(w.Refunds, more.Refunds...)
}

// addFact asks for what deciding the fact needs.
func (w *Want) addFact(f *Fact) {
	if !f.Kind.Moves() && f.Conflict == ReasonNone {
		return
	}
	if f.OutTradeNo != "" {
		w.Orders = append(w.Orders, f.Key())
	}
	if f.ProviderTxnID != "" {
		w.Txns = append(w.Txns, f.Txn())
	}
	if k := f.RefundKey(); k.Ref != "" {
		w.Refunds = append(w.Refunds, k)
	}
}

// asked is a Want as sets.
type asked struct {
	orders  map[Key]bool
	txns    map[TxnKey]bool
	refunds map[RefundKey]bool
}

func askedFor(w Want) asked {
	return asked{set(w.Orders), set(w.Txns), set(w.Refunds)}
}

func set[T comparable](s []T) map[T]bool {
	m := make(map[T]bool, len(s))
	for _, v := range s {
		m[v] = true
	}
	return m
}
