package wechat

import (
	"context"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/provider/mend"
)

var _ provider.Examiner = (*Adapter)(nil)

// Examine says, step by step, why Parse judged a request as it did. It takes the
// steps of Parse with the functions of Parse, but goes on where Parse stops: what
// is stale may be genuine all the same.
func (a *Adapter) Examine(ctx context.Context, x provider.Exhibit) provider.Examination {
	e := &examination{
		Examining: provider.Examining{Exhibit: x},
		message:   message{a: a, req: &x.Request, keys: a.keys.Load(), scratch: newScratch()},
		search:    mend.NewSearch(ctx),
	}
	for _, other := range x.Others {
		if o, ok := other.(*Adapter); ok && o != a {
			e.siblings = append(e.siblings, o)
		}
	}
	cause := e.examineV2
	if isV3(x.Request.Header) {
		cause = e.examineV3
	}
	e.Conclude(cause(), e.search.Unfinished())
	return e.Result
}

// examination is one request under examination.
type examination struct {
	provider.Examining
	message
	siblings []*Adapter // the other accounts of this provider
	search   *mend.Search
}

// mask hides who paid in what is shown.
var mask = provider.NewMask(Sensitive())

// bindingStep says whose the message is. err is that of the facts.
func (e *examination) bindingStep(err error) {
	if !provider.IsProven(err) {
		e.Add(provider.StepBinding, provider.StepFailed, "%s", provider.DetailOf(err))
		return
	}
	own := "mchid " + e.a.options.MchID + ", an app of " + strings.Join(e.a.options.AppIDs, ", ")
	if e.a.isPartner() {
		own += ", a sub-merchant of " + strings.Join(e.a.options.SubMchIDs, ", ")
	}
	e.Tell(provider.StepBinding, err, "it is this account's: "+own)
}

// loaded lists the keys in use, for people.
func loaded(ks *keySet) string { return listed(ks, func(id string) string { return id }) }

func listed(ks *keySet, worded func(id string) string) string {
	if len(ks.order) == 0 {
		return "none"
	}
	var all []string
	for _, k := range ks.order {
		text := k.kind + " " + worded(k.id)
		if !k.notAfter.IsZero() {
			text += " until " + k.notAfter.UTC().Format(time.DateOnly)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
