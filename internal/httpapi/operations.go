package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/notifyd/notifyd/internal/order"
)

// operation is one call of the admin API or the merchant API. The router, the check of parameters
// and the OpenAPI document are all made from the same list, so none of them can
// say something else than the others.
type operation struct {
	method, path string
	id, summary  string
	query        []parameter
	body         any      // an example of the type; nil: none. It may be left out when it is nothing{}
	answers      []answer // the successful ones
	problems     []string // codes, beyond those that every call can have
	run          func(*private, *call) error
	effect       effect        // instead of run: a signed POST, whose answer is stored
	waits        time.Duration // how much longer than others the call may take
}

type answer struct {
	status int
	kind   string // content type
	body   any    // an example of the type; nil: bytes
}

const jsonType = "application/json"

func (a *private) operations() []operation {
	story := answer{http.StatusOK, jsonType, order.StoryView{}}
	created := answer{http.StatusCreated, jsonType, order.StoryView{}}
	merchantProblems := []string{"merchant_required", "merchant_unknown"}
	orderProblems := append([]string{"order_unknown"}, merchantProblems...)
	commandProblems := append([]string{"illegal_transition", "not_json", "invalid_field", "cross_origin"}, orderProblems...)
	const orders, oneOrder = "/admin/v1/orders", "/admin/v1/orders/{out_trade_no}"
	const notifications, oneNotification = "/admin/v1/notifications", "/admin/v1/notifications/{id}"
	gone := []string{"notification_unknown", "raw_pruned"}
	return append(deliveryOperations(), []operation{
		{method: "GET", path: orders, id: "listOrders", summary: "List orders, newest first",
			query: orderFilters, answers: []answer{{200, jsonType, page[order.View]{}}}, problems: merchantProblems, run: (*private).listOrders},
		{method: "POST", path: orders, id: "registerOrder", summary: "Say what to expect of an order",
			query: justMerchant, body: registration{}, answers: []answer{created, story},
			problems: append([]string{"order_facts_differ", "not_json", "invalid_field", "cross_origin"}, merchantProblems...), run: (*private).register},
		{method: "GET", path: oneOrder, id: "getOrder", summary: "Show an order with all that is known of it",
			query: justMerchant, answers: []answer{story}, problems: orderProblems, run: (*private).getOrder},
		{method: "GET", path: oneOrder + "/story", id: "getOrderStory", summary: "Show an order with everything that happened to it, to whom it was told, and what comes next",
			query: justMerchant, answers: []answer{{200, jsonType, OrderStory{}}}, problems: orderProblems, run: (*private).getOrderStory},
		{method: "POST", path: oneOrder + "/ship", id: "shipOrder", summary: "Mark a paid order as shipped",
			query: justMerchant, body: nothing{}, answers: []answer{story}, problems: commandProblems, run: command(order.KindShip)},
		{method: "POST", path: oneOrder + "/complete", id: "completeOrder", summary: "Mark a shipped order as completed",
			query: justMerchant, body: nothing{}, answers: []answer{story}, problems: commandProblems, run: command(order.KindComplete)},
		{method: "POST", path: oneOrder + "/cancel", id: "cancelOrder", summary: "Cancel an order that has not been shipped",
			query: justMerchant, body: nothing{}, answers: []answer{story}, problems: commandProblems, run: command(order.KindCancel)},
		{method: "GET", path: notifications, id: "listNotifications", summary: "List notifications, newest first; with verdict=refused, the last requests that were refused",
			query: notificationFilters, answers: []answer{{200, jsonType, page[order.NotificationView]{}}, {200, jsonType, page[RefusedView]{}}}, problems: merchantProblems, run: (*private).listNotifications},
		{method: "GET", path: oneNotification, id: "getNotification", summary: "Show a notification and what its facts did, or a request that was refused (ref_…)",
			answers: []answer{{200, jsonType, order.NotificationView{}}, {200, jsonType, RefusedView{}}}, problems: gone[:1], run: (*private).getNotification},
		{method: "GET", path: oneNotification + "/raw", id: "getNotificationRaw", summary: "The body as it came, byte for byte",
			answers: []answer{{200, rawType, nil}}, problems: gone, run: (*private).getRaw},
		{method: "GET", path: oneNotification + "/capture", id: "getNotificationCapture", summary: "The request as a capture, for replay",
			answers: []answer{{200, captureType, nil}}, problems: gone, run: (*private).getCapture},
	}...)
}

// call is one request to an operation.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	query map[string]string // what was given and is not empty; only parameters of the operation

	signer signer // merchant API: who asks
}

// mount puts the operations on a router: one handler per path, which knows the
// methods of the path.
func (a *private) mount(r chi.Router, all []operation) {
	paths := map[string][]operation{}
	for _, op := range all {
		paths[op.path] = append(paths[op.path], op)
	}
	for path, ops := range paths {
		r.Get(path, a.dispatch(ops))
	}
}

func (a *private) dispatch(ops []operation) http.HandlerFunc {
	var allow []string
	for _, op := range ops {
		allow = append(allow, op.method)
		if op.method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(ops, func(op operation) bool {
			return op.method == r.Method || op.method == http.MethodGet && r.Method == http.MethodHead
		})
		if i < 0 {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			a.fail(w, r, newProblem(http.StatusMethodNotAllowed, "method_not_allowed", "this path takes %s", strings.Join(allow, ", ")))
			return
		}
		if err := a.answer(w, r, ops[i]); err != nil {
			a.fail(w, r, err)
		}
	}
}

// answer runs an operation, within its time.
func (a *private) answer(w http.ResponseWriter, r *http.Request, op operation) error {
	ctx, cancel := context.WithTimeout(r.Context(), commandBy+op.waits)
	defer cancel()
	c := &call{w: w, r: r.WithContext(ctx)}
	c.signer, _ = ctx.Value(signerKey{}).(signer)
	if op.effect != nil {
		return a.once(c, op)
	}
	if err := c.readQuery(op); err != nil {
		return err
	}
	return op.run(a, c)
}

func (c *call) readQuery(op operation) (err error) {
	c.query, err = readQuery(c.r.URL.RawQuery, op.query)
	return err
}

// fail answers an error. The log gets what the answer keeps to itself.
func (a *private) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	l := lineOf(r.Context())
	l.add(slog.String("problem", p.Code))
	var spoken *Problem
	if p.Status >= http.StatusInternalServerError && !errors.As(err, &spoken) {
		l.level = slog.LevelError
		l.add(slog.String("error", claim(err.Error())))
	}
	writeProblem(w, p)
}

func (c *call) ok(v any) error {
	writeJSON(c.w, http.StatusOK, jsonType, v)
	return nil
}

// pathValue is one part of the path, decoded once: order numbers may hold | * @
// and even a slash.
func pathValue(r *http.Request, name string) (string, error) {
	v, err := url.PathUnescape(chi.URLParam(r, name))
	if err != nil || !cleanText(v) {
		return "", badParameter(name, "is not percent-encoded UTF-8 text without control characters of at most %d bytes", maxTextBytes)
	}
	return v, nil
}
