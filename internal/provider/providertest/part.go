package providertest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/notifyd/notifyd/internal/provider"
)

func (p Part) name() string {
	if p.Header != "" {
		return p.Header
	}
	return strings.TrimLeft(provider.Clip(p.Body, 12), "&<\"")
}

// check refuses a part that does not stand in the request exactly once.
func (p Part) check(t *testing.T, req provider.Request) {
	t.Helper()
	switch {
	case p.Header != "":
		if len(req.Header.Values(p.Header)) != 1 {
			t.Fatalf("kit: header %s does not stand in the request once", p.Header)
		}
	case p.Value == "" || bytes.Count(req.Body, []byte(p.Body)) != 1 || strings.Count(p.Body, p.Value) != 1:
		t.Fatalf("kit: part %q with value %q does not stand in the body once", p.Body, p.Value)
	}
}

// touch makes the requests in which the part is not as it was.
func (p Part) touch(req provider.Request) map[string]provider.Request {
	if p.Header != "" {
		return p.touchHeader(req)
	}
	replaced := func(by string) provider.Request {
		c := clone(req)
		c.Body = bytes.Replace(req.Body, []byte(p.Body), []byte(by), 1)
		return c
	}
	with := func(value string) provider.Request { return replaced(strings.Replace(p.Body, p.Value, value, 1)) }
	return map[string]provider.Request{
		"flipped": with(flip(p.Value)),
		"emptied": with(""),
		"cut":     with(p.Value[:len(p.Value)/2]),
		"removed": replaced(""),
		"doubled": replaced(p.Body + p.Body),
	}
}

func (p Part) touchHeader(req provider.Request) map[string]provider.Request {
	value := req.Header.Get(p.Header)
	with := func(values ...string) provider.Request {
		c := clone(req)
		c.Header.Del(p.Header)
		for _, v := range values {
			c.Header.Add(p.Header, v)
		}
		return c
	}
	return map[string]provider.Request{
		"flipped": with(flip(value)),
		"emptied": with(""),
		"cut":     with(value[:len(value)/2]),
		"removed": with(),
		"doubled": with(value, value),
	}
}

// flip changes one letter or digit in the middle of s into another one of its
// class, so that hex stays hex and base64 stays base64.
func flip(s string) string {
	b := []byte(s)
	for i := len(b) / 2; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '8', c >= 'A' && c <= 'E', c >= 'a' && c <= 'e', c >= 'G' && c <= 'Y', c >= 'g' && c <= 'y':
			b[i]++
			return string(b)
		case c == '9', c == 'F', c == 'f', c == 'Z', c == 'z':
			b[i]--
			return string(b)
		}
	}
	return s + "0"
}
