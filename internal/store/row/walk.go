package row

import "time"

// Walk are the notifications, in order of their ids, whose requests are past
// their retention time. It ends at the first one that is not.
type Walk struct {
	IDs   []string
	ended bool
}

// Step reads id and received_at.
func (w *Walk) Step(before time.Time) func(Scanner) error {
	return func(s Scanner) error {
		var id string
		var received *int64
		if err := s.Scan(&id, &received); err != nil {
			return err
		}
		w.ended = w.ended || !Time(received).Before(before)
		if !w.ended {
			w.IDs = append(w.IDs, id)
		}
		return nil
	}
}
