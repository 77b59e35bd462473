package httpapi

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/outbox"
)

// A story tells of the order that is asked for alone, oldest event first, with
// the attempts; it is bounded, and says when something is left off.
func TestOrderStory(t *testing.T) {
	d := newDepot(t)
	d.status.Store(http.StatusInternalServerError)
	east, west := order.Key{Merchant: "default", OutTradeNo: "T/1"}, order.Key{Merchant: "west", OutTradeNo: "T/1"}
	lost := order.Key{Merchant: "west", OutTradeNo: "T3"}
	row := order.Row{ID: "ntf_1", Outcome: order.Unmatched, Kind: order.KindRefund, Copies: 2}
	row.Results = []order.FactResult{{Merchant: "default", OutTradeNo: "T/1", Kind: order.KindRefund, Outcome: order.Unmatched}}
	d.reader.stories = map[order.Key]order.Story{
		east: {Order: order.Order{Key: east, Status: order.Paid}, Notifications: []order.Row{row}},
		west: {Order: order.Order{Key: west, Status: order.Refunded}},
		lost: {Order: order.Order{Key: lost, Status: order.Created}, Payments: []order.Payment{{Role: order.Surplus, AmountFen: 5, RefundedFen: 4}},
			Refunds: []order.Refund{{Status: order.RefundAbnormal}}},
	}
	for i := range maxStoryEvents + 1 {
		d.event(t, fmt.Sprintf("evt_%03d", i), "west", "T/1", int64(i+1))
	}
	d.event(t, "evt_900", "default", "T/1", 1)
	d.event(t, "evt_901", "default", "T/1", 2)
	d.event(t, "evt_902", "default", "T/2", 1)
	read[Resent](t, d.bench, "POST", "/events/evt_900/redeliver", "") // wakes the outbox
	d.until(t, "evt_900", func(s DeliveryStory) bool { return s.Attempts > 0 && !s.Sending })

	s := read[OrderStory](t, d.bench, "GET", "/orders/T%2F1/story?merchant=default", "")
	if s.OutTradeNo != "T/1" || len(s.Events) != 2 || s.EventsCut || s.Events[0].ID != "evt_900" || len(s.Events[0].Deliveries) != 1 ||
		len(s.Events[0].Deliveries[0].AttemptLog) != 1 || *s.Events[0].Deliveries[0].AttemptLog[0].Status != 500 {
		t.Errorf("%+v", s)
	}
	if n := s.Notifications; len(n) != 1 || n[0].Copies != 2 || len(n[0].Facts) != 1 || n[0].Facts[0].Outcome != order.Unmatched {
		t.Errorf("%+v", n)
	}
	next := s.Next.Deliveries
	if len(next) != 2 || next[0].State != outbox.Pending || next[0].Behind != nil || next[0].Attempts != 1 || time.Time(next[0].NextAt).IsZero() ||
		next[1].Behind == nil || *next[1].Behind != "evt_900" {
		t.Errorf("%+v", next)
	}
	if may, waits := fmt.Sprint(s.Next.MerchantMay), fmt.Sprint(s.Next.WaitsFor); may != "[ship cancel]" || waits != "[shipment match]" {
		t.Errorf("may %s, waits for %s", may, waits)
	}
	read[EndpointView](t, d.bench, "POST", "/endpoints/shop/pause", `{"reason":"moving"}`)
	s = read[OrderStory](t, d.bench, "GET", "/orders/T%2F1/story?merchant=default", "")
	if p := s.Next.Deliveries[0].Paused; p == nil || *p != "moving" {
		t.Errorf("paused: %v", p)
	}

	s = read[OrderStory](t, d.bench, "GET", "/orders/T%2F1/story?merchant=west", "")
	if len(s.Events) != maxStoryEvents || !s.EventsCut || s.Events[0].ID != "evt_001" || len(s.Next.Deliveries)+len(s.Next.MerchantMay)+len(s.Next.WaitsFor) != 0 {
		t.Errorf("%d events, cut %v, from %s; %+v", len(s.Events), s.EventsCut, s.Events[0].ID, s.Next)
	}
	s = read[OrderStory](t, d.bench, "GET", "/orders/T3/story?merchant=west", "")
	if waits := fmt.Sprint(s.Next.WaitsFor); waits != "[payment return refund]" {
		t.Errorf("waits for %s", waits)
	}
	if got := d.admin(t, "GET", "/orders/none/story?merchant=west", ""); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}
