package providertest

import (
	"bytes"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
)

// mutationCount bounds the random part of the suite: it finds what nobody
// thought of, the fuzz targets of the adapters dig deeper.
const mutationCount = 400

// mutations: whatever a stranger does to a genuine request, Parse does not
// panic; it refuses, or what it accepts says the same as before.
func mutations(t *testing.T, kit Kit, name string, g Genuine) {
	h := fnv.New64a()
	h.Write([]byte(name))
	seed := h.Sum64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	genuine, err := kit.Provider.Parse(g.Request)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mutationCount {
		req := Mutate(rnd, g.Request)
		n, err := kit.Provider.Parse(req)
		switch {
		case err != nil && !isRefusal(err):
			t.Fatalf("mutation %d: %v is none of the four errors or has no reason code\n%q", i, err, req.Body)
		case err != nil:
			noLeak(t, kit, req, err.Error())
		case !g.Unsigned && n.FactKey() != genuine.FactKey():
			t.Fatalf("mutation %d was accepted and says something else:\n%+v\n%q", i, n.Facts, req.Body)
		}
		if t.Failed() {
			t.Fatalf("mutation %d of seed %d", i, seed)
		}
	}
}

// Mutate makes one to three changes to a copy of req, in its header or body, of
// the kinds that one parser or another stumbles over.
func Mutate(rnd *rand.Rand, req provider.Request) provider.Request {
	c := clone(req)
	for range 1 + rnd.IntN(3) {
		if len(c.Header) > 0 && rnd.IntN(4) == 0 {
			mutateHeader(rnd, c)
			continue
		}
		c.Body = mutateBytes(rnd, c.Body)
	}
	return c
}

func mutateHeader(rnd *rand.Rand, req provider.Request) {
	names := slices.Sorted(maps.Keys(req.Header))
	name := names[rnd.IntN(len(names))]
	switch rnd.IntN(4) {
	case 0:
		delete(req.Header, name)
	case 1:
		req.Header[name] = append(req.Header[name], "")
	case 2:
		req.Header[name] = nil // a name without a value
	default:
		if v := req.Header[name]; len(v) > 0 {
			req.Header[name] = []string{string(mutateBytes(rnd, []byte(v[0])))}
		}
	}
}

// hostile are pieces that mean something to one parser or another.
var hostile = [][]byte{
	[]byte("&"), []byte("="), []byte("%"), []byte("%00"), []byte(";"), []byte("+"), []byte("\x00"), []byte("\xff\xfe"),
	[]byte("<"), []byte("]]>"), []byte("<!DOCTYPE x>"), []byte("<!-- -->"), []byte("&amp;"), []byte("</xml>"),
	[]byte(`"`), []byte(`\`), []byte("{"), []byte("[[[["), []byte("null"), []byte("1e9"), []byte("-1"), []byte("\r\n"),
}

func mutateBytes(rnd *rand.Rand, b []byte) []byte {
	if len(b) == 0 {
		return slices.Clone(hostile[rnd.IntN(len(hostile))])
	}
	i := rnd.IntN(len(b))
	j := i + rnd.IntN(min(len(b)-i, 64))
	switch rnd.IntN(6) {
	case 0:
		b[i] ^= 1 << rnd.IntN(8)
	case 1:
		b[i] = byte(rnd.Uint32())
	case 2:
		b = slices.Delete(b, i, j)
	case 3:
		b = slices.Insert(b, i, hostile[rnd.IntN(len(hostile))]...)
	case 4:
		b = slices.Insert(b, i, bytes.Clone(b[i:j])...)
	default:
		b = b[:i]
	}
	return b
}
