package httpapi

import (
	"errors"
	"net/http"

	"github.com/notifyd/notifyd/internal/idempotency"
	"github.com/notifyd/notifyd/internal/order"
)

// effect is what a signed POST does. Its answer is stored already when it was
// sealed; an error is answered, and stored when it is the merchant's.
type effect func(*private, *call, idempotency.Lock) (answer idempotency.Answer, sealed bool, err error)

// merchantPrefix begins the paths of the merchant API.
const merchantPrefix = "/v1/"

var (
	justSubMerchant      = []parameter{subMerchantParameter}
	subMerchantParameter = parameter{name: "sub_merchant", about: "Partner mode: whose order it is"}
)

// merchantOperations are the calls of the merchant API. The merchant is the one
// whose key signed: no call names it.
func merchantOperations() []operation {
	story, created := answer{http.StatusOK, jsonType, order.StoryView{}}, answer{http.StatusCreated, jsonType, order.StoryView{}}
	commandProblems := []string{"order_unknown", "illegal_transition", "not_json", "invalid_field"}
	const orders, oneOrder = merchantPrefix + "orders", merchantPrefix + "orders/{out_trade_no}"
	return []operation{
		{method: "POST", path: orders, id: "merchantRegisterOrder", summary: "Say what to expect of an order",
			query: justSubMerchant, body: registration{}, answers: []answer{created, story},
			problems: []string{"order_facts_differ", "not_json", "invalid_field"}, effect: registerOwn},
		{method: "GET", path: oneOrder, id: "merchantGetOrder", summary: "Show an order with all that is known of it",
			query: justSubMerchant, answers: []answer{story}, problems: []string{"order_unknown"}, run: (*private).getOwn},
		{method: "POST", path: oneOrder + "/ship", id: "merchantShipOrder", summary: "Mark a paid order as shipped",
			query: justSubMerchant, body: nothing{}, answers: []answer{story}, problems: commandProblems, effect: commandOwn(order.KindShip)},
		{method: "POST", path: oneOrder + "/complete", id: "merchantCompleteOrder", summary: "Mark a shipped order as completed",
			query: justSubMerchant, body: nothing{}, answers: []answer{story}, problems: commandProblems, effect: commandOwn(order.KindComplete)},
		{method: "POST", path: oneOrder + "/cancel", id: "merchantCancelOrder", summary: "Cancel an order that has not been shipped",
			query: justSubMerchant, body: nothing{}, answers: []answer{story}, problems: commandProblems, effect: commandOwn(order.KindCancel)},
		{method: "GET", path: merchantPrefix + "events", id: "merchantListEvents", summary: "Read the feed of events, oldest first; with wait, until one comes",
			query: feedParameters, answers: []answer{{http.StatusOK, jsonType, feedPage{}}}, waits: maxWait, run: (*private).listEvents},
	}
}

func registerOwn(a *private, c *call, lock idempotency.Lock) (none idempotency.Answer, sealed bool, err error) {
	merchant, err := c.own()
	if err != nil {
		return none, false, err
	}
	fields, err := c.object(registrationFields)
	if err != nil {
		return none, false, err
	}
	r, err := readRegistration(fields, merchant)
	if err != nil {
		return none, false, err
	}
	return a.sealed(lock, func(commands Commands) error {
		_, err := commands.Register(c.r.Context(), r)
		return err
	})
}

func commandOwn(kind order.Kind) effect {
	return func(a *private, c *call, lock idempotency.Lock) (none idempotency.Answer, sealed bool, err error) {
		key, err := c.ownKey()
		if err != nil {
			return none, false, err
		}
		if _, err := c.object(nil); err != nil {
			return none, false, err
		}
		return a.sealed(lock, func(commands Commands) error {
			err := commands.Do(c.r.Context(), key, kind)
			if errors.Is(err, order.ErrUnknown) {
				return a.unknownOrder(c.r.Context(), key)
			}
			return err
		})
	}
}

func (a *private) getOwn(c *call) error {
	key, err := c.ownKey()
	if err != nil {
		return err
	}
	return a.showOrder(c, http.StatusOK, key)
}

// own is the signer's name, with the sub-merchant that the query gives.
func (c *call) own() (string, error) {
	sub := c.query[subMerchantParameter.name]
	if sub == "" {
		return c.signer.merchant, nil
	}
	if !subMerchantForm(sub) {
		return "", badParameter(subMerchantParameter.name, "must be 1 to %d letters and digits", maxSubMerchantBytes)
	}
	return c.signer.merchant + "/" + sub, nil
}

func (c *call) ownKey() (order.Key, error) {
	number, err := pathValue(c.r, "out_trade_no")
	if err != nil {
		return order.Key{}, err
	}
	merchant, err := c.own()
	return order.Key{Merchant: merchant, OutTradeNo: number}, err
}
