package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// NewOrder is what a merchant expects before the customer pays.
type NewOrder struct {
	OutTradeNo  string
	AmountFen   int64
	Currency    string    // "": CNY
	ExpiresAt   time.Time // a later payment is marked late; zero: never
	SubMerchant string    // in partner mode
}

// CallOption changes one call.
type CallOption func(*callOptions)

type callOptions struct {
	key, subMerchant string
	answer           *Answer
}

// WithIdempotencyKey gives the call a key of your own, 1 to 255 visible ASCII
// characters. The best is one that your own records make again after a crash,
// such as "register:T1001": a process that does not know whether its
// predecessor's call arrived may then simply make it again. Otherwise every call
// gets a fresh random one, which it keeps over its attempts.
//
// notifyd stores the answer with the key for 7 days, refusals included.
func WithIdempotencyKey(key string) CallOption { return func(o *callOptions) { o.key = key } }

// WithSubMerchant says whose order it is in partner mode, where sub-merchants
// may use the same numbers.
func WithSubMerchant(id string) CallOption { return func(o *callOptions) { o.subMerchant = id } }

// KeepAnswer fills answer with what the call learnt besides its result, also
// when it fails.
func KeepAnswer(answer *Answer) CallOption { return func(o *callOptions) { o.answer = answer } }

// RegisterOrder says what to expect. The same registration again is a success,
// another one of the same number a [Problem] with [CodeOrderFactsDiffer].
//
// Every call returns a [Problem] when notifyd refuses, and otherwise the error
// of the last attempt. Network errors, answers of 500 and above, and 409 while
// the same request still runs are tried again, until the attempts or the
// context end; Retry-After is honoured up to 5 minutes.
func (c *Client) RegisterOrder(ctx context.Context, o NewOrder, options ...CallOption) (*Order, error) {
	said := struct {
		OutTradeNo  string     `json:"out_trade_no"`
		AmountFen   int64      `json:"amount_fen"`
		Currency    string     `json:"currency,omitempty"`
		ExpiresAt   *time.Time `json:"expires_at,omitempty"`
		SubMerchant string     `json:"sub_merchant,omitempty"`
	}{OutTradeNo: o.OutTradeNo, AmountFen: o.AmountFen, Currency: o.Currency, SubMerchant: o.SubMerchant}
	if !o.ExpiresAt.IsZero() {
		said.ExpiresAt = &o.ExpiresAt
	}
	body, err := json.Marshal(said)
	if err != nil {
		return nil, err // a year beyond 9999
	}
	chosen := choose(options)
	if chosen.subMerchant != "" {
		return nil, errors.New("a registration names its sub-merchant in NewOrder.SubMerchant")
	}
	return c.change(ctx, "/v1/orders", body, chosen)
}

// Order asks for an order with its payments, refunds, history and notifications.
// Nobody knows it: a [Problem] with [CodeOrderUnknown].
func (c *Client) Order(ctx context.Context, outTradeNo string, options ...CallOption) (*Order, error) {
	chosen := choose(options)
	path, err := orderPath(outTradeNo, "", chosen)
	if err != nil {
		return nil, err
	}
	o := &Order{}
	if err := c.send(ctx, request{method: http.MethodGet, path: path, attempts: c.attempts, answer: chosen.answer}, o); err != nil {
		return nil, err
	}
	return o, nil
}

// Ship says that a paid order was sent. An order that is shipped already stays
// so; one that cannot be shipped is a [Problem] with [CodeIllegalTransition].
func (c *Client) Ship(ctx context.Context, outTradeNo string, options ...CallOption) (*Order, error) {
	return c.command(ctx, outTradeNo, "/ship", options)
}

// Complete says that a shipped order has ended well; see [Client.Ship].
func (c *Client) Complete(ctx context.Context, outTradeNo string, options ...CallOption) (*Order, error) {
	return c.command(ctx, outTradeNo, "/complete", options)
}

// Cancel takes an order back that is not shipped; see [Client.Ship]. It refunds
// nothing: a payment of it is still yours to give back.
func (c *Client) Cancel(ctx context.Context, outTradeNo string, options ...CallOption) (*Order, error) {
	return c.command(ctx, outTradeNo, "/cancel", options)
}

func (c *Client) command(ctx context.Context, outTradeNo, command string, options []CallOption) (*Order, error) {
	chosen := choose(options)
	path, err := orderPath(outTradeNo, command, chosen)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, path, nil, chosen)
}

// change sends a POST under one idempotency key.
func (c *Client) change(ctx context.Context, path string, body []byte, chosen callOptions) (*Order, error) {
	if chosen.key == "" {
		chosen.key = rand.Text()
	}
	if !visible(chosen.key) {
		return nil, errors.New("an idempotency key is 1 to 255 visible ASCII characters")
	}
	o := &Order{}
	call := request{method: http.MethodPost, path: path, body: body, key: chosen.key, attempts: c.attempts, answer: chosen.answer}
	if err := c.send(ctx, call, o); err != nil {
		return nil, err
	}
	return o, nil
}

func choose(options []CallOption) (chosen callOptions) {
	for _, option := range options {
		option(&chosen)
	}
	return chosen
}

func orderPath(outTradeNo, command string, chosen callOptions) (string, error) {
	if outTradeNo == "" || outTradeNo == "." || outTradeNo == ".." {
		return "", errors.New("an order number is needed that can stand in a path")
	}
	path := "/v1/orders/" + url.PathEscape(outTradeNo) + command
	if chosen.subMerchant != "" {
		path += "?" + url.Values{"sub_merchant": {chosen.subMerchant}}.Encode()
	}
	return path, nil
}
