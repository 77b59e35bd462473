package fill

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/notifyd/notifyd/bench/account"
	"github.com/notifyd/notifyd/bench/message"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/store"
)

// Large is how many units are written together where only their result counts.
const Large = 500

// NewID and Now are the ids and the clock of notifyd's own program.
func NewID(prefix string) string { return prefix + ulid.MustNew(ulid.Now(), rand.Reader).String() }

// Now is the time as notifyd stores it.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Recording notes what notifyd decides about the n orders that it was told to
// expect.
type Recording struct {
	tape          *tape
	Registrations []Unit
}

// Register decides the registration of the orders from…to-1, as a merchant would
// ask for it.
func Register(ctx context.Context, from, to int) (*Recording, error) {
	r := &Recording{tape: newTape()}
	commands := order.Commands{Store: r.tape, Now: Now, NewID: NewID}
	for n := from; n < to; n++ {
		created, err := commands.Register(ctx, order.Registration{
			Key: order.Key{Merchant: account.Merchant, OutTradeNo: account.OrderNo(n)}, AmountFen: account.AmountFen(n), Currency: account.Currency,
		})
		if err != nil || !created {
			return nil, errors.Join(fmt.Errorf("order %d is not registered", n), err)
		}
	}
	r.Registrations = r.tape.units
	return r, nil
}

// Take decides requests as the whole of notifyd does, and returns one unit for
// each.
func (r *Recording) Take(ctx context.Context, requests [][]byte) ([]Unit, error) {
	adapters, err := account.Adapters()
	if err != nil {
		return nil, err
	}
	r.tape.units = nil
	recorder := order.NewRecorder(order.RecorderOptions{Store: r.tape, Now: Now, NewID: NewID, Committers: 1})
	for i, request := range requests {
		n, err := parse(adapters, request)
		if err == nil {
			_, err = recorder.Record(ctx, n)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("request %d is refused: %w", i, err), recorder.Close(ctx))
		}
	}
	return r.tape.units, recorder.Close(ctx)
}

// parse is what the edge does with a request, HTTP aside.
func parse(adapters map[string]provider.Provider, request []byte) (order.Notification, error) {
	header, body := message.Unwire(request)
	name, path := "wechat", account.WechatPath
	if header.Get("User-Agent") != "" { // only Alipay sends one
		name, path = "alipay", account.AlipayPath
	}
	now := Now()
	n, err := adapters[name].Parse(provider.Request{Header: header, Body: body, ReceivedAt: now})
	n.ID, n.ReceivedAt = NewID("ntf_"), now
	n.Capture = order.Capture{RequestLine: "POST " + path + " HTTP/1.1", Header: captured(request), Body: body}
	return n, err
}

// Write writes units to a database of notifyd's, migrated if need be.
func Write(ctx context.Context, url string, units []Unit) error {
	db, err := store.Open(url, store.Options{Holder: "the benchmark"})
	if err != nil {
		return err
	}
	if err := db.Prepare(ctx); err != nil {
		return errors.Join(err, db.Close())
	}
	for _, u := range Merge(units, Large) {
		if err := Replay(ctx, db, u); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}

// Replay writes a unit as the recorder would: locks, reads, writes, commit.
func Replay(ctx context.Context, db order.Store, u Unit) error {
	return db.Transact(ctx, u.Want, func(*order.Found) (*order.Changes, error) { return &u.Changes, nil })
}
