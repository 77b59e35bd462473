package row

import (
	"cmp"
	"math"
	"slices"

	"github.com/notifyd/notifyd/internal/order"
)

// feedStep is how many places one read of the feed looks at, up to the end of a
// unit of work: few enough that a merchant who is far behind, with the events of
// others in between, never meets the statement timeout.
const feedStep = 1000

// FeedEnd is the place before which a unit has to begin so that a read after
// another place looks at it.
func FeedEnd(after int64) int64 {
	if after > math.MaxInt64-feedStep { // a stranger's number
		return math.MaxInt64
	}
	return after + feedStep
}

// Ordinals are the events' places within their unit of work, from 1 on, in the
// order of the events. Ids say roughly which event is older, and nothing about
// one order's: those go by their version. An event therefore stands where the
// highest id of its order up to its version stands.
func Ordinals(events []order.Event) []int64 {
	byVersion := make([]int, len(events))
	for i := range byVersion {
		byVersion[i] = i
	}
	slices.SortFunc(byVersion, func(a, b int) int { return cmp.Compare(events[a].OrderVersion, events[b].OrderVersion) })
	standing, highest := make([]string, len(events)), map[order.Key]string{}
	for _, i := range byVersion {
		e := &events[i]
		standing[i] = e.ID
		if e.OrderVersion > 0 {
			standing[i] = max(e.ID, highest[e.Key])
			highest[e.Key] = standing[i]
		}
	}
	slices.SortFunc(byVersion, func(a, b int) int {
		return cmp.Or(cmp.Compare(standing[a], standing[b]), cmp.Compare(events[a].OrderVersion, events[b].OrderVersion))
	})
	ordinals := make([]int64, len(events))
	for n, i := range byVersion {
		ordinals[i] = int64(n + 1)
	}
	return ordinals
}

// FeedPage says how far a page of at most limit events got that looked at the
// places after…reach.
func FeedPage(events []order.Event, after, reach int64, limit int) ([]order.Event, int64) {
	if len(events) == limit {
		reach = events[limit-1].Seq // what follows was not read
	}
	return events, max(after, reach)
}
