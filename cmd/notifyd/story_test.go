package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
	"github.com/notifyd/notifyd/internal/provider/forge"
)

// Everything that can come has words of its own.
func TestStoryHasWordsForEverything(t *testing.T) {
	seen := map[string]string{}
	unique := func(what, words string) {
		if other, taken := seen[words]; taken || words == "" || words == what {
			t.Errorf("%s has the words %q, as %s has", what, words, other)
		}
		seen[words] = what
	}
	for _, k := range order.Kinds() {
		unique("kind "+string(k), kindWords(k))
	}
	for _, o := range order.Outcomes() {
		if o != order.Conflict {
			unique("outcome "+string(o), decisionWords(o, order.ReasonNone))
		}
	}
	for _, r := range []order.Reason{order.ReasonAmountMismatch, order.ReasonCurrencyMismatch, order.ReasonSurplusPayment, order.ReasonClosedAfterPaid,
		order.ReasonPaidAfterCancel, order.ReasonRefundExceedsPaid, order.ReasonNumberReused, order.ReasonUnreadableField, order.ReasonAmbiguousText} {
		words := decisionWords(order.Conflict, r)
		unique("reason "+string(r), words)
		if strings.Contains(words, string(r)) {
			t.Errorf("%s is said in no plain words: %s", r, words)
		}
	}
	for _, w := range []httpapi.WaitCode{httpapi.WaitPayment, httpapi.WaitMatch, httpapi.WaitShipment, httpapi.WaitReceipt, httpapi.WaitReturn, httpapi.WaitRefund} {
		unique("wait "+string(w), waitWords(w, &httpapi.OrderStory{}))
	}
}

