package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/httpapi"
	"github.com/notifyd/notifyd/internal/order"
)

// demoResult is one step and what it did.
type demoResult struct {
	Number  int      `json:"number"`
	From    string   `json:"from"`
	Sent    string   `json:"sent"`
	Orders  []string `json:"orders"`
	Status  int      `json:"http_status"`
	Answer  string   `json:"answer"`
	Verdict string   `json:"verdict"` // "" for what the shop does
	Outcome string   `json:"outcome"`
	Reason  string   `json:"reason"`
	Repeat  bool     `json:"repeat"`
	// After is where the orders then stand; "" for one that does not exist.
	After          []order.Status `json:"order_statuses"`
	NotificationID string         `json:"notification_id"`
}

// demoTold is everything that the demo shows.
type demoTold struct {
	Folder  string            `json:"folder"`
	Config  string            `json:"config"`
	Log     string            `json:"log"`
	Public  string            `json:"public"`
	Private string            `json:"private"`
	Token   string            `json:"admin_token"` // of this run alone
	Steps   []demoResult      `json:"steps"`
	Orders  []json.RawMessage `json:"orders"` // as the admin API shows them

	once bool // the server is about to end
}

// play does one step after the other and then looks at the orders.
func (d *demo) play(ctx context.Context, shop *demoShop) (*demoTold, error) {
	told := &demoTold{Folder: d.dir, Config: d.path("notifyd.yaml"), Log: d.path("notifyd.log"),
		Public: "http://" + shop.public, Private: "http://" + shop.private, Token: shop.token.Reveal()}
	var orders []string
	steps, err := d.cast.story(d.now().Truncate(time.Second))
	if err != nil {
		return nil, err
	}
	for i, step := range steps {
		result, err := d.do(ctx, shop, i+1, step)
		if err != nil {
			return nil, fmt.Errorf("step %d, %s: %w", i+1, step.what, err)
		}
		told.Steps = append(told.Steps, result)
		for n, status := range result.After {
			if status != order.None && result.Verdict != "refused" {
				orders = append(orders, step.orders[n])
			}
		}
	}
	for _, number := range inOrder(orders) {
		answer, err := shop.admin.ask(ctx, http.MethodGet, adminPath("orders", number), nil, nil)
		if err != nil {
			return nil, err
		}
		told.Orders = append(told.Orders, json.RawMessage(strings.TrimSpace(string(answer.body))))
	}
	return told, nil
}

func (d *demo) do(ctx context.Context, shop *demoShop, number int, step demoStep) (demoResult, error) {
	r := demoResult{Number: number, From: step.who, Sent: step.what, Orders: step.orders}
	if step.expectFen > 0 {
		body := map[string]any{"out_trade_no": step.orders[0], "amount_fen": step.expectFen}
		answer, err := shop.admin.ask(ctx, http.MethodPost, adminPath("orders"), url.Values{}, body)
		if err != nil {
			return r, err
		}
		r.Status = answer.status
	} else {
		request := fmt.Sprintf("demo-%02d", number)
		status, body, err := shop.post(ctx, request, step.message)
		if err != nil {
			return r, err
		}
		v, err := d.log.of(ctx, request)
		if err != nil {
			return r, err
		}
		r.Status, r.Answer = status, ackWord(body)
		r.Verdict, r.Outcome, r.Reason, r.Repeat, r.NotificationID = v.Verdict, v.Outcome, v.Reason, v.Repeat, v.ID
	}
	for _, number := range step.orders {
		status, err := shop.statusOf(ctx, number)
		if err != nil {
			return r, err
		}
		r.After = append(r.After, status)
	}
	return r, nil
}

// statusOf asks where an order stands; order.None when there is none.
func (s *demoShop) statusOf(ctx context.Context, number string) (order.Status, error) {
	var view order.View
	err := s.admin.askFor(ctx, &view, adminPath("orders", number), nil)
	var unknown *httpapi.Problem
	if errors.As(err, &unknown) && unknown.Status == http.StatusNotFound {
		return order.None, nil
	}
	return view.Status, err
}
