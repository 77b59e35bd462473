package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/store"
)

// factShown is one thing that a message says about one order.
type factShown struct {
	Kind             order.Kind    `json:"kind"`
	Merchant         string        `json:"merchant"`
	OutTradeNo       string        `json:"out_trade_no"`
	ProviderTxnID    string        `json:"provider_txn_id"`
	AmountFen        *int64        `json:"amount_fen"`
	Currency         string        `json:"currency"`
	At               *order.Moment `json:"at"`
	Implied          bool          `json:"implied"`
	OutRefundNo      string        `json:"out_refund_no"`
	ProviderRefundID string        `json:"provider_refund_id"`
	RunningTotalFen  *int64        `json:"running_total_fen"`
	Conflict         order.Reason  `json:"conflict"`
}

// wouldDo is what the message's orders would do.
type wouldDo struct {
	Against string             `json:"against"` // the store, or "a new order" with the reason
	Outcome order.Outcome      `json:"outcome"`
	Reason  order.Reason       `json:"reason"`
	Repeat  *string            `json:"repeat_of"` // the notification that said the same
	Results []order.FactResult `json:"results"`
	Events  []eventShown       `json:"events"`
}

// eventShown is an event that there would be.
type eventShown struct {
	Type       order.EventType `json:"type"`
	Merchant   string          `json:"merchant"`
	OutTradeNo string          `json:"out_trade_no"`
	From       order.Status    `json:"from"`
	To         order.Status    `json:"to"`
	Reason     order.Reason    `json:"reason"`
}

// factSteps says what the message says.
func (r *verified) factSteps(n *order.Notification) {
	var texts []string
	for i := range n.Facts {
		f := &n.Facts[i]
		shown := factShown{Kind: f.Kind, Merchant: f.Merchant, OutTradeNo: f.OutTradeNo, ProviderTxnID: f.ProviderTxnID, Currency: f.Currency,
			Implied: f.Implied, OutRefundNo: f.OutRefundNo, ProviderRefundID: f.ProviderRefundID, Conflict: f.Conflict}
		if f.Kind.Moves() && f.Conflict == order.ReasonNone {
			shown.amounts(f)
		}
		if !f.At.IsZero() {
			at := order.Moment(f.At)
			shown.At = &at
		}
		r.Facts = append(r.Facts, shown)
		texts = append(texts, shown.text())
	}
	r.step(provider.StepFact, provider.StepOK, "%s", strings.Join(texts, "; "))
}

func (s *factShown) amounts(f *order.Fact) {
	switch {
	case f.RunningTotalFen > 0:
		s.RunningTotalFen = &f.RunningTotalFen
	case f.Kind == order.KindPaid, f.ProviderRefundID != "":
		s.AmountFen = &f.AmountFen
	}
}

func (s *factShown) text() string {
	text := string(s.Kind)
	if s.Implied {
		text += " (implied)"
	}
	if s.OutTradeNo != "" {
		text += " order " + shown(s.OutTradeNo)
	}
	if s.AmountFen != nil {
		text += ", " + s.money(*s.AmountFen)
	}
	if s.RunningTotalFen != nil {
		text += ", " + s.money(*s.RunningTotalFen) + " in all"
	}
	if s.ProviderTxnID != "" {
		text += ", transaction " + shown(s.ProviderTxnID)
	}
	if s.Merchant != "" {
		text += ", merchant " + shown(s.Merchant)
	}
	if s.At != nil {
		text += ", at " + clockTime(*s.At)
	}
	if s.Conflict != order.ReasonNone {
		text += ": " + string(s.Conflict)
	}
	return text
}

// money is an amount; a message that names no currency means yuan.
func (s *factShown) money(fen int64) string {
	if s.Currency == "" {
		return yuan(fen, nil)
	}
	return yuan(fen, &s.Currency)
}

