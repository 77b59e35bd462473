package providertest

import (
	"bytes"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// sameEveryTime: parsing is deterministic, safe for concurrent use, and leaves
// the request as it was.
func sameEveryTime(t *testing.T, kit Kit, g Genuine) {
	req := clone(g.Request)
	first, err := kit.Provider.Parse(req)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(req.Body, g.Request.Body) {
		t.Error("Parse changed the body")
	}
	if !maps.EqualFunc(req.Header, g.Request.Header, slices.Equal) {
		t.Error("Parse changed the header")
	}
	const callers, rounds = 8, 4
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				n, err := kit.Provider.Parse(req)
				if err != nil || !reflect.DeepEqual(n, first) {
					t.Errorf("another call gave another notification (error %v):\n%+v\n%+v", err, n, first)
				}
			}
		})
	}
	wg.Wait()
	// What is durable must not change when the edge reuses its buffer.
	kept, err := kit.Provider.Parse(req)
	if err != nil {
		t.Fatal(err)
	}
	for i := range req.Body {
		req.Body[i] = '#'
	}
	kept.Capture, first.Capture = order.Capture{}, order.Capture{} // the edge's own
	if !reflect.DeepEqual(kept, first) {
		t.Error("the notification shares memory with the request's body")
	}
}

// factKey: what makes two notifications copies of each other is what they say,
// not which account name, id or time they came with.
func factKey(t *testing.T, kit Kit, g Genuine) {
	n, err := kit.Provider.Parse(g.Request)
	if err != nil {
		t.Fatal(err)
	}
	want := n.FactKey()
	n.ID, n.ReceivedAt = "ntf_other", n.ReceivedAt.Add(time.Hour)
	n.ProviderID, n.Account = "other", "other"
	if n.FactKey() != want {
		t.Error("the fact key depends on the id, the account's name or the time of receipt")
	}
	twin, err := kit.Twin.Parse(g.Request)
	if err != nil {
		t.Fatalf("refused under another account name: %v", err)
	}
	if twin.Account == kit.Env.Account {
		t.Fatal("kit: Twin has the same account name")
	}
	if twin.FactKey() != want {
		t.Error("the fact key depends on the account's name")
	}
	if g.Again == nil {
		return
	}
	again, err := kit.Provider.Parse(*g.Again)
	if err != nil {
		t.Fatalf("refused when it was sent again: %v", err)
	}
	if again.FactKey() != want {
		t.Errorf("sent again, it is not a copy:\n%+v\n%+v", n, again)
	}
}

func clone(req provider.Request) provider.Request {
	c := req
	c.Body = slices.Clone(req.Body)
	c.Header = req.Header.Clone()
	if c.Header == nil {
		c.Header = http.Header{}
	}
	return c
}
