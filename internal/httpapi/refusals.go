package httpapi

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/notifyd/notifyd/internal/order"
	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
)

// RefusedView is a refused request as it is shown. Verified is false in each: it
// says what a stranger said.
type RefusedView struct {
	ID          string       `json:"id"`
	Verdict     string       `json:"verdict" enum:"refused"`
	Verified    bool         `json:"verified" doc:"Always false: nothing in it was proven"`
	Account     *string      `json:"account" doc:"Null when the request named no configured account"`
	Provider    *string      `json:"provider"`
	Code        string       `json:"code" doc:"Why, of the closed list of reasons"`
	Detail      *string      `json:"detail"`
	Status      int          `json:"status" doc:"Of the answer"`
	ReceivedAt  order.Moment `json:"received_at"`
	Peer        string       `json:"peer" doc:"The address at the other end of the connection: a proxy's, where there is one"`
	RequestLine string       `json:"request_line"`
	Bytes       int64        `json:"bytes" doc:"Of the body, as far as it was read"`
	KeptBytes   int64        `json:"kept_bytes"`
	Truncated   bool         `json:"truncated" doc:"The kept body is not all that was sent"`
	BodySHA256  string       `json:"body_sha256" doc:"Of the body as far as it was read, as the log has it"`
}

func refusedView(r *refusal.Refusal) RefusedView {
	return RefusedView{ID: r.ID, Verdict: refused, Account: textOrNull(r.Account), Provider: textOrNull(r.Provider),
		Code: r.Code, Detail: textOrNull(r.Detail), Status: r.Status, ReceivedAt: order.Moment(r.ReceivedAt), Peer: r.Peer,
		RequestLine: claim(r.Capture.RequestLine), Bytes: r.BodyBytes, KeptBytes: r.KeptBytes, Truncated: r.Cut,
		BodySHA256: hex.EncodeToString(r.BodySHA256[:])}
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// The list of notifications has two halves, which share no row and few filters:
// verdict says which one is asked for.
var (
	verdictParameter = parameter{name: "verdict", about: "accepted (when left out), or refused: the last requests that were not, kept for diagnosis and proven in nothing",
		values: []string{accepted, refused}}
	codeParameter = parameter{name: "code", about: "With verdict=refused: why it was refused"}
	// refusedFilters are those that verdict=refused takes besides paging.
	refusedFilters = []string{"verdict", "code", "account", "provider", "since", "until", "limit", "cursor"}
)

// checkVerdict refuses a filter that the other half of the list has: passed over
// in silence, it would show everything.
func (c *call) checkVerdict() error {
	if c.query["verdict"] != refused {
		if c.query["code"] != "" {
			return badParameter("code", "goes with verdict=refused only")
		}
		return nil
	}
	for name := range c.query {
		if !slices.Contains(refusedFilters, name) {
			return badParameter(name, "does not go with verdict=refused: a refused message says nothing that could be looked for")
		}
	}
	return nil
}

func (a *private) listRefusals(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after, err := c.cursor(listOfRefusals)
	if err != nil {
		return err
	}
	f := refusal.Filter{Account: c.query["account"], Provider: c.query["provider"], Code: c.query["code"],
		AfterID: after.ID, Limit: limit + 1}
	if f.Since, f.Until, err = c.span(); err != nil {
		return err
	}
	rows, err := a.refusals.Refusals(c.r.Context(), f)
	if err != nil {
		return err
	}
	return c.ok(cut(rows, limit, refusedView, func(r *refusal.Refusal) cursor {
		return cursor{List: listOfRefusals, ID: r.ID}
	}))
}

func (a *private) getRefusal(c *call, id string) error {
	r, err := a.refusal(c, id)
	if err != nil {
		return err
	}
	return c.ok(refusedView(&r))
}

func (a *private) refusal(c *call, id string) (refusal.Refusal, error) {
	r, err := a.refusals.Refusal(c.r.Context(), id)
	if errors.Is(err, order.ErrUnknown) {
		err = problemNoSuchID
	}
	return r, err
}

// keptRefusal is the request of a refusal, with what a capture of it must say.
func (a *private) keptRefusal(c *call, id string) (order.Capture, time.Time, []provider.Mark, error) {
	r, err := a.refusal(c, id)
	if err != nil {
		return order.Capture{}, time.Time{}, nil, err
	}
	marks := []provider.Mark{{Name: provider.MarkUnverified, Value: r.Code}}
	if r.Cut {
		marks = append(marks, provider.Mark{Name: provider.MarkCut, Value: fmt.Sprintf("%d of %d bytes", r.KeptBytes, r.BodyBytes)})
	}
	return r.Capture, r.ReceivedAt, marks, nil
}
