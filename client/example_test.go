package client_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	_ "modernc.org/sqlite"

	"github.com/notifyd/notifyd/client"
)

// notifyd stands for the private listener of a notifyd in these examples.
func notifyd() *httptest.Server {
	first := true
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/events":
			_, _ = io.WriteString(w, `{"items":[{"id":"evt_01","seq":1,"type":"order.paid","order_version":1,"order":{"out_trade_no":"T1001","paid_fen":1000}}],"next_after":1}`)
		case strings.HasSuffix(r.URL.Path, "/ship"):
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"status":409,"code":"illegal_transition","detail":"T1001 is created; only a paid order can be shipped","order_status":"created"}`)
		case first: // it is just starting
			first = false
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, anOrder)
		}
	}))
}

// Say what to expect before the customer pays. The idempotency key is one that
// the shop's own records make again, should it crash before it has the answer.
func ExampleClient_RegisterOrder() {
	server := notifyd()
	defer server.Close()
	c, err := client.New(server.URL, "k1", "the secret of k1", client.WithPauses(time.Millisecond, time.Second))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var answer client.Answer
	order, err := c.RegisterOrder(ctx, client.NewOrder{OutTradeNo: "T1001", AmountFen: 1000},
		client.WithIdempotencyKey("register:T1001"), client.KeepAnswer(&answer))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.OutTradeNo, order.Status, order.AmountFen)
	fmt.Println(answer.IdempotencyKey, answer.Attempts)
	// Output:
	// T1001 created 1000
	// register:T1001 2
}

// A refusal says in a word why, and where the order stands.
func ExampleProblem() {
	server := notifyd()
	defer server.Close()
	c, err := client.New(server.URL, "k1", "the secret of k1")
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Ship(context.Background(), "T1001")
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Code == client.CodeIllegalTransition {
		fmt.Println("the order is", problem.OrderStatus)
	}
	fmt.Println(err)
	// Output:
	// the order is created
	// notifyd answers 409 illegal_transition: T1001 is created; only a paid order can be shipped
}

// Events without an endpoint: one loop, which waits for the next event.
func ExampleClient_Follow() {
	server := notifyd()
	defer server.Close()
	c, err := client.New(server.URL, "k1", "the secret of k1")
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range c.Follow(context.Background(), 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Seq, e.Type, e.Order.OutTradeNo)
		break // a real loop goes on
	}
	// Output:
	// 1 order.paid T1001
}

// exampleDelivery is a request as notifyd sends it.
func exampleDelivery(body string) *http.Request {
	at := time.Now()
	signer, err := standardwebhooks.NewWebhook(hookSecret)
	if err != nil {
		log.Fatal(err)
	}
	signature, err := signer.Sign("evt_01", at, []byte(body))
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/notifyd/events", strings.NewReader(body))
	r.Header.Set("webhook-id", "evt_01")
	r.Header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	r.Header.Set("webhook-signature", signature)
	return r
}

func ExampleVerifyWebhook() {
	request := exampleDelivery(paidEvent)
	body, err := io.ReadAll(request.Body)
	if err != nil {
		log.Fatal(err)
	}
	e, err := client.VerifyWebhook(request.Header, body, time.Now(), hookSecret)
	fmt.Println(e.Type, e.Order.OutTradeNo, e.Order.PaidFen, err)

	_, err = client.VerifyWebhook(request.Header, append(body, ' '), time.Now(), hookSecret)
	fmt.Println(err)
	// Output:
	// order.paid T1001 1000 <nil>
	// the delivery is not proven: no signature of it is by one of the 1 secrets given
}

// The whole receiving side of a shop: the booking and the memory of the event
// become durable together, however often it is delivered.
func ExampleInbox() {
	folder, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(client.SQLiteTable + "; create table paid (out_trade_no text, fen integer)"); err != nil {
		log.Fatal(err)
	}

	inbox, err := client.NewInbox(db, client.SQLite, func(ctx context.Context, tx *sql.Tx, e client.Received) error {
		if e.Type != client.OrderPaid {
			return nil // taken, and nothing to do
		}
		_, err := tx.ExecContext(ctx, "insert into paid values (?, ?)", e.Order.OutTradeNo, e.Order.PaidFen)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := inbox.Handler(hookSecret)
	if err != nil {
		log.Fatal(err)
	}
	// http.Handle("/notifyd/events", handler)

	for range 3 { // at least once means: perhaps three times
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, exampleDelivery(paidEvent))
		fmt.Println(answer.Code)
	}
	var rows, fen int
	if err := db.QueryRow("select count(*), sum(fen) from paid").Scan(&rows, &fen); err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows, "booking of", fen, "fen")
	// Output:
	// 204
	// 204
	// 204
	// 1 booking of 1000 fen
}

// One thing to do for one event has one key, however a queue names its copies.
func ExampleFingerprint() {
	a := client.Fingerprint("order.paid", "T1001", "grant points")
	b := client.Fingerprint("order.paid", "T1001", "grant points")
	c := client.Fingerprint("order.paid", "T1001", "send mail")
	fmt.Println(a == b, a == c)
	// Output:
	// true false
}
