package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/notifyd/notifyd/internal/store"
)

// The rule. An account's habit is the longest but one of the pauses between its
// notifications within four weeks: nights and weekends are in it, and one outage
// of the past is not. A pause of more than twice the habit is worth a look, one of
// more than five times is an outage or the end of the business. Pauses of up to
// an hour are nobody's habit.
const (
	habitSpan = 28 * day
	// habitNeeds notifications over at least habitAge: before, nobody can tell a
	// habit from chance, and a week has one weekend.
	habitNeeds  = 20
	habitAge    = 7 * day
	habitLeast  = time.Hour
	quietFactor = 2
	goneFactor  = 5

	// habitStep and perStep bound what is read: of each hour the first
	// notifications, so that a busy account costs no more than a quiet one, and
	// the newest of all.
	habitStep = time.Hour
	perStep   = 64
	newest    = 2000

	silenceTimeout = 30 * time.Second
)

const silenceFix = "pay one fen; if nothing comes, look at the url checks and at notify_url in the code that orders"

func (x *examination) silence(ctx context.Context) {
	if x.Store == nil {
		x.skip(Silence, "", "there is no store to read")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, silenceTimeout)
	defer cancel()
	now := x.Now()
	filter := store.ArrivalFilter{PerSpan: perStep, Newest: newest}
	for at := now.Add(-habitSpan); at.Before(now); at = at.Add(habitStep) {
		filter.Bounds = append(filter.Bounds, x.FirstID(at))
	}
	filter.Bounds = append(filter.Bounds, x.FirstID(now.Add(habitStep)))
	arrivals, err := x.Store.Arrivals(ctx, filter)
	if err != nil {
		x.skip(Silence, "", "the notifications cannot be read")
		return
	}
	slices.SortFunc(arrivals, func(a, b store.Arrival) int { return strings.Compare(a.ID, b.ID) })
	arrivals = slices.CompactFunc(arrivals, func(a, b store.Arrival) bool { return a.ID == b.ID })
	for _, a := range x.Accounts {
		var times []time.Time
		for _, r := range arrivals {
			if r.Account == a.Name && now.Sub(r.At) <= habitSpan {
				times = append(times, r.At)
			}
		}
		x.listen(a.Name, times, now)
	}
}

// listen judges one account by when its notifications came.
func (x *examination) listen(account string, times []time.Time, now time.Time) {
	if len(times) == 0 {
		x.skip(Silence, account, "nothing came within four weeks")
		return
	}
	slices.SortFunc(times, time.Time.Compare)
	last := times[len(times)-1]
	quiet := now.Sub(last)
	if len(times) < habitNeeds || last.Sub(times[0]) < habitAge {
		x.skip(Silence, account, "the last came %s ago; %s over %s are too few to know its habit", shortTime(quiet),
			counted(len(times), "notification"), shortTime(last.Sub(times[0])))
		return
	}
	habit := habitOf(times)
	switch {
	case quiet > goneFactor*habit:
		x.fail(Silence, account, silenceFix, "nothing came for %s; its longest pause is about %s", shortTime(quiet), shortTime(habit))
	case quiet > quietFactor*habit:
		x.warn(Silence, account, silenceFix, "nothing came for %s; its longest pause is about %s", shortTime(quiet), shortTime(habit))
	default:
		x.ok(Silence, account, "the last came %s ago; its longest pause is about %s", shortTime(quiet), shortTime(habit))
	}
}

// habitOf is the longest but one of the pauses between sorted times.
func habitOf(times []time.Time) time.Duration {
	pauses := make([]time.Duration, 0, len(times))
	for i := 1; i < len(times); i++ {
		pauses = append(pauses, times[i].Sub(times[i-1]))
	}
	slices.Sort(pauses)
	return max(habitLeast, pauses[len(pauses)-2])
}
