package row

import (
	"math"
	"slices"
	"testing"

	"github.com/notifyd/notifyd/internal/order"
)

func TestOrdinals(t *testing.T) {
	e := func(id, number string, version int64) order.Event {
		return order.Event{ID: id, Key: order.Key{OutTradeNo: number}, OrderVersion: version}
	}
	events := []order.Event{e("1", "A", 3), e("5", "A", 2), e("3", "A", 1), e("2", "B", 1), e("4", "", 0), e("0", "", 0)}
	if got, want := Ordinals(events), []int64{6, 5, 3, 2, 4, 1}; !slices.Equal(got, want) {
		t.Errorf("the ordinals are %v, want %v", got, want)
	}
}

func TestFeedEndDoesNotOverflow(t *testing.T) {
	if end := FeedEnd(math.MaxInt64); end != math.MaxInt64 {
		t.Errorf("the last place ends at %d", end)
	}
}
