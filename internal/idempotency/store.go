package idempotency

import (
	"context"
	"errors"
	"time"
)

// ErrLost: the lock of a request has expired or is somebody else's by now.
// Nothing was stored; the same request may run elsewhere, or have its answer.
var ErrLost = errors.New("the request's lock has expired")

// Lock is the right to answer a request. Whoever shows the token of the run
// that holds the key has it, until the database's clock says that it is over.
type Lock struct {
	Merchant string
	Key      string // as sent
	Token    string // new for every run
}

// Claim asks for the lock of a key.
type Claim struct {
	Lock
	Fingerprint Fingerprint
	For         time.Duration // how long the lock holds, by the database's clock
}

// Answer is what a request was told, as it is stored and told again.
type Answer struct {
	Status      int // HTTP
	ContentType string
	Body        []byte
}

// Record is what the database holds under a key when a claim was made.
type Record struct {
	Mine        bool        // the claim got the lock; otherwise it is another's
	Fingerprint Fingerprint // of the request that has the key
	Done        bool        // there is an answer
	Answer      Answer      // zero unless Done
	CreatedAt   time.Time   // when that request began to run, by the database's clock
}

// Store keeps keys, with their locks and answers. That two requests cannot have
// one key is a unique constraint of the database; every time is the database's.
// Errors are the store's own, and ErrLost where it is named.
type Store interface {
	// TakeKey locks a key, durably, if nobody has it or its lock is over, and
	// says who has it.
	TakeKey(ctx context.Context, c Claim) (Record, error)
	// FinishKey stores the answer of a request that had no effect; one that had
	// stores it in the transaction of its effect. ErrLost when the lock is over.
	FinishKey(ctx context.Context, l Lock, a Answer) error
	// ReleaseKey gives up a lock, so that the request can run again. One that is
	// lost or has its answer stays as it is.
	ReleaseKey(ctx context.Context, l Lock) error
	// PruneKeys removes up to limit keys that are older than an age, the oldest
	// first, and says how many; fewer than limit: none is left.
	PruneKeys(ctx context.Context, age time.Duration, limit int) (int, error)
}
