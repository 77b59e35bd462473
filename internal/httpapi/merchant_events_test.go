package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// events are a page of the feed as a merchant reads it.
func (d *desk) events(t *testing.T, query string) feedPage {
	t.Helper()
	got := d.ask(t, "GET", "/v1/events"+query, "")
	if got.status != 200 {
		t.Fatalf("events%s: %d %s", query, got.status, got.body)
	}
	return parsed[feedPage](t, got)
}

// sequenced waits until the feed has a place.
func (d *desk) sequenced(t *testing.T, place int64) {
	t.Helper()
	for {
		moved := d.sequencer.Moved()
		last, _, err := d.db.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if last >= place {
			return
		}
		select {
		case <-moved:
		case <-time.After(20 * time.Second):
			t.Fatalf("place %d is never given, the last is %d", place, last)
		}
	}
}

func (d *desk) register(t *testing.T, number, sub string) {
	t.Helper()
	body := fmt.Sprintf(`{"out_trade_no":%q,"amount_fen":1000}`, number)
	if got := d.ask(t, "POST", "/v1/orders"+sub, body); got.status != 201 {
		t.Fatalf("register %s: %d %s", number, got.status, got.body)
	}
}

func TestMerchantReadsItsEvents(t *testing.T) {
	t.Parallel()
	east := newDesk(t)
	west := east.as(westKey)
	if got := east.ask(t, "GET", "/v1/events?after=7", ""); got.body != `{"items":[],"next_after":7}`+"\n" {
		t.Errorf("nothing: %s", got.body)
	}
	east.register(t, "T1", "")
	west.register(t, "T1", "")
	east.register(t, "T1", "?sub_merchant=19")
	east.paid(t, "T1", 1000)
	east.sequenced(t, 4)
	page := east.events(t, "")
	var told []string
	for _, e := range page.Items {
		told = append(told, fmt.Sprint(*e.Seq, e.Type, e.Merchant, *e.OrderVersion))
	}
	if want := []string{"1order.createdeast1", "3order.createdeast/191", "4order.paideast2"}; !slices.Equal(told, want) || page.NextAfter != 4 {
		t.Errorf("east reads %v and goes on after %d", told, page.NextAfter)
	}
	if page := west.events(t, "?after=0"); len(page.Items) != 1 || page.Items[0].Merchant != "west" || page.NextAfter != 4 {
		t.Errorf("west reads %+v", page)
	}
	if page := east.events(t, "?after=1&limit=1"); len(page.Items) != 1 || page.NextAfter != 3 {
		t.Errorf("one after the first: %+v", page)
	}

	// An event in the feed is the body of its delivery.
	stored, _, err := east.db.EventsAfter(t.Context(), "east", 3, 1)
	if err != nil || len(stored) != 1 {
		t.Fatal(err, len(stored))
	}
	var raw struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(east.ask(t, "GET", "/v1/events?after=3", "").body), &raw); err != nil {
		t.Fatal(err)
	}
	if got, want := string(raw.Items[0]), string(stored[0].JSON()); got != want || !strings.Contains(got, `"status":"paid"`) {
		t.Errorf("in the feed\n%s\ndelivered\n%s", got, want)
	}

	for _, query := range []string{"?after=-1", "?after=x", "?after=1.0", "?after=99999999999999999999", "?limit=0", "?limit=201", "?wait=61s", "?wait=-1s",
		"?wait=20", "?wait=x", "?after=1&after=2", "?merchant=west", "?sub_merchant=19"} {
		wantProblem(t, query, east.ask(t, "GET", "/v1/events"+query, ""), 400, "bad_parameter")
	}
}

// await calls for events in the background and returns when the call waits.
func (d *desk) await(t *testing.T, query string) chan feedPage {
	t.Helper()
	for len(d.reads) > 0 {
		<-d.reads
	}
	page := make(chan feedPage, 1)
	go func() {
		defer close(page)
		got := d.ask(t, "GET", "/v1/events"+query, "")
		page <- parsed[feedPage](t, got)
	}()
	<-d.reads // and found nothing
	return page
}

func TestMerchantWaitsForEvents(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	page := d.await(t, "?after=0&wait=60s")
	other := d.as(westKey).await(t, "?after=0&wait=60s")
	start := time.Now()
	d.register(t, "T1", "")
	if got := <-page; len(got.Items) != 1 || got.NextAfter != 1 || time.Since(start) > 10*time.Second {
		t.Errorf("after %v came %+v", time.Since(start), got)
	}
	select {
	case got := <-other:
		t.Errorf("another's event ends the wait: %+v", got)
	default:
	}
	d.as(westKey).register(t, "T2", "")
	if got := <-other; len(got.Items) != 1 || got.NextAfter != 2 {
		t.Errorf("its own event brings %+v", got)
	}
	if got := d.events(t, "?after=2&wait=10ms"); len(got.Items) != 0 || got.NextAfter != 2 {
		t.Errorf("when the time is over: %+v", got)
	}
}

// A stopping process sends those who wait away at once, with an answer.
func TestMerchantWaitEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	page := d.await(t, "?after=3&wait=60s")
	d.end()
	if got := <-page; len(got.Items) != 0 || got.NextAfter != 3 {
		t.Errorf("the answer is %+v", got)
	}
	if err := <-d.ended; err != nil {
		t.Error(err)
	}
	d.ended <- nil
}

// Nobody can take all connections by waiting.
func TestMerchantWaitersAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	handler := &private{api: d.opt.API, waiting: make(chan struct{}, 1)}
	handler.waiting <- struct{}{}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/events", nil)
	_, _, err := handler.eventsAfter(&call{r: r, signer: signer{merchant: "east"}}, 0, 1, time.Second)
	if p := problemOf(err); p.Status != 503 || p.Code != "too_many_waiting" {
		t.Errorf("%v", err)
	}
	if _, _, err := handler.eventsAfter(&call{r: r, signer: signer{merchant: "east"}}, 0, 1, 0); err != nil {
		t.Errorf("without waiting: %v", err)
	}
}
