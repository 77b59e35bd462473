package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/store"
)

func ordersByFilter(t *testing.T, db store.DB) {
	var rows []order.Order
	add := func(n string, minutes int, change func(*order.Order)) {
		o := anOrder(n)
		o.Provider, o.Account = "wechat", "shop"
		o.CreatedAt = start.Add(time.Duration(minutes) * time.Minute)
		change(&o)
		rows = append(rows, o)
	}
	add("T1", 1, func(o *order.Order) { o.Status = order.Paid })
	add("T2", 2, func(o *order.Order) { o.Provider = "alipay" })
	add("T3", 3, func(o *order.Order) { o.Account = "kiosk"; o.Status = order.Paid })
	add("T4", 4, func(o *order.Order) { o.Merchant = "other" })
	add("T5", 4, func(*order.Order) {})
	put(t, db, &order.Changes{Orders: rows})
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for _, c := range []struct {
		name   string
		filter order.OrderFilter
		want   []string
	}{
		{"all", order.OrderFilter{}, []string{"T5", "T4", "T3", "T2", "T1"}},
		{"merchant", order.OrderFilter{Merchant: "other"}, []string{"T4"}},
		{"status", order.OrderFilter{Status: order.Paid}, []string{"T3", "T1"}},
		{"provider", order.OrderFilter{Provider: "alipay"}, []string{"T2"}},
		{"account", order.OrderFilter{Account: "kiosk"}, []string{"T3"}},
		{"since is inclusive", order.OrderFilter{Since: at(3)}, []string{"T5", "T4", "T3"}},
		{"until is exclusive", order.OrderFilter{Until: at(3)}, []string{"T2", "T1"}},
		{"all of it", order.OrderFilter{Merchant: merchant, Status: order.Paid, Provider: "wechat", Account: "shop", Since: at(1), Until: at(2), Limit: 5}, []string{"T1"}},
		{"limit", order.OrderFilter{Limit: 2}, []string{"T5", "T4"}},
		{"none", order.OrderFilter{Status: order.Refunded}, nil},
		{"after", order.OrderFilter{After: order.OrderMark{CreatedAt: at(3), Key: key("T3")}}, []string{"T2", "T1"}},
	} {
		list, err := db.Orders(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		if list == nil {
			t.Errorf("%s: the list is nil, it should be empty", c.name)
		}
		var got []string
		for _, o := range list {
			got = append(got, o.OutTradeNo)
		}
		same(t, c.name, got, c.want)
	}
	list, err := db.Orders(t.Context(), order.OrderFilter{Merchant: "other"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a row of the list", list, []order.Order{rows[3]})
}

// Many orders are made in one moment; a batch makes them so.
func ordersArePaged(t *testing.T, db store.DB) {
	var rows []order.Order
	for i := range 40 {
		o := anOrder(fmt.Sprintf("T%02d", i*7%40))
		o.CreatedAt = start.Add(time.Duration(i/20) * time.Microsecond)
		if i%5 == 0 {
			twin := o
			twin.Merchant = "other"
			rows = append(rows, twin)
		}
		rows = append(rows, o)
	}
	put(t, db, &order.Changes{Orders: rows})
	whole, err := db.Orders(t.Context(), order.OrderFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(whole) != len(rows) {
		t.Fatalf("the list has %d orders, want %d", len(whole), len(rows))
	}
	if !slices.IsSortedFunc(whole, func(a, b order.Order) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
		t.Error("the list is not newest first")
	}
	var paged []order.Order
	for f := (order.OrderFilter{Limit: 7}); ; {
		page, err := db.Orders(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page...)
		if len(page) < f.Limit || len(paged) > len(rows) {
			break
		}
		last := page[len(page)-1]
		f.After = order.OrderMark{CreatedAt: last.CreatedAt, Key: last.Key}
	}
	same(t, "pages", paged, whole)
}

func notificationsByFilter(t *testing.T, db store.DB) {
	var rows []order.Row
	add := func(n int, orderNo string, change func(*order.Row)) {
		row := aNotification(n, orderNo)
		row.ReceivedAt = start.Add(time.Duration(n) * time.Minute)
		change(&row)
		rows = append(rows, row)
	}
	add(1, "T1", func(*order.Row) {})
	add(2, "T2", func(n *order.Row) { n.Provider, n.Account = "alipay", "kiosk" })
	add(3, "T3", func(n *order.Row) { n.Outcome = order.Conflict })
	add(4, "T4", func(n *order.Row) { n.Kind = order.KindRefund })
	add(5, "T5", func(n *order.Row) {
		n.Results = append(n.Results, order.FactResult{Merchant: "other", OutTradeNo: "T1"}, order.FactResult{Merchant: merchant, OutTradeNo: "T6"})
	})
	add(6, "", func(n *order.Row) { n.Merchant, n.Outcome = "other", order.Unhandled })
	put(t, db, &order.Changes{Notifications: rows})
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	for _, c := range []struct {
		name   string
		filter order.NotificationFilter
		want   []int
	}{
		{"all", order.NotificationFilter{}, []int{6, 5, 4, 3, 2, 1}},
		{"merchant of any fact", order.NotificationFilter{Merchant: "other"}, []int{6, 5}},
		{"order number of any fact", order.NotificationFilter{OutTradeNo: "T1"}, []int{5, 1}},
		{"order of any fact", order.NotificationFilter{Merchant: "other", OutTradeNo: "T1"}, []int{5}},
		{"order of one fact and merchant of another", order.NotificationFilter{Merchant: "other", OutTradeNo: "T6"}, nil},
		{"provider", order.NotificationFilter{Provider: "alipay"}, []int{2}},
		{"account", order.NotificationFilter{Account: "kiosk"}, []int{2}},
		{"outcome", order.NotificationFilter{Outcome: order.Conflict}, []int{3}},
		{"applied", order.NotificationFilter{Outcome: order.Applied}, []int{5, 4, 2, 1}},
		{"kind", order.NotificationFilter{Kind: order.KindRefund}, []int{4}},
		{"since is inclusive", order.NotificationFilter{Since: at(5)}, []int{6, 5}},
		{"until is exclusive", order.NotificationFilter{Until: at(2)}, []int{1}},
		{"all of it", order.NotificationFilter{Merchant: merchant, OutTradeNo: "T3", Provider: provider, Account: account, Outcome: order.Conflict,
			Kind: order.KindPaid, Since: at(3), Until: at(4), AfterID: "ntf_000004", Limit: 9}, []int{3}},
		{"limit", order.NotificationFilter{Limit: 2}, []int{6, 5}},
		{"after", order.NotificationFilter{AfterID: "ntf_000003"}, []int{2, 1}},
	} {
		list, err := db.Notifications(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		if list == nil {
			t.Errorf("%s: the list is nil, it should be empty", c.name)
		}
		var got []int
		for _, n := range list {
			got = append(got, slices.IndexFunc(rows, func(r order.Row) bool { return r.ID == n.ID })+1)
		}
		same(t, c.name, got, c.want)
	}
	list, err := db.Notifications(t.Context(), order.NotificationFilter{OutTradeNo: "T6"})
	if err != nil {
		t.Fatal(err)
	}
	rows[4].Capture = order.Capture{}
	same(t, "a row of the list", list, []order.Row{rows[4]})
}

func notificationsArePaged(t *testing.T, db store.DB) {
	var rows []order.Row
	for i := range 30 {
		n := aNotification(i*11%30, "T1")
		n.ReceivedAt = start // the id alone says the order
		rows = append(rows, n)
	}
	put(t, db, &order.Changes{Notifications: rows})
	var ids []string
	for f := (order.NotificationFilter{OutTradeNo: "T1", Limit: 7}); ; {
		page, err := db.Notifications(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page {
			ids = append(ids, n.ID)
		}
		if len(page) < f.Limit || len(ids) > len(rows) {
			break
		}
		f.AfterID = page[len(page)-1].ID
	}
	var want []string
	for i := len(rows) - 1; i >= 0; i-- {
		want = append(want, fmt.Sprintf("ntf_%06d", i))
	}
	same(t, "pages", ids, want)
}
