package order

import (
	"bytes"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

// anySaying draws from few values, so that two of them are often the same.
func anySaying(t *rapid.T, label string) Notification {
	few := func(what string, values ...string) string {
		return rapid.SampledFrom(values).Draw(t, label+" "+what)
	}
	n := Notification{Provider: few("provider", "wechat", "alipay"), Scope: "1900000001", Kind: Kind(few("kind", "paid", "other"))}
	for range rapid.IntRange(0, 2).Draw(t, label+" facts") {
		n.Facts = append(n.Facts, wx(few("order", "", "T1", "T1\x00", "20260101120000000001", "20260101120000000002"), few("txn", "A", "B"), KindPaid, 1000))
	}
	if rapid.Bool().Draw(t, label+" is distinct") {
		n.Distinct = []byte(few("distinct", "", "a", "b"))
	}
	return n
}

// The place in front of the hash tells nothing apart that the hash does not, and
// nothing together: keys of copies are equal as before.
func TestPropertyPlaceOfFactKeyDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anySaying(t, "a"), anySaying(t, "b")
		x, y := a.FactKey(), b.FactKey()
		if byHash := bytes.Equal(x[placeLen:], y[placeLen:]); byHash != (x == y) {
			t.Fatalf("%x and %x: the same by their hashes: %v", x, y, byHash)
		}
	})
}

// Keys stand in the order of the numbers that their messages name.
func TestPropertyFactKeysFollowOrderNumbers(t *testing.T) {
	number := rapid.StringMatching(`[0-9A-Za-z_]{1,32}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, y := notify("ntf_1", wx(a, "A", KindPaid, 1000)), notify("ntf_2", wx(b, "B", KindPaid, 1000))
		kx, ky := x.FactKey(), y.FactKey()
		if a[:min(placeLen, len(a))] < b[:min(placeLen, len(b))] && bytes.Compare(kx[:], ky[:]) >= 0 {
			t.Fatalf("%q < %q, but %x >= %x", a, b, kx, ky)
		}
	})
}

// What was recorded long ago must be known again.
func TestFactKeysStandStill(t *testing.T) {
	refunded := notify("ntf_2", wxRefund("20260101120000000001", "4200000001", "50300001", 1000, 300)...)
	said := notify("ntf_3", wx("T1", "A", KindContract, 0))
	said.Distinct = []byte(`{"change_type":"ADD"}`)
	for want, n := range map[string]Notification{
		"54310000000000000000000000000000" + "8faf2a89c1bbc3c31557587b3eea49c1": notify("ntf_1", wx("T1", "A", KindPaid, 1000)),
		"32303236303130313132303030303030" + "afb92f659d90e1c7a5896fbad5295750": refunded,
		"00000000000000000000000000000000" + "a86652f8269898b18f71f74354bd277f": said,
	} {
		if k := n.FactKey(); hex.EncodeToString(k[:]) != want {
			t.Errorf("%s is now %x", want, k)
		}
	}
}
