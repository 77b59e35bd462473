package crashtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

// P43 (b): without its PostgreSQL the program asks every provider to come again,
// in that provider's words; it stays alive, is not ready, and needs no restart.
func TestP43DatabaseAway(t *testing.T) {
	cluster := pgtest.Start(t)
	p := newShop(t, cluster.URL("postgres"), "").start(t)
	client, now := newClient(t), time.Now()
	p.until(t, client, "/readyz", http.StatusOK)

	// told sends an order of each protocol, numbered like the moment.
	told := func(moment string, check func(payment, answer)) {
		for i, kind := range protocols() {
			x := payment{kind, fmt.Sprintf("%s%d", moment, i), 1000}
			check(x, post(client, p.public+x.path(), x.message(now)))
		}
	}
	accepted := func(x payment, a answer) {
		t.Helper()
		if !a.acked(x.protocol) {
			t.Errorf("%s %s: %s", x.protocol, x.number, a)
			return
		}
		wantPaidOnce(t, p.story(t, client, x.number), x.fen)
	}
	refusals := map[protocol]string{
		v3: `{"code":"FAIL"`, v2: `<xml><return_code><![CDATA[FAIL]]></return_code>`, ali: "failure",
	}
	comeAgain := func(x payment, a answer) {
		t.Helper()
		if a.err != nil || a.status != http.StatusServiceUnavailable || !strings.HasPrefix(a.body, refusals[x.protocol]) || a.header.Get("Retry-After") == "" {
			t.Errorf("%s %s without the database: %s, Retry-After %q", x.protocol, x.number, a, a.header.Get("Retry-After"))
		}
	}

	told("A", accepted)
	for round := range 2 {
		moment := "B" + fmt.Sprint(round)
		if round == 0 {
			cluster.Stop(t)
		} else {
			cluster.KillAll(t)
		}
		told(moment, comeAgain)
		told("A", comeAgain) // a repeat is not known to be durable now
		p.until(t, client, "/readyz", http.StatusServiceUnavailable)
		for _, url := range []string{p.public + "/healthz", p.private + "/healthz"} {
			if a := get(client, url); a.status != http.StatusOK {
				t.Errorf("%s without the database: %s", url, a)
			}
		}
		told(moment, comeAgain)
		cluster.Start(t)
		p.until(t, client, "/readyz", http.StatusOK)
		told(moment, accepted)
		told("A", accepted)
	}
	p.stop(t)
}
