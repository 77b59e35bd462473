package doctor

import (
	"context"
	"slices"
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

	// habitStep and perStep bound what is read of an account: of each hour its
	// first notifications, so that a busy one costs no more than a quiet one.
	habitStep = time.Hour
	perStep   = 16

	// silenceTimeout bounds the reading for all accounts together: a rare one is
	// looked for among the rows of all others.
	silenceTimeout = 30 * time.Second
)

const silenceFix = "pay one fen; if nothing comes, look at the url checks and at notify_url in the code that orders"

func (x *examination) silence(ctx context.Context) {
	if x.Store == nil {
		x.skip(Silence, "", "there is no store to read")
		return
	}
	bounded, cancel := context.WithTimeout(ctx, silenceTimeout)
	defer cancel()
	now := x.Now()
	var spans []string
	for at := now.Add(-habitSpan); at.Before(now); at = at.Add(habitStep) {
		spans = append(spans, x.FirstID(at))
	}
	spans = append(spans, x.FirstID(now.Add(habitStep)))
	for _, a := range x.Accounts {
		last, times, err := x.heard(bounded, a.Name, spans)
		switch {
		case ctx.Err() != nil:
			return
		case !last.IsZero() && now.Sub(last) <= quietFactor*habitLeast && bounded.Err() != nil:
			x.ok(Silence, a.Name, "the last came %s ago", shortTime(now.Sub(last))) // whatever its habit
		case bounded.Err() != nil:
			x.skip(Silence, a.Name, "its notifications cannot be found among all others within %s", silenceTimeout)
		case err != nil:
			x.skip(Silence, a.Name, "the notifications cannot be read")
		default:
			x.listen(a.Name, times, now)
		}
	}
}

// heard is when an account's notifications came: the last, exactly, and sorted
// some of each span with it. The last is known first, also when there is no time
// for the others.
func (x *examination) heard(ctx context.Context, account string, spans []string) (last time.Time, times []time.Time, err error) {
	newest, err := x.Store.Arrivals(ctx, store.ArrivalFilter{Account: account, Bounds: spans, Newest: 1})
	if err != nil || len(newest) == 0 {
		return time.Time{}, nil, err
	}
	some, err := x.Store.Arrivals(ctx, store.ArrivalFilter{Account: account, Bounds: spans, PerSpan: perStep})
	if err != nil {
		return newest[0].At, nil, err
	}
	if len(some) == 0 || some[len(some)-1].ID != newest[0].ID {
		some = append(some, newest[0])
	}
	for _, r := range some {
		times = append(times, r.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	return newest[0].At, times, nil
}

// listen judges one account by when its notifications came.
func (x *examination) listen(account string, times []time.Time, now time.Time) {
	if len(times) == 0 {
		x.skip(Silence, account, "nothing came within four weeks")
		return
	}
	last := times[len(times)-1]
	quiet := now.Sub(last)
	if len(times) < habitNeeds || last.Sub(times[0]) < habitAge {
		x.skip(Silence, account, "the last came %s ago; %s over %s (sampled: at most %d of an hour) are too few to know its habit", shortTime(quiet),
			counted(len(times), "notification"), shortTime(last.Sub(times[0])), perStep)
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
