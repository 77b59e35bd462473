package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
)

// The verdicts on a capture, which are those on a notification.
const (
	verdictAccepted    = "accepted"    // durable
	verdictRefused     = "refused"     // not proven, or not acceptable as HTTP
	verdictUnavailable = "unavailable" // not committed, or nobody knows: play it again
)

// codeStore is the edge's own code of a commit that failed.
const codeStore = "edge.store"

// played is what became of one capture. Unknown values are null.
type played struct {
	File           string         `json:"file"`
	Account        string         `json:"account"`
	ReceivedAt     order.Moment   `json:"received_at"`
	Verdict        string         `json:"verdict"`
	Outcome        *order.Outcome `json:"outcome"` // what it did now: a repeat is a duplicate
	Reason         *order.Reason  `json:"reason"`  // of a conflict
	OutTradeNo     *string        `json:"out_trade_no"`
	Status         *order.Status  `json:"status"` // of the order, after this capture
	Code           *string        `json:"code"`   // of a refusal
	Detail         *string        `json:"detail"`
	HTTPStatus     *int           `json:"http_status"` // with --to
	Repeat         *bool          `json:"repeat"`
	NotificationID *string        `json:"notification_id"`
	Orders         []playedOrder  `json:"orders"` // every order that the message names
}

// playedOrder is one order as it stands after the capture.
type playedOrder struct {
	Merchant   string        `json:"merchant"`
	OutTradeNo string        `json:"out_trade_no"`
	Status     *order.Status `json:"status"` // null: there is no such order
}

func (p *played) accept(id string, r order.Receipt) {
	p.Verdict, p.NotificationID, p.Repeat = verdictAccepted, &id, &r.Repeat
	p.Outcome, p.Reason = &r.Outcome, &r.Reason
	if r.Repeat {
		// The row says what the first copy did. This one did nothing.
		p.Outcome, p.Reason = new(order.Duplicate), new(order.ReasonNone)
	}
}

// refuse is the capture with the verdict that an error means.
func (p played) refuse(err error) played {
	p.Verdict = verdictRefused
	if provider.Status(err) == http.StatusServiceUnavailable {
		p.Verdict = verdictUnavailable
	}
	var refusal *provider.Refusal
	code, detail := codeStore, ""
	if errors.As(err, &refusal) {
		code, detail = refusal.Code, refusal.Detail
	} else {
		detail = strings.Join(strings.Fields(err.Error()), " ") // a driver's text may have lines
	}
	p.Code = &code
	if detail != "" {
		p.Detail = &detail
	}
	return p
}

// why is the last column: the code and detail of a refusal, the reason of a
// conflict, or the HTTP status.
func (p played) why() string {
	var parts []string
	if p.HTTPStatus != nil {
		parts = append(parts, fmt.Sprintf("HTTP %d", *p.HTTPStatus))
	}
	for _, text := range []*string{p.Code, p.Detail} {
		if text != nil {
			parts = append(parts, *text)
		}
	}
	if p.Reason != nil && *p.Reason != order.ReasonNone {
		parts = append(parts, string(*p.Reason))
	}
	return strings.Join(parts, "  ")
}

// settle fills what the first order says of the whole, and what must not be null.
func (p played) settle() played {
	if p.Orders == nil {
		p.Orders = []playedOrder{}
		return p
	}
	p.OutTradeNo, p.Status = &p.Orders[0].OutTradeNo, p.Orders[0].Status
	return p
}

// unknown stands in a column that has nothing to say.
const unknown = "-"

// columns are the columns of the line: file, verdict, outcome, orders, statuses
// and why. A combined payment has several orders, joined by commas.
func (p played) columns() [6]string {
	outcome := unknown
	if p.Outcome != nil {
		outcome = string(*p.Outcome)
	}
	var numbers, statuses []string
	for _, o := range p.Orders {
		status := unknown
		if o.Status != nil {
			status = string(*o.Status)
		}
		numbers, statuses = append(numbers, o.OutTradeNo), append(statuses, status)
	}
	file := p.File
	if strings.ContainsFunc(file, unicode.IsControl) {
		file = strconv.Quote(file) // one capture, one line
	}
	return [6]string{file, p.Verdict, outcome, cmp.Or(strings.Join(numbers, ","), unknown),
		cmp.Or(strings.Join(statuses, ","), unknown), p.why()}
}
