package alipay

import (
	"bytes"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

func TestProbesProveNothing(t *testing.T) {
	a := newAdapter(t)
	probes := a.Probes("mark0123456789", time.Date(2026, 1, 1, 4, 0, 0, 0, time.UTC))
	if len(probes) != 1 {
		t.Fatalf("%d probes", len(probes))
	}
	for _, p := range probes {
		if _, err := a.Parse(p); !errors.Is(err, provider.ErrSignature) || provider.Code(err) != codeNoSignature {
			t.Errorf("%v, want %s", err, codeNoSignature)
		}
		values, err := url.ParseQuery(string(p.Body))
		if err != nil || values.Encode() == string(p.Body) || !bytes.Contains(p.Body, []byte("mark0123456789")) {
			t.Errorf("whoever writes the form again would not change it: %q, %v", p.Body, err)
		}
	}
}
