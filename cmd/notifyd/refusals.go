package main

import (
	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/refusal"
)

// What all requests to accounts that are not configured share: whoever mistypes
// a notify URL finds his messages among the last of these.
const (
	strangersKept         = 20
	strangersBytes        = 256 << 10
	strangersMessageBytes = 16 << 10
)

// newKeeper makes what keeps refused requests.
func (d *daemon) newKeeper(metrics *httpapi.Metrics) *refusal.Keeper {
	return refusal.NewKeeper(refusal.Options{
		Store: d.db, Now: d.clock, Count: metrics.RefusalsKept, Bounds: d.refusalBounds(),
		Failed: func(err error) { d.log.Warn("refused requests cannot be kept now", "error", err.Error()) },
	})
}

// refusalBounds are how much is kept.
func (d *daemon) refusalBounds() refusal.Bounds {
	r := d.conf.Refused
	return refusal.Bounds{
		Account: refusal.Bound{Count: r.Keep, Bytes: r.AccountBytes, MessageBytes: r.MessageBytes},
		Unknown: refusal.Bound{Count: min(strangersKept, r.Keep), Bytes: strangersBytes, MessageBytes: min(strangersMessageBytes, r.MessageBytes)},
	}
}
