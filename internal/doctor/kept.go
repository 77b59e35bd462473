package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
	"github.com/notifyd/notifyd/internal/refusal"
)

const (
	// strangeWithin is for an answer that was not ours: most likely nothing came
	// here at all. A sound store has kept a refusal by then.
	strangeWithin = refusal.KeptWithin
	// keptWithin leaves time for a store that was just busy with another group.
	keptWithin = 2 * strangeWithin
	keptPause  = 50 * time.Millisecond
	// keptPage is how many refusals are looked through: others may be refused in
	// the same moment.
	keptPage = 50
)

// kept is the probe as the server kept it.
type kept struct {
	refused
	body []byte // nil: it is what was sent
	cut  bool   // this is only its beginning
}

// latestRefusal is the newest refusal's id: ours will be above it. It finds out
// whether refusals can be read at all.
func (x *examination) latestRefusal(ctx context.Context) string {
	if x.NoKept != "" {
		x.mute = errors.New(x.NoKept)
		return ""
	}
	var page refusedPage
	x.mute = x.admin(ctx, adminNotifications, url.Values{"verdict": {"refused"}, "limit": {"1"}}, &page)
	if x.mute != nil || len(page.Items) == 0 {
		return ""
	}
	return page.Items[0].ID
}

// findKept waits until the server has kept the probe; nil when it does not.
func (x *examination) findKept(ctx context.Context, v *visit, before string) *kept {
	if x.mute != nil {
		return nil
	}
	patience := strangeWithin
	if v.ours {
		patience = keptWithin
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	looked := map[string]bool{}
	for {
		if k := x.lookForKept(ctx, v, before, looked); k != nil {
			return k
		}
		timer := time.NewTimer(keptPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// lookForKept knows the probe by its digest when it came unchanged, and
// otherwise by its mark.
func (x *examination) lookForKept(ctx context.Context, v *visit, before string, looked map[string]bool) *kept {
	var page refusedPage
	if err := x.admin(ctx, adminNotifications, url.Values{"verdict": {"refused"}, "limit": {strconv.Itoa(keptPage)}}, &page); err != nil {
		return nil
	}
	sum := sha256.Sum256(v.sent.Body)
	digest := hex.EncodeToString(sum[:])
	for _, r := range page.Items {
		switch {
		case r.ID <= before || looked[r.ID]:
			continue
		case r.BodySHA256 == digest:
			return &kept{refused: r}
		}
		looked[r.ID] = true
		captured, err := x.capture(ctx, r.ID)
		if err == nil && (bytes.Contains(captured.Body, []byte(v.mark)) || captured.Header.Get("User-Agent") == userAgent+v.mark) {
			return &kept{r, captured.Body, captured.Cut != ""}
		}
	}
	return nil
}

func (x *examination) capture(ctx context.Context, id string) (provider.Captured, error) {
	text, err := x.adminBytes(ctx, adminNotifications+"/"+url.PathEscape(id)+"/capture", nil)
	if err != nil {
		return provider.Captured{}, err
	}
	return provider.ReadCapture(bytes.NewReader(text))
}

// arrived compares what the server kept with what was sent.
func (x *examination) arrived(ctx context.Context, v *visit, k *kept) {
	account := v.account.Name
	switch {
	case x.mute != nil:
		x.skip(URLHeaders, account, "%v", x.mute)
		x.skip(URLBody, account, "%v", x.mute)
	case v.passedBy:
		x.skip(URLHeaders, account, "the message is not kept here")
		x.fail(URLBody, account, "see where the URL leads: to another installation, or to another server than the one that was asked",
			"a notifyd refused the message, but this server has refused none")
	case k == nil:
		// It may be ours that was refused or another one: nobody can tell.
		x.skip(URLHeaders, account, keptNothing, maxPosts)
		x.skip(URLBody, account, keptNothing, maxPosts)
	case x.headers(ctx, v, k):
		x.body(v, k)
	}
}

// keptNothing is how it looks under a flood: a few refusals of each cause are
// kept in a second, and those of the others were there first.
const keptNothing = "the server refuses so much now that it kept none of %d posts: try again when notifyd_refusals_total grows more slowly"

// refusalsCounted is how many messages the server has refused since it started,
// kept or not.
func (x *examination) refusalsCounted(ctx context.Context) (n float64, known bool) {
	if x.mute != nil {
		return 0, false
	}
	status, text, err := x.Server.Get(ctx, "/metrics", nil)
	if err != nil || status != http.StatusOK {
		return 0, false
	}
	return counterSum(text, refusalMetric), true
}

// headers compares what the provider sends besides the body. Content-Type never
// takes part in a proof.
func (x *examination) headers(ctx context.Context, v *visit, k *kept) bool {
	captured, err := x.capture(ctx, k.ID)
	if err != nil {
		x.skip(URLHeaders, v.account.Name, "%v", err)
		return true
	}
	var lost []string
	compared := 0
	for name, values := range v.sent.Header {
		if name == "Content-Type" {
			continue
		}
		if compared++; !slices.Equal(values, captured.Header[http.CanonicalHeaderKey(name)]) {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		x.fail(URLHeaders, v.account.Name, "let the proxy pass every header as it is", "did not arrive as sent: %s", strings.Join(lost, ", "))
		return false
	}
	if compared == 0 {
		x.ok(URLHeaders, v.account.Name, "the proof needs none")
		return true
	}
	x.ok(URLHeaders, v.account.Name, "%s of the proof arrived as sent", counted(compared, "header"))
	return true
}

func (x *examination) body(v *visit, k *kept) {
	if k.body == nil {
		x.ok(URLBody, v.account.Name, "%d bytes arrived as they were sent", len(v.sent.Body))
		return
	}
	how := difference(v.sent.Body, k.body)
	if k.cut {
		how = fmt.Sprintf("%d bytes were sent and %d came; of what came only the beginning is kept", len(v.sent.Body), k.Bytes)
	}
	x.fail(URLBody, v.account.Name, "let the proxy pass the body as it is: no filter, no gateway that reads JSON or forms and writes them again",
		"the body is changed on its way: %s. No signature can hold", how)
}
