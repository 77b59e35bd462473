package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/notifyd/notifyd/internal/provider"
)

// classes are the errors that the edge gives to Ack.
var classes = []error{
	provider.ErrMalformed, provider.ErrSignature, provider.ErrForeign, provider.ErrUnavailable,
	provider.ErrTooLarge, provider.ErrEncoding, provider.ErrMethod, errors.New("nobody knows this one"),
}

// answers: success only for nil, the common status for every error, the same
// words for every cause, whether the body was read or not.
func answers(t *testing.T, kit Kit, g Genuine) {
	p := kit.Provider
	ok := p.Ack(g.Request, nil)
	if ok.Status != http.StatusOK && ok.Status != http.StatusNoContent {
		t.Errorf("success has status %d", ok.Status)
	}
	if len(ok.Body) > 0 && ok.ContentType == "" {
		t.Error("success has a body without a content type")
	}
	headOnly := clone(g.Request)
	headOnly.Body = nil
	words := p.Ack(headOnly, provider.ErrSignature).Body
	if bytes.Equal(ok.Body, words) {
		t.Error("success and failure have the same body")
	}
	for _, class := range classes {
		for _, err := range []error{class, provider.Refuse(class, "xx.secret", "%s", kit.Secrets[0]), fmt.Errorf("%s: %w", kit.Secrets[0], class)} {
			got := p.Ack(headOnly, err)
			if want := provider.Status(err); got.Status != want {
				t.Errorf("%v: status %d, want %d", class, got.Status, want)
			}
			if !bytes.Equal(got.Body, words) {
				t.Errorf("%v: body %q, other failures say %q", class, got.Body, words)
			}
			if got.ContentType == "" {
				t.Errorf("%v: no content type", class)
			}
			sameAnswer(t, p.Ack(g.Request, err), got)
		}
	}
	if again := p.Ack(headOnly, nil); again.Status != ok.Status || !bytes.Equal(again.Body, ok.Body) {
		t.Error("success depends on the body of the request")
	}
}

// identityAndKeys: both speak for people and hold no key.
func identityAndKeys(t *testing.T, kit Kit) {
	p := kit.Provider
	if p.Identity() == "" || p.Identity() != kit.Twin.Identity() {
		t.Errorf("identity %q, under another account name %q: it must speak of the provider's number", p.Identity(), kit.Twin.Identity())
	}
	if p.Identity() == kit.Foreign.Identity() {
		t.Error("two merchants' accounts have one identity")
	}
	keys := p.Keys()
	if len(keys) == 0 {
		t.Error("no keys are described")
	}
	for _, k := range keys {
		if k.ID == "" || k.Kind == "" {
			t.Errorf("key %+v has no id or no kind", k)
		}
		for _, s := range kit.Secrets {
			if strings.Contains(k.ID+k.Kind+p.Identity(), s) {
				t.Errorf("key %s shows a secret", k.Kind)
			}
		}
	}
	if changed, err := p.Reload(); changed || err != nil {
		t.Errorf("Reload of unchanged files: changed %v, error %v", changed, err)
	}
}

// nothingAtAll: requests that are no message are refused, not crashed on.
func nothingAtAll(t *testing.T, kit Kit) {
	for name, req := range map[string]provider.Request{
		"zero":     {},
		"blank":    {Header: http.Header{}, Body: []byte(" ")},
		"nul":      {Header: http.Header{}, Body: []byte{0}},
		"json":     {Header: http.Header{}, Body: []byte(`{}`)},
		"xml":      {Header: http.Header{}, Body: []byte(`<xml></xml>`)},
		"form":     {Header: http.Header{}, Body: []byte(`a=b`)},
		"1 MiB":    {Header: http.Header{}, Body: bytes.Repeat([]byte("a"), 1<<20)},
		"brackets": {Header: http.Header{}, Body: bytes.Repeat([]byte("["), 1<<20)},
		"tags":     {Header: http.Header{}, Body: bytes.Repeat([]byte("<a>"), 1<<18)},
	} {
		t.Run(name, func(t *testing.T) {
			req.ReceivedAt = time.Unix(1767225600, 0)
			err := refused(t, kit, kit.Provider, req)
			if err != nil && kit.Provider.Ack(req, err).Status >= http.StatusInternalServerError {
				t.Errorf("%v would be asked again as if it were our fault", err)
			}
		})
	}
}