// The story of an order whose events go to an endpoint that fails at first.
func TestOrdersShowTellsTheStory(t *testing.T) {
	to := newCustomer(t)
	to.status.Store(http.StatusBadGateway)
	c := delivering(t, to)
	c.want(t, exitDone, "orders", "register", "T1", "--amount-fen", "1000")
	for range 2 {
		if status, _ := get(t, http.MethodPost, c.public+"/notify/alipay", paid("T1", forge.AlipayKey)); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	c.want(t, exitDone, "orders", "ship", "T1")
	story := c.story(t, "T1", func(s *httpapi.OrderStory) bool {
		return len(s.Events) == 3 && len(s.Events[1].Deliveries) == 1 && len(s.Events[1].Deliveries[0].AttemptLog) == 1 &&
			len(s.Notifications) == 1 && s.Notifications[0].Copies == 2 && len(s.Next.Deliveries) == 2 && !s.Next.Deliveries[0].Sending
	})
	if behind := story.Next.Deliveries[1].Behind; behind == nil || *behind != story.Events[1].ID {
		t.Errorf("the second delivery waits for %v, want %s", behind, story.Events[1].ID)
	}
	out, said := c.want(t, exitDone, "orders", "show", "T1")
	if said != "" {
		t.Errorf("stderr: %s", said)
	}
	last := 0
	for _, part := range []string{"status    shipped\n", "PAYMENT", "What happened",
		"merchant    says register: → created, version 1\n", "event order.created " + story.Events[0].ID + ", for no endpoint\n",
		"alipay      says: paid (account alipay); it came 2 times\n", story.Notifications[0].ID, "paid: applied, it changed the order\n",
		"order       created → paid, version 2, payment of 10.00 (accepted)\n", "event order.paid " + story.Events[1].ID + ", for erp (pending)\n",
		"What comes next", "order.paid " + story.Events[1].ID + " to erp: attempt 2 is due at ", "waits for " + story.Events[1].ID, "waits for you to complete it"} {
		at := strings.Index(out[last:], part)
		if at < 0 {
			t.Fatalf("after byte %d, %q is missing in\n%s", last, part, out)
		}
		last += at
	}
	wantAll(t, out, "to erp      order.paid "+story.Events[1].ID+", attempt 1: answered 502", "it said: says Bad Gateway", "You may: notifyd orders complete T1 --server http://")
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > usualColumns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	_, said = c.want(t, exitFailed, "orders", "show", "T404")
	if said != "notifyd: merchant default has no order T404\n" {
		t.Errorf("stderr: %s", said)
	}
}

// A conflict about an amount names both, and stands under what comes next.
func TestStoryNamesTheAmountInDispute(t *testing.T) {
	to := newCustomer(t)
	c := delivering(t, to)
	for _, fen := range []int64{1000, 2000} {
		if status, _ := get(t, http.MethodPost, c.public+"/notify/alipay", paidFen("T1", fen, forge.AlipayKey)); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	out, _ := c.want(t, exitDone, "orders", "show", "T1")
	wantAll(t, strings.Join(strings.Fields(out), " "), "paid: conflict, the amount is not the one that was expected; nothing moved: says 20.00, known is 10.00",
		"Somebody has to look at a conflict above (amount_mismatch): ask the provider what is true.")
	out, _ = c.want(t, exitDone, "notifications", "list", "--outcome", "conflict", "--json")
	wantAll(t, out, `"amount_fen": 2000`)

	c.want(t, exitDone, "orders", "register", "T2", "--amount-fen", "3000")
	if status, _ := get(t, http.MethodPost, c.public+"/notify/alipay", paidFen("T2", 1000, forge.AlipayKey)); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	out, _ = c.want(t, exitDone, "orders", "show", "T2")
	wantAll(t, strings.Join(strings.Fields(out), " "), "says 10.00, expected is 30.00", "Somebody has to give money back")
}

// story asks until the outbox and the counter of copies are where the test
// wants them: they work beside the answers.
func (c counter) story(t *testing.T, number string, ready func(*httpapi.OrderStory) bool) *httpapi.OrderStory {
	t.Helper()
	late := time.After(30 * time.Second)
	for again := time.NewTicker(20 * time.Millisecond); ; {
		out, _ := c.want(t, exitDone, "orders", "show", number, "--json")
		s := &httpapi.OrderStory{}
		if err := json.Unmarshal([]byte(out), s); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if ready(s) {
			again.Stop()
			return s
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("it never came so far:\n%s", out)
		}
	}
}

// What becomes of each delivery that has not arrived, and what cannot be said by
// a whole run without waiting for hours.
func TestStorySaysWhatBecomesOfDeliveries(t *testing.T) {
	reason, first := "answered 410", "evt_0"
	d := httpapi.NextDelivery{EventID: "evt_1", Type: order.EventPaid, Endpoint: "erp", State: outbox.Pending, Attempts: 3,
		NextAt: order.Moment(time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC))}
	sending, behind, paused, exhausted := d, d, d, d
	sending.Sending, behind.Behind, paused.Paused, exhausted.State = true, &first, &reason, outbox.Exhausted
	for want, d := range map[string]httpapi.NextDelivery{
		"attempt 4 is due at 2026-01-01 12:00:00":                                    d,
		"attempt 4 is being made":                                                    sending,
		"waits for evt_0 to arrive or to be given up":                                behind,
		"the endpoint is paused (answered 410). Go on: notifyd endpoints resume erp": paused,
		"given up after 3 attempts. Send it again: notifyd events redeliver evt_1":   exhausted,
	} {
		if got := deliveryWords(&d, ""); got != "order.paid evt_1 to erp: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is printed to be pasted asks the same server as the command that printed
// it.
func TestPrintedCommandsAskTheSameServer(t *testing.T) {
	for want, r := range map[string]reach{
		"":                                    {config: defaultConfig},
		" --config 'my shop/notifyd.yaml'":    {config: "my shop/notifyd.yaml"},
		" --server http://h:1 --token-file t": {config: "x.yaml", server: "http://h:1", tokenFile: "t"},
		" --config try/notifyd.yaml --token-file token": {config: "try/notifyd.yaml", tokenFile: "token"},
	} {
		if got := r.again(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := &httpapi.OrderStory{EventsCut: true, StoryView: order.StoryView{View: order.View{OutTradeNo: "T1", Merchant: "shop/1", Status: order.Paid}}}
	reason := "moving"
	s.Next.MerchantMay = []order.Kind{order.KindShip}
	s.Next.Deliveries = []httpapi.NextDelivery{{EventID: "evt_1", Endpoint: "erp", State: outbox.Exhausted}, {EventID: "evt_2", Endpoint: "erp", Paused: &reason}}
	text := strings.Join(strings.Fields(string(wholeStory(s, " --config c.yaml", newSheet(mostColumns, false)))), " ")
	wantAll(t, text, "notifyd events list --order T1 --config c.yaml)", "notifyd orders ship T1 --merchant shop/1 --config c.yaml",
		"notifyd events redeliver evt_1 --config c.yaml", "notifyd endpoints resume erp --config c.yaml")
}

// Lines fit the terminal, and a story read with colours is the same story.
func TestStoryFitsTheTerminal(t *testing.T) {
	s := &httpapi.OrderStory{StoryView: order.StoryView{View: order.View{OutTradeNo: "T 1", Merchant: "default", Status: order.Paid}}}
	number := "T 1"
	s.Notifications = []order.NotificationView{{NotificationLine: order.NotificationLine{ID: "ntf_01M8MTAWFYGV2XYDSW4KR91C5Q", Kind: order.KindPaid, Copies: 1},
		Account: strings.Repeat("long-account-name", 3), Provider: "provider-with-a-long-name", Facts: []order.FactView{
			{Merchant: "default", OutTradeNo: &number, Kind: order.KindPaid, Outcome: order.Conflict, Reason: order.ReasonAmbiguousText},
			{Merchant: "default/2", OutTradeNo: &number, Kind: order.KindPaid, Outcome: order.Applied}}}}
	s.Next.MerchantMay = []order.Kind{order.KindShip, order.KindCancel}
	for _, columns := range []int{leastColumns, mostColumns} {
		plainText := string(wholeStory(s, "", newSheet(columns, false)))
		for line := range strings.Lines(plainText) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%d columns, %d are there: %s", n, columns, line)
			}
		}
		coloured := string(wholeStory(s, "", newSheet(columns, true)))
		for _, code := range []string{dim, green, yellow, "0"} {
			coloured = strings.ReplaceAll(coloured, "\x1b["+code+"m", "")
		}
		if coloured != plainText {
			t.Errorf("with colours it says\n%s\nwithout\n%s", coloured, plainText)
		}
		if strings.Count(plainText, "applied") != 0 {
			t.Errorf("it tells of another merchant's order:\n%s", plainText)
		}
		wantAll(t, plainText, "notifyd orders ship 'T 1'")
	}
}