// orderStep decides what the orders would do, by the recorder itself, over a
// store that keeps nothing.
func (v *verifying) orderStep(ctx context.Context, r *verified, n order.Notification) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	find, against, done := v.lookingStore(ctx)
	defer done()
	d := &dryStore{find: find}
	recorder := order.NewRecorder(order.RecorderOptions{Store: d, NewID: newID, RequireRegistration: v.conf.Orders.RequireRegistration,
		Now: func() time.Time { return v.now().UTC().Truncate(time.Microsecond) }})
	receipt, err := recorder.Record(ctx, n)
	_ = recorder.Close(context.WithoutCancel(ctx)) // it holds nothing
	if err != nil {
		r.step(provider.StepOrder, provider.StepNote, "cannot be said: %s", shown(err.Error()))
		return
	}
	w := wouldDo{Against: against, Outcome: receipt.Did(), Reason: receipt.Reason, Results: receipt.Results, Events: []eventShown{}}
	if receipt.Repeat {
		w.Repeat, w.Reason = &receipt.NotificationID, order.ReasonNone
	}
	if w.Results == nil {
		w.Results = []order.FactResult{}
	}
	for _, e := range d.events {
		w.Events = append(w.Events, eventShown{e.Type, e.Key.Merchant, e.Key.OutTradeNo, e.From, e.To, e.Reason})
	}
	r.Order = &w
	state := provider.StepOK
	if w.Outcome == order.Conflict {
		state = provider.StepNote
	}
	r.step(provider.StepOrder, state, "%s", w.text())
}

func (w *wouldDo) text() string {
	text := string(w.Outcome)
	if w.Reason != order.ReasonNone {
		text += " (" + string(w.Reason) + ")"
	}
	if w.Repeat != nil {
		text += ": " + *w.Repeat + " said the same, a copy is counted and nothing changes"
	}
	for i, e := range w.Events {
		text += []string{": ", "; "}[min(i, 1)] + string(e.Type)
		if e.OutTradeNo != "" {
			text += " " + shown(e.OutTradeNo)
		}
		if e.From != e.To {
			text += fmt.Sprintf(", %s → %s", statusOrNone(e.From), e.To)
		}
	}
	return text + "; " + w.Against
}

func statusOrNone(s order.Status) string {
	if s == order.None {
		return "no order"
	}
	return string(s)
}

// lookTimeout bounds the wait for a store: what it knows is a help, no condition.
const lookTimeout = 3 * time.Second

// finder finds what a unit of work wants to see.
type finder func(context.Context, order.Want) (*order.Found, error)

// lookingStore looks into the configured store from outside, whoever holds it;
// where that cannot be done, into one that knows no order.
func (v *verifying) lookingStore(ctx context.Context) (find finder, against string, done func()) {
	db, err := store.Open(v.conf.Store.Reveal(), store.Options{})
	if err != nil {
		return findNothing, "for a new order, because the store cannot be named: " + shown(err.Error()), func() {}
	}
	if _, err = db.FindBeside(ctx, order.Want{}); err == nil {
		return db.FindBeside, "against the store " + db.Describe(), func() { _ = db.Close() } // it was only read
	}
	_ = db.Close() // it was never open
	if errors.Is(err, fs.ErrNotExist) {
		return findNothing, "for a new order, because there is no store " + db.Describe() + " yet", func() {}
	}
	return findNothing, "for a new order, because the store was not asked: " + shown(strings.Join(strings.Fields(err.Error()), " ")), func() {}
}

func findNothing(context.Context, order.Want) (*order.Found, error) { return &order.Found{}, nil }

// dryStore reads like a store and writes nothing: every unit of work is decided
// and then given up.
type dryStore struct {
	find   finder
	events []order.Event
}

// Transact ends in success without a write.
func (d *dryStore) Transact(ctx context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	found, err := d.find(ctx, want)
	if err != nil {
		return err
	}
	changes, err := decide(found)
	if err == nil && changes != nil {
		d.events = changes.Events
	}
	return err
}

// Known finds the repeats.
func (d *dryStore) Known(ctx context.Context, keys []order.FactKey) (map[order.FactKey]order.Ref, error) {
	found, err := d.find(ctx, order.Want{FactKeys: keys})
	if err != nil {
		return nil, err
	}
	return found.Known, nil
}

// Payments finds the transactions that are kept.
func (d *dryStore) Payments(ctx context.Context, txns []order.TxnKey) (map[order.TxnKey]order.Payment, error) {
	found, err := d.find(ctx, order.Want{Txns: txns})
	if err != nil {
		return nil, err
	}
	return found.Payments, nil
}

// AddCopies counts nothing.
func (*dryStore) AddCopies(context.Context, map[string]int64) error { return nil }
