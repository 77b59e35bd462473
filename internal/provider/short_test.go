package provider

import "testing"

// A serial and a public key id are cut where several stand in a line; what is
// short already, a fingerprint above all, stays whole.
func TestShortID(t *testing.T) {
	for id, want := range map[string]string{
		"7A1F3C5D9E0B2468ACE013579BDF02468ACE1357": "7A1F3C5D…CE1357",
		"PUB_KEY_ID_422790250881606817680":         "PUB_KEY_…817680",
		"PUB_KEY_ID_0117":                          "PUB_KEY_ID_0117",
		"sha256:a15eb86eb217cddf":                  "sha256:a15eb86eb217cddf",
		"":                                         "",
	} {
		if got := ShortID(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
