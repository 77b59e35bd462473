package order

import (
	"slices"
	"testing"
)

// What MayDo lists is what would change the order, and nothing else.
func TestMayDoIsWhatCommandsDo(t *testing.T) {
	for _, s := range Statuses() {
		for _, command := range []Kind{KindShip, KindComplete, KindCancel} {
			_, event, err := obey(Aggregate{Order: Order{Status: s}}, command)
			if may, does := slices.Contains(MayDo(s), command), err == nil && event != nil; may != does {
				t.Errorf("%s %s: MayDo says %v, the command %v (%v)", command, s, may, does, err)
			}
		}
	}
}
