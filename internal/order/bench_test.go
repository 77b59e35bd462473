package order

import (
	"fmt"
	"testing"
)

// BenchmarkUnit is what deciding a full batch of unique payments costs, without
// a database.
func BenchmarkUnit(b *testing.B) {
	newID := ids()
	rules := unitRules{now: clock, newID: newID}
	r := &Recorder{opt: RecorderOptions{Now: clock, NewID: newID}}
	var batch []*pending
	for i := range MaxBatch {
		no := fmt.Sprintf("T%06d", i)
		n := notify("ntf_"+no, wx(no, "4200000000"+no, KindPaid, 1000))
		n.ProviderID = "EV-" + no
		batch = append(batch, &pending{n: n, key: n.FactKey()})
	}
	want, _ := r.wantOf(b.Context(), batch)
	b.ReportAllocs()
	for b.Loop() {
		u := newUnit(want, &Found{}, rules)
		u.recordAll(batch)
		u.finish()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxBatch, "ns/notification")
}
