package client_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/notifyd/notifyd/client"
	"github.com/notifyd/notifyd/internal/store/postgres/pgtest"
)

const receivers = "../docs/receive"

// interpreter is where a program is. Where the checks of a change run, it must
// be there; elsewhere its test says that it is not.
func interpreter(t *testing.T, name string) (path string, found bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, true
	case os.Getenv("CI") != "":
		t.Fatalf("%s is needed where CI is set: install it", name)
	}
	t.Logf("NOT TESTED: %s is not installed here", name)
	return "", false
}

func TestReceiverInPython(t *testing.T) {
	python, found := interpreter(t, "python3")
	if !found {
		return
	}
	file := filepath.Join(t.TempDir(), "shop.db")
	db := prepared(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)", client.SQLiteTable)
	url := serve(t, python, "testdata/serve.py", receivers, file, hookSecret, newHookSecret)
	testReceiver(t, url, shop{db, client.SQLite})
}

func TestReceiverInNode(t *testing.T) {
	node, found := interpreter(t, "node")
	if !found {
		return
	}
	db := prepared(t, "pgx", pgtest.Empty(t), client.PostgreSQLTable)
	desk := httptest.NewServer(&sqlDesk{db: db, conns: map[int]*sql.Conn{}})
	t.Cleanup(desk.Close)
	module, err := filepath.Abs(filepath.Join(receivers, "receive.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, node, "testdata/serve.mjs", module, desk.URL, hookSecret, newHookSecret)
	testReceiver(t, url, shop{db, client.PostgreSQL})
}

// paidBody is an event of type order.paid; the reason "broken" makes the handler
// fail after its booking.
func paidBody(id, reason string) string {
	return fmt.Sprintf(`{"id":%q,"type":"order.paid","reason":%q,"order":{"out_trade_no":"订单 1","paid_fen":1000}}`, id, reason)
}

// testReceiver holds a receiver in any language to what the Inbox promises.
func testReceiver(t *testing.T, url string, db shop) {
	now, body := time.Now(), paidBody
	post := func(header http.Header, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header = header
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = response.Body.Close() // the status is all
		return response.StatusCode
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if status := post(delivery(t, "evt_1", body("evt_1", ""), now, hookSecret), body("evt_1", "")); status != 204 {
				t.Errorf("a genuine delivery: %d", status)
			}
		})
	}
	all.Wait()
	if n := db.count(t, "select count(*) from bookings where event_id = 'evt_1' and fen = 1000"); n != 1 {
		t.Errorf("20 deliveries made %d bookings", n)
	}
	for name, test := range notProven(t, now) {
		if status := post(test.header, test.body); status != 401 {
			t.Errorf("%s: %d", name, status)
		}
	}
	// A rotation: signed with both, and with the new one alone.
	if status := post(delivery(t, "evt_1", body("evt_1", ""), now, hookSecret, newHookSecret), body("evt_1", "")); status != 204 {
		t.Errorf("signed with both secrets: %d", status)
	}
	if status := post(delivery(t, "evt_1", body("evt_1", ""), now, newHookSecret), body("evt_1", "")); status != 204 {
		t.Errorf("signed with the new secret: %d", status)
	}
	// A handler that fails leaves nothing, and the event may come again.
	if status := post(delivery(t, "evt_4", body("evt_4", "broken"), now, hookSecret), body("evt_4", "broken")); status != 500 {
		t.Errorf("a failing handler: %d", status)
	}
	if n := db.count(t, "select count(*) from notifyd_inbox") + db.count(t, "select count(*) from bookings"); n != 2 {
		t.Errorf("%d rows, want those of the first event alone", n)
	}
	if status := post(delivery(t, "evt_4", body("evt_4", ""), now, hookSecret), body("evt_4", "")); status != 204 {
		t.Errorf("the failed event again: %d", status)
	}
	if n := db.count(t, "select count(*) from bookings where event_id = 'evt_4'"); n != 1 {
		t.Errorf("%d bookings of the failed event", n)
	}
	// Two languages share one table.
	if ran, err := db.inbox(t, db.book).Receive(t.Context(), client.Event{ID: "evt_4"}); ran || err != nil {
		t.Errorf("the inbox does not know what the receiver took: %v, %v", ran, err)
	}
}

// sent is a delivery as it is sent.
type sent struct {
	header http.Header
	body   string
}

// notProven are deliveries that must be refused.
func notProven(t *testing.T, now time.Time) map[string]sent {
	t.Helper()
	body := paidBody("evt_2", "")
	refused := map[string]sent{
		"a stranger's":         {delivery(t, "evt_2", body, now, "whsec_"+strings.Repeat("QUJD", 8)), body},
		"another body":         {delivery(t, "evt_2", body, now, hookSecret), body + " "},
		"another id":           {delivery(t, "evt_3", body, now, hookSecret), body},
		"an old one":           {delivery(t, "evt_2", body, now.Add(-6*time.Minute), hookSecret), body},
		"one from the future":  {delivery(t, "evt_2", body, now.Add(6*time.Minute), hookSecret), body},
		"no headers":           {http.Header{}, body},
		"an empty signature":   {delivery(t, "evt_2", body, now), body},
		"a strange signature":  {delivery(t, "evt_2", body, now, hookSecret), body},
		"a strange timestamp":  {delivery(t, "evt_2", body, now, hookSecret), body},
		"a negative timestamp": {delivery(t, "evt_2", body, now, hookSecret), body},
	}
	refused["another id"].header.Set("webhook-id", "evt_2x")
	refused["a strange signature"].header.Set("webhook-signature", "v1,\xe9 v1 ,")
	refused["a strange timestamp"].header.Set("webhook-timestamp", "\xb2\xb2\xb2\xb2\xb2\xb2\xb2\xb2\xb2\xb2")
	refused["a negative timestamp"].header.Set("webhook-timestamp", "-767225600")
	return refused
}

// serve starts a receiver, which says its port in its first line, and returns
// its URL.
func serve(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it would serve for ever
		_ = cmd.Wait()         // and says that it was killed
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s does not start: %v", args[0], err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(port) + "/"
}

// sqlDesk runs statements for a program that has no driver, each on the
// connection that it asked for.
type sqlDesk struct {
	db    *sql.DB
	mu    sync.Mutex
	conns map[int]*sql.Conn
	last  int
}

func (d *sqlDesk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Conn   int
		Text   string
		Values []any
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &question)
	}
	answer := map[string]int64{}
	d.mu.Lock()
	conn := d.conns[question.Conn]
	d.mu.Unlock()
	switch {
	case err != nil:
	case r.URL.Path == "/connect":
		if conn, err = d.db.Conn(r.Context()); err == nil {
			d.mu.Lock()
			d.last++
			d.conns[d.last] = conn
			answer["conn"] = int64(d.last)
			d.mu.Unlock()
		}
	case r.URL.Path == "/release":
		err = conn.Close()
	default:
		var result sql.Result
		if result, err = conn.ExecContext(r.Context(), question.Text, numbers(question.Values)...); err == nil {
			answer["rowCount"], err = result.RowsAffected()
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer) // the program tells if it misses it
}

// numbers turns JSON's numbers into those of the tables.
func numbers(values []any) []any {
	for i, value := range values {
		if n, ok := value.(float64); ok {
			values[i] = int64(n)
		}
	}
	return values
}
