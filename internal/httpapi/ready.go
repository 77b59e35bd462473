package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Heart is the store as readiness sees it.
type Heart interface {
	// Beat makes one small real write: reads can work where commits do not.
	Beat(ctx context.Context) error
}

// readiness knows whether notifications can be committed.
type readiness struct {
	heart    Heart
	accounts map[string]Account
	log      *slog.Logger
	draining atomic.Bool
	tried    chan struct{} // closed when the first beat has ended

	mu   sync.Mutex
	last time.Time // when the latest beat ended; zero: none has
	err  error     // of the latest beat
}

// watch beats until ctx ends.
func (r *readiness) watch(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		r.beat(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *readiness) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	err := r.heart.Beat(ctx)
	r.mu.Lock()
	first, before := r.last.IsZero(), r.err
	r.last, r.err = time.Now(), err
	r.mu.Unlock()
	if first {
		close(r.tried)
	}
	switch {
	case err != nil && (first || before == nil):
		r.log.Error("the store cannot be written", "error", claim(err.Error()))
	case err == nil && (first || before != nil):
		r.log.Info("the store can be written")
	}
}

func (r *readiness) store() (ok bool, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
		return false, "the latest write failed; the log says why"
	case time.Since(r.last) > beatStale:
		return false, "the latest write is too long ago"
	}
	return true, ""
}

func (r *readiness) keys() (ok bool, detail string) {
	for name, a := range r.accounts {
		if len(a.Adapter.Keys()) == 0 {
			return false, "account " + name + " has no key"
		}
	}
	return true, ""
}

// check is one condition of readiness.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

type readyAnswer struct {
	Ready  bool    `json:"ready"`
	Checks []check `json:"checks"`
}

func (r *readiness) state() readyAnswer {
	storeOK, storeDetail := r.store()
	keysOK, keysDetail := r.keys()
	draining, drainDetail := r.draining.Load(), ""
	if draining {
		drainDetail = "the process is about to end"
	}
	return readyAnswer{
		Ready: storeOK && keysOK && !draining,
		Checks: []check{{"store", storeOK, storeDetail}, {"keys", keysOK, keysDetail},
			{"not_draining", !draining, drainDetail}},
	}
}

// answer is GET /readyz. Who asks before the first beat has ended waits for it:
// its time is bounded.
func (r *readiness) answer(w http.ResponseWriter, req *http.Request) {
	select {
	case <-r.tried:
	case <-req.Context().Done():
	}
	state, status := r.state(), http.StatusOK
	if !state.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, jsonType, state)
}
