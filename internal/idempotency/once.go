package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"
)

const (
	// LockTime is how long a request has its key. It is many times what an
	// effect takes; after it a request whose process died can be sent again.
	LockTime = 30 * time.Second
	// RetryAfter is when to ask again while the first request runs: an effect is
	// a transaction of some milliseconds.
	RetryAfter = time.Second
	// Retention is how long a key is remembered: longer than anybody sends one
	// request again, a weekend and a repair included.
	Retention = 7 * 24 * time.Hour
	// settleTimeout bounds what follows an effect when nobody waits for the
	// answer any more.
	settleTimeout = 3 * time.Second
)

// Errors that answer a request in place of its effect. Neither is stored.
var (
	ErrInProgress = errors.New("a request under this idempotency key is running: ask again in a moment")
	ErrReused     = errors.New("this idempotency key belongs to another request: a new request needs a new key")
)

// Request is what a merchant asks for under a key.
type Request struct {
	Merchant string // who was proven to ask
	Key      string // as KeyOf reads it
	Method   string
	URI      string // the request line's own bytes
	Body     []byte
}

// Reply is what a request is told.
type Reply struct {
	Answer    Answer
	Replayed  bool      // it was told before
	CreatedAt time.Time // of the run that gave the answer, by the database's clock
}

// Effect does what a request asks for, and says its answer. sealed: the answer
// is stored already, in the transaction of the effect, under the lock; an effect
// that changes anything must do so. One that fails with an error, panics or
// answers with 500 and above has changed nothing, and its key is free again; if
// its transaction committed all the same, the key has its answer.
type Effect func(ctx context.Context, l Lock) (a Answer, sealed bool, err error)

// Once runs requests, each key's once. It is safe for concurrent use.
type Once struct {
	Store    Store
	NewToken func() string // unlike any other; nil: random
	LockFor  time.Duration // LockTime when 0
	Failed   func(error)   // told of a key that could not be released and stays locked for its time; may be nil
}

// Do runs the effect of a request, or tells its answer again. Errors:
// ErrInProgress and ErrReused, with the Reply's CreatedAt; ErrLost when an
// answer came after the lock's time; the store's and the effect's as they are.
func (o *Once) Do(ctx context.Context, r Request, effect Effect) (Reply, error) {
	c := o.claim(&r)
	record, err := o.Store.TakeKey(ctx, c)
	reply := Reply{CreatedAt: record.CreatedAt}
	switch {
	case err != nil:
		o.release(ctx, c.Lock) // it may have been taken all the same
		return Reply{}, err
	case record.Mine:
		reply.Answer, err = o.run(ctx, c.Lock, effect)
	case record.Fingerprint != c.Fingerprint:
		err = ErrReused
	case !record.Done:
		err = ErrInProgress
	default:
		reply.Answer, reply.Replayed = record.Answer, true
	}
	return reply, err
}

func (o *Once) claim(r *Request) Claim {
	newToken, lockFor := o.NewToken, o.LockFor
	if newToken == nil {
		newToken = rand.Text
	}
	if lockFor == 0 {
		lockFor = LockTime
	}
	return Claim{Lock{r.Merchant, r.Key, newToken()}, FingerprintOf(r.Method, r.URI, r.Body), lockFor}
}

// run runs an effect under its lock.
func (o *Once) run(ctx context.Context, l Lock, effect Effect) (Answer, error) {
	stored := false
	defer func() {
		if !stored { // also when the effect panics
			o.release(ctx, l)
		}
	}()
	answer, sealed, err := effect(ctx, l)
	switch {
	case err != nil:
		return Answer{}, err
	case sealed:
		stored = true
	case answer.Status < http.StatusInternalServerError:
		settling, cancel := settle(ctx)
		defer cancel()
		if err := o.Store.FinishKey(settling, l, answer); err != nil {
			return Answer{}, err
		}
		stored = true
	}
	return answer, nil
}

// release gives up a lock. An answer that was stored though nobody heard of it
// stays, and so does what another holds by now.
func (o *Once) release(ctx context.Context, l Lock) {
	settling, cancel := settle(ctx)
	defer cancel()
	if err := o.Store.ReleaseKey(settling, l); err != nil && o.Failed != nil {
		o.Failed(err)
	}
}

// settle is for what has to be done though the one who asked has gone.
func settle(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
}
