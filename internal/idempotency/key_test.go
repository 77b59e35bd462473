package idempotency_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/idempotency"
)

func TestKeyOf(t *testing.T) {
	const name, alias = "X-Idempotency-Key", "Idempotency-Key"
	longest := strings.Repeat("k", 255)
	for _, c := range []struct {
		header http.Header
		want   string
		err    error
	}{
		{http.Header{name: {"a"}}, "a", nil},
		{http.Header{alias: {"a"}}, "a", nil},
		{http.Header{name: {"a"}, alias: {"a"}}, "a", nil},
		{http.Header{name: {longest}}, longest, nil},
		{http.Header{name: {`!"#$%&'()*+,-./:;<=>?@[\]^_{|}~` + "`"}}, `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~` + "`", nil},
		{http.Header{name: {"a"}, alias: {"A"}}, "", idempotency.ErrKeyAmbiguous},
		{http.Header{name: {"a"}, alias: {""}}, "", idempotency.ErrKeyAmbiguous},
		{http.Header{name: {"a", "a"}}, "", idempotency.ErrKeyAmbiguous},
		{http.Header{alias: {"a", "b"}}, "", idempotency.ErrKeyAmbiguous},
		{http.Header{}, "", idempotency.ErrKeyMissing},
		{http.Header{name: {""}}, "", idempotency.ErrKeyMissing},
		{http.Header{name: {longest + "k"}}, "", idempotency.ErrKeyInvalid},
		{http.Header{name: {"a b"}}, "", idempotency.ErrKeyInvalid},
		{http.Header{name: {"a\t"}}, "", idempotency.ErrKeyInvalid},
		{http.Header{name: {"a\x00"}}, "", idempotency.ErrKeyInvalid},
		{http.Header{name: {"a\x7f"}}, "", idempotency.ErrKeyInvalid},
		{http.Header{name: {"订单"}}, "", idempotency.ErrKeyInvalid},
		{http.Header{alias: {"\xff"}}, "", idempotency.ErrKeyInvalid},
	} {
		if got, err := idempotency.KeyOf(c.header); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v: %q, %v, want %q, %v", c.header, got, err, c.want, c.err)
		}
	}
}

// Every field tells requests apart, and none runs into its neighbour.
func TestFingerprintOf(t *testing.T) {
	seen := map[idempotency.Fingerprint]string{}
	for _, parts := range [][3]string{{"POST", "/a", "b"}, {"PUT", "/a", "b"}, {"POST", "/ab", ""}, {"POST", "/a", ""}, {"POST", "/a?", "b"}, {"POST", "/a", "b "}, {"POST/a", "", "b"}} {
		f := idempotency.FingerprintOf(parts[0], parts[1], []byte(parts[2]))
		if other, taken := seen[f]; taken {
			t.Errorf("%q has the fingerprint of %q", parts, other)
		}
		seen[f] = strings.Join(parts[:], " ")
		if f != idempotency.FingerprintOf(parts[0], parts[1], []byte(parts[2])) {
			t.Errorf("%q has two fingerprints", parts)
		}
	}
}
