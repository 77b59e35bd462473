// Package refusal keeps the last requests that were refused, so that people can
// see what really came. Nothing kept here was proven, nothing is read back by
// anything that decides, and keeping never makes a sender wait: what cannot be
// kept is dropped and counted.
//
// It imports order, for the form of a capture and the errors of a store.
package refusal

import (
	"context"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/order"
)

// IDPrefix begins the id of every kept refusal.
const IDPrefix = "ref_"

// IsID says whether an id names a kept refusal, in contrast to a notification.
func IsID(id string) bool { return strings.HasPrefix(id, IDPrefix) }

// Refusal is one request that was refused. All of it but the account's name, the
// provider's, the code and the status is what a stranger said.
type Refusal struct {
	ID         string
	ReceivedAt time.Time
	Account    string // "" when the request named none that is configured
	Provider   string // of the account; "" likewise
	Code       string // of the closed list of reasons
	Detail     string // as the log has it; may be empty
	Status     int    // of the answer
	Peer       string // the address at the other end of the connection: a proxy's, where there is one

	BodyBytes  int64    // of the body, as far as it was read
	BodySHA256 [32]byte // of those, as the log has it
	Cut        bool     // Capture.Body is not all that was sent
	// Capture has no Header and Body in lists. KeptBytes is how long its Body is.
	Capture   order.Capture
	KeptBytes int64
}

// rowBytes is what a row takes beside its capture and its detail.
const rowBytes = 256

// Size is what a refusal counts towards the bytes of its account.
func (r *Refusal) Size() int64 {
	return int64(rowBytes + len(r.Detail) + len(r.Capture.RequestLine) + len(r.Capture.Header) + len(r.Capture.Body))
}

// Bound is how much is kept of one account.
type Bound struct {
	Count        int   // messages; 0 keeps none
	Bytes        int64 // all of them together, by Size
	MessageBytes int   // of one body; what is longer is cut
}

// Bounds are those of every configured account, and the one that all requests
// to others share.
type Bounds struct{ Account, Unknown Bound }

// Of is the bound of an account; "" stands for all that are not configured.
func (b *Bounds) Of(account string) Bound {
	if account == "" {
		return b.Unknown
	}
	return b.Account
}

// Filter selects refusals; zero fields select all. Since is inclusive, Until
// exclusive, both by ReceivedAt.
type Filter struct {
	Account, Provider, Code string
	Since, Until            time.Time
	AfterID                 string // the last one of the page before
	Limit                   int
}

// Store is a database that keeps refusals, apart from all else.
type Store interface {
	// KeepRefusals writes refusals and removes what their accounts have beyond
	// the bounds, in one transaction; one that is there already stays as it is.
	// Each code of an account keeps its newest: a code that came often gives way
	// before one that came seldom. At most one caller writes at a time, and never
	// on a connection that a notification could need.
	KeepRefusals(ctx context.Context, rows []Refusal, bounds Bounds) error
	// TrimRefusals removes up to limit refusals, the oldest of them, that any
	// account has beyond the bounds, and says how many: bounds may have been
	// lowered since nothing comes to an account any more.
	TrimRefusals(ctx context.Context, bounds Bounds, limit int) (int, error)
	// PruneRefusals removes up to limit refusals that were received before a
	// time, and says how many.
	PruneRefusals(ctx context.Context, before time.Time, limit int) (int, error)
	Reader
}

// Reader shows what is kept.
type Reader interface {
	// Refusals lists by filter, newest first, without Capture.Header and
	// Capture.Body.
	Refusals(ctx context.Context, f Filter) ([]Refusal, error)
	// Refusal is order.ErrUnknown when there is none of this id.
	Refusal(ctx context.Context, id string) (Refusal, error)
}
