package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// answer is what came back for a request; err when nothing whole did.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %q", a.status, a.body)
}

// acked says whether the provider would be content.
func (a answer) acked(p protocol) bool {
	return a.err == nil && a.status == http.StatusOK && a.body == p.ack()
}

// newClient keeps a connection for each of its callers.
func newClient(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// post sends a message as it is.
func post(client *http.Client, url string, m forge.Message) answer {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(m.Body))
	if err != nil {
		return answer{err: err}
	}
	r.Header = m.Header.Clone()
	return do(client, r)
}

func do(client *http.Client, r *http.Request) answer {
	res, err := client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body), err}
}

func get(client *http.Client, url string) answer {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return answer{err: err}
	}
	return do(client, r)
}

// get asks the private listener, with the admin token.
func (p *instance) get(client *http.Client, path string) answer {
	r, err := http.NewRequest(http.MethodGet, p.private+path, nil)
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	return do(client, r)
}

// story reads an order; nil when there is none. A 503 means try again: a
// connection to a database that was away may be found broken at its next use.
func (p *instance) story(t testing.TB, client *http.Client, number string) *order.StoryView {
	t.Helper()
	var a answer
	eventually(t, "order "+number+" can be read", func() bool {
		a = p.get(client, "/admin/v1/orders/"+number)
		return a.status != http.StatusServiceUnavailable
	})
	if a.err == nil && a.status == http.StatusNotFound {
		return nil
	}
	var s order.StoryView
	if a.err != nil || a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &s) != nil {
		t.Errorf("order %s: %s", number, a) // not the end of the test: others may be asking as well
		return nil
	}
	return &s
}

// wantPaidOnce holds an order to what must be true of it however often, from
// wherever and in whatever weather its payment was told.
func wantPaidOnce(t testing.TB, s *order.StoryView, fen int64) {
	t.Helper()
	if s == nil {
		t.Errorf("an order that was paid with %d fen is not there", fen)
		return
	}
	accepted, moves := 0, 0
	for _, p := range s.Payments {
		if p.Role == order.Accepted {
			accepted++
		}
	}
	for _, e := range s.Transitions {
		if e.To == order.Paid && e.From != order.Paid {
			moves++
		}
	}
	if s.Status != order.Paid || s.PaidFen != fen || len(s.Payments) != 1 || accepted != 1 || moves != 1 || len(s.Transitions) != 1 || len(s.Notifications) != 1 {
		text, _ := json.MarshalIndent(s, "", " ")
		t.Errorf("order %s is not paid once with %d fen:\n%s", s.OutTradeNo, fen, text)
	}
}

// until waits for an HTTP status of a path of the private listener.
func (p *instance) until(t testing.TB, client *http.Client, path string, status int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s answers %d", path, status), func() bool { return p.get(client, path).status == status })
}

// soon is a deadline for connections.
func soon() time.Time { return time.Now().Add(patience) }
