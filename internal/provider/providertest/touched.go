package providertest

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
)

// touched: a genuine request is refused as soon as a part that proves it is
// flipped, removed or doubled, its body is cut, emptied or grown, or it comes to
// another merchant's account; and every refusal reads the same from outside.
func touched(t *testing.T, kit Kit, g Genuine) {
	one := kit.Provider.Ack(g.Request, provider.ErrSignature)
	for _, p := range g.Proof {
		for how, req := range p.touch(g.Request) {
			t.Run(p.name()+" "+how, func(t *testing.T) {
				err := refused(t, kit, kit.Provider, req)
				if err == nil {
					return
				}
				// A part that is gone or cut may leave no envelope: 400.
				malformed := errors.Is(err, provider.ErrMalformed) && (how == "removed" || how == "cut")
				if !notProven(err) && !malformed {
					t.Errorf("%v is not a 401", err)
				}
				// The shape of an answer may depend on the header, so it is asked
				// for with the header as it was: the words must not differ.
				got := kit.Provider.Ack(g.Request, err)
				if malformed {
					got.Status = one.Status // 400 says the same as 401
				}
				sameAnswer(t, got, one)
			})
		}
	}
	body := g.Request.Body
	for how, changed := range map[string][]byte{
		"body cut in half": body[:len(body)/2],
		"body cut by one":  body[:len(body)-1],
		"body empty":       {},
		"body nil":         nil,
		"body grown":       append(bytes.Clone(body), 'x'),
		"body twice":       append(bytes.Clone(body), body...),
		"byte order mark":  append([]byte("\xEF\xBB\xBF"), body...),
	} {
		t.Run(how, func(t *testing.T) {
			req := clone(g.Request)
			req.Body = changed
			err := refused(t, kit, kit.Provider, req)
			if err == nil {
				return
			}
			got := kit.Provider.Ack(req, err)
			if got.Status != http.StatusUnauthorized && got.Status != http.StatusBadRequest {
				t.Errorf("%v: status %d, want 400 or 401", err, got.Status)
			}
			got.Status = one.Status // 400 says the same as 401
			sameAnswer(t, got, one)
		})
	}
	t.Run("another account", func(t *testing.T) {
		if err := refused(t, kit, kit.Foreign, clone(g.Request)); err != nil {
			if !notProven(err) {
				t.Errorf("%v is not a 401", err)
			}
			sameAnswer(t, kit.Foreign.Ack(g.Request, err), one)
		}
	})
}

// refused parses req, which must be refused without a leak, and returns why.
func refused(t *testing.T, kit Kit, p provider.Provider, req provider.Request) error {
	t.Helper()
	n, err := p.Parse(req)
	if err == nil {
		t.Errorf("accepted: %+v", n.Facts)
		return nil
	}
	if !isRefusal(err) {
		t.Errorf("%v is none of the four errors or has no reason code", err)
	}
	noLeak(t, kit, req, err.Error())
	return err
}

func sameAnswer(t *testing.T, got, want provider.Answer) {
	t.Helper()
	if got.Status != want.Status || got.ContentType != want.ContentType || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("answer %d %q %q, every other refusal gets %d %q %q",
			got.Status, got.ContentType, got.Body, want.Status, want.ContentType, want.Body)
	}
}

// leakWindow is how many bytes in a row of a body count as its text: more than
// any field name, fewer than anything that tells who paid.
const leakWindow = 24

// minHeaderLeak is how long a header's value must be to be recognised: "1" and
// "gzip" turn up in any sentence.
const minHeaderLeak = 8

// noLeak checks that text, which goes to the log, holds nothing of the request
// and no secret.
func noLeak(t *testing.T, kit Kit, req provider.Request, text string) {
	t.Helper()
	for _, s := range kit.Secrets {
		if strings.Contains(text, s) {
			t.Errorf("a secret or personal data leaked into %q", text)
		}
	}
	for name, values := range req.Header {
		if named(kit.KeyIDHeaders, name) {
			continue
		}
		for _, v := range values {
			if len(v) >= minHeaderLeak && strings.Contains(text, v) {
				t.Errorf("the value of %s leaked into %q", name, text)
			}
		}
	}
	for i := 0; i+leakWindow <= len(text); i++ {
		if bytes.Contains(req.Body, []byte(text[i:i+leakWindow])) {
			t.Errorf("text of the body leaked into %q", text)
			return
		}
	}
}

func named(names []string, name string) bool {
	for _, n := range names {
		if http.CanonicalHeaderKey(n) == http.CanonicalHeaderKey(name) {
			return true
		}
	}
	return false
}
