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
	s, against, done := v.lookingStore(ctx)
	defer done()
	d := &dryStore{Store: s}
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

// lookingStore opens the configured store without changing it; where that cannot
// be done, one that knows no order.
func (v *verifying) lookingStore(ctx context.Context) (s order.Store, against string, done func()) {
	db, err := store.Open(v.conf.Store.Reveal(), store.Options{Holder: "notifyd verify", LookOnly: true})
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		if err = db.Prepare(limited); err == nil {
			return db, "against the store " + db.Describe(), func() { _ = db.Close() }
		}
		_ = db.Close() // it was never open
	}
	if errors.Is(err, fs.ErrNotExist) {
		return emptyStore{}, "for a new order, because there is no store " + db.Describe() + " yet", func() {}
	}
	return emptyStore{}, "for a new order, because the store was not asked: " + shown(strings.Join(strings.Fields(err.Error()), " ")), func() {}
}

// dryStore reads like a store and writes nothing: every unit of work is decided
// and then given up.
type dryStore struct {
	order.Store
	events []order.Event
}

var errGivenUp = errors.New("decided, and given up")

// Transact ends in success without a write.
func (d *dryStore) Transact(ctx context.Context, want order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	err := d.Store.Transact(ctx, want, func(found *order.Found) (*order.Changes, error) {
		changes, err := decide(found)
		if err != nil {
			return nil, err
		}
		if changes != nil {
			d.events = changes.Events
		}
		return nil, errGivenUp
	})
	if errors.Is(err, errGivenUp) {
		return nil
	}
	return err
}

// AddCopies counts nothing.
func (*dryStore) AddCopies(context.Context, map[string]int64) error { return nil }

// emptyStore knows no order.
type emptyStore struct{}

func (emptyStore) Transact(_ context.Context, _ order.Want, decide func(*order.Found) (*order.Changes, error)) error {
	_, err := decide(&order.Found{})
	return err
}

func (emptyStore) Known(context.Context, []order.FactKey) (map[order.FactKey]order.Ref, error) {
	return nil, nil
}

func (emptyStore) Payments(context.Context, []order.TxnKey) (map[order.TxnKey]order.Payment, error) {
	return nil, nil
}

func (emptyStore) AddCopies(context.Context, map[string]int64) error { return nil }
