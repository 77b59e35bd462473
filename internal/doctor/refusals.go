package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

const (
	// recently is what counts as recent: within it the provider still comes back.
	recently = day
	// refusalPage is the largest page of the admin API.
	refusalPage = 200
	// maxRefusalPages bounds the reading; what is kept of an account is bounded
	// as well.
	maxRefusalPages = 10
	// topCauses are told of each account: more would bury the checks after this.
	topCauses = 5
)

// refused is a refused request as the admin API lists it.
type refused struct {
	ID          string  `json:"id"`
	Account     *string `json:"account"`
	Code        string  `json:"code"`
	RequestLine string  `json:"request_line"`
	ReceivedAt  string  `json:"received_at"`
	Bytes       int64   `json:"bytes"`
	BodySHA256  string  `json:"body_sha256"`
}

// account is "" for one that is not configured.
func (r refused) account() string {
	if r.Account == nil {
		return ""
	}
	return *r.Account
}

type refusedPage struct {
	Items      []refused `json:"items"`
	NextCursor *string   `json:"next_cursor"`
}

func (x *examination) refusals(ctx context.Context) {
	if !x.up {
		x.skip(Refusals, "", "%s", x.down)
		return
	}
	if x.NoKept != "" {
		x.skip(Refusals, "", "%s", x.NoKept)
		return
	}
	all, more, err := x.recentRefusals(ctx)
	if err != nil {
		x.skip(Refusals, "", "%v", err)
		return
	}
	causes := causesOf(all)
	told := map[string]int{} // of each account
	for _, c := range causes {
		if told[c.account]++; told[c.account] > topCauses {
			continue
		}
		n := strconv.Itoa(c.count)
		if more {
			n = "at least " + n
		}
		x.warn(Refusals, c.account, fmt.Sprintf("notifyd help %s says what to do; the latest is kept: notifyd notifications show %s", c.code, c.latest),
			"%s refused as %s within a day", n, c.code)
	}
	for _, account := range slices.Sorted(maps.Keys(told)) {
		if n := told[account] - topCauses; n > 0 {
			x.warn(Refusals, account, "notifyd notifications list --verdict refused lists them", "and %s, less frequent", counted(n, "more cause"))
		}
	}
	if len(causes) == 0 {
		x.ok(Refusals, "", "nothing that a provider sends was refused within a day")
	}
}

// cause is why an account refused.
type cause struct {
	account, code string
	count         int
	latest        string // the id of the newest
}

// causesOf counts refusals, the newest first, by account and code: of each account
// the most frequent cause first.
func causesOf(all []refused) (causes []cause) {
	for _, r := range all {
		i := slices.IndexFunc(causes, func(c cause) bool { return c.account == r.account() && c.code == r.Code })
		if i < 0 {
			i, causes = len(causes), append(causes, cause{account: r.account(), code: r.Code, latest: r.ID})
		}
		causes[i].count++
	}
	slices.SortStableFunc(causes, func(a, b cause) int {
		return cmp.Or(strings.Compare(a.account, b.account), b.count-a.count)
	})
	return causes
}

// recentRefusals are those of the last day, the newest first, without those that
// need nobody.
func (x *examination) recentRefusals(ctx context.Context) (all []refused, more bool, err error) {
	idle := x.idleCodes()
	query := url.Values{"verdict": {"refused"}, "limit": {strconv.Itoa(refusalPage)},
		"since": {x.Now().Add(-recently).UTC().Format(time.RFC3339)}}
	for range maxRefusalPages {
		var page refusedPage
		if err := x.admin(ctx, adminNotifications, query, &page); err != nil {
			return nil, false, err
		}
		for _, r := range page.Items {
			if !slices.Contains(idle[r.account()], r.Code) {
				all = append(all, r)
			}
		}
		if page.NextCursor == nil {
			return all, false, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
	return all, true, nil
}

// idleCodes are, for each account, the codes under which messages are refused
// that prove nothing: an earlier doctor's, the provider's own tests, strangers'.
// The account's adapter names them.
func (x *examination) idleCodes() map[string][]string {
	idle := map[string][]string{}
	for _, a := range x.Accounts {
		for _, p := range a.probes(x.Mark, x.Now()) {
			if _, err := a.Provider.Parse(p); err != nil {
				idle[a.Name] = append(idle[a.Name], provider.Code(err))
			}
		}
	}
	return idle
}
