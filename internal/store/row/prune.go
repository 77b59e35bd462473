package row

import (
	"time"

	"github.com/notifyd/notifyd/internal/outbox"
)

// PruneColumns are those of a delivery that say whether it is past its
// retention time.
const PruneColumns = `event_id, endpoint, state, created_at, updated_at`

// Aged are deliveries, in order of their keys, that were made before a time.
type Aged struct {
	Keys []outbox.Key // their old attempts go
	Gone []outbox.Key // of these: what was delivered before that time, and goes itself
	Last outbox.Key
	read int
}

// Step reads PruneColumns.
func (a *Aged) Step(before time.Time) func(Scanner) error {
	return func(s Scanner) error {
		var state outbox.State
		var created, updated *int64
		if err := s.Scan(&a.Last.EventID, &a.Last.Endpoint, &state, &created, &updated); err != nil {
			return err
		}
		a.read++
		if !Time(created).Before(before) {
			return nil
		}
		a.Keys = append(a.Keys, a.Last)
		if state == outbox.Delivered && Time(updated).Before(before) {
			a.Gone = append(a.Gone, a.Last)
		}
		return nil
	}
}

// More says whether old ones may follow, after a step of up to limit. A page of
// young ones is the end: a few among old ones are what somebody sent again to
// where it never was to go.
func (a *Aged) More(limit int) bool { return a.read == limit && len(a.Keys) > 0 }
