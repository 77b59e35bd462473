package wechat

import (
	"bytes"
	"errors"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
)

// There is one probe for each form that the account takes. It reaches the last
// step of the proof and fails there, under a code that nobody is alarmed by.
func TestProbesProveNothing(t *testing.T) {
	v2Only := func(o *Options) { o.APIv3Key, o.PublicKeys, o.Certificates = "", nil, nil }
	v3Only := func(o *Options) { o.APIv2Key = "" }
	for name, c := range map[string]struct {
		change func(*Options)
		codes  []string
	}{
		"both": {func(*Options) {}, []string{CodeProbe, CodeNoSignature}},
		"v3":   {v3Only, []string{CodeProbe}},
		"v2":   {v2Only, []string{CodeNoSignature}},
	} {
		a := newAdapter(t, c.change)
		probes := a.Probes("mark0123456789", received)
		if len(probes) != len(c.codes) {
			t.Fatalf("%s: %d probes", name, len(probes))
		}
		for i, p := range probes {
			_, err := a.Parse(p)
			if !errors.Is(err, provider.ErrSignature) || provider.Code(err) != c.codes[i] {
				t.Errorf("%s: %v, want %s", name, err, c.codes[i])
			}
			if bytes.Count(p.Body, []byte("mark0123456789")) != 1 || !bytes.Contains(p.Body, []byte("\r\n")) || p.Body[len(p.Body)-1] != '\n' {
				t.Errorf("%s: the body is %q", name, p.Body)
			}
		}
	}
}
