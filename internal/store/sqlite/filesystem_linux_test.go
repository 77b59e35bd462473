package sqlite

import (
	"errors"
	"math"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
)

// The beat's one page is written again and again in the same place: it succeeds
// on a disk that has no room for a notification.
func TestBeatNeedsRoom(t *testing.T) {
	s := prepared(t)
	s.least = math.MaxUint64 // more than any disk has
	if err := s.Beat(t.Context()); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("on a disk without room: %v, want ErrUnavailable", err)
	}
	s.least = 0
	if err := s.Beat(t.Context()); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}
