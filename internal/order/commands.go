package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Registration is what a merchant says to expect.
type Registration struct {
	Key       Key
	AmountFen int64     // fen, more than 0
	Currency  string    // ISO 4217; "" means CNY
	ExpiresAt time.Time // a payment after this is late; zero: none is
}

// ErrFactsDiffer: the order is registered already, with other facts.
var ErrFactsDiffer = errors.New("the order is registered with other facts")

// IllegalTransition: a command cannot be done in the order's present status.
type IllegalTransition struct {
	OutTradeNo string
	Command    Kind
	Status     Status
}

func (e *IllegalTransition) Error() string {
	var from []string
	for _, s := range commands[e.Command].from {
		from = append(from, string(s))
	}
	last := len(from) - 1
	states := from[last]
	if last > 0 {
		states = strings.Join(from[:last], ", ") + " or " + states
	}
	return fmt.Sprintf("%s is %s; only a %s order can be %s", e.OutTradeNo, e.Status, states, commands[e.Command].to)
}

// Commands are the verbs of the merchant: what people do to orders, in
// contrast to what notifications say about them.
type Commands struct {
	Store               Store
	Now                 func() time.Time
	NewID               func(prefix string) string
	RequireRegistration bool
	Committed           func([]Event) // told after each commit; may be nil

	seal Sealer
}

// Sealer words the answer to a command whose effect is about to be committed:
// the order as it will be, and whether it was created. The answer is committed
// together with the effect.
type Sealer func(s Story, created bool) *Seal

// Sealing returns commands whose answers are stored with their effects.
// Commands that fail store nothing; ErrSealBroken says that the lock is gone.
func (c *Commands) Sealing(seal Sealer) *Commands {
	sealing := *c
	sealing.seal = seal
	return &sealing
}

// Register makes an order known, or tells what to expect of one that a
// notification made; facts that waited for it are applied in the same
// transaction. The same registration again changes nothing and is not created.
// Errors: ErrFactsDiffer; ErrUnavailable.
func (c *Commands) Register(ctx context.Context, r Registration) (created bool, err error) {
	if r.Currency == "" {
		r.Currency = DefaultCurrency
	}
	err = c.run(ctx, r.Key, func(u *unit) error {
		a, event, isNew, err := register(u.aggregate(r.Key), r)
		created, u.created = isNew, isNew
		if err != nil || !isNew {
			return err
		}
		u.put(a, Decision{Changed: true, Event: event, Payment: a.accepted()}, "")
		u.settleOrder(r.Key)
		return nil
	})
	return created && err == nil, err
}

// register is the pure half of Register.
func register(a Aggregate, r Registration) (Aggregate, *Event, bool, error) {
	o := &a.Order
	if o.Registered {
		if o.ExpectedFen == r.AmountFen && o.Currency == r.Currency && o.ExpiresAt.Equal(r.ExpiresAt) {
			return a, nil, false, nil
		}
		return a, nil, false, ErrFactsDiffer
	}
	paid := o.Currency // the accepted payment's
	o.Registered, o.ExpectedFen, o.Currency, o.ExpiresAt = true, r.AmountFen, r.Currency, r.ExpiresAt
	if o.Status == None {
		o.Key, o.Status = r.Key, Created
		return a, a.event(EventCreated, None, KindRegister, ReasonNone), true, nil
	}
	if !o.HasAccepted() {
		return a, nil, true, nil
	}
	o.Late = o.Late || expired(o.ExpiresAt, o.PaidAt)
	switch {
	case o.PaidFen != r.AmountFen:
		return a, a.event(EventConflict, o.Status, KindRegister, ReasonAmountMismatch), true, nil
	case paid != "" && paid != r.Currency:
		return a, a.event(EventConflict, o.Status, KindRegister, ReasonCurrencyMismatch), true, nil
	}
	o.AmountVerified = true
	return a, nil, true, nil
}

// Do ships, completes or cancels an order: KindShip, KindComplete, KindCancel.
// A command whose target is the present status changes nothing.
// Errors: ErrUnknown; *IllegalTransition; ErrUnavailable.
func (c *Commands) Do(ctx context.Context, key Key, command Kind) error {
	return c.run(ctx, key, func(u *unit) error {
		a, event, err := obey(u.aggregate(key), command)
		if err != nil || event == nil {
			return err
		}
		u.put(a, Decision{Changed: true, Event: event, Payment: a.accepted()}, "")
		return nil
	})
}

// obey is the pure half of Do.
func obey(a Aggregate, command Kind) (Aggregate, *Event, error) {
	step, known := commands[command]
	switch {
	case !known:
		return a, nil, fmt.Errorf("there is no command %q", command)
	case a.Order.Status == None:
		return a, nil, ErrUnknown
	case a.Order.Status == step.to:
		return a, nil, nil
	case !slices.Contains(step.from, a.Order.Status):
		return a, nil, &IllegalTransition{a.Order.OutTradeNo, command, a.Order.Status}
	}
	from := a.Order.Status
	a.Order.Status = step.to
	return a, a.event(step.tell, from, command, ReasonNone), nil
}

// MayDo lists the commands that change an order of this status.
func MayDo(s Status) (may []Kind) {
	for _, command := range []Kind{KindShip, KindComplete, KindCancel} {
		if slices.Contains(commands[command].from, s) {
			may = append(may, command)
		}
	}
	return may
}

// run does one command as one unit of work.
func (c *Commands) run(ctx context.Context, key Key, do func(*unit) error) error {
	var events []Event
	rules := unitRules{now: c.Now, newID: c.NewID, require: c.RequireRegistration}
	want := Want{Orders: []Key{key}}
	if c.seal != nil {
		want.Stories = want.Orders
	}
	err := transact(ctx, c.Store, want, rules, func(u *unit) (*Changes, error) {
		events = nil
		if err := do(u); err != nil {
			return nil, err
		}
		changes := u.finish()
		if c.seal != nil {
			changes.Seal = c.seal(u.story(key, changes), u.created)
		}
		events = changes.Events
		return changes, nil
	})
	if err == nil && c.Committed != nil && len(events) > 0 {
		c.Committed(events)
	}
	return err
}
