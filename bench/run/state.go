package run

import (
	"path/filepath"

	"github.com/notifyd/notifyd/bench/fill"
	"github.com/notifyd/notifyd/bench/message"
)

// piece is how many orders are decided at a time: more would fill memory.
const piece = 50_000

// once makes a template the first time that it is asked for.
func (b *bench) once(name string, build func() error) (string, error) {
	if b.templates[name] {
		return name, nil
	}
	b.say("making the database %s", name)
	if err := build(); err != nil {
		return "", err
	}
	b.templates[name] = true
	return name, nil
}

// expecting is a database of notifyd's that expects orders.
func (b *bench) expecting(name string, orders int) (string, error) {
	return b.once(name, func() error {
		if err := fill.Ours(b.ctx, b.cluster, name); err != nil {
			return err
		}
		if err := b.expect(b.cluster.URL(name), 0, orders); err != nil {
			return err
		}
		return b.cluster.Do(b.ctx, name, "vacuum analyze")
	})
}

// expect registers the orders from…to-1.
func (b *bench) expect(url string, from, to int) error {
	for at := from; at < to; at += piece {
		r, err := fill.Register(b.ctx, at, min(at+piece, to))
		if err != nil {
			return err
		}
		if err := fill.Write(b.ctx, url, r.Registrations); err != nil {
			return err
		}
	}
	return nil
}

// decided is what notifyd writes for the first messages of a kind: the
// registrations of their orders and the units of the messages.
func (b *bench) decided(k message.Kind, messages int) (registrations, units []fill.Unit, err error) {
	p, err := b.pool(k, 0, messages)
	if err != nil {
		return nil, nil, err
	}
	r, err := fill.Register(b.ctx, 0, messages)
	if err != nil {
		return nil, nil, err
	}
	units, err = r.Take(b.ctx, p.requests)
	return r.Registrations, units, err
}

// repeatable is how many orders repeats and refunds are about.
func (b *bench) repeatable() int { return min(b.Messages, 20_000) }

// paid is a database of notifyd's whose orders are paid.
func (b *bench) paid(k message.Kind) (string, error) {
	return b.once("ours_paid_"+string(k), func() error {
		registrations, units, err := b.decided(k, b.repeatable())
		if err != nil {
			return err
		}
		return fill.Ours(b.ctx, b.cluster, "ours_paid_"+string(k), registrations, units)
	})
}

// peersExpecting is a database of the peers' that expects orders.
func (b *bench) peersExpecting() (string, error) {
	return b.once("peers_expecting", func() error {
		return fill.Peers(b.ctx, b.cluster, "peers_expecting", 0, b.Messages)
	})
}

// peersPaid is one whose orders are paid: a peer itself took the messages.
func (b *bench) peersPaid(k message.Kind) (string, error) {
	name := "peers_paid_" + string(k)
	return b.once(name, func() error {
		if err := fill.Peers(b.ctx, b.cluster, name, 0, b.repeatable()); err != nil {
			return err
		}
		_, err := b.perform(trial{system: gopay, inPlace: name, pool: b.unique(k, b.repeatable()), conns: 64, measure: untilSent})
		return err
	})
}

// sqliteExpecting is a file of notifyd's that expects orders.
func (b *bench) sqliteExpecting() (string, error) {
	file := filepath.Join(b.Folder, "expecting.db")
	return b.once(file, func() error { return b.expect("sqlite:"+file, 0, b.Messages) })
}

// unique gives the first messages of a kind.
func (b *bench) unique(k message.Kind, messages int) func() (*pool, error) {
	return func() (*pool, error) { return b.pool(k, 0, messages) }
}
