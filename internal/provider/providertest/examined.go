package providertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
)

// examinedMutations bounds the mutations that are examined whole: looking for the
// cause of one may take tenths of a second.
const examinedMutations = 8

// examined: an adapter that explains itself explains what Parse decided, and shows
// neither a secret nor a person.
func examined(t *testing.T, kit Kit, g Genuine) {
	examiner, is := kit.Provider.(provider.Examiner)
	if !is {
		return
	}
	rnd := rand.New(rand.NewPCG(uint64(len(g.Request.Body)), 2))
	for i := range 1 + examinedMutations {
		req := clone(g.Request)
		if i > 0 {
			req = Mutate(rnd, req)
		}
		_, err := kit.Provider.Parse(req)
		got := examiner.Examine(t.Context(), provider.Exhibit{Request: req, Err: err, Others: []provider.Provider{kit.Provider, kit.Twin, kit.Foreign}})
		failed := slices.ContainsFunc(got.Steps, func(s provider.Step) bool { return s.State == provider.StepFailed })
		if failed != (err != nil) || (got.Cause.Code != "") != (err != nil) {
			t.Errorf("Parse says %v, the examination %+v: %+v", err, got.Cause, got.Steps)
		}
		text := fmt.Sprint(got.Protocol, got.Steps, got.Cause)
		for _, s := range kit.Secrets {
			if strings.Contains(text, s) {
				t.Errorf("a secret or personal data leaked into %q", text)
			}
		}
	}
}
