package crashtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// askedPerSecond is the load of the rotation.
const askedPerSecond = 200

func oldKey() signingKey { return signingKey{"k1", "throw-away-secret-that-goes-00001"} }
func newKey() signingKey { return signingKey{"k2", "throw-away-secret-that-comes-0002"} }

const (
	oldHook = "whsec_dGhyb3ctYXdheS1zZWNyZXQtdGhhdC1nb2VzLTAwMDE="
	newHook = "whsec_dGhyb3ctYXdheS1zZWNyZXQtdGhhdC1jb21lcy0wMDI="
)

// T20: a merchant's key and an endpoint's secret are replaced under 200 requests
// a second, as docs/signed-requests.md says: the new one beside the old one, one
// instance after the other; then the senders move; then the old one goes. No
// request that is signed with a key of its time is refused, the old key is worth
// nothing afterwards, and deliveries of the time between hold for either secret.
func TestT20KeysRotateUnderLoad(t *testing.T) {
	hook := newRotatingHook(t)
	r := &rotation{hook: hook, store: pgtest.Database(t)}
	r.site = newShop(t, r.store, "")
	r.configure(t, []signingKey{oldKey()}, oldHook)
	r.processes = []*instance{r.site.start(t), r.site.start(t)}
	r.key.Store(&[]signingKey{oldKey()})
	stop := r.load(t)
	r.asked(t, askedPerSecond)

	hook.since(t, false, oldHook)
	r.configure(t, []signingKey{oldKey(), newKey()}, oldHook, newHook)
	r.restart(t)
	hook.since(t, true, oldHook, newHook)
	r.key.Store(&[]signingKey{oldKey(), newKey()})
	r.asked(t, 2*askedPerSecond)
	hook.check(t)

	r.key.Store(&[]signingKey{newKey()})
	r.asked(t, askedPerSecond) // until none is under way that was signed with the old one
	hook.since(t, false, newHook)
	r.configure(t, []signingKey{newKey()}, newHook)
	r.restart(t)
	hook.since(t, true, newHook)
	r.asked(t, askedPerSecond)
	stop()
	hook.check(t)

	if n := r.refused.Load(); n != 0 {
		t.Errorf("%d requests with a key of their time were refused", n)
	}
	c := newClient(t)
	for i := range 100 {
		w := register(fmt.Sprintf("OLD%03d", i))
		if a := r.at(i).askWith(c, w, oldKey()); a.err != nil || a.status != http.StatusUnauthorized {
			t.Fatalf("the old key, after it was taken away: %s", a)
		}
		if a := r.at(i).askWith(c, w, newKey()); a.err != nil || a.status != http.StatusCreated {
			t.Fatalf("the new key: %s", a)
		}
	}
	t.Logf("%d requests, %d of them sent again to the other instance; %d deliveries", r.done.Load(), r.again.Load(), hook.total())
	for _, p := range r.processes {
		p.stop(t)
	}
}

// rotation is a merchant's load on a fleet.
type rotation struct {
	fleet
	hook  *rotatingHook
	store string
	key   atomic.Pointer[[]signingKey] // those that senders use now

	done, again, refused atomic.Int64
}

func (r *rotation) configure(t *testing.T, keys []signingKey, secrets ...string) {
	t.Helper()
	var listed []string
	for _, k := range keys {
		listed = append(listed, fmt.Sprintf("{id: %s, secret: %s}", k.id, k.secret))
	}
	r.site.configure(t, r.store, fmt.Sprintf(`merchants:
  - name: default
    api_keys: [%s]
    endpoints: [{name: shop, url: %q, secrets: ["%s"], events: [order.created], allow_private: true}]`,
		strings.Join(listed, ", "), r.hook.URL, strings.Join(secrets, `", "`)))
}

// restart restarts one instance after the other, in good order.
func (r *rotation) restart(t *testing.T) {
	t.Helper()
	c := newClient(t)
	for i := range r.processes {
		r.at(i).stop(t)
		p := r.site.start(t)
		p.until(t, c, "/readyz", http.StatusOK)
		r.mu.Lock()
		r.processes[i] = p
		r.mu.Unlock()
	}
}

// load sends registrations until it is stopped.
func (r *rotation) load(t *testing.T) (stop func()) {
	c, end := newClient(t), make(chan struct{})
	next := make(chan int)
	var work sync.WaitGroup
	for range 2 * loadClients {
		work.Go(func() {
			for i := range next {
				keys := *r.key.Load()
				r.send(t, c, i, keys[i%len(keys)])
			}
		})
	}
	work.Go(func() {
		defer close(next)
		tick := time.NewTicker(time.Second / askedPerSecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			case <-tick.C:
				next <- i
			}
		}
	})
	return func() { close(end); work.Wait() }
}

// send asks one instance, and the other one when that is about to end.
func (r *rotation) send(t *testing.T, c *http.Client, i int, key signingKey) {
	w := register(fmt.Sprintf("K%06d", i))
	const pause = 20 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var a answer
	for n, end := i, time.Now().Add(patience); time.Now().Before(end); n++ {
		a = r.at(n).askWith(c, w, key)
		switch {
		case a.err == nil && a.status == http.StatusUnauthorized:
			r.refused.Add(1)
			r.done.Add(1)
			return
		case a.err == nil && a.status == http.StatusCreated:
			r.done.Add(1)
			return
		}
		r.again.Add(1)
		<-tick.C
	}
	t.Errorf("%s is never answered: %s", w.key, a)
}

// asked waits until so many more requests were answered.
func (r *rotation) asked(t *testing.T, n int64) {
	t.Helper()
	n += r.done.Load()
	eventually(t, "the requests are answered", func() bool { return r.done.Load() >= n })
}

// rotatingHook is an endpoint that holds each delivery to the secrets that must
// have signed it.
type rotatingHook struct {
	*httptest.Server
	mu      sync.Mutex
	secrets []string // of now: a delivery holds for each of them
	alone   bool     // and for no other
	seen    int      // since then
	all     int
	faults  []string
}

func newRotatingHook(t *testing.T) *rotatingHook {
	h := &rotatingHook{secrets: []string{oldHook}, alone: true}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *rotatingHook) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen++
	h.all++
	for _, secret := range h.secrets {
		if _, err := client.VerifyWebhook(r.Header, body, time.Now(), secret); err != nil {
			h.faults = append(h.faults, fmt.Sprintf("a delivery does not hold for %s: %v", secret, err))
		}
	}
	if signatures := len(strings.Fields(r.Header.Get("webhook-signature"))); h.alone && signatures != len(h.secrets) {
		h.faults = append(h.faults, fmt.Sprintf("%d signatures, want %d", signatures, len(h.secrets)))
	}
}

// since says which secrets sign from now on, and whether no other does.
func (h *rotatingHook) since(t *testing.T, alone bool, secrets ...string) {
	t.Helper()
	h.check(t)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets, h.alone, h.seen = secrets, alone, 0
}

// check waits for deliveries of now and says what was wrong with any.
func (h *rotatingHook) check(t *testing.T) {
	t.Helper()
	eventually(t, "events are delivered", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.seen >= 10
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fault := range h.faults[:min(len(h.faults), 10)] {
		t.Error(fault)
	}
}

func (h *rotatingHook) total() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}
